// SPDX-License-Identifier: Apache-2.0
/**
 * Fatal errors as the driver finds them, by what is left of the firmware, and how a reset by the
 * driver ends each; lost commands; and the state of the interface.
 */
import t, { type Test } from 'tap';
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import { COMMAND_DOORBELL_OFFSET, HEALTH_OFFSET, MSIX_PBA_OFFSET } from '../../../protocol/mlx5/gen/constants.gen.ts';
import { HEALTH_BUFFER_SIZE } from '../../../protocol/mlx5/gen/health-buffer.gen.ts';
import {
  CommandOpcode,
  CommandStatus,
  EventType,
  HealthSyndrome,
  InterfaceState,
} from '../../../protocol/mlx5/gen/values.gen.ts';
import { Random } from '../../random.ts';
import { Mlx5Driver, makeMlx5Machine } from '../../rig/mlx5/driver/mlx5-driver.ts';
import { Firmware } from '../shared/firmware.ts';
import { encodeFault } from '../shared/injected-faults.ts';
import { FIRMWARE_VERSION } from './hca/firmware-version.ts';
import { HcaState } from './hca/hca.ts';

const COMMAND_EVENTS = 1n << BigInt(EventType.COMMAND);
const VERSION = HEALTH_OFFSET + 0x30;
/** Bytes that the driver reads by themselves. */
const RESET_REQUEST = HEALTH_OFFSET + 0x38;
const SYNDROME = HEALTH_OFFSET + 0x3d;
const SEEDS = [1, 2, 3];

function startDriver(): Mlx5Driver {
  const driver = new Mlx5Driver();
  driver.start();
  return driver;
}

function plant({ machine, port }: Mlx5Driver, ...words: string[]): void {
  port.plantFault(encodeFault(words));
  machine.runUntilIdle();
}

/** A dword of the health buffer that is not 0, or undefined. */
function findHealth(driver: Mlx5Driver): number | undefined {
  for (let at = 0; at < HEALTH_BUFFER_SIZE; at += 4)
    if (driver.readRegister(HEALTH_OFFSET + at) !== 0) return driver.readRegister(HEALTH_OFFSET + at);
  return undefined;
}

/** The driver resets the function by the state of the interface, and starts it anew. */
function checkRestart(t: Test, driver: Mlx5Driver): void {
  const { device, machine } = driver;
  driver.setInterface(InterfaceState.SOFTWARE_RESET);
  t.equal(driver.interfaceState, InterfaceState.DISABLED, 'the driver waits for this');
  t.equal(findHealth(driver), undefined, 'the device is well');
  t.same([device.hca.state, device.hca.pages.length, device.hca.events.size], [HcaState.DISABLED, 0, 0]);
  driver.writeRegister(COMMAND_DOORBELL_OFFSET, 1);
  machine.runUntilIdle();
  driver.start();
  t.equal(driver.interfaceState, InterfaceState.FULL_DRIVER);
  t.ok(device.ports[0].isEnabled);
  driver.expect(CommandOpcode.NOP);
}

t.test('each cause has its syndrome, and asks for a reset', async (t) => {
  for (const [words, syndrome] of [
    [[], HealthSyndrome.FIRMWARE_INTERNAL],
    [['cause=internal'], HealthSyndrome.FIRMWARE_INTERNAL],
    [['cause=processor'], HealthSyndrome.DEAD_INTERRUPT],
    [['cause=hardware'], HealthSyndrome.HARDWARE],
    [['cause=temperature'], HealthSyndrome.TEMPERATURE],
  ] as const) {
    const driver = startDriver();
    t.equal(findHealth(driver), undefined);
    plant(driver, 'fatal', ...words);
    t.equal(driver.port.readRegister(SYNDROME, 1), syndrome);
    t.equal(driver.port.readRegister(RESET_REQUEST, 1) >>> 7, 1);
    t.equal(driver.readRegister(VERSION), FIRMWARE_VERSION);
    t.equal(driver.device.ports[0].state, PortState.DOWN);
    t.equal(driver.interfaceState, InterfaceState.FULL_DRIVER, 'the interface is not off');
    checkRestart(t, driver);
  }
});

t.test('firmware that refuses commands tells it by event', async (t) => {
  const driver = startDriver();
  const queue = driver.createEventQueue(driver.allocateUar(), COMMAND_EVENTS);
  plant(driver, 'fatal', `firmware=${Firmware.REFUSES}`);
  for (const opcode of [CommandOpcode.NOP, CommandOpcode.TEARDOWN_HCA, 0x7ff])
    t.equal(driver.command(opcode).status, CommandStatus.INTERNAL_ERROR);
  t.match(driver.takeEvents(queue), [{}, {}, {}]);
  t.equal(driver.device.hca.state, HcaState.RUNNING, 'nothing has changed');
  checkRestart(t, driver);
});

t.test('silent firmware: no command ends until a reset', async (t) => {
  for (const reset of ['interface', 'function', 'lost', 'device'] as const) {
    const driver = startDriver();
    const queue = driver.createEventQueue(driver.allocateUar(), COMMAND_EVENTS);
    const { executed } = driver.device.commands;
    plant(driver, 'fatal');
    driver.post(CommandOpcode.NOP);
    driver.writeRegister(COMMAND_DOORBELL_OFFSET, 1);
    driver.machine.runUntilIdle();
    t.equal(driver.device.commands.executed, executed);
    t.equal(driver.device.commands.serve(64), 0, 'and it costs nothing');
    t.same(driver.takeEvents(queue), []);
    if (reset !== 'interface') {
      driver.machine.reset(0, reset);
      driver.machine.resume(0);
      t.equal(findHealth(driver), undefined);
      driver.start();
    }
    checkRestart(t, driver);
  }
});

t.test('a lost command never ends; the next one does', async (t) => {
  const driver = startDriver();
  const { device, machine } = driver;
  const lost = (entry: number, opcode: number) => {
    driver.post(opcode, { entry });
    driver.writeRegister(COMMAND_DOORBELL_OFFSET, 1 << entry);
    machine.runUntilIdle();
    return driver.memory.view(driver.entries + entry * 64, 64).getUint8(63) & 1;
  };
  plant(driver, 'lost-commands', 'count=2', `opcode=0x${CommandOpcode.NOP.toString(16)}`);
  t.equal(lost(0, CommandOpcode.QUERY_PAGES), 0, 'another opcode');
  t.same([lost(1, CommandOpcode.NOP), lost(2, CommandOpcode.NOP), lost(3, CommandOpcode.NOP)], [1, 1, 0]);
  t.equal(device.hca.planted.lostCommands, 2);
  plant(driver, 'lost-commands', 'count=9');
  driver.port.reset('function');
  machine.resume(0);
  driver.start();
  t.equal(device.hca.planted.lostCommands, 2, 'a reset ends it');
});

t.test('a driver that stops the interface at once leaves nothing', async (t) => {
  const driver = startDriver();
  driver.createEventQueue(driver.allocateUar(), COMMAND_EVENTS);
  driver.setInterface(InterfaceState.DISABLED);
  t.equal(driver.interfaceState, InterfaceState.DISABLED);
  t.match(driver.device.hca.objectCounts, { eqs: 0, uars: 0, pages: 0 });
  t.equal(driver.device.ports[0].isEnabled, false);
  driver.post(CommandOpcode.NOP);
  driver.writeRegister(COMMAND_DOORBELL_OFFSET, 1);
  driver.machine.runUntilIdle();
  driver.start();
});

t.test('reads of any width see the same bytes', async (t) => {
  for (const seed of SEEDS) {
    const random = new Random(seed);
    const driver = startDriver();
    plant(driver, 'fatal', 'cause=hardware');
    for (let count = 0; count < 500; count++) {
      const base = random.pick([0, 0x10, 0x1f8, HEALTH_OFFSET, HEALTH_OFFSET + 0x20, HEALTH_OFFSET + 0x38, 0x1000]);
      const dwords = [0, 4].map((at) => driver.port.readRegister(base + at, 4));
      const bytes = new DataView(new ArrayBuffer(8));
      for (const [index, dword] of dwords.entries()) bytes.setUint32(index * 4, dword, true);
      const sizeBytes = random.pick([1, 2]);
      const at = random.below(8 / sizeBytes) * sizeBytes;
      const expected = sizeBytes === 1 ? bytes.getUint8(at) : bytes.getUint16(at, true);
      const read = driver.port.readRegister(base + at, sizeBytes) & (2 ** (8 * sizeBytes) - 1);
      if (read !== expected) t.fail(`seed ${seed}: ${sizeBytes} bytes at ${base + at}: ${read}, not ${expected}`);
      const low = driver.port.readRegister(base, 8);
      if (low !== dwords[0] || driver.port.readHigh !== dwords[1]) t.fail(`seed ${seed}: 8 bytes at ${base}`);
    }
  }
});

t.test('vectors that wait show in the pending bits', async (t) => {
  const driver = startDriver();
  const queue = driver.createEventQueue(driver.allocateUar(), COMMAND_EVENTS, 4, 3);
  driver.machine.hostAt(0).masked[3] = 1;
  driver.arm(queue);
  driver.expect(CommandOpcode.NOP);
  driver.machine.runUntilIdle();
  t.equal(driver.port.readRegister(MSIX_PBA_OFFSET, 4), 1 << 3);
  driver.port.reset('software');
  t.equal(driver.port.readRegister(MSIX_PBA_OFFSET, 4), 0);
});

t.test('the order of stores can be checked', async (t) => {
  const { device } = new Mlx5Driver(makeMlx5Machine({}, { orderCheck: true }));
  t.ok(device.underlying.announced);
});
