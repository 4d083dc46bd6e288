// SPDX-License-Identifier: Apache-2.0
/**
 * The TVL mapping table in memory of the physical function (US 8,484,392 par. 74): when its entries
 * are read, what they may change, and that they cannot give away what other functions own.
 */

import t from 'tap';
import { highDword, joinDwords, lowDword } from '../../../protocol/layout/dwords.ts';
import {
  LANE_TABLE_ENTRY_LANES_OFFSET,
  LANE_TABLE_ENTRY_LEVEL0_OFFSET,
  LANE_TABLE_ENTRY_LEVEL1_OFFSET,
  LANE_TABLE_ENTRY_SIZE,
} from '../../../protocol/layout/gen/lane-table-entry.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import {
  FaultKind,
  FaultObject,
  ResourceKind as Kind,
  ManagementStatus,
  SendOpcode,
} from '../../../protocol/layout/gen/values.gen.ts';
import { Driver } from '../../rig/driver/driver.ts';
import { encodeChanges } from '../../rig/driver/resources.ts';
import { findBadBinding } from '../../rig/fixtures/invariants.ts';
import { findLaneFault } from '../../rig/fixtures/lane-invariants.ts';
import { seedsOf } from '../../rig/fixtures/seeds.ts';
import { change } from '../../rig/fixtures/share-model.ts';
import { InProcessAccess } from '../../rig/machine/access.ts';
import { InProcessMachine, type MachineOptions } from '../../rig/machine/machine.ts';

const FUNCTIONS = 3;
const LANES = 128;
const LATENCY_NS = 1000;
const NOP = { header: { opcode: SendOpcode.NOP } };
const { OK, BAD_FIELD, BAD_OBJECT, BAD_STATE, NOT_PERMITTED } = ManagementStatus;

/** Lanes of an entry; a level without lanes uses all of its function. */
interface Entry {
  readonly lanes: readonly number[];
  readonly level0?: readonly number[];
  readonly level1?: readonly number[];
}

/** Three functions without lanes of their own, and a table for them. */
function start(options: MachineOptions = {}) {
  const machine = new InProcessMachine({ functionCount: FUNCTIONS, seed: 1, ...options });
  const { device } = machine;
  machine.onStep = () => {
    const wrong = findBadBinding(device) ?? findLaneFault(device);
    if (wrong !== undefined) throw new Error(`${wrong}; ${machine.describe()}`);
  };
  const guests = Array.from({ length: FUNCTIONS }, (_, index) => {
    const access = new InProcessAccess(machine, index);
    const driver = new Driver(access).bringUp();
    t.match(driver.resources.request([change(Kind.VCBS, index, 8, { qosLevel: 1 })]), { status: OK });
    const pd = driver.createProtectionDomain();
    const sendCq = driver.createCompletionQueue({ entriesLog2: 10 });
    const qps = [0, 1].map((qosLevel) => driver.createQueuePair({ pd, sendCq, qosLevel }).start({ port: 1 }));
    const read = (register: number, at = 0): number => access.readRegister(register + 4 * at, 4);
    const readAddress = (register: number): number => joinDwords(read(register), read(register, 1));
    return { access, driver, qps, sendCq, read, readAddress };
  });
  const [physical] = guests;
  const none = guests.map((_, target) => change(Kind.TVLS, target, 0));
  t.equal(machine.functionAt(0).requestResources(encodeChanges(none)).status, OK);
  const { address, bytes: table } = physical.driver.createBuffer(FUNCTIONS * LANE_TABLE_ENTRY_SIZE);
  physical.access.writeRegister(CSR.LANE_TABLE, 8, lowDword(address), highDword(address));
  const { plan } = device.shareManager;
  return {
    ...{ machine, device, guests, physical, table, address, plan },
    /** Writes an entry; the adapter does not know. */
    store: (target: number, entry: Entry) => storeEntry(table, target, entry),
    mark: (target: number, amount = 1) =>
      physical.driver.resources.request([change(Kind.TVL_TABLE_ENTRY, target, amount)]),
    /** Lanes of a function, and of its levels. */
    lanesOf: (target: number) => {
      const { map } = device.lanes;
      return [map.getOwned(target), map.getLanes(target, 0), map.getLanes(target, 1)].map((set) =>
        Array.from({ length: LANES }, (_, lane) => lane).filter((lane) => set.has(lane)),
      );
    },
    /** Executes a NOP of a level of the function. */
    send: (target: number, qosLevel = 0) => {
      const { qps, sendCq } = guests[target];
      qps[qosLevel].post(NOP, 'doorbell');
      machine.runUntilIdle();
      t.equal(sendCq.drain().length, 1);
    },
  };
}

function storeEntry(table: Uint8Array, target: number, { lanes, level0 = [], level1 = [] }: Entry): void {
  const entry = table.subarray(target * LANE_TABLE_ENTRY_SIZE, (target + 1) * LANE_TABLE_ENTRY_SIZE);
  entry.fill(0);
  const put = (offset: number, numbers: readonly number[]): void => {
    for (const number of numbers) entry[offset + (number >> 3)] |= 1 << (number & 7);
  };
  put(LANE_TABLE_ENTRY_LANES_OFFSET, lanes);
  put(LANE_TABLE_ENTRY_LEVEL0_OFFSET, level0);
  put(LANE_TABLE_ENTRY_LEVEL1_OFFSET, level1);
}

t.test('an invalid entry is read before the next command of its function gets a lane, once', async (t) => {
  const { device, lanesOf, mark, physical, send, store } = start();
  store(1, { lanes: [3, 40, 127], level0: [3, 40], level1: [127] });
  send(1);
  t.same(lanesOf(1)[0], [], 'an entry that is not marked stays unread');
  t.match(mark(1), { status: OK });
  t.same(lanesOf(1)[0], [], 'no command needs a lane yet');
  send(0);
  send(2);
  t.same([physical.read(CSR.LANE_TABLE_READS), lanesOf(1)[0]], [0, []], 'nor do commands of other functions');
  send(1);
  t.same(lanesOf(1), [[3, 40, 127], [3, 40], [127]]);
  t.equal(device.lanes.lanes[3].launches + device.lanes.lanes[40].launches, 1, 'the command itself takes one of them');
  send(1, 1);
  t.equal(device.lanes.lanes[127].launches, 1);
  store(1, { lanes: [5] });
  send(1);
  t.same([physical.read(CSR.LANE_TABLE_READS), lanesOf(1)[0]], [1, [3, 40, 127]], 'a valid entry is not read again');
  mark(1);
  send(1);
  t.same(lanesOf(1), [[5], [5], [5]], 'levels without lanes use all of the function');
});

t.test('an entry cannot give away what another function or level owns: nothing changes', async (t) => {
  const { guests, lanesOf, machine, mark, physical, send, store, address, plan } = start();
  const give = [change(Kind.TVLS, 2, 10), change(Kind.TVLS, 1, 4)];
  t.equal(machine.functionAt(0).requestResources(encodeChanges(give)).status, OK);
  const [[first], [own]] = [lanesOf(2)[0], lanesOf(1)[0]];
  const before = JSON.stringify([plan.lanes, plan.functions]);
  const all = Array.from({ length: LANES }, (_, lane) => lane).filter((lane) => !lanesOf(2)[0].includes(lane));
  const entries: [string, Entry][] = [
    ['a lane of function 2', { lanes: [20, first] }],
    ['a lane of function 2 behind good ones', { lanes: [...lanesOf(1)[0], 64, first] }],
    ['a level with a lane that the function has not', { lanes: [20], level0: [20, 21] }],
    ["a level with another function's lane", { lanes: [20], level1: [first] }],
    ['all shared lanes, though function 0 has no other', { lanes: all }],
  ];
  for (const [index, [name, entry]] of entries.entries()) {
    store(1, entry);
    t.match(mark(1), { status: OK }, name);
    send(1);
    t.equal(JSON.stringify([plan.lanes, plan.functions]), before, name);
    t.ok(lanesOf(1)[0].includes(own), 'the function goes on with its lanes');
    t.equal(physical.read(CSR.FAULT_COUNT, FaultKind.LANE_TABLE_ENTRY), index + 1, name);
    t.same(
      [CSR.FIRST_FAULT_OBJECT_KIND, CSR.FIRST_FAULT_OBJECT].map((at) => physical.read(at)),
      [FaultObject.FUNCTION, 1],
    );
    t.equal(physical.readAddress(CSR.FIRST_FAULT_ADDRESS), address + LANE_TABLE_ENTRY_SIZE);
  }
  t.equal(guests[1].read(CSR.FAULT_COUNT, FaultKind.LANE_TABLE_ENTRY), 0, 'the fault is of the physical function');
  t.same([physical.read(CSR.LANE_TABLE_READS), guests[1].read(CSR.LANE_TABLE_READS)], [entries.length, 0]);
  store(1, { lanes: [20, 21], level0: [21] });
  mark(1);
  send(1);
  t.same(lanesOf(1), [[20, 21], [21], [20, 21]], 'a good entry is taken after all');
});

t.test('an entry takes the latency of reads; commands of its function wait, those of others do not', async (t) => {
  const { device, guests, lanesOf, machine, mark, physical, send, store } = start({
    adapter: { dmaLatencyNs: LATENCY_NS, dmaContexts: 1 },
  });
  const { clock } = machine;
  const settle = (latencies = 0): void => {
    for (let left = latencies; left > 0; left--) {
      clock.advance(LATENCY_NS);
      machine.runUntilIdle();
    }
    machine.runUntilIdle();
  };
  const launches = (): number => device.lanes.functionLaunches[1];
  store(1, { lanes: [5, 6], level1: [6] });
  mark(1);
  for (const qp of guests[1].qps) qp.post(NOP, 'collect');
  guests[2].qps[0].post(NOP, 'collect');
  settle();
  t.same([physical.read(CSR.DMA_CONTEXTS_USED), physical.read(CSR.LANE_TABLE_READS), launches()], [1, 0, 0]);
  t.equal(guests[2].sendCq.drain().length, 1, 'another function does not wait');
  t.ok(clock.alarmNs <= clock.now() + LATENCY_NS, 'the adapter asks for a pass');
  // Meanwhile the physical function changes the entry and marks it again.
  store(1, { lanes: [7, 8] });
  mark(1);
  settle(1);
  t.equal(physical.read(CSR.LANE_TABLE_READS), 1);
  t.equal(launches(), 0, 'the entry is invalid again');
  settle(1);
  t.same([physical.read(CSR.LANE_TABLE_READS), lanesOf(1)[0]], [2, [7, 8]]);
  // The copies became doorbells: queue-pair-records and commands are read in time as well.
  settle(4);
  t.equal(guests[1].sendCq.drain().length, 2);
  t.equal(device.lanes.lanes[7].launches + device.lanes.lanes[8].launches, 2);
  t.same([physical.read(CSR.DMA_CONTEXTS_USED), device.laneTable.busy], [0, false]);
  store(1, { lanes: [9] });
  mark(1);
  guests[1].qps[0].post(NOP, 'collect');
  settle();
  machine.functionAt(0).reset('function');
  settle(6);
  t.equal(guests[1].sendCq.drain().length, 1, 'a reset of the physical function ends the wait');
  t.same([lanesOf(1)[0], device.laneTable.busy], [[7, 8], false]);
  device.dmaTiming.latencyNs = 0;
  send(1);
});

t.test('bits of lanes that the adapter has not are refused', async (t) => {
  const { lanesOf, mark, physical, send, store } = start({ adapter: { laneCount: 40, executionCredits: 64 } });
  store(1, { lanes: [2, 40] });
  mark(1);
  send(1);
  t.same([lanesOf(1)[0], physical.read(CSR.FAULT_COUNT, FaultKind.LANE_TABLE_ENTRY)], [[], 1]);
});

t.test('memory that cannot be read changes nothing and is read once', async (t) => {
  const { guests, lanesOf, mark, physical, send } = start();
  physical.access.writeRegister(CSR.LANE_TABLE, 8, 0, 0x100);
  t.match(mark(2), { status: OK });
  send(2);
  send(2);
  t.same(lanesOf(2)[0], []);
  t.equal(physical.read(CSR.FAULT_COUNT, FaultKind.DMA_READ), 1);
  t.equal(guests[2].read(CSR.FAULT_COUNT, FaultKind.DMA_READ), 0);
  t.equal(physical.read(CSR.LANE_TABLE_READS), 0);
});

t.test('only the physical function has a table, and marks entries of a table that is there', async (t) => {
  const { guests, lanesOf, machine, mark, physical, send, store, address } = start();
  const [, weather] = guests;
  const ask = (...words: [number, number]) =>
    weather.driver.resources.request([change(Kind.TVL_TABLE_ENTRY, ...words)]);
  t.match(ask(1, 1), { status: NOT_PERMITTED });
  weather.access.writeRegister(CSR.LANE_TABLE, 8, 0x1000, 0);
  t.same([weather.readAddress(CSR.LANE_TABLE), physical.readAddress(CSR.LANE_TABLE)], [0, address]);
  t.equal(weather.read(CSR.FAULT_COUNT, FaultKind.NOT_PERMITTED), 1);
  t.match(mark(1, 2), { status: BAD_FIELD, limit: 1 });
  t.match(mark(FUNCTIONS), { status: BAD_OBJECT, limit: FUNCTIONS - 1 });
  store(1, { lanes: [7] });
  mark(1);
  t.match(mark(1, 0), { status: OK }, 'the mark is taken back');
  send(1);
  t.equal(physical.read(CSR.LANE_TABLE_READS), 0);
  mark(1);
  machine.functionAt(0).reset('function');
  t.match(
    machine.functionAt(0).requestResources(encodeChanges([change(Kind.TVL_TABLE_ENTRY, 1, 1)])),
    { status: BAD_STATE },
    'a reset removes the table',
  );
  physical.access.writeRegister(CSR.LANE_TABLE, 8, lowDword(address), highDword(address));
  send(1);
  t.same([physical.read(CSR.LANE_TABLE_READS), lanesOf(1)[0]], [0, []], 'and the marks');
  t.equal(machine.functionAt(0).requestResources(encodeChanges([change(Kind.TVL_TABLE_ENTRY, 1, 1)])).status, OK);
});

t.test('random tables under load: lanes keep one owner each, and every command completes', async (t) => {
  for (const seed of seedsOf(1, 3)) {
    const { device, guests, machine, mark, store } = start({ seed });
    const { random } = machine;
    const owner = new Array<number>(LANES).fill(-1);
    let [posted, completed, taken] = [0, 0, 0];
    for (let turn = 0; turn < 300; turn++) {
      const target = random.below(FUNCTIONS);
      const lanes = Array.from({ length: random.below(6) }, () => random.below(LANES));
      store(target, { lanes, level0: lanes.slice(0, random.below(3)), level1: lanes.slice(3) });
      mark(target);
      const right = lanes.every((lane) => owner[lane] === -1 || owner[lane] === target);
      const before = device.laneTable.refused;
      random.pick(guests[target].qps).post(NOP, random.pick(['collect', 'doorbell'] as const));
      posted++;
      machine.runUntilIdle();
      t.equal(device.laneTable.refused - before, right ? 0 : 1, `seed ${seed}, turn ${turn}`);
      if (right) {
        taken++;
        owner.forEach((one, lane) => {
          if (lanes.includes(lane)) owner[lane] = target;
          else if (one === target) owner[lane] = -1;
        });
      }
      t.same(
        Array.from({ length: LANES }, (_, lane) => device.lanes.map.getOwner(lane)),
        owner,
        `seed ${seed}, turn ${turn}`,
      );
    }
    for (const { sendCq } of guests) completed += sendCq.drain().length;
    t.equal(completed, posted);
    t.ok(taken > 50 && taken < 300, `${taken} entries were taken`);
  }
});
