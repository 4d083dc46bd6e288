// SPDX-License-Identifier: Apache-2.0
/**
 * An mthca device: a second front end beside `Adapter`, which an unmodified driver of another
 * vendor binds (docs/PERSONALITIES.md). It has one function, one or two ports, and the management
 * agents of every node. Hosts and fabrics drive it as they drive `Adapter`.
 */
import { NodeType } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import {
  PCI_DEVICE_ID_ONE_PORT,
  PCI_DEVICE_ID_TWO_PORTS,
  PCI_REVISION,
  VENDOR_OUI,
} from '../../../protocol/mthca/gen/constants.gen.ts';
import { joinPorts } from '../../adapter/port-links.ts';
import { type ManagedNode, nodeDescription } from '../../agents/managed-node.ts';
import { ManagementInterface } from '../../agents/management-interface.ts';
import type { FabricNode } from '../../fabric/fabric.ts';
import { UnderlyingFunction } from '../../function/underlying-function.ts';
import type { AdapterClock, HostPort } from '../../host.ts';
import type { LinkEnd } from '../../port/link.ts';
import { parseGuid, portGuid } from '../../port/port.ts';
import { CommandProcessor } from './command-processor.ts';
import { Hca } from './hca.ts';
import { MthcaFunction } from './mthca-function.ts';
import { MthcaPort } from './mthca-port.ts';
import type { MthcaOptions } from './options.ts';
import { PortReceiver } from './port-receiver.ts';
import { RawQueuePairs } from './raw-queue-pairs.ts';

export class MthcaAdapter implements FabricNode, ManagedNode {
  readonly options: MthcaOptions;
  readonly nodeType = NodeType.CHANNEL_ADAPTER;
  readonly nodeGuid: Uint8Array;
  readonly systemImageGuid: Uint8Array;
  readonly description: Uint8Array;
  readonly vendorId = VENDOR_OUI;
  readonly deviceId: number;
  readonly revision = PCI_REVISION;
  readonly ports: readonly MthcaPort[];
  readonly endPorts: readonly MthcaPort[];
  readonly underlying: UnderlyingFunction;
  readonly hca: Hca;
  readonly processor: CommandProcessor;
  readonly functions: readonly [MthcaFunction];
  readonly management: ManagementInterface;
  readonly raw: RawQueuePairs;
  readonly #receiver: PortReceiver;
  readonly #clock: AdapterClock;
  #vectorsWait = false;

  constructor(options: MthcaOptions, clock: AdapterClock, host: HostPort) {
    const { portCount, portQueuePackets, portLids } = options;
    this.options = options;
    this.#clock = clock;
    this.nodeGuid = parseGuid(options.nodeGuid);
    this.systemImageGuid = this.nodeGuid;
    this.deviceId = portCount === 1 ? PCI_DEVICE_ID_ONE_PORT : PCI_DEVICE_ID_TWO_PORTS;
    this.description = nodeDescription('vuhca mthca');
    this.ports = Array.from(
      { length: portCount },
      (_, index) => new MthcaPort(index + 1, portGuid(this.nodeGuid, index + 1), portLids[index], portQueuePackets),
    );
    this.endPorts = this.ports;
    this.underlying = new UnderlyingFunction(0, clock, host, () => {
      this.#vectorsWait = true;
    });
    this.management = new ManagementInterface(this, clock);
    this.hca = new Hca(this.underlying, this.ports, this.management.agents);
    this.processor = new CommandProcessor(this.hca);
    this.raw = new RawQueuePairs(this.hca, this);
    this.hca.onQueuePairMoved = (qp) => this.raw.noteMoved(qp);
    this.functions = [new MthcaFunction(this.underlying, this.hca, this.processor, this.raw)];
    this.#receiver = new PortReceiver(this.ports, this.management, this.raw, clock);
    for (const port of this.ports) {
      port.disable();
      port.onStateChange = (changed, previous) => this.#portChanged(changed, previous);
    }
    if (portCount > 1) joinPorts(this.ports[0], this.ports[1], options.portLink);
  }

  /** Executes a command, moves packets, answers datagrams, and sends interrupts at the end. */
  run(budget: number): boolean {
    this.processor.serve();
    let left = budget;
    // Answers may go to the other port of this device.
    while (left > 0) {
      this.raw.run();
      const waits = this.management.run();
      const taken = this.#receiver.run(left);
      if (taken === 0 && !waits) break;
      left -= taken + 1;
    }
    this.#receiver.settle();
    const { nextNs } = this.management;
    if (nextNs !== Number.POSITIVE_INFINITY) this.#clock.setAlarm(nextNs);
    if (this.#vectorsWait) this.#vectorsWait = this.underlying.msix.flush();
    return left <= 0;
  }

  #portChanged(port: LinkEnd, previous: PortState): void {
    if (port.active || previous === PortState.ACTIVE) this.hca.events.postPort(port.number, port.active);
  }
}
