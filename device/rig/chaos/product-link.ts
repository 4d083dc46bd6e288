// SPDX-License-Identifier: Apache-2.0
/**
 * The adapter's own `FaultyLink` as the wire of a chaos run. The adapters drive it themselves; its
 * ports go down when it flaps. Used by `network.ts`.
 */
import { FaultyLink } from '../../fabric/link/faulty-link.ts';
import type { FaultyLinkOptions } from '../../fabric/link/link-options.ts';
import type { Port } from '../../fabric/port/port.ts';
import type { Random } from '../../random.ts';
import { psnOf, type Wire } from './faulty-wire.ts';
import type { WirePlan } from './plan.ts';
import type { Trace } from './trace.ts';

const LIMIT = 64;
/** Few enough for flow control to take effect. */
const ROOM = { bufferPackets: 8, flightPackets: 8 };
const FAST_BITS_PER_SECOND = 1e11;

/** Both directions of the link. */
export class ProductLink implements Wire {
  readonly #a: Port;
  readonly #b: Port;
  readonly #plan: WirePlan;
  readonly #random: Random;
  #link: FaultyLink;
  /** The link has given work to a port. */
  #woken = false;

  constructor(a: Port, b: Port, plan: WirePlan, random: Random, trace: Trace) {
    this.#a = a;
    this.#b = b;
    this.#plan = plan;
    this.#random = random;
    for (const port of [a, b]) {
      port.onWork = () => {
        this.#woken = true;
      };
      port.observer = (_, outgoing, bytes, offset, lengthBytes) =>
        trace.add(
          0,
          `LID ${port.lid} ${outgoing ? 'sends' : 'gets'}`,
          lengthBytes,
          bytes[offset + 8],
          psnOf(bytes, offset),
        );
    }
    this.#link = new FaultyLink(a, b, optionsOf(plan), random);
  }

  get nextNs(): number {
    return this.#link.nextNs;
  }

  carry(nowNs: number): boolean {
    const moved = this.#link.carry(nowNs, LIMIT) > 0 || this.#woken;
    this.#woken = false;
    return moved;
  }

  /** Replaces the link unless it is good already: packets in flight are lost for the last time. */
  heal(): void {
    const { drop, duplicate, reorder, corrupt, delayNs, bitsPerSecond, flaps } = this.#plan;
    if (drop + duplicate + reorder + corrupt + flaps.length === 0) return;
    this.#link = new FaultyLink(this.#a, this.#b, { ...ROOM, delayNs, bitsPerSecond }, this.#random);
  }
}

function optionsOf({
  drop,
  duplicate,
  reorder,
  corrupt,
  delayNs,
  jitterNs,
  bitsPerSecond,
  flaps,
}: WirePlan): Partial<FaultyLinkOptions> {
  const late = Math.max(1, jitterNs);
  const inOrder = [...flaps].sort(([left], [right]) => left - right);
  return {
    bitsPerSecond: bitsPerSecond === 0 && delayNs === 0 ? FAST_BITS_PER_SECOND : bitsPerSecond,
    delayNs,
    faults: { drop, duplicate, reorder, corrupt, delay: reorder },
    ...ROOM,
    lateNs: late,
    reorderNs: late,
    flaps: inOrder
      .filter(([start], index) => inOrder.slice(0, index).every(([, end]) => end <= start))
      .map(([start, end]) => ({ atNs: start, lengthNs: end - start })),
  };
}
