// SPDX-License-Identifier: Apache-2.0
/** Doorbells of CQs by themselves: what a store asks of which queue, and which stores are stray. */
import t from 'tap';
import { type CqDoorbell, encodeCqDoorbell, newCqDoorbell } from '../../../../protocol/mlx5/gen/cq-doorbell.gen.ts';
import { CqArm } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { CompletionDoorbells } from './completion-doorbells.ts';
import type { Mlx5CompletionQueue } from './completion-queue.ts';

const [UAR, OTHER] = [3, 4];
const CQN = 7;

class DoorbellFixture {
  /** What the queue has been asked: solicited only, sequence, consumer index. */
  readonly asked: (readonly [boolean, number, number])[] = [];
  readonly doorbells: CompletionDoorbells;

  constructor() {
    const requestNotify = (...request: [boolean, number, number]): void => void this.asked.push(request);
    const queue = { context: { uarPage: UAR }, requestNotify } as unknown as Mlx5CompletionQueue;
    this.doorbells = new CompletionDoorbells({ get: (number) => (number === CQN ? queue : undefined) });
  }

  /** Stores one dword of a doorbell. Returns false when it is stray. */
  store(offset: 0 | 4, given: Partial<CqDoorbell> = {}, uar = UAR): boolean {
    const view = new DataView(new ArrayBuffer(8));
    encodeCqDoorbell(view, 0, { ...newCqDoorbell(), cqn: CQN, ...given });
    return this.doorbells.store(uar, offset, view.getUint32(offset));
  }

  ring(given: Partial<CqDoorbell> = {}, uar = UAR): boolean[] {
    return ([0, 4] as const).map((offset) => this.store(offset, given, uar));
  }
}

t.test('a queue hears what its page asks for', async (t) => {
  const fixture = new DoorbellFixture();
  const { ANY, SOLICITED } = CqArm;
  t.same(fixture.ring({ command: ANY, sequence: 2, consumerIndex: 0xabcdef }), [true, true]);
  t.same(fixture.ring({ command: SOLICITED, sequence: 3, consumerIndex: 1 }), [true, true]);
  t.same(fixture.asked, [
    [false, 2, 0xabcdef],
    [true, 3, 1],
  ]);
});

t.test('the second dword alone repeats what the page stored first, until a reset', async (t) => {
  const fixture = new DoorbellFixture();
  fixture.store(0, { command: CqArm.SOLICITED, sequence: 1, consumerIndex: 5 });
  fixture.store(0, { command: CqArm.SOLICITED, sequence: 3, consumerIndex: 9 }, OTHER);
  for (let again = 0; again < 2; again++) t.ok(fixture.store(4));
  fixture.doorbells.reset();
  t.ok(fixture.store(4));
  t.same(fixture.asked, [
    [true, 1, 5],
    [true, 1, 5],
    [false, 0, 0],
  ]);
});

t.test('a doorbell of no queue, of another page, or for nothing that there is, is stray', async (t) => {
  const fixture = new DoorbellFixture();
  t.same(fixture.ring({ cqn: CQN + 1 }), [true, false]);
  t.same(fixture.ring({}, OTHER), [true, false]);
  for (let command = CqArm.SOLICITED + 1; command < 16; command++) t.same(fixture.ring({ command }), [true, false]);
  t.same(fixture.asked, []);
});
