// SPDX-License-Identifier: Apache-2.0
/**
 * Bad input of mthca commands: the firmware's own status for each, and nothing changed; and seeded
 * random commands, registers and mailboxes, after which the device still works.
 */
import t, { type Test } from 'tap';
import {
  CLEAR_INTERRUPT_OFFSET,
  EQ_ARM_OFFSET,
  EQ_CONSUMER_OFFSET,
  HCR_OFFSET,
} from '../../../../protocol/mthca/gen/constants.gen.ts';
import { CommandOpcode, CommandStatus, EventKind } from '../../../../protocol/mthca/gen/values.gen.ts';
import { Random } from '../../../random.ts';
import { PageAccess } from '../../../rig/machine/guest-memory-model.ts';
import { type DriverCommand, MthcaDriver, makeMthcaMachine } from '../../../rig/mthca/driver/mthca-driver.ts';
import {
  EQC_BASE,
  eventQueueBytes,
  ICM_BYTES,
  MTT_BASE,
  profile,
  regionBytes,
  setupBytes,
} from '../../../rig/mthca/driver/profile.ts';

const { BAD_INDEX, BAD_OP, BAD_PARAM, BAD_RESOURCE, BAD_RESOURCE_STATE, BAD_SYS_STATE, EXCEED_LIMIT, INTERNAL_ERROR } =
  CommandStatus;

const nowhere = 0x7000_0000_0000;
const unsafe = 2 ** 60;

type Case = readonly [what: string, opcode: number, status: number, command?: DriverCommand];

function refuse(t: Test, driver: MthcaDriver, cases: readonly Case[]): void {
  for (const [what, opcode, status, command] of cases) t.equal(driver.command(opcode, command).status, status, what);
}

t.test('commands out of order', (t) => {
  const driver = new MthcaDriver(makeMthcaMachine());
  refuse(t, driver, [
    ['limits before the firmware runs', CommandOpcode.QUERY_DEV_LIM, BAD_SYS_STATE, { out: 0x100 }],
    ['the firmware without pages', CommandOpcode.RUN_FW, BAD_SYS_STATE],
    ['an object before INIT_HCA', CommandOpcode.SW2HW_MPT, BAD_SYS_STATE],
    ['an unknown opcode', 0x777, BAD_OP],
  ]);
  driver.startFirmware();
  refuse(t, driver, [
    ['the firmware again', CommandOpcode.RUN_FW, BAD_SYS_STATE],
    ['pages before the size', CommandOpcode.MAP_ICM, BAD_SYS_STATE, driver.mapContextMemory(0, 1)],
    ['INIT_HCA without auxiliary pages', CommandOpcode.INIT_HCA, BAD_SYS_STATE, { input: setupBytes(profile) }],
    ['context memory of no size', CommandOpcode.SET_ICM_SIZE, BAD_PARAM, { input: 0 }],
    ['context memory with half a page', CommandOpcode.SET_ICM_SIZE, BAD_PARAM, { input: 0x1800 }],
    ['too much context memory', CommandOpcode.SET_ICM_SIZE, EXCEED_LIMIT, { input: 2 ** 33 }],
  ]);
  driver.startContextMemory();
  refuse(t, driver, [
    ['another size while pages are mapped', CommandOpcode.SET_ICM_SIZE, BAD_SYS_STATE, { input: ICM_BYTES }],
    ['a page outside', CommandOpcode.MAP_ICM, BAD_PARAM, driver.mapContextMemory(ICM_BYTES, 1)],
    ['no entries', CommandOpcode.MAP_ICM, BAD_PARAM, { input: 0x1000, modifier: 0 }],
    ['more entries than a mailbox has', CommandOpcode.MAP_ICM, BAD_PARAM, { input: 0x1000, modifier: 257 }],
    ['pages from half a page on', CommandOpcode.UNMAP_ICM, BAD_PARAM, { input: 0x800, modifier: 1 }],
    ['pages outside', CommandOpcode.UNMAP_ICM, BAD_PARAM, { input: ICM_BYTES, modifier: 1 }],
  ]);
  driver.startHca();
  refuse(t, driver, [
    ['INIT_HCA again', CommandOpcode.INIT_HCA, BAD_SYS_STATE, { input: setupBytes(profile) }],
    ['the end of the firmware under a running HCA', CommandOpcode.UNMAP_FA, BAD_SYS_STATE],
  ]);
  t.end();
});

t.test('mailboxes that cannot be used', (t) => {
  const driver = new MthcaDriver(makeMthcaMachine());
  driver.start();
  const readOnly = driver.allocate(0x1000);
  driver.memory.protect(readOnly, 0x1000, PageAccess.READ_ONLY);
  refuse(t, driver, [
    ['input not mapped', CommandOpcode.SW2HW_MPT, INTERNAL_ERROR, { input: nowhere, modifier: 200 }],
    ['input beyond exact numbers', CommandOpcode.SW2HW_MPT, INTERNAL_ERROR, { input: unsafe, modifier: 200 }],
    ['input not aligned', CommandOpcode.SW2HW_MPT, BAD_PARAM, { input: driver.memory.base + 8, modifier: 200 }],
    ['output not mapped', CommandOpcode.QUERY_DEV_LIM, INTERNAL_ERROR, { out: 0x100, outAddress: nowhere }],
    ['output not aligned', CommandOpcode.QUERY_DEV_LIM, BAD_PARAM, { out: 0x100, outAddress: readOnly + 4 }],
    ['output read-only', CommandOpcode.QUERY_DEV_LIM, INTERNAL_ERROR, { out: 0x100, outAddress: readOnly }],
    [
      'HW2SW_EQ without output',
      CommandOpcode.HW2SW_EQ,
      INTERNAL_ERROR,
      { modifier: 2, out: 0x40, outAddress: nowhere },
    ],
  ]);
  t.not(driver.device.hca.eventQueues.get(2), undefined, 'the EQ is still there');
  t.end();
});

t.test('INIT_HCA with tables that do not fit', (t) => {
  const driver = new MthcaDriver(makeMthcaMachine());
  driver.startFirmware();
  driver.startContextMemory();
  const setup = (change: object): DriverCommand => ({ input: setupBytes({ ...profile, ...change }) });
  refuse(t, driver, [
    ['too many QPs', CommandOpcode.INIT_HCA, EXCEED_LIMIT, setup({ logQpcEntries: 17 })],
    ['too many groups', CommandOpcode.INIT_HCA, EXCEED_LIMIT, setup({ logGroups: 14 })],
    ['QP contexts outside', CommandOpcode.INIT_HCA, BAD_PARAM, setup({ qpcBaseHigh: 1 })],
    ['regions outside', CommandOpcode.INIT_HCA, BAD_PARAM, setup({ mptBase: ICM_BYTES - 0x40 })],
    ['doorbell records outside', CommandOpcode.INIT_HCA, BAD_PARAM, setup({ uarContextBase: ICM_BYTES })],
    ['more UARs than the BAR has', CommandOpcode.INIT_HCA, BAD_PARAM, setup({ logUars: 12 })],
    ['a hash beyond the table', CommandOpcode.INIT_HCA, BAD_PARAM, setup({ groupHashSize: 17 })],
  ]);
  driver.startHca();
  t.end();
});

t.test('objects with numbers and contexts that are not valid', (t) => {
  const driver = new MthcaDriver(makeMthcaMachine());
  driver.start();
  const memory = driver.allocate(0x2000);
  const key = driver.createRegion(memory, 0x2000);
  const foreign = driver.createRegion(memory, 0x2000, { pd: 9 });
  const readOnly = driver.createRegion(memory, 0x2000, { localWrite: 0 });
  const region = (change: object): DriverCommand => ({
    input: regionBytes({ key: 200, length: 0x1000, translation: MTT_BASE, ...change }),
    modifier: 200,
  });
  const eq = (keyOfQueue: number, vector = 0, logEntries = 6, modifier = 5): DriverCommand => ({
    input: eventQueueBytes(keyOfQueue, vector, logEntries),
    modifier,
  });
  const give = CommandOpcode.SW2HW_MPT;
  refuse(t, driver, [
    ['a region of the firmware', give, BAD_RESOURCE, { ...region({ key: 3 }), modifier: 3 }],
    ['a region behind the table', give, BAD_INDEX, { ...region({}), modifier: 256 }],
    ['a region that the HCA owns', give, BAD_RESOURCE_STATE, { ...region({ key: 16 }), modifier: 16 }],
    ['a region with the key of another', give, BAD_PARAM, region({ key: 201 })],
    ['a memory window', give, BAD_PARAM, region({ region: 0 })],
    ['pages of 4 TiB', give, BAD_PARAM, region({ logPageSize: 30 })],
    ['translation entries outside', give, BAD_PARAM, region({ translation: ICM_BYTES - 8, length: 0x2000 })],
    ['translation entries that are not aligned', give, BAD_PARAM, region({ translation: MTT_BASE + 4 })],
    ['a region without end', give, BAD_PARAM, region({ length: unsafe })],
    ['a region that software owns', CommandOpcode.HW2SW_MPT, BAD_RESOURCE_STATE, { modifier: 200, opcodeModifier: 1 }],
    ['HW2SW_MPT with a modifier', CommandOpcode.HW2SW_MPT, BAD_OP, { modifier: 16, opcodeModifier: 2 }],
    ['an EQ of the firmware', CommandOpcode.SW2HW_EQ, BAD_RESOURCE, eq(key, 0, 6, 1)],
    ['an EQ behind the table', CommandOpcode.SW2HW_EQ, BAD_INDEX, eq(key, 0, 6, 32)],
    ['an EQ that the HCA owns', CommandOpcode.SW2HW_EQ, BAD_RESOURCE_STATE, eq(key, 0, 6, 2)],
    ['an EQ with a pin interrupt', CommandOpcode.SW2HW_EQ, BAD_PARAM, eq(key, -128)],
    ['an EQ with a vector too many', CommandOpcode.SW2HW_EQ, BAD_PARAM, eq(key, 4)],
    ['an EQ larger than its region', CommandOpcode.SW2HW_EQ, BAD_PARAM, eq(key, 0, 9)],
    ['an EQ too large', CommandOpcode.SW2HW_EQ, EXCEED_LIMIT, eq(key, 0, 19)],
    ['an EQ in memory of another domain', CommandOpcode.SW2HW_EQ, BAD_PARAM, eq(foreign)],
    ['an EQ in read-only memory', CommandOpcode.SW2HW_EQ, BAD_PARAM, eq(readOnly)],
    ['an EQ with no key', CommandOpcode.SW2HW_EQ, BAD_PARAM, eq(0xffffffff)],
    ['events to an EQ of software', CommandOpcode.MAP_EQ, BAD_RESOURCE_STATE, { input: 1, modifier: 9 }],
    ['events that do not exist', CommandOpcode.MAP_EQ, BAD_PARAM, { input: 2 ** 40, modifier: 2 }],
    ['WRITE_MTT of nothing', CommandOpcode.WRITE_MTT, BAD_PARAM, { input: new Uint8Array(16), modifier: 0 }],
    ['a group behind the table', CommandOpcode.READ_MGM, BAD_INDEX, { modifier: 16, out: 0x100 }],
    ['port 0', CommandOpcode.CLOSE_IB, BAD_INDEX],
    ['a port without MTU', CommandOpcode.INIT_IB, BAD_PARAM, { modifier: 1, input: new Uint8Array(0x38) }],
    ['a special QP of no kind', CommandOpcode.CONF_SPECIAL_QP, BAD_OP, { opcodeModifier: 2, modifier: 16 }],
    ['a special QP behind the table', CommandOpcode.CONF_SPECIAL_QP, BAD_INDEX, { modifier: 0x1000 }],
  ]);
  driver.expect(CommandOpcode.SW2HW_EQ, eq(key));
  t.end();
});

t.test('contexts whose context memory was taken away', (t) => {
  const driver = new MthcaDriver(makeMthcaMachine());
  driver.start();
  const key = driver.createRegion(driver.allocate(0x1000), 0x1000);
  driver.expect(CommandOpcode.UNMAP_ICM, { input: EQC_BASE, modifier: 1 });
  refuse(t, driver, [['an EQ', CommandOpcode.SW2HW_EQ, BAD_RESOURCE, { input: eventQueueBytes(key, 0), modifier: 5 }]]);
  driver.expect(CommandOpcode.UNMAP_ICM, { input: MTT_BASE, modifier: 16 });
  const lost = driver.device.hca.events.lost;
  driver.expect(CommandOpcode.NOP, { byEvent: true });
  t.equal(driver.device.hca.events.lost, lost + 1, 'an event whose translation is gone is lost');
  t.end();
});

/** One hostile act: a command or register with random content, now and then something valid. */
function act(driver: MthcaDriver, random: Random): void {
  const address = () => random.pick([driver.memory.base + 16 * random.below(1024), random.next() * random.next(), 0]);
  if (random.below(4) === 0) {
    const places = [HCR_OFFSET, EQ_ARM_OFFSET, EQ_CONSUMER_OFFSET, CLEAR_INTERRUPT_OFFSET, 0xf0010, 0x41000];
    const size = random.pick([1, 2, 4, 8]);
    const offset = random.pick(places) + random.below(32);
    driver.machine.functionAt(0).writeRegister(offset, size, random.next(), random.next());
    driver.machine.functionAt(0).readRegister(offset, size);
    driver.machine.runUntilIdle();
    return;
  }
  const input =
    random.below(2) === 0 ? Uint8Array.from({ length: 0x200 }, () => random.pick([0, 1, 3, random.next()])) : address();
  driver.command(random.pick(Object.values(CommandOpcode)), {
    input,
    modifier: random.pick([random.below(8), random.below(300), random.next()]),
    opcodeModifier: random.pick([0, 0, 1, random.below(16)]),
    out: random.below(2) * 0x100,
    ...(random.below(3) === 0 ? { outAddress: address() } : {}),
    byEvent: random.below(4) === 0,
  });
}

for (let seed = 1; seed <= 8; seed++) {
  t.test(`random commands and registers, seed ${seed}`, (t) => {
    const driver = new MthcaDriver(makeMthcaMachine({ portCount: seed % 2 === 0 ? 2 : 1 }, { seed }));
    const random = new Random(seed);
    for (let round = 0; round < 12; round++) {
      driver.reset();
      driver.machine.runUntilIdle();
      if (round % 4 >= 1) driver.startFirmware();
      if (round % 4 >= 2) driver.startContextMemory();
      if (round % 4 >= 3) driver.startHca();
      for (let count = 0; count < 150; count++) act(driver, random);
    }
    const last = new MthcaDriver(driver.machine);
    last.reset();
    const queue = last.start();
    last.expect(CommandOpcode.NOP, { byEvent: true });
    t.equal(queue.take()[0].getUint8(1), EventKind.COMMAND, `seed ${seed}: the device works after a reset`);
    t.end();
  });
}
