// SPDX-License-Identifier: Apache-2.0
/**
 * Two adapters, or two ports of one adapter, joined by a bad wire, on one simulated clock. Built
 * and driven by `run.ts`.
 */
import type { Random } from '../../random.ts';
import { AdapterFixture } from '../fixtures/adapter-fixture.ts';
import { findBadRequester } from '../fixtures/invariants.ts';
import { FaultyCable, type Wire } from './faulty-wire.ts';
import type { Plan, WirePlan } from './plan.ts';
import { ProductLink } from './product-link.ts';
import type { Trace } from './trace.ts';

const MEMORY_BYTES = 1 << 22;
/**
 * Guest memory of the two adapters, reused by every run: allocating and freeing megabytes costs
 * more than a run.
 */
const MEMORIES = [new Uint8Array(MEMORY_BYTES), new Uint8Array(MEMORY_BYTES)] as const;
/** DMA contexts of adapters whose reads take time: few, so that reads wait for each other. */
const DMA_CONTEXTS = 6;
const ADAPTER = {
  portQueuePackets: 24,
  pcbCount: 24,
  pcbGuaranteed: [4, 4],
  vcbCount: 16,
  schedulerBufferCount: 4,
  /** More than the QPs of a side: each QP has a lane of its own. */
  laneCount: 8,
} as const;
/** Most reads that wait one after another when the QPs of a side are flushed. */
const READS_IN_A_ROW = 100;
const ROUNDS_MAX = 20_000;
/** Rounds between two checks of the invariants. */
const CHECK_INTERVAL = 16;

/** Both sides and the wire. */
export class Network {
  readonly sides: readonly [WireSide, WireSide];
  readonly fixtures: readonly AdapterFixture[];
  readonly wire: Wire;
  readonly #latencyNs: number;
  #rounds = 0;

  /** `dmaLatencyNs`: time that reads of guest memory take; `adapters`: used instead of new ones. */
  constructor(plan: Plan, random: Random, trace: Trace, dmaLatencyNs: number, adapters?: Adapters) {
    this.#latencyNs = dmaLatencyNs;
    const { seed, twoAdapters } = plan;
    const first = adapters?.[0] ?? newAdapter(0, seed, dmaLatencyNs);
    const second = twoAdapters ? (adapters?.[1] ?? newAdapter(1, seed, dmaLatencyNs)) : first;
    this.fixtures = twoAdapters ? [first, second] : [first];
    this.sides = [
      { fixture: first, port: 1 },
      { fixture: second, port: twoAdapters ? 1 : 2 },
    ];
    const [a, b] = this.sides.map(({ fixture, port }) => {
      const { ports } = fixture.machine.device;
      for (const other of ports) other.plug(undefined);
      return ports[port - 1];
    });
    if (a === undefined || b === undefined) throw new Error('An adapter has two ports.');
    const wire = delay(plan.wire, this.nowNs);
    this.wire = new (wire.isProduct ? ProductLink : FaultyCable)(a, b, wire, random, trace);
  }

  get nowNs(): number {
    return this.sides[0].fixture.machine.clock.now();
  }

  /** Advances by `lengthNs`, with all alarms and arrivals on the way. */
  run(lengthNs: number): void {
    const endNs = this.nowNs + lengthNs;
    this.work();
    for (let next = this.#nextNs(); next <= endNs; next = this.#nextNs()) {
      this.#advance(next);
      this.work();
    }
    this.#advance(endNs);
    this.work();
  }

  /**
   * Advances until nothing is pending, at most by `limitNs`. Returns false when something is still
   * pending.
   */
  runDry(limitNs: number): boolean {
    const endNs = this.nowNs + limitNs;
    this.work();
    for (let next = this.#nextNs(); next !== Number.POSITIVE_INFINITY; next = this.#nextNs()) {
      if (next > endNs) {
        this.#advance(endNs);
        return false;
      }
      this.#advance(next);
      this.work();
    }
    return true;
  }

  /** Does all work that is possible without the passage of time. */
  work(): void {
    const lastRound = this.#rounds + ROUNDS_MAX;
    for (let moved = true; moved; ) {
      if (++this.#rounds > lastRound) throw new Error(`The network does not come to rest in ${ROUNDS_MAX} rounds`);
      for (const fixture of this.fixtures) {
        fixture.settle();
        if (this.#rounds % CHECK_INTERVAL === 0) fixture.checkInvariants();
      }
      moved = this.wire.carry(this.nowNs);
    }
  }

  /** Does all work, and lets the reads of guest memory that it needs end. */
  finishReads(): void {
    this.work();
    if (this.#latencyNs > 0) this.run(READS_IN_A_ROW * this.#latencyNs);
  }

  #nextNs(): number {
    let next = this.wire.nextNs;
    for (const { machine } of this.fixtures) next = Math.min(next, machine.clock.alarmNs);
    return Math.max(this.nowNs, next);
  }

  #advance(toNs: number): void {
    for (const { machine } of this.fixtures) machine.clock.advance(Math.max(0, toNs - machine.clock.now()));
  }
}

/** One side: an adapter and a port of it. */
export interface WireSide {
  readonly fixture: AdapterFixture;
  /** Port of the wire, 1 or 2. */
  readonly port: number;
}

/** Two adapters that several networks use, one after the other. */
export type Adapters = readonly [AdapterFixture, AdapterFixture];

/** The first or the second adapter of a network. */
export function newAdapter(index: 0 | 1, seed: number, dmaLatencyNs: number): AdapterFixture {
  const fixture = new AdapterFixture({
    seed,
    memoryBytes: MEMORY_BYTES,
    memory: [MEMORIES[index]],
    adapter: {
      ...ADAPTER,
      portLids: [index + 1, index + 2],
      ...(dmaLatencyNs === 0 ? {} : { dmaLatencyNs, dmaContexts: DMA_CONTEXTS }),
    },
  });
  const { device } = fixture.machine;
  // The other invariants cost more: `Network.work` checks them now and then.
  fixture.machine.onStep = () => {
    const broken = findBadRequester(device);
    if (broken !== undefined) throw new Error(broken);
  };
  return fixture;
}

/** The same wire, beginning at `nowNs`. */
function delay(wire: WirePlan, nowNs: number): WirePlan {
  return { ...wire, flaps: wire.flaps.map(([start, end]) => [start + nowNs, end + nowNs] as const) };
}
