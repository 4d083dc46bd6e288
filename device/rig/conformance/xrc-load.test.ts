// SPDX-License-Identifier: Apache-2.0
/**
 * Random load on XRC connections (IBTA annex A14) over a link with faults: three initiators send to
 * three shared receive queues of one domain, whose entries come late; one queue is destroyed in the
 * middle of the traffic. Each message arrives once, whole, in the queue that it names and in order.
 */
import t from 'tap';
import { CompletionStatus, EventType } from '../../../protocol/layout/gen/values.gen.ts';
import type { DriverQueuePair } from '../driver/queue-pair.ts';
import { ledger } from '../fixtures/ledger.ts';
import { seedsOf } from '../fixtures/seeds.ts';
import { type SharedQueue, XrcFixture } from '../fixtures/xrc-fixture.ts';

const SEEDS = seedsOf(4, 24);
const PAIRS = 3;
const QUEUES = 3;
const MESSAGES = 18;
const LONGEST_BYTES = 1500;
/** The entries of a queue; none is used twice. */
const ENTRIES = PAIRS * MESSAGES + 2;
const STEPS_MAX = 20_000;
const FAULTS = { drop: 0.03, duplicate: 0.03, reorder: 0.03, corrupt: 0.02, delay: 0.03 };
const { SUCCESS, FLUSHED, REMOTE_OPERATION_ERROR, RETRY_EXCEEDED } = CompletionStatus;

/** A message as its sender made it. */
interface Message {
  readonly pair: number;
  readonly queue: number;
  readonly bytes: Uint8Array;
}

class Load {
  readonly xrc: XrcFixture;
  readonly #pairs: (readonly [DriverQueuePair, DriverQueuePair])[];
  readonly #queues: SharedQueue[];
  /** Buffers by queue, in the order of their entries. */
  readonly #buffers: { readonly bytes: Uint8Array }[][] = [];
  readonly #sent: Message[][] = [];
  /** Messages that arrived, by queue. */
  readonly #arrived: Uint8Array[][] = [];
  readonly #statuses: number[][] = [];
  #destroyed = -1;

  constructor(seed: number) {
    // With a latency, packets wait for their entries, and reads of memory take DMA contexts.
    const adapter = { portLink: { kind: 'faulty', seed, faults: FAULTS }, dmaLatencyNs: (seed % 2) * 700 } as const;
    this.xrc = new XrcFixture({ timeout: 8 }, { seed, adapter });
    const { xrc } = this;
    this.#queues = Array.from({ length: QUEUES }, () => xrc.createQueue(xrc.domain, 6));
    this.#pairs = [[xrc.initiator, xrc.target], xrc.connect({ timeout: 8 }), xrc.connect({ timeout: 8 })];
    for (let queue = 0; queue < QUEUES; queue++) {
      this.#buffers.push([]);
      this.#arrived.push([]);
    }
    for (let pair = 0; pair < PAIRS; pair++) {
      this.#sent.push([]);
      this.#statuses.push([]);
    }
  }

  /** `doomed`: a queue that is destroyed, or -1. */
  run(doomed: number): void {
    const { random, machine } = this.xrc.fixture;
    for (let step = 0; step < STEPS_MAX && !this.#isDone(); step++) {
      const pair = random.below(PAIRS);
      if ((this.#sent[pair] as Message[]).length < MESSAGES) this.#send(pair, random.below(QUEUES));
      const queue = random.below(QUEUES);
      if (queue !== this.#destroyed && (this.#buffers[queue] as unknown[]).length < ENTRIES) this.#postReceive(queue);
      if (step === 12 && doomed >= 0) this.#destroy(doomed);
      machine.clock.jumpToAlarm();
      machine.runUntilIdle();
      this.#poll();
    }
    if (!this.#isDone()) throw new Error(`The load does not end; ${machine.describe()}`);
    this.#check();
    this.xrc.fixture.finish();
  }

  #isDone(): boolean {
    return this.#statuses.every((all) => all.length === MESSAGES);
  }

  #send(pair: number, queue: number): void {
    const { fixture } = this.xrc;
    const sent = this.#sent[pair] as Message[];
    const bytes = fixture.random.bytes(2 + fixture.random.below(LONGEST_BYTES));
    bytes[0] = pair;
    bytes[1] = sent.length;
    sent.push({ pair, queue, bytes });
    const [initiator] = this.#pairs[pair] as readonly [DriverQueuePair, DriverQueuePair];
    const header = { xrcSrqn: (this.#queues[queue] as SharedQueue).srq.srqn };
    initiator.post({ sges: [fixture.sge(fixture.createBuffer(bytes))], header });
  }

  #postReceive(queue: number): void {
    const shared = this.#queues[queue] as SharedQueue;
    (this.#buffers[queue] as unknown[]).push(this.xrc.postReceive(shared, LONGEST_BYTES + 2));
  }

  #destroy(queue: number): void {
    (this.#queues[queue] as SharedQueue).srq.destroy();
    this.#destroyed = queue;
  }

  #poll(): void {
    this.#queues.forEach(({ cq }, queue) => {
      for (const { status, queueSequence, byteLength, qpn } of cq.drain()) {
        if (status === FLUSHED) continue;
        if (status !== SUCCESS) throw new Error(`queue ${queue}: status ${status}`);
        const buffer = (this.#buffers[queue] as { bytes: Uint8Array }[])[queueSequence] as { bytes: Uint8Array };
        const bytes = buffer.bytes.slice(0, byteLength);
        (this.#arrived[queue] as Uint8Array[]).push(bytes);
        const [, target] = this.#pairs[bytes[0] as number] as readonly [DriverQueuePair, DriverQueuePair];
        if (target.qpn !== qpn) throw new Error(`queue ${queue}: a message of another target`);
      }
    });
    this.#pairs.forEach(([{ parts }], pair) => {
      for (const { status } of parts.sendCq.drain()) (this.#statuses[pair] as number[]).push(status);
    });
  }

  /** Completed messages arrived, once and in order; a failure ends its own connection only. */
  #check(): void {
    for (const [pair, statuses] of this.#statuses.entries()) {
      const failed = statuses.findIndex((status) => status !== SUCCESS);
      for (let queue = 0; queue < QUEUES; queue++)
        if (queue !== this.#destroyed) this.#checkArrivals(pair, queue, failed < 0 ? MESSAGES : failed);
      if (failed < 0) continue;
      const sent = this.#sent[pair] as Message[];
      const isRefused = statuses[failed] === REMOTE_OPERATION_ERROR && sent[failed]?.queue === this.#destroyed;
      // The refusal was lost: the target is in error and answers nothing any more.
      const isSilent = statuses[failed] === RETRY_EXCEEDED && sent.some(({ queue }) => queue === this.#destroyed);
      if (!isRefused && !isSilent) throw new Error(`pair ${pair}: message ${failed} ended with ${statuses[failed]}`);
      if (statuses.slice(failed + 1).some((status) => status !== FLUSHED)) throw new Error('work behind a failure');
    }
    const { COMMUNICATION_ESTABLISHED, XRC_INVALID_HEADER } = EventType;
    const wrong = this.xrc.events().find(([type]) => type !== COMMUNICATION_ESTABLISHED && type !== XRC_INVALID_HEADER);
    if (wrong !== undefined) throw new Error(`event ${wrong[0]}`);
  }

  /** The first `done` messages of a pair completed; of a pair that failed more may have arrived. */
  #checkArrivals(pair: number, queue: number, done: number): void {
    const sent = (this.#sent[pair] as Message[]).filter((message) => message.queue === queue);
    const arrived = (this.#arrived[queue] as Uint8Array[]).filter(([from]) => from === pair);
    const completed = sent.filter(({ bytes }) => (bytes[1] as number) < done).length;
    const isWhole = arrived.every(
      (bytes, index) => Buffer.compare(bytes, sent[index]?.bytes ?? new Uint8Array(0)) === 0,
    );
    const isAll = done === MESSAGES ? arrived.length === completed : arrived.length >= completed;
    if (!isWhole || !isAll) throw new Error(`pair ${pair}, queue ${queue}: ${arrived.length} of ${completed} arrived`);
  }
}

t.test('all messages arrive once, in the queues that they name', async (t) => {
  ledger(t, 'A14', 'XRC connections deliver each message once and in order over links that lose and damage packets');
  for (const seed of SEEDS) {
    new Load(seed).run(-1);
    t.pass(`seed ${seed}`);
  }
});

t.test('a queue that is destroyed ends the connections that name it, and no other', async (t) => {
  ledger(t, 'A14', 'The destruction of an XRC SRQ fails the connections that name it later, and no other');
  for (const seed of SEEDS) {
    new Load(seed).run(seed % QUEUES);
    t.pass(`seed ${seed}`);
  }
});
