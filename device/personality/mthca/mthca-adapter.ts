// SPDX-License-Identifier: Apache-2.0
/**
 * An mthca device: a second front end beside `Adapter`, which an unmodified driver of another
 * vendor binds (docs/verbs/PERSONALITIES.md). It has one function, one or two ports, and the
 * management agents of every node. Hosts and fabrics drive it as they drive `Adapter`.
 */
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import {
  PCI_DEVICE_ID_ONE_PORT,
  PCI_DEVICE_ID_TWO_PORTS,
  PCI_REVISION,
  VENDOR_OUI,
} from '../../../protocol/mthca/gen/constants.gen.ts';
import type { LinkEnd } from '../../fabric/port/link.ts';
import { raisePortTraps } from '../../hca/adapter/managed-nodes.ts';
import type { AdapterClock, HostPort } from '../../host.ts';
import type { Views } from '../shared/contents.ts';
import type { PersonalityOptions } from '../shared/options.ts';
import { TransportUnits } from '../shared/transport-units.ts';
import { type DeviceKind, UndividedAdapter } from '../shared/undivided-adapter.ts';
import { CommandProcessor } from './commands/command-processor.ts';
import { mthcaViews } from './contents.ts';
import { DataPath } from './data-path.ts';
import { GroupMembers } from './group-members.ts';
import { Hca } from './hca/hca.ts';
import { MthcaPort } from './hca/mthca-port.ts';
import { MthcaFunction } from './mthca-function.ts';
import type { SendQueue } from './queues/send-queue.ts';
import { SendRequests } from './queues/send-requests.ts';
import { RawQueuePairs } from './raw-queue-pairs.ts';
import { RegionKeys } from './region-keys.ts';
import { UserAccess } from './user-access.ts';

const kind: DeviceKind = {
  name: 'mthca',
  ownStages: 2,
  makePort: (...parameters) => new MthcaPort(...parameters),
};

export class MthcaAdapter extends UndividedAdapter<SendQueue> {
  readonly personality = 'mthca';
  readonly vendorId = VENDOR_OUI;
  readonly deviceId: number;
  readonly revision = PCI_REVISION;
  readonly hca: Hca;
  readonly processor: CommandProcessor;
  readonly functions: readonly [MthcaFunction];
  readonly raw: RawQueuePairs;
  readonly units: TransportUnits<SendQueue>;
  readonly data: DataPath;
  /** QPs of the transport, by number, as reports and traces want them. */
  readonly tables: { readonly queuePairs: DataPath };
  /** Its rows for `vuhca show`. */
  readonly views: Views;

  constructor(options: PersonalityOptions, clock: AdapterClock, host: HostPort) {
    super(options, clock, host, kind);
    const { ports, mads, underlying } = this;
    this.deviceId = ports.length === 1 ? PCI_DEVICE_ID_ONE_PORT : PCI_DEVICE_ID_TWO_PORTS;
    this.hca = new Hca(underlying, ports, mads.agents);
    this.processor = new CommandProcessor(this.hca);
    this.raw = new RawQueuePairs(this.hca, mads);
    const queuePairs = { get: (qpn: number) => this.data.get(qpn) };
    this.units = new TransportUnits({
      clock,
      ports,
      loans: this.loans,
      mads,
      keys: new RegionKeys(this.hca.regions),
      queuePairs,
      groups: new GroupMembers(this.hca.groups, queuePairs),
      makeLoader: (addresses) => new SendRequests(addresses),
    });
    for (const { index } of ports) this.engine.receiver.mads.interfaces[index] = this.raw;
    this.views = mthcaViews(this.hca);
    this.data = new DataPath(this.hca, this.units);
    this.data.onReady = (qp) => this.traces.onReady?.(qp);
    this.tables = { queuePairs: this.data };
    this.hca.rawUnit = this.raw;
    this.hca.dataUnit = this.data;
    const userAccess = new UserAccess(this.hca, this.raw, this.data);
    this.functions = [new MthcaFunction(underlying, this.hca, this.processor, userAccess)];
    raisePortTraps(ports, mads);
    for (const port of ports) port.onStateChange = (changed, previous) => this.#portChanged(changed, previous);
  }

  protected serveOwn(stage: number, limit: number): number {
    if (stage === 0) return this.processor.serve() ? 1 : 0;
    return this.raw.run(limit);
  }

  /**
   * A port that is switched off has no events. Drivers close their ports when their kernel knows
   * the device no longer, and `ib_mthca` passes an event on even then
   * (docs/verbs/PERSONALITIES.md).
   */
  #portChanged({ number, active }: LinkEnd, previous: PortState): void {
    if (!this.ports[number - 1].isEnabled) return;
    if (active || previous === PortState.ACTIVE) this.hca.events.postPort(number, active);
  }
}
