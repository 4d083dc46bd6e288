// SPDX-License-Identifier: Apache-2.0
/**
 * Options of links (docs/TOPOLOGY.md): a faulty link, the link between the two ports of an adapter,
 * and a link to another process. They are plain data: links inside an adapter are part of its
 * recordings.
 */
import { LARGEST_MTU_BYTES, mtuBytes, mtuCode } from '../../../protocol/infiniband/mtu.ts';

/**
 * Faults of one packet. `delay`: it lands late, and so do all packets behind it; `reorder`: later
 * packets overtake it.
 */
export type LinkFault = 'drop' | 'duplicate' | 'reorder' | 'corrupt' | 'delay';

export const linkFaults: readonly LinkFault[] = ['drop', 'duplicate', 'reorder', 'corrupt', 'delay'];

/** A scheduled fault. Exactly one of `packet` and `atNs` selects its packet. */
export interface ScheduledFault {
  readonly fault: LinkFault;
  /** 0: packets from the first port; 1: packets from the second. */
  readonly direction: 0 | 1;
  /** Number of the packet in its direction, from 0. */
  readonly packet?: number;
  /** Selects the first packet that leaves at this time or later. */
  readonly atNs?: number;
  /**
   * For `corrupt`: the byte to change, counted from the LRH, and the bits to flip in it; otherwise
   * random.
   */
  readonly byte?: number;
  readonly flip?: number;
}

/** A time during which the link is down. */
interface Flap {
  readonly atNs: number;
  readonly lengthNs: number;
}

/** Options of a faulty link, for both directions. */
export interface FaultyLinkOptions {
  /** Largest payload; longer packets are lost. */
  readonly mtuBytes: number;
  /** Rate; 0: sending takes no time. */
  readonly bitsPerSecond: number;
  /** Time from the last bit sent to the arrival. */
  readonly delayNs: number;
  /** Probability of each fault per packet. */
  readonly faults: Readonly<Partial<Record<LinkFault, number>>>;
  /** A delayed packet is late by 1 to this many ns. */
  readonly lateNs: number;
  /**
   * At most this many packets overtake a reordered one, which waits at most `reorderNs` for them.
   */
  readonly reorderWindow: number;
  readonly reorderNs: number;
  readonly schedule: readonly ScheduledFault[];
  /** Flaps in order of time; random flaps follow after the last one. */
  readonly flaps: readonly Flap[];
  /** Random flaps: mean time between two and mean length; 0: none. */
  readonly flapEveryNs: number;
  readonly flapLengthNs: number;
  /** Receive buffer of each VL in blocks of 64 bytes, and in packets. */
  readonly bufferBlocks: number;
  readonly bufferPackets: number;
  /** Largest number of packets in flight in one direction. */
  readonly flightPackets: number;
}

export const defaultFaultyLinkOptions: FaultyLinkOptions = {
  mtuBytes: LARGEST_MTU_BYTES,
  bitsPerSecond: 0,
  delayNs: 0,
  faults: {},
  lateNs: 10_000,
  reorderWindow: 4,
  reorderNs: 10_000,
  schedule: [],
  flaps: [],
  flapEveryNs: 0,
  flapLengthNs: 0,
  bufferBlocks: 2048,
  bufferPackets: 64,
  flightPackets: 64,
};

/** The link between the two ports of an adapter. */
export type PortLinkOptions =
  | { readonly kind: 'none' }
  | { readonly kind: 'cable' }
  | ({ readonly kind: 'faulty'; readonly seed: number } & Partial<FaultyLinkOptions>);

/** Options of a link to another process, which `StreamLink` takes. */
export interface StreamLinkOptions {
  /** Receive buffer of each VL: blocks of 64 bytes, and packets. */
  readonly bufferBlocks: number;
  readonly bufferPackets: number;
  /**
   * An idle side sends a keepalive this often; a peer that is silent twenty times as long is given
   * up. A process that ends closes its socket: this is for hosts that vanish, so it may take long,
   * and a process on a busy machine is not taken for one.
   */
  readonly keepaliveNs: number;
  /** Properties and faults of what goes out by the link; none when absent. */
  readonly outgoing?: Partial<FaultyLinkOptions> & { readonly seed: number };
}

export const defaultStreamLinkOptions: StreamLinkOptions = {
  bufferBlocks: 2048,
  // As many as blocks: any packet may be of one block, so fewer would bound the credits.
  bufferPackets: 2048,
  keepaliveNs: 1_000_000_000,
};

const RANGES: readonly [keyof FaultyLinkOptions, number, number][] = [
  ['bitsPerSecond', 0, 1e13],
  ['delayNs', 0, 1e12],
  ['lateNs', 1, 1e12],
  ['reorderWindow', 1, 64],
  ['reorderNs', 1, 1e12],
  ['flapEveryNs', 0, 1e15],
  ['flapLengthNs', 0, 1e15],
  // The largest packet must fit.
  ['bufferBlocks', 68, 1 << 16],
  ['bufferPackets', 1, 1024],
  ['flightPackets', 2, 1024],
];

const STREAM_RANGES: readonly [Exclude<keyof StreamLinkOptions, 'outgoing'>, number, number][] = [
  ['bufferBlocks', 68, 1 << 16],
  ['bufferPackets', 1, 1 << 16],
  ['keepaliveNs', 1, 1e15],
];

/** As `findLinkOptionError`, for a link to another process. */
export function findStreamOptionError(options: Partial<StreamLinkOptions> = {}): string | undefined {
  const all = { ...defaultStreamLinkOptions, ...options };
  return findRangeError(all, STREAM_RANGES) ?? (all.outgoing && findLinkOptionError(all.outgoing));
}

/** Returns a sentence about the first option out of range, or undefined. */
export function findLinkOptionError(options: Partial<FaultyLinkOptions>): string | undefined {
  const all = { ...defaultFaultyLinkOptions, ...options };
  const error = findRangeError(all, RANGES);
  if (error !== undefined) return error;
  if (mtuBytes(mtuCode(all.mtuBytes)) !== all.mtuBytes)
    return `link option mtuBytes is ${all.mtuBytes}; it must be 256, 512, 1024, 2048 or 4096`;
  for (const [fault, probability] of Object.entries(all.faults)) {
    if (!(probability >= 0 && probability <= 1))
      return `link fault ${fault} has probability ${probability}; it must be 0 to 1`;
  }
  const vague = all.schedule.findIndex(({ packet, atNs }) => (packet === undefined) === (atNs === undefined));
  if (vague >= 0) return `scheduled link fault ${vague} must say either packet or atNs`;
  const early = all.flaps.findIndex(({ atNs, lengthNs }, index) => {
    const before = all.flaps[index - 1];
    return !(lengthNs > 0) || atNs < (before === undefined ? 0 : before.atNs + before.lengthNs);
  });
  return early < 0 ? undefined : `link flap ${early} has no length or begins before the one before it ended`;
}

function findRangeError<Options>(
  options: Options,
  ranges: readonly (readonly [name: keyof Options & string, low: number, high: number])[],
): string | undefined {
  for (const [name, low, high] of ranges) {
    const value = options[name] as number;
    if (!(value >= low && value <= high)) return `link option ${name} is ${value}; it must be ${low} to ${high}`;
  }
  return undefined;
}
