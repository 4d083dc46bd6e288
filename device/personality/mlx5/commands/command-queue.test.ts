// SPDX-License-Identifier: Apache-2.0
/**
 * The command queue by itself: which entries a pass executes, how long commands may be, and what of
 * entries and mailboxes the device writes. start.test.ts shows commands of a driver.
 */
import t from 'tap';
import { FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import {
  setCommandEntryInputBytes,
  setCommandEntryOutputBytes,
  setCommandEntryOwner,
} from '../../../../protocol/mlx5/gen/command-entry.gen.ts';
import { COMMAND_DOORBELL_OFFSET } from '../../../../protocol/mlx5/gen/constants.gen.ts';
import { setMailboxBlockBlockNumber, setMailboxBlockToken } from '../../../../protocol/mlx5/gen/mailbox-block.gen.ts';
import { CommandOpcode, CommandStatus, DeliveryStatus } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { type Mlx5Command, Mlx5Driver } from '../../../rig/mlx5/driver/mlx5-driver.ts';

const { NOP, ALLOC_UAR, QUERY_ADAPTER } = CommandOpcode;
const MOST_INPUT_BYTES = 2 ** 21 + 4096;
const MOST_OUTPUT_BYTES = 2 ** 16;
const DATA_BYTES = 512;

function start() {
  const driver = new Mlx5Driver();
  driver.start();
  return { driver, commands: driver.device.commands };
}

t.test('a pass executes the lowest entries first, and no more than it may', async (t) => {
  const { driver, commands } = start();
  const entries = [0, 4, 31];
  const answers = entries.map((entry) => driver.post(ALLOC_UAR, { entry }));
  commands.ring(2 ** 4 + 1);
  commands.ring(2 ** 31);
  t.equal(commands.waiting, 2 ** 31 + 2 ** 4 + 1);
  t.same([commands.serve(0), commands.waiting], [0, 2 ** 31 + 2 ** 4 + 1]);
  t.same([commands.serve(2), commands.waiting], [2, 2 ** 31]);
  t.same([commands.serve(2), commands.waiting], [1, 0]);
  t.same([commands.serve(2), commands.waiting], [0, 0]);
  const [first, ...others] = answers.map(({ read }) => read().output.getUint32(8));
  t.same(others, [first + 1, first + 2], 'in the order of the entries');
});

t.test('an entry that software has not filled is left alone', async (t) => {
  const { driver, commands } = start();
  const { executed } = commands;
  driver.post(NOP, { entry: 2, spoil: (entry) => setCommandEntryOwner(entry, 0, 0) });
  driver.writeRegister(COMMAND_DOORBELL_OFFSET, 2 ** 2);
  driver.machine.runUntilIdle();
  t.same([commands.executed, commands.waiting], [executed, 0]);
});

t.test('nothing is read before software has told where entries lie, or after a reset', async (t) => {
  const { driver, commands } = start();
  const { executed } = commands;
  const { dma, faults } = driver.device.underlying;
  for (const entry of [0, 1]) driver.post(NOP, { entry });
  commands.ring(1);
  commands.reset();
  t.equal(commands.waiting, 0, 'what waited is forgotten');
  const { bytesRead } = dma;
  commands.ring(2);
  t.equal(commands.serve(8), 1);
  t.same([dma.bytesRead, faults.firstKind, commands.executed], [bytesRead, FaultKind.NONE, executed]);
});

t.test('commands and refusals are counted', async (t) => {
  const { driver, commands } = start();
  const { executed, refused } = commands;
  driver.expect(NOP);
  t.same([commands.executed, commands.refused], [executed + 1, refused]);
  const { status, output } = driver.command(QUERY_ADAPTER);
  t.same([status, output.getUint32(4)], [CommandStatus.BAD_OUTPUT_LENGTH, QUERY_ADAPTER], 'it is named');
  t.same([commands.executed, commands.refused], [executed + 2, refused + 1]);
});

t.test('commands have a least and a most length', async (t) => {
  const { driver } = start();
  const { OK, BAD_INPUT_LENGTH, BAD_INPUT_POINTER, BAD_OUTPUT_LENGTH, BAD_OUTPUT_POINTER } = DeliveryStatus;
  const deliveryOf = (set: typeof setCommandEntryInputBytes, bytes: number): number =>
    driver.command(NOP, { spoil: (entry) => set(entry, 0, bytes) }).delivery;
  // A length that may be leads to the mailbox, which is not there.
  for (const [bytes, wanted] of [
    [7, BAD_INPUT_LENGTH],
    [8, OK],
    [MOST_INPUT_BYTES, BAD_INPUT_POINTER],
    [MOST_INPUT_BYTES + 1, BAD_INPUT_LENGTH],
  ])
    t.equal(deliveryOf(setCommandEntryInputBytes, bytes), wanted, `${bytes} bytes of input`);
  for (const [bytes, wanted] of [
    [7, BAD_OUTPUT_LENGTH],
    [8, OK],
    [MOST_OUTPUT_BYTES, BAD_OUTPUT_POINTER],
    [MOST_OUTPUT_BYTES + 1, BAD_OUTPUT_LENGTH],
  ])
    t.equal(deliveryOf(setCommandEntryOutputBytes, bytes), wanted, `${bytes} bytes of output`);
});

t.test('each block of a mailbox must be the one that is expected', async (t) => {
  const { driver } = start();
  const long = { inputBytes: 16 + 2 * DATA_BYTES, outputBytes: 16 + 2 * DATA_BYTES };
  for (const block of [0, 1])
    for (const [what, wanted, spoil] of [
      ['token', DeliveryStatus.BAD_TOKEN, (view: DataView) => setMailboxBlockToken(view, 0, 0)],
      ['number', DeliveryStatus.BAD_BLOCK_NUMBER, (view: DataView) => setMailboxBlockBlockNumber(view, 0, 7)],
    ] as const) {
      const cases: readonly (readonly [string, NonNullable<Mlx5Command['spoil']>])[] = [
        ['input', (_entry, input) => spoil(input[block])],
        ['output', (_entry, _input, output) => spoil(output[block])],
      ];
      for (const [where, change] of cases)
        t.equal(driver.command(NOP, { ...long, spoil: change }).delivery, wanted, `${what} of ${where} ${block}`);
    }
  t.equal(driver.command(NOP, long).delivery, DeliveryStatus.OK);
});

t.test('an answer has as many bytes as software asks for, and nothing of another one', async (t) => {
  const { driver, commands } = start();
  commands.context.output.fill(7);
  const { output } = driver.command(NOP, { outputBytes: 12 });
  t.same([...new Uint8Array(output.buffer)], new Array(16).fill(0), 'the entry behind a short answer');
  const blocks: DataView[] = [];
  const spoil: NonNullable<Mlx5Command['spoil']> = (_entry, _input, all) => {
    for (const view of all) {
      blocks.push(view);
      for (let at = 0; at < DATA_BYTES; at++) view.setUint8(at, 0xaa);
    }
  };
  driver.expect(NOP, { outputBytes: 16 + DATA_BYTES + 3, spoil });
  const marks = blocks.map((view) => Array.from({ length: DATA_BYTES }, (_, at) => view.getUint8(at)));
  t.same(marks[0], new Array(DATA_BYTES).fill(0));
  t.same(marks[1], new Array(DATA_BYTES).fill(0).fill(0xaa, 3), 'the mailbox behind an answer');
});
