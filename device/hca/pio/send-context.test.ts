// SPDX-License-Identifier: Apache-2.0
/**
 * One send context alone (US 2015/0378953 claim 1; docs/DOCUMENTS.md decision 9): its states, and
 * the credit word with its reasons. Packets have one block, and leave when the test says so.
 */
import t from 'tap';
import { SEND_BLOCK_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  type CreditReturn,
  decodeCreditReturn,
  newCreditReturn,
} from '../../../protocol/layout/gen/credit-return.gen.ts';
import {
  setSendControlCreditReturn,
  setSendControlInterrupt,
  setSendControlLengthDwords,
} from '../../../protocol/layout/gen/send-control.gen.ts';
import { FaultKind, FaultObject, SendContextState, SendHaltCause } from '../../../protocol/layout/gen/values.gen.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import { SendContext } from './send-context.ts';

const BLOCKS = 4;
const CREDIT_ADDRESS = 4096;
const NUMBER = 10;
const { DISABLED, DRAINING, ENABLED, FROZEN, HALTED } = SendContextState;

/** What a packet asks for in its control word. */
interface Asks {
  readonly creditReturn?: boolean;
  readonly interrupt?: boolean;
}

class Bench {
  readonly context: SendContext;
  /** Credit words in guest memory, and where the last one was stored. */
  readonly words: CreditReturn[] = [];
  address = 0;
  interrupts = 0;
  events = 0;
  readonly faults: number[][] = [];
  writable = true;

  constructor(threshold = BLOCKS) {
    const dma = {
      at: (address: number) => {
        this.address = address;
        return dma;
      },
      publish: (_subject: unknown, bytes: Uint8Array) => {
        const view = new DataView(bytes.buffer);
        if (this.writable) this.words.push({ ...decodeCreditReturn(view, 0, newCreditReturn()) });
        return this.writable;
      },
    };
    const owner = {
      number: 0,
      dma,
      msix: { request: () => this.interrupts++ },
      faults: { report: (kind: FaultKind, _subject: unknown, cause: number) => this.faults.push([kind, cause]) },
      postAsynchronous: () => this.events++,
    };
    this.context = new SendContext(NUMBER, 1, owner as unknown as UnderlyingFunction, BLOCKS);
    Object.assign(this.context, { threshold, creditAddress: CREDIT_ADDRESS });
    this.context.enable();
  }

  /** Writes a packet of one block; it is complete. */
  fill(block: number, { creditReturn = false, interrupt = false }: Asks = {}): void {
    const bytes = new DataView(new ArrayBuffer(SEND_BLOCK_BYTES));
    setSendControlLengthDwords(bytes, 0, SEND_BLOCK_BYTES / 4);
    setSendControlCreditReturn(bytes, 0, creditReturn ? 1 : 0);
    setSendControlInterrupt(bytes, 0, interrupt ? 1 : 0);
    for (let at = 0; at < SEND_BLOCK_BYTES; at += 8)
      this.context.write(
        block * SEND_BLOCK_BYTES + at,
        8,
        bytes.getInt32(at, true),
        bytes.getInt32(at + 4, true),
        true,
      );
  }

  /** The packet at `place` in order of completion leaves its port at once. */
  leave(place = 0): void {
    const block = this.context.readyAt(place);
    this.context.take(place);
    this.context.finish(block);
  }

  /** Reasons of the last credit word. */
  get due(): string[] {
    const word = this.words.at(-1);
    return Object.entries(word ?? {}).flatMap(([name, value]) => (name.startsWith('due') && value === 1 ? [name] : []));
  }
}

t.test('credits return when a packet asks, above the threshold, or by force; the word says why', async (t) => {
  const asking = new Bench();
  asking.fill(0, { creditReturn: true });
  asking.leave();
  t.match(asking.words, [{ freeCounter: 1, status: 0 }]);
  t.same(asking.due, ['dueRequest']);
  t.equal(asking.address, CREDIT_ADDRESS + 8 * (NUMBER % 8));
  const beyond = new Bench(1);
  for (const block of [0, 1]) {
    beyond.fill(block);
    t.equal(beyond.words.length, 0);
    beyond.leave();
  }
  t.match(beyond.words, [{ freeCounter: 2 }]);
  t.same(beyond.due, ['dueThreshold']);
  const both = new Bench(0);
  both.fill(0, { creditReturn: true });
  both.leave();
  t.same(both.due.sort(), ['dueRequest', 'dueThreshold'], 'one word has both reasons');
  const forced = new Bench();
  forced.fill(0);
  forced.leave();
  forced.context.force();
  t.match(forced.words, [{ freeCounter: 1 }]);
  t.same(forced.due, ['dueForce']);
  t.equal(forced.context.creditReturns, 1);
  t.equal(forced.context.unreturned, 0);
});

t.test('credits of the contiguous run from the oldest block return, in whatever order packets leave', async (t) => {
  const bench = new Bench(0);
  for (const block of [0, 1, 2]) bench.fill(block);
  bench.leave(2);
  bench.leave(1);
  t.equal(bench.words.length, 0);
  bench.leave(0);
  t.same(
    bench.words.map(({ freeCounter }) => freeCounter),
    [3],
  );
  for (const block of [3, 0]) bench.fill(block);
  bench.leave();
  bench.leave();
  t.equal(bench.words.at(-1)?.freeCounter, 5, 'around the end of the blocks');
});

t.test('interrupts: by a packet that asks for one, by each credit return when chosen, and by a halt', async (t) => {
  const bench = new Bench();
  bench.fill(0, { interrupt: true });
  bench.leave();
  t.equal(bench.interrupts, 1);
  bench.fill(1, { creditReturn: true });
  bench.leave();
  t.equal(bench.interrupts, 1);
  bench.context.creditInterrupt = true;
  bench.fill(2, { creditReturn: true });
  bench.leave();
  t.equal(bench.interrupts, 2);
  bench.context.creditInterrupt = false;
  bench.context.halt(SendHaltCause.SOFTWARE);
  t.equal(bench.interrupts, 3);
});

t.test('a halt reports its cause, returns the free credits and stops writes', async (t) => {
  for (const [cause, state, faults] of [
    [SendHaltCause.OVERFLOW, HALTED, [[FaultKind.SEND_CONTEXT_HALTED, SendHaltCause.OVERFLOW]]],
    [SendHaltCause.FREEZE, FROZEN, [[FaultKind.SEND_CONTEXT_HALTED, SendHaltCause.FREEZE]]],
    [SendHaltCause.SOFTWARE, HALTED, []],
  ] as const) {
    const bench = new Bench();
    const { context } = bench;
    bench.fill(0);
    bench.leave();
    context.halt(cause);
    t.same([context.state, context.haltCause, bench.faults, bench.events], [state, cause, faults, 1]);
    t.match(bench.words, [{ freeCounter: 1, status: 1 }]);
    t.same(bench.due, ['dueError']);
    context.halt(SendHaltCause.SOFTWARE);
    t.equal(context.haltCause, cause, 'once');
    context.write(0, 8, 0, 0, true);
    t.equal(context.writesDropped, 1);
    context.thaw();
    t.equal(context.state, HALTED);
  }
  t.equal(new Bench().context.faultObject, FaultObject.SEND_CONTEXT);
});

t.test('a credit word that cannot be stored halts the context and is not tried again', async (t) => {
  const bench = new Bench();
  bench.writable = false;
  bench.fill(0, { creditReturn: true });
  bench.leave();
  const { context } = bench;
  t.same([context.state, context.haltCause], [HALTED, SendHaltCause.CREDIT_RETURN]);
  t.same(bench.faults, [[FaultKind.SEND_CONTEXT_HALTED, SendHaltCause.CREDIT_RETURN]]);
  t.same([context.creditReturns, context.unreturned], [0, 1], 'the credit is not lost');
  bench.writable = true;
  context.force();
  t.match(bench.words, [{ freeCounter: 1, status: 1 }]);
});

t.test('a context drains its complete packets, returns all credits and is disabled', async (t) => {
  const bench = new Bench();
  const { context } = bench;
  for (const block of [0, 1]) bench.fill(block);
  context.disable();
  t.equal(context.state, DRAINING);
  context.enable();
  t.equal(context.state, DRAINING, 'it cannot be enabled in between');
  bench.leave();
  context.disable();
  t.equal(context.state, DRAINING);
  t.equal(bench.words.length, 0);
  t.notOk(context.forced);
  bench.leave();
  t.equal(context.state, DISABLED);
  t.match(bench.words, [{ freeCounter: 2 }]);
  t.same(bench.due, ['dueForce']);
  context.force();
  context.disable();
  context.thaw();
  t.same([context.state, bench.words.length], [DISABLED, 1]);
  context.enable();
  t.match(context, { state: ENABLED, freeCounter: 0, returnedCounter: 0, haltCause: SendHaltCause.NONE });
  context.thaw();
  t.equal(context.state, ENABLED);
  context.disable();
  t.same([context.state, bench.words.length], [DISABLED, 1], 'without free credits it returns none');
});

t.test('a packet in the port keeps a context from its end', async (t) => {
  const bench = new Bench();
  const { context } = bench;
  bench.fill(0);
  context.take(0);
  t.same([context.readyCount, context.waitingCount], [0, 1]);
  context.disable();
  t.equal(context.state, DRAINING);
  context.finish(0);
  t.equal(context.state, DISABLED);
});

t.test('a write beyond the blocks, or across a boundary, halts the context', async (t) => {
  for (const [offset, sizeBytes, cause] of [
    [BLOCKS * SEND_BLOCK_BYTES, 8, SendHaltCause.OUT_OF_BOUNDS],
    [4, 8, SendHaltCause.CROSSES_BOUNDARY],
    [2, 4, SendHaltCause.CROSSES_BOUNDARY],
    [BLOCKS * SEND_BLOCK_BYTES - 8, 8, SendHaltCause.NONE],
    [4, 4, SendHaltCause.NONE],
  ]) {
    const { context } = new Bench();
    context.write(offset, sizeBytes, 0, 0, offset === 4);
    const isHalted = cause !== SendHaltCause.NONE;
    t.same([context.haltCause, context.state], [cause, isHalted ? HALTED : ENABLED], `offset ${offset}`);
    t.equal(context.writesDropped, isHalted ? 1 : 0);
  }
});
