// SPDX-License-Identifier: Apache-2.0
/**
 * Chaos over the data path of an mthca device: connections of RC, UC and UD, some with an SRQ, post
 * random requests across a bad link, some of them wrong; QPs are drained, failed, reset and
 * connected again at any time, and CQs are resized. Requests complete in their order, reliable
 * messages arrive in theirs and once, unreliable ones whole or not at all, atomics count exactly,
 * and after a failure everything that was posted is flushed. After each step requesters obey their
 * rules. Called by tests and `npm run simulate -- chaos`.
 */
import { CommandOpcode, CompletionSyndrome, EventKind, QpService } from '../../../protocol/mthca/gen/values.gen.ts';
import { requesterOf } from '../../hca/transport/state/connected-states.ts';
import { Random } from '../../random.ts';
import type { InProcessMachine } from '../machine/machine.ts';
import { ChaosEnd, MthcaSharedEntries } from './chaos-end.ts';
import type { TakenCompletion } from './driver/completion-queue.ts';
import { DataFixture } from './driver/data-fixture.ts';
import { MthcaDriver, makeMthcaMachine } from './driver/mthca-driver.ts';
import { DriverSharedQueue } from './driver/shared-queue.ts';

const FAILED_SEND = 0xff;
const UAR = 1;
const LIMIT_MAX = 6;
const CQ_SIZES = [6, 7, 8];
const RESIZES_MAX = 8;
/** Acts of a seed. */
const ACTS = 1500;

/** Two connected ends. */
class Connection {
  readonly ends: readonly [ChaosEnd, ChaosEnd];
  failed = false;
  starts = 0;

  constructor(...ends: [ChaosEnd, ChaosEnd]) {
    this.ends = ends;
  }
}

export class MthcaChaos {
  readonly fixture: DataFixture;
  /** Counts of events, so that a run that tests nothing is noticed. */
  failures = 0;
  limits = 0;
  readonly #random: Random;
  readonly #shared: MthcaSharedEntries;
  readonly #connections: readonly Connection[];
  /** Limit for which the SRQ is armed. */
  #limit = 0;
  #resizes = 0;
  /** QPs that take no more entries from the SRQ. */
  readonly #lastReached = new Set<number>();

  /** `driver`: of a device at power-on, in the place of one whose link depends on the seed. */
  constructor(seed: number, driver = new MthcaDriver(makeChaosMachine(seed))) {
    this.#random = new Random(seed);
    this.fixture = new DataFixture({}, driver);
    const { fixture } = this;
    fixture.driver.machine.onStep = () => this.#checkRequesters();
    this.#shared = new MthcaSharedEntries(fixture, new DriverSharedQueue(fixture.driver, fixture.takeRecords(UAR)));
    const connect = (service: number, shared?: MthcaSharedEntries): Connection =>
      new Connection(new ChaosEnd(fixture, service, 1), new ChaosEnd(fixture, service, 2, shared));
    this.#connections = [
      connect(QpService.RC),
      connect(QpService.RC, this.#shared),
      connect(QpService.RC, this.#shared),
      connect(QpService.UC),
      connect(QpService.UD),
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
    this.#checkLimit();
  }

  /** Acts of all connections, of which some are left undone. */
  act(acts: number): void {
    for (let act = 0; act < acts; act++) {
      this.#act(this.#random.pick(this.#connections));
      if (this.#random.oneIn(20)) this.#takeEvents();
    }
  }

  #checkRequesters(): void {
    for (const { data } of this.fixture.driver.device.hca.queuePairs.values()) {
      const error = data && requesterOf(data.qp)?.findError();
      if (error !== undefined) throw new Error(`QP ${data?.qp.number}: ${error}`);
    }
  }

  #start({ ends: [first, second], starts }: Connection): void {
    const psn = (starts * 100_003 + 100) % 2 ** 24;
    first.qp.start(second.qp.number, second.port, {}, psn);
    second.qp.start(first.qp.number, first.port, {}, psn);
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
    const { driver } = this.fixture;
    switch (this.#random.below(40)) {
      case 0:
        end.qp.fail();
        connection.failed = true;
        return;
      case 1:
      case 2:
        return this.#drain(end);
      case 3:
        if (this.#resizes++ < RESIZES_MAX) end.qp.cq.resize(this.#random.pick(CQ_SIZES));
        return;
      case 4:
      case 5:
        return end.qp.cq.arm();
      case 6:
      case 7:
        this.#takeEvents();
        this.#limit = this.#random.below(LIMIT_MAX);
        driver.expect(CommandOpcode.ARM_SRQ, { input: this.#limit, modifier: this.#shared.queue.number });
        return;
      default:
        return this.#pass();
    }
  }

  /** Stops a send queue for a while. A QP that has failed refuses. */
  #drain({ qp: { number } }: ChaosEnd): void {
    const { driver } = this.fixture;
    const input = new Uint8Array(0x200);
    driver.command(CommandOpcode.RTS2SQD_QP, { input, modifier: number });
    this.#pass();
    driver.command(CommandOpcode.SQD2RTS_QP, { input, modifier: number });
  }

  /** Steps, and time now and then. */
  #pass(): void {
    const { machine } = this.fixture.driver;
    if (this.#random.oneIn(3)) {
      machine.runUntilIdle();
      machine.clock.jumpToAlarm();
    } else for (let steps = this.#random.below(4); steps >= 0; steps--) machine.step();
  }

  #takeEvents(): void {
    for (const { kind, number } of this.fixture.takeEvents()) {
      if (kind === EventKind.LAST_WQE_REACHED) this.#lastReached.add(number);
      if (kind !== EventKind.SRQ_LIMIT) continue;
      if (this.#limit === 0) throw new Error('an SRQ that is not armed tells of its limit');
      this.#limit = 0;
      this.limits++;
    }
  }

  #take(connection: Connection): void {
    const [first, second] = connection.ends;
    for (const [end, peer] of [
      [first, second],
      [second, first],
    ])
      for (const completion of end.qp.take()) {
        const wrong = this.#judge(end, peer, completion);
        if (wrong !== undefined) throw new Error(`QP ${end.qp.number} (service ${end.service}): ${wrong}`);
        const { syndrome } = completion;
        if (syndrome === 0) continue;
        connection.failed = true;
        end.failed = true;
        if (syndrome !== CompletionSyndrome.FLUSHED) this.failures++;
      }
  }

  /** Describes the fault of a completion; undefined if there is none. */
  #judge(end: ChaosEnd, peer: ChaosEnd, completion: TakenCompletion): string | undefined {
    const { isSend, request, syndrome, opcode, byteCount } = completion;
    if (syndrome === 0 ? isSend === 1 : opcode === FAILED_SEND) {
      const posted = end.sends.shift();
      if (posted?.request !== request) return `send ${request} completes in the place of ${posted?.request}`;
      return syndrome === 0 ? end.checkSend(posted) : undefined;
    }
    const expected = end.isShared ? request : end.receives.shift();
    if (request !== expected) return `receive ${request} completes in the place of ${expected}`;
    if (syndrome === 0 && end.failed && end.isReliable) return 'a receive succeeds behind a failure';
    const wrong = syndrome === 0 ? end.checkReceive(request, byteCount, peer) : undefined;
    if (end.isShared && !this.#shared.complete(request)) return `entry ${request} of the SRQ was not posted`;
    return wrong;
  }

  /** Both ends fail, all that is posted is flushed, and they begin anew. */
  #restart(connection: Connection): void {
    const { machine } = this.fixture.driver;
    this.#take(connection);
    connection.failed = true;
    this.#takeEvents();
    for (const { qp } of connection.ends) qp.fail();
    const isFlushed = (): boolean => {
      this.#take(connection);
      this.#takeEvents();
      return connection.ends.every((end) => end.outstanding === 0);
    };
    // A QP that goes straight to RESET keeps the entry of the SRQ that it has in hand.
    const isWaiting = connection.ends.some(({ isShared }) => isShared) || this.#random.oneIn(2);
    if (isWaiting) machine.runUntil(isFlushed, 'the flush of all that was posted');
    const silent = connection.ends.find(({ isShared, qp }) => isShared && !this.#lastReached.has(qp.number));
    if (silent !== undefined) throw new Error(`QP ${silent.qp.number} has not told that it reached its last entry`);
    for (const end of connection.ends) {
      this.#lastReached.delete(end.qp.number);
      end.restart();
    }
    machine.runUntilIdle();
    connection.failed = false;
    connection.starts++;
    this.#start(connection);
  }

  /** An armed SRQ has posted its event once it had fewer entries than its limit. */
  #checkLimit(): void {
    this.fixture.run();
    this.#takeEvents();
    const left = this.#shared.posted.size;
    if (left < this.#limit)
      throw new Error(`the SRQ has ${left} entries and has not told that its limit is ${this.#limit}`);
  }
}

function makeChaosMachine(seed: number): InProcessMachine {
  const faults = { drop: 0.02, duplicate: 0.02, reorder: 0.02, corrupt: 0.01, delay: 0.02 };
  const portLink =
    seed % 2 === 0 ? { kind: 'cable' as const } : { kind: 'faulty' as const, seed, delayNs: 1000, faults };
  return makeMthcaMachine({ portLink }, { seed });
}

/** Runs one seed. Returns what is wrong. */
export function runMthcaChaos(seed: number, acts = ACTS): string | undefined {
  try {
    new MthcaChaos(seed).run(acts);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
