// SPDX-License-Identifier: Apache-2.0
/**
 * An mlx5 device in process: started as the Linux driver starts it, commands by polling and by
 * event, several in flight, pages given and taken back, reset.
 */
import t from 'tap';
import {
  COMMAND_DOORBELL_OFFSET,
  HEALTH_COUNTER_OFFSET,
  TIMER_OFFSET,
} from '../../../protocol/mlx5/gen/constants.gen.ts';
import {
  CommandOpcode,
  CommandStatus,
  DeliveryStatus,
  EventType,
  TeardownProfile,
} from '../../../protocol/mlx5/gen/values.gen.ts';
import { Mlx5Driver } from '../../rig/mlx5/driver/mlx5-driver.ts';
import { BOOT_PAGES, START_PAGES } from './hca/hca.ts';

const COMMAND_EVENTS = 1n << BigInt(EventType.COMMAND);

t.test('the device starts as the Linux driver starts it', async (t) => {
  const driver = new Mlx5Driver();
  t.equal(driver.readRegister(4) >>> 16, 5, 'revision of the command interface');
  t.equal(driver.readRegister(0x14) & 0xff, 0x56, '32 entries of 64 bytes');
  t.equal(driver.readRegister(0x1fc) >>> 30, 0b01, 'it is ready, and software may reset it');
  driver.connect();
  t.equal(driver.command(CommandOpcode.INIT_HCA, { inputBytes: 0x20 }).status, CommandStatus.BAD_SYSTEM_STATE);
  driver.expect(CommandOpcode.ENABLE_HCA, { outputBytes: 0xc });
  t.equal(driver.expect(CommandOpcode.QUERY_ISSI, { outputBytes: 0x70 }).getUint32(0x6c), 0b11);
  t.equal(driver.command(CommandOpcode.INIT_HCA, { inputBytes: 0x20 }).status, CommandStatus.NO_RESOURCES);
  t.equal(driver.givePages(1), BOOT_PAGES);
  t.equal(driver.givePages(2), START_PAGES);
  t.equal(driver.givePages(2), 0);
  driver.expect(CommandOpcode.INIT_HCA, { inputBytes: 0x20 });
  const board = driver.expect(CommandOpcode.QUERY_ADAPTER, { outputBytes: 0x110 });
  t.equal(String.fromCharCode(...new Uint8Array(board.buffer, 0x100, 15)), 'VUHCA_MLX5_0001');
  t.equal(board.getUint32(0x28), 0x0002c9, 'the vendor that drivers expect');
  t.equal(driver.allocateUar(), 0x10, 'the first page behind the segment');
});

t.test('capabilities: software may want less, and a reset forgets it', async (t) => {
  const driver = new Mlx5Driver();
  driver.connect();
  driver.expect(CommandOpcode.ENABLE_HCA, { outputBytes: 0xc });
  const ask = (modifier: number) =>
    driver.expect(CommandOpcode.QUERY_HCA_CAP, { modifier, outputBytes: 0x1010 }).getUint32(0x10 + 0x48) & 0xff;
  t.equal(ask(0), 12, 'pages of 4 KiB');
  driver.expect(CommandOpcode.SET_HCA_CAP, {
    inputBytes: 0x1010,
    fill: (view) => view.setUint8(0x10 + 0x4b, 13),
  });
  t.same([ask(0), ask(1)], [12, 13]);
  driver.port.reset('software');
  driver.connect();
  driver.expect(CommandOpcode.ENABLE_HCA, { outputBytes: 0xc });
  t.equal(ask(1), 12);
  const atomics = driver.expect(CommandOpcode.QUERY_HCA_CAP, { modifier: 3 << 1, outputBytes: 0x1010 });
  t.same(
    [atomics.getUint32(0x18) >>> 30, atomics.getUint16(0x22), atomics.getUint16(0x26)],
    [1, 0b11, 8],
    'both atomics of 8 bytes, in the byte order of the host',
  );
  driver.expect(CommandOpcode.SET_HCA_CAP, {
    modifier: 3 << 1,
    inputBytes: 0x1010,
    fill: (view) => view.setUint32(0x18, 1 << 30),
  });
  const inUse = driver.expect(CommandOpcode.QUERY_HCA_CAP, { modifier: (3 << 1) | 1, outputBytes: 0x1010 });
  t.equal(inUse.getUint16(0x22), 0b11, 'software chooses the byte order and leaves the rest 0');
  const unknown = driver.command(CommandOpcode.QUERY_HCA_CAP, { modifier: 0x40, outputBytes: 0x1010 });
  t.equal(unknown.status, CommandStatus.BAD_PARAMETER);
});

t.test('all pages come back', async (t) => {
  const driver = new Mlx5Driver();
  driver.start();
  driver.expect(CommandOpcode.TEARDOWN_HCA);
  const taken = new Set<bigint>();
  for (const count of [30, 100]) {
    const output = driver.expect(CommandOpcode.MANAGE_PAGES, {
      modifier: 2,
      outputBytes: 0x10 + 8 * count,
      fill: (view) => view.setUint32(0xc, count),
    });
    for (let index = 0; index < output.getUint32(8); index++) taken.add(output.getBigUint64(0x10 + 8 * index));
  }
  t.equal(taken.size, BOOT_PAGES + START_PAGES, 'each once');
  t.equal(driver.expect(CommandOpcode.QUERY_PAGES, { modifier: 1 }).getUint32(0xc), BOOT_PAGES);
});

t.test('a function stops gracefully, by force and fast', async (t) => {
  const driver = new Mlx5Driver();
  const tearDown = (profile: number): number =>
    driver.command(CommandOpcode.TEARDOWN_HCA, { fill: (view) => view.setUint16(0xa, profile) }).status;
  driver.start();
  const queue = driver.createEventQueue(driver.allocateUar(), COMMAND_EVENTS);
  t.equal(tearDown(TeardownProfile.GRACEFUL), CommandStatus.RESOURCE_BUSY);
  t.equal(tearDown(3), CommandStatus.BAD_PARAMETER);
  t.equal(tearDown(TeardownProfile.PREPARE_FAST), CommandStatus.OK);
  t.equal(driver.device.hca.objectCounts.eqs, 1, 'the interface is still on');
  driver.takeEvents(queue);
  t.equal(tearDown(TeardownProfile.FORCE), CommandStatus.OK);
  t.equal(driver.takeEvents(queue).length, 1, 'the event of the command itself comes');
  t.same([driver.device.hca.objectCounts.eqs, driver.device.hca.objectCounts.uars], [0, 0]);
  t.equal(tearDown(TeardownProfile.FORCE), CommandStatus.BAD_SYSTEM_STATE);
});

t.test('commands end by events once a queue takes them, but the one that made the queue', async (t) => {
  const driver = new Mlx5Driver();
  driver.start();
  const uar = driver.allocateUar();
  const queue = driver.createEventQueue(uar, COMMAND_EVENTS);
  t.same(driver.takeEvents(queue), [], 'software polls for the command that made the queue');
  driver.arm(queue);
  const { raised } = driver.machine.hostAt(0);
  t.equal(raised[0], 0);
  const posted = [3, 7, 20].map((entry) => driver.post(CommandOpcode.NOP, { entry }));
  driver.writeRegister(COMMAND_DOORBELL_OFFSET, (1 << 3) | (1 << 7) | (1 << 20));
  driver.machine.runUntil(
    () => posted.every(({ read }) => read().delivery === 0 && driver.readRegister(0x18) === 0),
    'all',
  );
  let mask = 0;
  for (const { type, data } of driver.takeEvents(queue)) {
    t.equal(type, EventType.COMMAND);
    mask |= data.getUint32(0);
  }
  t.equal(mask, (1 << 3) | (1 << 7) | (1 << 20));
  t.equal(raised[0], 1, 'one interrupt for what came at once');
  driver.expect(CommandOpcode.NOP);
  t.equal(raised[0], 1, 'the queue is not armed');
  driver.arm(queue);
  driver.machine.step();
  t.equal(raised[0], 2, 'armed again, it has an entry');
});

t.test('an event queue goes round, and stops when software does not take its entries', async (t) => {
  const driver = new Mlx5Driver();
  driver.start();
  const queue = driver.createEventQueue(driver.allocateUar(), COMMAND_EVENTS, 2);
  for (let round = 0; round < 11; round++) {
    driver.expect(CommandOpcode.NOP);
    t.equal(driver.takeEvents(queue).length, 1, `round ${round}`);
    driver.arm(queue);
  }
  for (let index = 0; index < 5; index++) driver.expect(CommandOpcode.NOP);
  t.equal(driver.takeEvents(queue).length, 4, 'nothing is overwritten');
  const status = driver.expect(CommandOpcode.QUERY_EQ, {
    outputBytes: 0x110,
    fill: (view) => view.setUint32(8, queue.number),
  });
  t.equal(status.getUint8(0x10) >>> 4, 9, 'overflow');
});

t.test('what is wrong with an entry or a block is said, and nothing is executed', async (t) => {
  const driver = new Mlx5Driver();
  driver.start();
  const long = { inputBytes: 0x1010, outputBytes: 0x1010 };
  const cases: readonly (readonly [string, Parameters<Mlx5Driver['command']>[1], number])[] = [
    ['type', { spoil: (entry) => entry.setUint8(0, 6) }, DeliveryStatus.BAD_TYPE],
    ['short input', { inputBytes: 4 }, DeliveryStatus.BAD_INPUT_LENGTH],
    ['endless input', { spoil: (entry) => entry.setUint32(4, 0xffffffff) }, DeliveryStatus.BAD_INPUT_LENGTH],
    ['endless output', { spoil: (entry) => entry.setUint32(0x38, 0xffffffff) }, DeliveryStatus.BAD_OUTPUT_LENGTH],
    ['token', { ...long, spoil: (_, [, second]) => second.setUint8(0x23d, 0) }, DeliveryStatus.BAD_TOKEN],
    ['number', { ...long, spoil: (_, [, second]) => second.setUint32(0x238, 7) }, DeliveryStatus.BAD_BLOCK_NUMBER],
    [
      'pointer',
      { ...long, spoil: (_, [first]) => first.setUint32(0x230, 0x7fffffff) },
      DeliveryStatus.BAD_INPUT_POINTER,
    ],
    [
      'output pointer',
      { ...long, spoil: (_, __, [first]) => first.setUint32(0x230, 0x7fffffff) },
      DeliveryStatus.BAD_OUTPUT_POINTER,
    ],
  ];
  const { executed } = driver.device.commands;
  for (const [what, command, delivery] of cases)
    t.equal(driver.command(CommandOpcode.NOP, command).delivery, delivery, what);
  t.equal(driver.device.commands.executed, executed + 1, 'but for the one whose answer has no way back');
  t.equal(driver.command(0x7ff).status, CommandStatus.BAD_OPCODE);
  t.equal(driver.command(CommandOpcode.CREATE_EQ).status, CommandStatus.BAD_INPUT_LENGTH);
  t.equal(driver.command(CommandOpcode.QUERY_ADAPTER).status, CommandStatus.BAD_OUTPUT_LENGTH);
});

t.test('timer and health counter go with the clock of the adapter', async (t) => {
  const driver = new Mlx5Driver();
  const before = [driver.readRegister(TIMER_OFFSET + 4), driver.readRegister(HEALTH_COUNTER_OFFSET)];
  driver.machine.clock.advance(2_000_000_000);
  const after = [driver.readRegister(TIMER_OFFSET + 4), driver.readRegister(HEALTH_COUNTER_OFFSET)];
  t.equal(after[0] - before[0], 2_000_000_000);
  t.equal(after[1] - before[1], 20, 'it moves between two looks of the driver');
});
