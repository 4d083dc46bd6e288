// SPDX-License-Identifier: Apache-2.0
/**
 * A hostile process: it owns a user access region, queue pairs and memory, and stores at random
 * into its page of doorbells, its doorbell records, work queues and data. Two processes beside it
 * go on undisturbed, and the device works as before when the process is gone.
 */
import t from 'tap';
import { UAR_PAGE_BYTES } from '../../../protocol/mthca/gen/constants.gen.ts';
import { encodeCqDoorbell } from '../../../protocol/mthca/gen/cq-doorbell.gen.ts';
import { encodeSendDoorbell } from '../../../protocol/mthca/gen/send-doorbell.gen.ts';
import { ContextStatus, QpService, WorkOpcode } from '../../../protocol/mthca/gen/values.gen.ts';
import { Random } from '../../random.ts';
import { type BenchQueuePair, DataBench } from './test-support/data-bench.ts';
import type { Piece } from './test-support/data-queue-pair.ts';

const ACTS = 4000;
const HOSTILE_UAR = 2;
const HOSTILE_PD = 9;
const VICTIM_UAR = 1;
const RECORDS = 16;
const QUEUE_BYTES = 0x2000;

class Hostile {
  readonly bench = new DataBench();
  readonly random: Random;
  readonly victims: readonly [BenchQueuePair, BenchQueuePair];
  readonly memory: Piece;
  readonly victimMemory: Piece;
  readonly own: readonly BenchQueuePair[];
  rounds = 0;
  /** Completions of its own, good ones and errors. */
  completions = 0;
  errors = 0;

  constructor(seed: number) {
    this.random = new Random(seed);
    this.victims = this.bench.connect();
    this.victimMemory = this.bench.memory(8192);
    this.memory = this.bench.memory(8192, { pd: HOSTILE_PD });
    const setup = { uar: HOSTILE_UAR, pd: HOSTILE_PD };
    this.own = [QpService.RC, QpService.UC, QpService.UD].flatMap((service) =>
      this.bench.connect(service, setup, setup),
    );
  }

  /** A value that a hostile process would try. */
  word(): number {
    const { random, own, victims, memory, victimMemory } = this;
    const numbers = [...own, ...victims].map(({ number }) => number);
    return random.pick([
      0,
      1,
      16,
      0x100,
      2 ** 31 + random.below(64),
      memory.key,
      victimMemory.key,
      memory.address + random.below(8192),
      random.pick(numbers),
      random.next(),
    ]);
  }

  act(): void {
    const { random } = this;
    switch (random.below(6)) {
      case 0:
        return this.#scramble();
      case 1:
        return this.bench.driver.setRecord(HOSTILE_UAR, random.below(RECORDS), this.word());
      case 2:
        return this.#storeAnything();
      case 3:
        return this.#ringCompletions();
      default:
        return this.#ringSends();
    }
  }

  /** Stores into its own page: offsets and sizes of all kinds. */
  #store(inPage: number, sizeBytes: number, low: number, high: number): void {
    const offset = HOSTILE_UAR * UAR_PAGE_BYTES + inPage;
    this.bench.driver.machine.functionAt(0).writeCollect(offset, sizeBytes, low | 0, high | 0);
  }

  #storeAnything(): void {
    const sizeBytes = this.random.pick([1, 2, 4, 8]);
    const at = this.random.below(UAR_PAGE_BYTES / sizeBytes) * sizeBytes;
    this.#store(this.random.pick([at, 0x10, 0x20]), sizeBytes, this.random.next(), this.random.next());
  }

  #ringSends(): void {
    const { random, own, victims } = this;
    const qp = random.pick(random.oneIn(4) ? victims : own);
    const { data } = this.bench.driver.device.hca.queuePairs.get(qp.number) ?? {};
    const view = new DataView(new ArrayBuffer(8));
    encodeSendDoorbell(view, 0, {
      count: random.pick([0, 1, 1, 2, 16, 255]),
      // Often the head that is right, so that the queue is read.
      head: random.oneIn(3) ? random.below(0x10000) : (data?.sends.posted ?? 0),
      opcode: random.pick([...Object.values(WorkOpcode), random.below(32)]),
      fence: random.below(2),
      qpn: random.oneIn(10) ? random.below(2 ** 24) : qp.number,
      size: random.below(64),
    });
    this.#store(0x10, 8, view.getInt32(0, true), view.getInt32(4, true));
  }

  #ringCompletions(): void {
    const { random, own, victims } = this;
    const view = new DataView(new ArrayBuffer(8));
    encodeCqDoorbell(view, 0, {
      sequence: random.below(4),
      command: random.below(4),
      cqn: random.pick([...own, ...victims]).cq.number,
      consumerIndex: random.pick([0, 1, random.next()]),
    });
    this.#store(0x20, 8, view.getInt32(0, true), view.getInt32(4, true));
  }

  /** Fills a request of one of its queues, or its data, with such words. */
  #scramble(): void {
    const { random, own } = this;
    const qp = random.pick(own);
    const at = random.below(QUEUE_BYTES / 256) * 256;
    const view = this.bench.driver.memory.view(qp.queue + at, 256);
    for (let offset = 0; offset < 256; offset += 4) view.setUint32(offset, this.word());
  }

  /** The victims send and read, and all of it is right. */
  checkVictims(): string | undefined {
    const [a, b] = this.victims;
    const { bench, victimMemory } = this;
    const bytes = bench.bytes(victimMemory);
    for (let index = 0; index < 4096; index++) bytes[index] = index + this.rounds;
    const source = { ...victimMemory, byteCount: 4096 };
    const target = { ...victimMemory, address: victimMemory.address + 4096, byteCount: 4096 };
    b.postReceive(target);
    a.post({ opcode: WorkOpcode.SEND, pieces: [source] });
    const sent: number[] = [];
    const taken: number[] = [];
    bench.driver.machine.runUntil(() => {
      sent.push(...a.take().map(({ syndrome }) => syndrome));
      taken.push(...b.take().map(({ syndrome }) => syndrome));
      return sent.length > 0 && taken.length > 0;
    }, 'the message of the victims');
    this.rounds++;
    if (sent.join() !== '0' || taken.join() !== '0') return `syndromes ${sent} and ${taken}`;
    const isSame = bytes.subarray(0, 4096).every((byte, at) => byte === bytes[4096 + at]);
    return isSame ? undefined : 'the message is altered';
  }

  /** Takes what the process received, and connects QPs again that have failed. */
  recover(): void {
    for (const qp of this.own) {
      for (const { syndrome } of qp.take()) {
        this.completions++;
        if (syndrome !== 0) this.errors++;
      }
      if (this.random.oneIn(3)) {
        qp.restart();
        qp.start(this.random.pick(this.own).number, this.random.pick([1, 2]));
      }
    }
  }
}

for (const seed of [1, 2, 3, 4]) {
  t.test(`seed ${seed}`, (t) => {
    const hostile = new Hostile(seed);
    const { bench } = hostile;
    const wrong: string[] = [];
    for (let act = 0; act < ACTS; act++) {
      hostile.act();
      if (act % 8 === 0) bench.driver.machine.step();
      if (act % 50 === 0) bench.takeEvents();
      if (act % 100 === 0) hostile.recover();
      const error = act % 200 === 0 ? hostile.checkVictims() : undefined;
      if (error !== undefined) wrong.push(`act ${act}: ${error}`);
    }
    t.same(wrong, [], 'the victims');
    const { userAccess } = bench.driver.device.functions[0];
    t.ok(userAccess.strayDoorbells > ACTS / 20, `${userAccess.strayDoorbells} stray doorbells`);
    t.ok(userAccess.otherStores > 0, `${userAccess.otherStores} stores that are no doorbell`);
    t.ok(hostile.rounds > 10);
    t.ok(hostile.errors > 50, `${hostile.errors} of ${hostile.completions} completions are errors`);
    const { hca, sends, lanes } = bench.driver.device;
    t.equal(hca.eventQueues.get(bench.events.number)?.status, ContextStatus.OK, 'the event queue of all');
    t.notOk(hca.hasFailed);
    for (const qp of hostile.own) qp.destroy();
    bench.run();
    t.equal(sends.busyBuffers, 0, 'collect buffers');
    t.same([lanes.execution.functionUsed[0], lanes.completion.functionUsed[0]], [0, 0], 'credits');
    t.equal(hostile.checkVictims(), undefined, 'and afterwards');
    t.equal(hostile.victims[0].uar, VICTIM_UAR);
    t.end();
  });
}
