// SPDX-License-Identifier: Apache-2.0
/**
 * Chaos over the data path of two mlx5 devices: connections of RC, UC, UD and XRC, some with an
 * SRQ, post random requests across a bad link, some of them wrong; QPs are failed, reset and
 * connected again at any time. Requests complete in their order, reliable messages arrive in theirs
 * and once, unreliable ones whole or not at all, atomics count exactly, and after a failure
 * everything that was posted is flushed. After each step requesters obey their rules. Called by
 * tests and `npm run simulate -- chaos`.
 */
import type { Cqe } from '../../../protocol/mlx5/gen/cqe.gen.ts';
import { CompletionOpcode, CompletionSyndrome, EventType, QpService } from '../../../protocol/mlx5/gen/values.gen.ts';
import { requesterOf } from '../../hca/transport/state/connected-states.ts';
import type { Mlx5Adapter } from '../../personality/mlx5/mlx5-adapter.ts';
import { SharedForm } from '../../personality/mlx5/queues/shared-receive-queue.ts';
import { Random } from '../../random.ts';
import type { FabricPlan } from '../../topology/fabric-plan.ts';
import { makeFabricMachine } from '../machine/fabric-machine.ts';
import type { InProcessMachine } from '../machine/machine.ts';
import { ChaosEnd, SharedEntries } from './chaos-end.ts';
import { DataFixture } from './driver/data-fixture.ts';
import { Mlx5Driver } from './driver/mlx5-driver.ts';
import { mlx5Node } from './driver/mlx5-fabric.ts';

const { REQUEST, REQUEST_ERROR } = CompletionOpcode;
const LIMIT_MAX = 6;
/** Acts of a seed. */
const ACTS = 1500;
const PSN_STEP = 100_003;
const PSN_END = 2 ** 24;

/** Two connected ends. */
class Connection {
  readonly ends: readonly [ChaosEnd, ChaosEnd];
  failed = false;
  starts = 0;

  constructor(...ends: [ChaosEnd, ChaosEnd]) {
    this.ends = ends;
  }
}

/** An SRQ, and the limit for which it is armed. */
interface Limited {
  readonly entries: SharedEntries;
  limit: number;
}

export class Mlx5Chaos {
  readonly devices: readonly Mlx5Adapter[];
  /** Counts of events, so that a run that tests nothing is noticed. */
  failures = 0;
  limits = 0;
  readonly #random: Random;
  readonly #machine: InProcessMachine;
  readonly #fixtures: readonly DataFixture[];
  readonly #shared: readonly Limited[];
  readonly #connections: readonly Connection[];
  /** QPs of the second device that take no more entries from the SRQ. */
  readonly #lastReached = new Set<number>();

  constructor(seed: number) {
    this.#random = new Random(seed);
    const { machine, devices } = makeChaosMachine(seed);
    this.#machine = machine;
    this.devices = devices;
    machine.onStep = () => this.#checkRequesters();
    this.#fixtures = devices.map((device, index) => new DataFixture(new Mlx5Driver(machine, index, device)));
    const [near, far] = this.#fixtures;
    this.#shared = [SharedForm.POOL, SharedForm.XRC].map((form) => ({
      entries: new SharedEntries(far, form),
      limit: 0,
    }));
    const [pool, xrc] = this.#shared.map(({ entries }) => entries);
    const connect = (service: number, shared?: SharedEntries): Connection =>
      new Connection(new ChaosEnd(near, service), new ChaosEnd(far, service, shared));
    this.#connections = [
      connect(QpService.RC),
      connect(QpService.RC, pool),
      connect(QpService.RC, pool),
      connect(QpService.UC),
      connect(QpService.UD),
      new Connection(
        new ChaosEnd(near, QpService.XRC, undefined, 'initiator'),
        new ChaosEnd(far, QpService.XRC, xrc, 'target'),
      ),
    ];
    for (const connection of this.#connections) this.#start(connection);
  }

  /** Messages that have arrived, by service. */
  get messages(): Readonly<Record<number, number>> {
    const counts: Record<number, number> = {};
    for (const { ends } of this.#connections)
      for (const { service, messages } of ends) counts[service] = (counts[service] ?? 0) + messages;
    return counts;
  }

  run(acts: number): void {
    this.act(acts);
    for (const connection of this.#connections) this.#restart(connection);
    this.#checkLimits();
  }

  /** Acts of all connections, of which some are left undone. */
  act(acts: number): void {
    for (let act = 0; act < acts; act++) {
      this.#act(this.#random.pick(this.#connections));
      if (this.#random.oneIn(20)) this.#takeEvents();
    }
  }

  #checkRequesters(): void {
    for (const { hca } of this.devices)
      for (const { qp } of hca.queuePairs.values()) {
        const error = requesterOf(qp)?.findError();
        if (error !== undefined) throw new Error(`QP ${qp.number}: ${error}`);
      }
  }

  #start({ ends: [first, second], starts }: Connection): void {
    const psn = (starts * PSN_STEP + 100) % PSN_END;
    first.qp.start(second.qp.number, second.fixture.lid, {}, psn);
    second.qp.start(first.qp.number, first.fixture.lid, {}, psn);
  }

  #act(connection: Connection): void {
    const random = this.#random;
    const [end, peer] = random.oneIn(2) ? connection.ends : [connection.ends[1], connection.ends[0]];
    if (connection.failed) return this.#restart(connection);
    switch (random.below(9)) {
      case 0:
      case 1:
      case 2:
        return end.postReceives(random);
      case 3:
      case 4:
        return end.postSends(random, peer);
      case 5:
        return this.#command(connection, end);
      default:
        this.#pass();
        this.#take(connection);
    }
  }

  /** Now and then an act that only the driver may do; otherwise time passes. */
  #command(connection: Connection, end: ChaosEnd): void {
    switch (this.#random.below(20)) {
      case 0:
        end.fail();
        connection.failed = true;
        return;
      case 1:
        return end.qp.setup.cq.arm();
      case 2:
      case 3: {
        // What is under way may still bring the event of the limit before.
        this.#machine.runUntilIdle();
        this.#takeEvents();
        const shared = this.#random.pick(this.#shared);
        shared.limit = this.#random.below(LIMIT_MAX);
        shared.entries.queue.arm(shared.limit);
        return;
      }
      default:
        return this.#pass();
    }
  }

  /** Steps, and time now and then. */
  #pass(): void {
    if (this.#random.oneIn(3)) {
      this.#machine.runUntilIdle();
      this.#machine.clock.jumpToAlarm();
    } else for (let steps = this.#random.below(4); steps >= 0; steps--) this.#machine.step();
  }

  #takeEvents(): void {
    for (const fixture of this.#fixtures)
      for (const { type, number } of fixture.takeEvents()) {
        if (type === EventType.LAST_WQE) this.#lastReached.add(number);
        if (type !== EventType.SRQ_LIMIT) continue;
        const shared = this.#shared.find(({ entries }) => entries.queue.number === number);
        if (shared === undefined || shared.limit === 0)
          throw new Error(`SRQ ${number} is not armed, and tells of its limit`);
        shared.limit = 0;
        this.limits++;
      }
  }

  #take(connection: Connection): void {
    const [first, second] = connection.ends;
    for (const [end, peer] of [
      [first, second],
      [second, first],
    ]) {
      const { cq } = end.qp.setup;
      for (let [entry] = cq.take(1); entry !== undefined; [entry] = cq.take(1)) {
        const syndrome = cq.syndromeAt(cq.consumed - 1);
        cq.tell();
        const wrong = this.#judge(end, peer, entry, syndrome);
        if (wrong !== undefined) throw new Error(`QP ${end.qp.number} (service ${end.service}): ${wrong}`);
        if (syndrome === 0) continue;
        connection.failed = true;
        end.failed = true;
        if (syndrome !== CompletionSyndrome.FLUSHED) this.failures++;
      }
    }
  }

  /** Describes the fault of a completion; undefined if there is none. */
  #judge(end: ChaosEnd, peer: ChaosEnd, entry: Cqe, syndrome: number): string | undefined {
    const { opcode, wqeCounter, byteCount } = entry;
    if (opcode === REQUEST || opcode === REQUEST_ERROR) {
      const posted = end.sends.shift();
      if (posted?.request !== wqeCounter) return `send ${wqeCounter} completes in the place of ${posted?.request}`;
      return syndrome === 0 ? end.checkSend(posted) : undefined;
    }
    const expected = end.isShared ? wqeCounter : end.receives.shift();
    if (wqeCounter !== expected) return `receive ${wqeCounter} completes in the place of ${expected}`;
    if (syndrome === 0 && end.failed && end.isReliable) return 'a receive succeeds behind a failure';
    const wrong = syndrome === 0 ? end.checkReceive(wqeCounter, byteCount, peer) : undefined;
    if (!end.complete(wqeCounter)) return `entry ${wqeCounter} of the SRQ was not posted`;
    return wrong;
  }

  /** Both ends fail, all that is posted is flushed, and they begin anew. */
  #restart(connection: Connection): void {
    this.#take(connection);
    connection.failed = true;
    this.#takeEvents();
    for (const end of connection.ends) end.fail();
    const isFlushed = (): boolean => {
      this.#take(connection);
      this.#takeEvents();
      return connection.ends.every((end) => end.outstanding === 0);
    };
    // A QP that goes straight to RESET keeps the entry of the SRQ that it has in hand.
    const isWaiting = connection.ends.some(({ isShared }) => isShared) || this.#random.oneIn(2);
    if (isWaiting) this.#machine.runUntil(isFlushed, 'the flush of all that was posted');
    const silent = connection.ends.find(({ tellsLast, qp }) => tellsLast && !this.#lastReached.has(qp.number));
    if (silent !== undefined) throw new Error(`QP ${silent.qp.number} has not told that it reached its last entry`);
    for (const end of connection.ends) {
      if (end.tellsLast) this.#lastReached.delete(end.qp.number);
      end.restart();
    }
    this.#machine.runUntilIdle();
    for (const { qp } of connection.ends) {
      qp.setup.cq.take();
      qp.setup.cq.tell();
    }
    connection.failed = false;
    connection.starts++;
    this.#start(connection);
  }

  /** An armed SRQ has posted its event once it had fewer entries than its limit. */
  #checkLimits(): void {
    this.#machine.runUntilIdle();
    this.#takeEvents();
    for (const { entries, limit } of this.#shared)
      if (entries.posted.size < limit)
        throw new Error(`the SRQ has ${entries.posted.size} entries and has not told that its limit is ${limit}`);
  }
}

/** Two devices at one link, which is bad for odd seeds. */
function makeChaosMachine(seed: number): { machine: InProcessMachine; devices: readonly Mlx5Adapter[] } {
  const faults = { drop: 0.02, duplicate: 0.02, reorder: 0.02, corrupt: 0.01, delay: 0.02 };
  const link = seed % 2 === 0 ? { kind: 'cable' as const } : { kind: 'faulty' as const, seed, delayNs: 1000, faults };
  const plan: FabricPlan = {
    adapters: [mlx5Node('m', 1), mlx5Node('n', 2)],
    switches: [],
    links: [{ ports: ['m:1', 'n:1'], link }],
    subnet: 'fixed',
  };
  const { machine, built } = makeFabricMachine(plan, { seed });
  return { machine, devices: built.adapters as Mlx5Adapter[] };
}

/** Runs one seed. Returns what is wrong. */
export function runMlx5Chaos(seed: number, acts = ACTS): string | undefined {
  try {
    new Mlx5Chaos(seed).run(acts);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
