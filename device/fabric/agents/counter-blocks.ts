// SPDX-License-Identifier: Apache-2.0
/**
 * Attributes of performance management that are counters of a port (IBTA 16.1.3.5, 16.1.4.1,
 * 16.1.4.2, 16.1.4.11). Each is a table of rows: a field, its bit in CounterSelect, its largest
 * value, and where the value comes from. The performance management agent reads and resets them.
 */
import {
  decodePortCounters,
  encodePortCounters,
  newPortCounters,
  type PortCounters,
} from '../../../protocol/infiniband/mad/gen/port-counters.gen.ts';
import {
  decodePortCountersExtended,
  encodePortCountersExtended,
  newPortCountersExtended,
  type PortCountersExtended,
} from '../../../protocol/infiniband/mad/gen/port-counters-extended.gen.ts';
import {
  decodePortReceiveErrorDetails,
  encodePortReceiveErrorDetails,
  newPortReceiveErrorDetails,
  type PortReceiveErrorDetails,
} from '../../../protocol/infiniband/mad/gen/port-receive-error-details.gen.ts';
import {
  decodePortTransmitDiscardDetails,
  encodePortTransmitDiscardDetails,
  newPortTransmitDiscardDetails,
  type PortTransmitDiscardDetails,
} from '../../../protocol/infiniband/mad/gen/port-transmit-discard-details.gen.ts';
import type { LinkEnd } from '../port/link.ts';

const BITS_4 = 0xf;
const BITS_8 = 0xff;
const BITS_16 = 0xffff;
const BITS_32 = 0xffffffff;
const BITS_53 = Number.MAX_SAFE_INTEGER;
/** Bytes of the VCRC, which data counters leave out. */
const VCRC_BYTES = 2;
const WORD_BYTES = 4;
/** Bits of CounterSelect2 follow those of CounterSelect. */
const SELECT_2 = 16;

/** A counter: field, bit of the selection, largest value, value of a port since power-on. */
type Row<R> = readonly [field: keyof R, select: number, max: number, read: (end: LinkEnd) => number];

/** An attribute of counters: how its record lies in a datagram, and its rows. */
export interface CounterBlock<R> {
  readonly fresh: () => R;
  readonly decode: (view: DataView, base: number, into: R) => R;
  readonly encode: (view: DataView, base: number, from: R) => void;
  readonly rows: readonly Row<R>[];
}

interface Selection {
  portSelect: number;
  counterSelect: number;
  counterSelect2?: number;
}

const receiveErrors = ({ counters }: LinkEnd): number =>
  counters.physicalErrors + counters.malformedPackets + counters.bufferOverruns;
const transmitDiscards = (end: LinkEnd): number => end.transmitDiscards;
/** Discards of no other cause that has a counter. */
const inactiveDiscards = ({ counters, transmitDiscards: all }: LinkEnd): number =>
  all - counters.mtuDiscards - counters.lifeTimeDiscards - counters.headOfQueueDiscards;
const sentMulticast = ({ transmitQueues }: LinkEnd): number => transmitQueues.transmittedMulticast;
const sentPackets = ({ transmitQueues }: LinkEnd): number => transmitQueues.transmittedPackets;
const sentWords = ({ transmitQueues }: LinkEnd): number =>
  (transmitQueues.transmittedBytes - VCRC_BYTES * transmitQueues.transmittedPackets) / WORD_BYTES;
const receivedPackets = ({ counters }: LinkEnd): number => counters.receivedPackets;
const receivedWords = ({ counters }: LinkEnd): number =>
  (counters.receivedBytes - VCRC_BYTES * counters.receivedPackets) / WORD_BYTES;
/** Times that a packet waited: the end has no clock of its own. */
const waits = ({ transmitQueues }: LinkEnd): number => transmitQueues.creditStalls;

/** Counters that the sampler can read, by CounterSelect of PortSamplesControl (IBTA 16.1.3.2). */
export const sampled: readonly ((end: LinkEnd) => number)[] = [
  () => 0,
  sentWords,
  receivedWords,
  sentPackets,
  receivedPackets,
  waits,
];

export const portCounters: CounterBlock<PortCounters> = {
  fresh: newPortCounters,
  decode: decodePortCounters,
  encode: encodePortCounters,
  rows: [
    ['symbolErrors', 0, BITS_16, ({ counters }) => counters.symbolErrors],
    ['linkRecoveries', 1, BITS_8, ({ counters }) => counters.linkRecoveries],
    ['linkDowned', 2, BITS_8, ({ counters }) => counters.linkDowned],
    ['receiveErrors', 3, BITS_16, receiveErrors],
    ['receiveRemotePhysicalErrors', 4, BITS_16, ({ counters }) => counters.remotePhysicalErrors],
    ['receiveSwitchRelayErrors', 5, BITS_16, ({ counters }) => counters.relayErrors],
    ['transmitDiscards', 6, BITS_16, transmitDiscards],
    ['transmitConstraintErrors', 7, BITS_8, ({ counters }) => counters.transmitConstraintErrors],
    ['receiveConstraintErrors', 8, BITS_8, ({ counters }) => counters.receiveConstraintErrors],
    ['linkIntegrityErrors', 9, BITS_4, ({ counters }) => counters.linkIntegrityErrors],
    ['bufferOverrunErrors', 10, BITS_4, ({ counters }) => counters.bufferOverruns],
    ['vl15Dropped', 11, BITS_16, ({ counters }) => counters.vl15Dropped],
    ['transmitData', 12, BITS_32, sentWords],
    ['receiveData', 13, BITS_32, receivedWords],
    ['transmitPackets', 14, BITS_32, sentPackets],
    ['receivePackets', 15, BITS_32, receivedPackets],
    ['transmitWait', SELECT_2, BITS_32, waits],
    ['qp1Dropped', SELECT_2 + 1, BITS_16, ({ counters }) => counters.qp1Dropped],
  ],
};

export const portCountersExtended: CounterBlock<PortCountersExtended> = {
  fresh: newPortCountersExtended,
  decode: decodePortCountersExtended,
  encode: encodePortCountersExtended,
  rows: [
    ['transmitData', 0, BITS_53, sentWords],
    ['receiveData', 1, BITS_53, receivedWords],
    ['transmitPackets', 2, BITS_53, sentPackets],
    ['receivePackets', 3, BITS_53, receivedPackets],
    ['unicastTransmitPackets', 4, BITS_53, (end) => sentPackets(end) - sentMulticast(end)],
    ['unicastReceivePackets', 5, BITS_53, ({ counters }) => counters.receivedPackets - counters.receivedMulticast],
    ['multicastTransmitPackets', 6, BITS_53, sentMulticast],
    ['multicastReceivePackets', 7, BITS_53, ({ counters }) => counters.receivedMulticast],
  ],
};

export const receiveErrorDetails: CounterBlock<PortReceiveErrorDetails> = {
  fresh: newPortReceiveErrorDetails,
  decode: decodePortReceiveErrorDetails,
  encode: encodePortReceiveErrorDetails,
  rows: [
    ['localPhysicalErrors', 0, BITS_16, ({ counters }) => counters.physicalErrors],
    ['malformedPacketErrors', 1, BITS_16, ({ counters }) => counters.malformedPackets],
    ['bufferOverrunErrors', 2, BITS_16, ({ counters }) => counters.bufferOverruns],
    ['dlidMappingErrors', 3, BITS_16, ({ counters }) => counters.unmappedLids],
    ['vlMappingErrors', 4, BITS_16, ({ counters }) => counters.unmappedLanes],
    ['loopingErrors', 5, BITS_16, ({ counters }) => counters.loopedPackets],
  ],
};

export const transmitDiscardDetails: CounterBlock<PortTransmitDiscardDetails> = {
  fresh: newPortTransmitDiscardDetails,
  decode: decodePortTransmitDiscardDetails,
  encode: encodePortTransmitDiscardDetails,
  rows: [
    ['inactiveDiscards', 0, BITS_16, inactiveDiscards],
    ['neighborMtuDiscards', 1, BITS_16, ({ counters }) => counters.mtuDiscards],
    ['lifeTimeDiscards', 2, BITS_16, ({ counters }) => counters.lifeTimeDiscards],
    ['headOfQueueDiscards', 3, BITS_16, ({ counters }) => counters.headOfQueueDiscards],
  ],
};

/** The values of one block at one port, as resets leave them. */
export class CounterValues<R extends object> {
  readonly #block: CounterBlock<R>;
  /** Values of the counters of the port when the field was 0. */
  readonly #zeros: Float64Array;

  constructor(block: CounterBlock<R>) {
    this.#block = block;
    this.#zeros = new Float64Array(block.rows.length);
  }

  /** Adds the counters of `end` to `into`; a counter stops at its largest value. */
  addTo(into: R, end: LinkEnd): void {
    for (const [index, [field, , max, read]] of this.#block.rows.entries()) {
      const sum = (into[field] as number) + read(end) - this.#zeros[index];
      (into[field] as number) = Math.min(max, sum);
    }
  }

  /** Sets the selected counters to the values in `from`. */
  set(from: R, end: LinkEnd): void {
    const { counterSelect, counterSelect2 = 0 } = from as Selection;
    for (const [index, [field, select, , read]] of this.#block.rows.entries()) {
      const isSelected =
        select < SELECT_2 ? (counterSelect >>> select) & 1 : (counterSelect2 >>> (select - SELECT_2)) & 1;
      if (isSelected === 1) this.#zeros[index] = read(end) - (from[field] as number);
    }
  }
}
