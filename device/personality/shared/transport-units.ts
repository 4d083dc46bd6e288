// SPDX-License-Identifier: Apache-2.0
/**
 * The units between the send queues of a personality and the wire. Every personality has them:
 * collect buffers, lanes, the reader of send queues, the transport, the flusher of receives, and
 * the links. The adapter of a personality builds them, and `UndividedAdapter` gives them their
 * turns in each pass.
 */
import type { MadInterface } from '../../fabric/agents/mad-interface.ts';
import type { Port } from '../../fabric/port/port.ts';
import { defaultAdapterOptions } from '../../hca/adapter/options.ts';
import { PortLinks } from '../../hca/adapter/port-links.ts';
import { PcbAllocator } from '../../hca/collect/pcb-allocator.ts';
import { DmaTiming } from '../../hca/function/dma-timing.ts';
import { TransmitVirtualLanes } from '../../hca/lane/transmit-virtual-lanes.ts';
import { SpecialQueuePairs } from '../../hca/queues/special-queue-pairs.ts';
import { TransportEngine, type TransportParts } from '../../hca/transport/engine/engine.ts';
import type { AdapterClock } from '../../host.ts';
import { AddressVectors } from './address-vectors.ts';
import { ReceiveFlusher } from './receive-flusher.ts';
import { type PostedSends, type RequestLoader, SendQueues } from './send-queues.ts';

/** Collect buffers of the send queues. */
const SEND_BUFFERS = 64;

/** What a personality brings. */
export interface PersonalityParts<Queue extends PostedSends>
  extends Pick<TransportParts, 'keys' | 'loans' | 'queuePairs' | 'groups'> {
  readonly clock: AdapterClock;
  readonly ports: readonly Port[];
  readonly mads: MadInterface;
  /** Makes the loader of requests, which keeps address vectors of datagrams in `addresses`. */
  readonly makeLoader: (addresses: AddressVectors) => RequestLoader<Queue>;
}

export class TransportUnits<Queue extends PostedSends> {
  readonly lanes: TransmitVirtualLanes;
  readonly sends: SendQueues<Queue>;
  readonly engine: TransportEngine;
  readonly flusher: ReceiveFlusher;
  readonly special = new SpecialQueuePairs();
  readonly links: PortLinks;

  constructor({ clock, ports, mads, makeLoader, ...parts }: PersonalityParts<Queue>) {
    const buffers = new PcbAllocator(SEND_BUFFERS, 1);
    const addresses = new AddressVectors(SEND_BUFFERS);
    const { laneCount, executionCredits, completionCredits } = defaultAdapterOptions;
    const credits = { executionCredits, completionCredits, listSize: SEND_BUFFERS };
    this.lanes = new TransmitVirtualLanes({ laneCount, functionCount: 1, ports, ...credits });
    this.sends = new SendQueues(buffers, this.lanes, makeLoader(addresses));
    this.engine = new TransportEngine({
      ...parts,
      removed: () => {},
      clock,
      ports,
      portsOfFunction: ports.length,
      lanes: this.lanes,
      timing: new DmaTiming(clock, {}),
      functionCount: 1,
      addresses,
      sends: this.sends,
      special: this.special,
    });
    this.flusher = new ReceiveFlusher(this.engine.life, clock);
    this.links = new PortLinks({ ports, switches: [] }, this.engine.receiver, [mads], clock);
  }

  /** At the start of a pass. */
  expire(): void {
    this.engine.expire();
    this.flusher.run();
  }
}
