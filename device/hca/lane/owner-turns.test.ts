// SPDX-License-Identifier: Apache-2.0
/**
 * Turns of owners alone (docs/DOCUMENTS.md decision 13; docs/ARCHITECTURE.md, Shares of time):
 * accounts, allowances, what an idle owner may catch up on, and send contexts beside lanes. And the
 * queue of queue pairs that wait, and the notes of launched commands.
 */
import t from 'tap';
import { LARGEST_MTU_BYTES } from '../../../protocol/infiniband/mtu.ts';
import { COMMAND_HEADER_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { setRdmaTargetRkey } from '../../../protocol/layout/gen/rdma-target.gen.ts';
import {
  encodeSendCommand,
  newSendCommand,
  SEND_COMMAND_TARGET_OFFSET,
  type SendCommand,
  setSendCommandSgeAddressHigh,
  setSendCommandSgeAddressLow,
  setSendCommandSgeLength,
  setSendCommandSgeLkey,
} from '../../../protocol/layout/gen/send-command.gen.ts';
import { encodeSge, newSge, SGE_SIZE } from '../../../protocol/layout/gen/sge.gen.ts';
import { LIST_ELEMENTS_MAX } from '../collect/physical-collect-buffer.ts';
import { Step, type Timeline } from '../function/timeline.ts';
import { CommandFlag } from '../function/timeline-values.ts';
import { noteCommand } from './command-steps.ts';
import { Lane } from './lane.ts';
import { LaneSet } from './lane-set.ts';
import { COMMAND_COST_BYTES, CONTENDED_TURN, LaneOwners, OwnerTurns, PACKET_COST_BYTES } from './owner-turns.ts';
import { ReadyQueue } from './ready-queue.ts';

const LAG_BYTES = CONTENDED_TURN * (COMMAND_COST_BYTES + PACKET_COST_BYTES + LARGEST_MTU_BYTES);
const TURN_BYTES = 4096;

/** Lanes with these weights and owners; -1: none. */
function makeTurns(lanes: readonly (readonly [weight: number, owner: number])[]) {
  const groups = new LaneOwners();
  const made = lanes.map(([weight], number) => Object.assign(new Lane(number, 8), { weight }));
  groups.recompute(made, (lane) => lanes[lane][1]);
  const turns = new OwnerTurns(groups);
  /** Lanes that may be served, of those in `numbers`. */
  const choose = (...numbers: number[]): number[] => {
    const set = new LaneSet();
    for (const lane of numbers) set.add(lane);
    const chosen = turns.choose(set);
    return lanes.map((_, lane) => lane).filter((lane) => chosen.has(lane));
  };
  /** Serves `count` times with `bytes`; returns the lanes. */
  const serve = (count: number, bytes: number, ...numbers: number[]): number[] =>
    Array.from({ length: count }, () => {
      const [lane] = choose(...numbers);
      turns.charge(lane, bytes);
      return lane;
    });
  return { groups, turns, choose, serve };
}

t.test('owners have the sum of their lanes; lanes without an owner count as one', async (t) => {
  const { groups } = makeTurns([
    [2, 0],
    [2, 0],
    [8, 1],
    [4, -1],
    [2, -1],
  ]);
  t.notOk(groups.single);
  t.same([groups.weights[0], groups.weights[1]], [1, 2]);
  t.equal(groups.weights[groups.owners[3]], 1.5);
  t.equal(groups.owners[3], groups.owners[4]);
  groups.recompute([Object.assign(new Lane(0, 8), { weight: 5 })], () => 3);
  t.ok(groups.single);
  t.same([groups.weights[3], groups.weights[0], groups.lanes[0].size, groups.lanes[3].size], [1, 0, 0, 1]);
});

t.test('the owner that was served least is next, by its weight; its allowance reaches the next one', async (t) => {
  const { turns, choose, serve } = makeTurns([
    [1, 0],
    [3, 1],
    [3, 1],
  ]);
  const lanes = serve(40, 1000, 0, 1);
  t.equal(lanes.filter((lane) => lane === 0).length, 6, '1 to 6: an idle lane counts, too');
  t.same(choose(1, 2), [1, 2], 'all lanes of the owner');
  t.equal(turns.allowance, Number.POSITIVE_INFINITY, 'no other owner waits');
  const even = makeTurns([
    [1, 0],
    [1, 1],
  ]);
  t.same(even.choose(0, 1), [1], 'the next lane behind lane 0');
  t.equal(even.turns.allowance, TURN_BYTES);
  even.turns.charge(1, 3000);
  t.same(even.choose(0, 1), [0]);
  t.equal(even.turns.allowance, 3000 + TURN_BYTES);
  const heavy = makeTurns([
    [1, 0],
    [4, 1],
  ]);
  heavy.turns.charge(0, 1000);
  t.same(heavy.choose(0, 1), [1]);
  t.equal(heavy.turns.allowance, 4 * 1000 + TURN_BYTES);
  const three = makeTurns([
    [1, 0],
    [1, 1],
    [1, 2],
  ]);
  for (const [lane, bytes] of [5000, 500, 1500].entries()) three.turns.charge(lane, bytes);
  three.turns.charge(0, 0);
  t.same(three.choose(0, 1, 2), [1]);
  t.equal(three.turns.allowance, 1000 + TURN_BYTES, 'up to the account of the next one, not of the last');
});

t.test('among equal accounts the lanes take turns', async (t) => {
  const { serve } = makeTurns([
    [1, 0],
    [1, 1],
    [1, 2],
  ]);
  t.same(serve(6, 500, 0, 1, 2), [1, 2, 0, 1, 2, 0]);
});

t.test('an owner that was idle catches up on a bounded number of bytes', async (t) => {
  const { serve } = makeTurns([
    [1, 0],
    [1, 1],
  ]);
  serve(100, COMMAND_COST_BYTES, 0);
  const lanes = serve(60, COMMAND_COST_BYTES, 0, 1);
  const ahead = lanes.indexOf(0);
  t.equal(ahead, LAG_BYTES / COMMAND_COST_BYTES + 1, 'as many as it may have missed in a pass');
  t.equal(lanes.slice(ahead).filter((lane) => lane === 0).length, Math.ceil((60 - ahead) / 2), 'then equal shares');
});

t.test('an owner that catches up lets no other one catch up on more', async (t) => {
  const { turns, choose, serve } = makeTurns([
    [1, 0],
    [1, 1],
    [1, 2],
  ]);
  serve(100, COMMAND_COST_BYTES, 0);
  t.same(choose(0, 1), [1]);
  t.same(choose(0, 2), [2]);
  t.equal(turns.allowance, COMMAND_COST_BYTES + LAG_BYTES + TURN_BYTES);
});

t.test('what a single owner was served does not count once there are several', async (t) => {
  const { groups, turns, choose, serve } = makeTurns([
    [1, 4],
    [1, 4],
  ]);
  serve(5, 1000, 0);
  turns.chargeFunction(1, 99);
  const lanes = [0, 1].map((number) => new Lane(number, 8));
  groups.recompute(lanes, (lane) => (lane === 0 ? 4 : -1));
  t.same(choose(0, 1), [1], 'the next lane behind lane 0');
  t.equal(turns.allowance, TURN_BYTES);
});

t.test('a single owner has all turns, without accounts', async (t) => {
  const { turns, choose, serve } = makeTurns([
    [1, 4],
    [2, 4],
  ]);
  t.same(choose(0, 1), [0, 1]);
  t.equal(turns.allowance, Number.POSITIVE_INFINITY);
  serve(5, 1000, 0);
  t.equal(turns.chooseFunction(Int32Array.of(0, 1, 1), 1), 2, 'functions take turns then');
  t.equal(turns.chooseFunction(Int32Array.of(0, 1, 1), 2), 1);
  t.equal(turns.chooseFunction(Int32Array.of(0, 0, 0), 2), -1);
  turns.chargeFunction(1, 99);
  t.equal(turns.chooseFunction(Int32Array.of(0, 1, 1), 2), 1, 'and are not charged');
});

t.test('send contexts are served from the accounts of the lanes', async (t) => {
  const { turns, serve } = makeTurns([
    [1, 0],
    [3, 1],
    [1, -1],
  ]);
  const waiting = Int32Array.of(1, 1, 1, 1);
  const served = [0, 0, 0, 0];
  let last = 3;
  for (let count = 0; count < 600; count++) {
    last = turns.chooseFunction(waiting, last);
    turns.chargeFunction(last, 1000);
    served[last]++;
  }
  t.same(served, [120, 360, 60, 60], 'functions without lanes have the account of the shared ones, in turns');
  t.equal(turns.chooseFunction(Int32Array.of(0, 0, 0, 1), 0), 3);
  serve(1, 1000, 0);
  t.equal(turns.chooseFunction(Int32Array.of(1, 1, 0, 0), 1), 1, 'the lane has been charged to function 0');
});

t.test('a function ahead of an owner whose lanes were served in this pass waits for the next pass', async (t) => {
  const { turns, serve } = makeTurns([
    [1, 0],
    [1, 1],
  ]);
  turns.chargeFunction(0, 50_000);
  t.equal(turns.chooseFunction(Int32Array.of(1, 0), 1), 0, 'no other owner was served');
  serve(1, 1000, 1);
  t.equal(turns.chooseFunction(Int32Array.of(1, 0), 1), -1);
  turns.beginPass();
  t.equal(turns.chooseFunction(Int32Array.of(1, 0), 1), 0);
  serve(1, 1000, 1);
  t.equal(turns.chooseFunction(Int32Array.of(0, 1), 0), 1, 'its own lanes do not count');
  turns.charge(1, 100_000);
  t.equal(turns.chooseFunction(Int32Array.of(1, 0), 1), 0, 'nor do those of an owner that is ahead');
  const even = makeTurns([
    [1, 0],
    [1, 1],
    [1, -1],
  ]);
  t.equal(even.turns.chooseFunction(Int32Array.of(1, 1), 1), 0, 'the first one behind the last one');
  t.equal(even.turns.chooseFunction(Int32Array.of(1, 1), 0), 1);
  even.turns.chargeFunction(0, 1000);
  even.turns.charge(1, 1000);
  t.equal(even.turns.chooseFunction(Int32Array.of(1, 0), 1), 0, 'nor those of one that is as far');
  even.turns.charge(2, 10);
  t.equal(even.turns.chooseFunction(Int32Array.of(1, 0), 1), -1, 'lanes without an owner count');
});

t.test('an idle function saves up no more of its send contexts than of its lanes', async (t) => {
  const { turns } = makeTurns([
    [1, 0],
    [1, 1],
  ]);
  for (let count = 0; count < 200; count++) {
    t.equal(turns.chooseFunction(Int32Array.of(1, 0), 1), 0);
    turns.chargeFunction(0, COMMAND_COST_BYTES);
  }
  let ahead = 0;
  while (ahead < 200 && turns.chooseFunction(Int32Array.of(1, 1), 0) === 1) {
    turns.chargeFunction(1, COMMAND_COST_BYTES);
    ahead++;
  }
  const lag = LAG_BYTES / COMMAND_COST_BYTES;
  t.ok(ahead >= lag && ahead <= lag + 2, `${ahead} packets`);
});

t.test('a queue keeps its order while it grows', async (t) => {
  const queue = new ReadyQueue<number>();
  const model: number[] = [];
  let next = 0;
  for (let round = 1; round < 60; round++) {
    for (let count = 0; count < round % 23; count++) {
      queue.push(next);
      model.push(next++);
    }
    for (let count = 0; count < round % 7; count++) t.equal(queue.shift(), model.shift());
    t.equal(queue.length, model.length);
  }
  while (model.length > 0) t.equal(queue.shift(), model.shift());
  t.equal(queue.shift(), undefined);
  t.equal(queue.length, 0);
});

/** The steps noted for a command; `sges`: the lengths of elements behind the header. */
function note(fields: Partial<SendCommand>, sges: readonly number[] = [], sizeBytes = 320): number[][] {
  const view = new DataView(new ArrayBuffer(sizeBytes));
  encodeSendCommand(view, 0, { ...newSendCommand(), opcode: 3, sequence: 77, ...fields });
  setRdmaTargetRkey(view, SEND_COMMAND_TARGET_OFFSET, 0x99);
  setSendCommandSgeLkey(view, 0, 1);
  setSendCommandSgeLength(view, 0, 2);
  setSendCommandSgeAddressLow(view, 0, 3);
  setSendCommandSgeAddressHigh(view, 0, 4);
  sges.forEach((length, index) => {
    const at = COMMAND_HEADER_BYTES + index * SGE_SIZE;
    encodeSge(view, at, { ...newSge(), lkey: index + 10, length, address: index + 20 + (index + 30) * 2 ** 32 });
  });
  const noted: number[][] = [];
  noteCommand({ note: (...step: number[]) => noted.push(step) } as unknown as Timeline, 5, 6, view);
  return noted;
}

t.test('a launched command is noted with its flags, key and elements (IPCOM000010133D par. 4)', async (t) => {
  const { FENCE, INLINE, SIGNALED, SOLICITED } = CommandFlag;
  const command = (flags: number): number[] => [Step.COMMAND, 5, 6, 77, 3, flags, 0x99];
  t.same(note({}), [command(0)]);
  t.same(note({ signaled: 1, fence: 1 }), [command(SIGNALED | FENCE)]);
  t.same(note({ inline: 1, solicited: 1, sgeCount: 2 }, [7, 8]), [command(INLINE | SOLICITED)], 'without elements');
  t.same(note({ sgeCount: 1 }, [7]), [command(0), [Step.SGE, 5, 6, 77, 1, 2, 3, 4]], 'one is in the header');
  t.same(note({ sgeCount: 2 }, [7, 8]), [
    command(0),
    [Step.SGE, 5, 6, 77, 10, 7, 20, 30],
    [Step.SGE, 5, 6, 77, 11, 8, 21, 31],
  ]);
  const whole = COMMAND_HEADER_BYTES + 2 * SGE_SIZE;
  t.equal(note({ sgeCount: 2 }, [7, 8], whole).length, 3);
  t.equal(note({ sgeCount: 3 }, [7, 8], whole).length, 1, 'elements beyond the command');
  const most = COMMAND_HEADER_BYTES + LIST_ELEMENTS_MAX * SGE_SIZE;
  t.equal(note({ sgeCount: LIST_ELEMENTS_MAX }, [], most).length, LIST_ELEMENTS_MAX + 1);
});
