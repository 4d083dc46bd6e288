// SPDX-License-Identifier: Apache-2.0
/**
 * One chaos run of one seed: several connections over a bad wire, random requests, mishaps. Then
 * the wire heals and all requests must complete. The oracle checks every completion, every byte of
 * exposed memory and every resource held. The same seed gives the same run. Called by
 * `chaos.test.ts`, `npm run simulate -- chaos` and `npm run simulate -- digests`.
 */
import { PSN_MASK } from '../../../protocol/infiniband/psn.ts';
import { QpState } from '../../../protocol/layout/gen/values.gen.ts';
import { Random } from '../../random.ts';
import { findLeak } from '../fixtures/invariants.ts';
import { Endpoint } from './endpoint.ts';
import { type Adapters, Network } from './network.ts';
import { drawPlan, type Mishap, type Plan } from './plan.ts';
import { SideQueues } from './side-queues.ts';
import { Trace } from './trace.ts';

/** Simulated time within which a run must end after the wire has healed. */
const END_NS = 20e9;
/** Time between two polls by software at the end of a run. */
const PAUSE_NS = 1e6;
const RECEIVES = 16;
/** In a run with pauses, a pause follows one request in this many. */
const PAUSED = 20;
/**
 * Distance of the PSNs of a connection from those of the previous one. The reconnections of a run
 * do not wrap around to the first PSNs.
 */
const PSN_GAP = 0x300000;
const PSN_SPREAD = 0x1000;

/** The result of a run; `error` is undefined if it passed. */
interface ChaosResult {
  readonly seed: number;
  readonly plan: Plan;
  readonly trace: Trace;
  readonly error: string | undefined;
}

/** Options of a run besides its seed. */
export interface ChaosOptions {
  /** Keeps the lines of the trace. */
  readonly keepTrace?: boolean;
  /** Time that reads of guest memory take. */
  readonly dmaLatencyNs?: number;
  /** Adapters whose functions have just been brought up, instead of new ones. */
  readonly adapters?: Adapters;
  /** Longest pause behind a request; 0: no pauses. */
  readonly pauseNs?: number;
  /** The requests include FLUSH and ATOMIC WRITE. */
  readonly placement?: boolean;
}

/** Runs one seed. Never throws: the result holds the error. */
export function runChaos(seed: number, options: ChaosOptions = {}): ChaosResult {
  const { keepTrace = false, placement = false } = options;
  const random = new Random(seed);
  const plan = drawPlan(seed, random, placement);
  const trace = new Trace(keepTrace);
  let error: string | undefined;
  try {
    new ChaosRun(plan, random, trace, options).run();
  } catch (cause) {
    error = cause instanceof Error ? (keepTrace ? cause.stack : cause.message) : String(cause);
  }
  return { seed, plan, trace, error };
}

function connect(a: Endpoint, b: Endpoint, psn: number, otherPsn: number): void {
  a.connect(b, psn, otherPsn);
  b.connect(a, otherPsn, psn);
}

class ChaosRun {
  readonly #plan: Plan;
  readonly #random: Random;
  readonly #trace: Trace;
  readonly #network: Network;
  readonly #queues: readonly SideQueues[];
  readonly #ends: Endpoint[] = [];
  readonly #pauseNs: number;

  constructor(plan: Plan, random: Random, trace: Trace, { dmaLatencyNs = 0, pauseNs = 0, adapters }: ChaosOptions) {
    this.#plan = plan;
    this.#random = random;
    this.#trace = trace;
    this.#pauseNs = pauseNs;
    this.#network = new Network(plan, random.fork(), trace, dmaLatencyNs, adapters);
    this.#queues = this.#network.sides.map(({ fixture }) => new SideQueues(fixture, plan));
    plan.connections.forEach((connection, index) => {
      const [a, b] = this.#network.sides.map((side, end) => {
        const name = `${index}${'ab'[end]}`;
        return new Endpoint(name, side, this.#queues[end] as SideQueues, connection, plan.wire, random.fork(), trace);
      }) as [Endpoint, Endpoint];
      connect(a, b, ...connection.psns);
      this.#ends.push(a, b);
    });
  }

  run(): void {
    for (const end of this.#ends) end.receive();
    this.#network.work();
    for (let action = 0; action < this.#plan.actions; action++) {
      this.#act();
      for (const { action: at, mishap, connection, end } of this.#plan.mishaps) {
        if (at === action) this.#apply(mishap, this.#ends[2 * connection + end] as Endpoint);
      }
      this.#network.run(this.#random.below(2 * this.#plan.meanGapNs));
      if (this.#pauseNs > 0 && this.#random.oneIn(PAUSED)) this.#network.run(this.#random.below(this.#pauseNs));
    }
    this.#finish();
  }

  #act(): void {
    const random = this.#random;
    const end = random.pick(this.#ends);
    const turns = random.oneIn(4) ? random.between(2, 8) : 1;
    for (let turn = 0; turn < turns; turn++) end.send();
    if (!random.oneIn(3)) random.pick(this.#ends).reap();
    if (random.oneIn(2)) random.pick(this.#ends).receive();
    if (random.oneIn(5)) random.pick(this.#ends).resume();
    if (random.oneIn(4)) random.pick(this.#ends).rebind();
  }

  #apply(mishap: Mishap, end: Endpoint): void {
    if (end.isDead && mishap !== 'reconnect') return;
    this.#trace.add(this.#network.nowNs, `${end.name}: ${mishap}`);
    switch (mishap) {
      case 'bad request':
        // The other end refuses the request and fails.
        end.markOther();
        return end.send(true);
      case 'error':
        end.mayFail = true;
        end.isStopped = true;
        return end.toState(QpState.ERR);
      case 'reset':
        end.markDead();
        return end.qp.toReset();
      case 'deregister':
        end.mayFail = true;
        return end.memory.deregister();
      case 'revoke':
        return end.revoke();
      case 'drain':
        return end.drain();
      case 'reconnect':
        return this.#reconnect(end);
      case 'function reset':
        return this.#resetFunction(end);
    }
  }

  /**
   * Both QPs go through RESET and are connected again while packets of the old connection are in
   * flight. The new PSNs are far from the old ones, as they must be when software does not wait
   * until all old packets are gone.
   */
  #reconnect(end: Endpoint): void {
    const { other } = end;
    const pair = [end, other];
    if (pair.some(({ isGone, mayOverflow, memory }) => isGone || mayOverflow || memory.isFrozen)) return;
    for (const one of pair) one.disconnect();
    for (const one of pair) one.checkDelivered();
    for (const one of pair) one.restart();
    const [psn, otherPsn] = pair.map((one) => (one.psn + PSN_GAP + this.#random.below(PSN_SPREAD)) & PSN_MASK) as [
      number,
      number,
    ];
    connect(end, other, psn, otherPsn);
    this.#network.work();
  }

  #resetFunction(end: Endpoint): void {
    const { machine } = end.side.fixture;
    machine.reset(0, 'function');
    for (const other of this.#ends)
      if (other.side.fixture === end.side.fixture) {
        other.markDead();
        other.isGone = true;
      }
  }

  #finish(): void {
    const network = this.#network;
    network.wire.heal();
    for (const end of this.#ends) {
      end.resume();
      end.sendLast();
    }
    const endNs = network.nowNs + END_NS;
    let stuck = false;
    while (this.#ends.some((end) => end.isWaiting)) {
      const before = this.#progress();
      for (const end of this.#ends) end.receive(RECEIVES);
      const dry = network.runDry(PAUSE_NS);
      for (const end of this.#ends) end.reap();
      // Twice: the receive entries posted in the first round may have been missing.
      if (dry && stuck && before === this.#progress()) throw new Error(`${this.#waiting()} hangs: no timer, no packet`);
      stuck = dry && before === this.#progress();
      if (network.nowNs > endNs) throw new Error(`${this.#waiting()} never ends`);
    }
    this.#close();
  }

  #progress(): number {
    return this.#ends.reduce((sum, { progress }) => sum + progress, 0);
  }

  #waiting(): string {
    return this.#ends
      .filter(({ isWaiting }) => isWaiting)
      .map(({ name, sender }) => `${name} (${sender.completed} of ${sender.operations.length} sends)`)
      .join(', ');
  }

  #close(): void {
    const network = this.#network;
    for (const end of this.#ends) {
      end.reap();
      end.mayFail = true;
      end.toState(QpState.ERR);
      end.ring();
    }
    network.finishReads();
    for (const end of this.#ends) end.reap();
    for (const end of this.#ends) {
      end.checkComplete();
      end.checkDelivered();
    }
    network.runDry(PAUSE_NS);
    for (const queues of this.#queues) {
      const lost = queues.findLost();
      if (lost !== undefined) throw new Error(lost);
    }
    for (const fixture of network.fixtures) {
      const overrun = fixture.driver.allocator.findOverrun();
      if (overrun !== undefined) throw new Error(`The device wrote out of bounds at 0x${overrun.toString(16)}`);
      const leak = findLeak(fixture.access);
      if (leak !== undefined) throw new Error(leak);
    }
  }
}
