// SPDX-License-Identifier: Apache-2.0
/**
 * What a front end gives to the transport (docs/PERSONALITIES.md): its ports, lanes and clock, and
 * its ways to keys, address vectors, send queues and queue pairs. The adapter's own front end and
 * that of a personality differ only in these.
 */
import type { DmaTiming } from '../function/dma-timing.ts';
import type { AdapterClock } from '../host.ts';
import type { TransmitVirtualLanes } from '../lane/transmit-virtual-lanes.ts';
import type { Port } from '../port/port.ts';
import type { KeyLookup } from '../protection/key-lookup.ts';
import type { GroupLookup } from '../queues/multicast-groups.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import type { SendSource } from '../queues/send-source.ts';
import type { SpecialQueuePairs } from '../queues/special-queue-pairs.ts';
import type { AddressSource } from './address-source.ts';

/** The queue pairs by the number in packets. */
export interface QueuePairLookup {
  get(number: number): QueuePair | undefined;
}

export interface TransportParts {
  readonly clock: AdapterClock;
  readonly ports: readonly Port[];
  readonly lanes: TransmitVirtualLanes;
  /** How long reads of guest memory take. */
  readonly timing: DmaTiming;
  readonly functionCount: number;
  readonly keys: KeyLookup;
  readonly addresses: AddressSource;
  readonly sends: SendSource;
  readonly queuePairs: QueuePairLookup;
  readonly groups: GroupLookup;
  /** QP0 and QP1 of the ports. */
  readonly special: SpecialQueuePairs;
  /** A queue pair has left all units and is released: it leaves the tables of the front end. */
  removed(qp: QueuePair): void;
}
