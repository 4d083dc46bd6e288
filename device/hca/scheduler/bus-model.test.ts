// SPDX-License-Identifier: Apache-2.0
/**
 * The bus model `pcie`: a posted write that cannot be taken blocks every access behind it, register
 * reads too, and none is dropped; other functions go on (US 9,069,485 par. 67, 74, 84). The model
 * `open` beside it.
 */
import t from 'tap';
import {
  CSR,
  CSR_ADAPTER_CONTROL_DISABLE_MASK,
  getCsrOverflowStatusStalled,
  setCsrDoorbellPolicyOverflow,
} from '../../../protocol/layout/gen/registers.gen.ts';
import { OverflowPolicy } from '../../../protocol/layout/gen/values.gen.ts';
import { Recorder } from '../../hosts/recording.ts';
import { Replay } from '../../hosts/replay.ts';
import { NOP } from '../../rig/fixtures/command-poster.ts';
import { InProcessMachine, type MachineOptions } from '../../rig/machine/machine.ts';
import { Tenant } from '../../rig/qos/tenant.ts';
import { Adapter } from '../adapter/adapter.ts';
import { type AdapterOptions, type BusModelName, findOptionError } from '../adapter/options.ts';

/** Two functions; that of the flood has many queue pairs and a short bus. */
function start(bus: BusModelName, seed = 1, record?: MachineOptions['record']) {
  const adapter = { bus, doorbellEntries: 8, busDepth: 1, busReads: 4, dmaLatencyNs: 2000, schedulerBufferCount: 8 };
  const machine = new InProcessMachine({
    functionCount: 2,
    seed,
    adapter,
    ...(record === undefined ? {} : { record }),
  });
  const tenants = [0, 1].map((index) => {
    const tenant = new Tenant(machine, index);
    const { driver, pd } = tenant;
    const cq = driver.createCompletionQueue({ eventQueue: driver.createEventQueue(), entriesLog2: 9 });
    const qps = Array.from({ length: 20 }, () =>
      driver.createQueuePair({ pd, sendCq: cq, sendEntriesLog2: 3, receiveEntriesLog2: 1 }).start({ port: 1 }),
    );
    return { ...tenant, tenant, cq, qps, read: (offset: number) => tenant.access.readRegister(offset, 4) };
  });
  drain(machine);
  const [other, flood] = tenants;
  return { machine, other, flood, doorbells: machine.device.functions[1].doorbells };
}

function drain(machine: InProcessMachine): void {
  do machine.runUntilIdle();
  while (machine.clock.jumpToAlarm());
}

type Fixture = ReturnType<typeof start>;

function setPolicy({ flood }: Fixture, policy: OverflowPolicy): void {
  flood.tenant.access.port.writeRegister(CSR.DOORBELL_POLICY, 4, setCsrDoorbellPolicyOverflow(0, policy), 0);
}

t.test('a register read behind a blocked doorbell waits until the doorbell is taken', async (t) => {
  for (const bus of ['open', 'pcie'] as const) {
    const fixture = start(bus);
    const { machine, flood, doorbells } = fixture;
    setPolicy(fixture, OverflowPolicy.OFF);
    // The buffer is full and a doorbell stands before it; no completion is behind it.
    for (const qp of flood.qps.slice(0, 8)) qp.post(NOP, 'slot');
    for (const qp of flood.qps.slice(0, 8)) qp.ring(undefined, 'register');
    const reads = doorbells.inbound.readsLimit;
    machine.runUntil(() => doorbells.inbound.reads === reads, 'reads at their limit');
    flood.qps[8].post(NOP, 'register');
    machine.runUntil(() => doorbells.stalled, 'the stall');
    const { port } = flood.tenant.access;
    t.equal(port.takesAccess, bus === 'open', bus);
    if (bus === 'open') {
      t.equal(getCsrOverflowStatusStalled(flood.read(CSR.OVERFLOW_STATUS)), 1);
      continue;
    }
    t.throws(() => flood.read(CSR.SCRATCH), /without room on the bus/, 'for ever in the deadlock of par. 74');
    // Software cannot cure it from behind the doorbell; here the host does.
    setPolicy(fixture, OverflowPolicy.NEWEST);
    t.equal(getCsrOverflowStatusStalled(flood.read(CSR.OVERFLOW_STATUS)), 0, 'the read was answered behind it');
    drain(machine);
    t.equal(flood.cq.drain().length, 9, 'every command executes');
  }
});

t.test('a full bus holds the next access up and drops no doorbell; the other function goes on', async (t) => {
  for (let seed = 1; seed <= 5; seed++)
    for (const bus of ['open', 'pcie'] as const) {
      const fixture = start(bus, seed);
      const { machine, flood, other, doorbells } = fixture;
      for (const qp of other.qps.slice(0, 4)) qp.post(NOP, 'slot');
      for (const qp of other.qps.slice(0, 4)) qp.ring();
      const order = [...flood.qps];
      machine.random.shuffle(order);
      const { steps } = machine;
      let mostWaiting = 0;
      for (const qp of order) {
        qp.post(NOP, machine.random.pick(['register', 'doorbell'] as const));
        mostWaiting = Math.max(mostWaiting, doorbells.inbound.posted);
      }
      const what = `seed ${seed}, ${bus}`;
      t.equal(machine.steps > steps, bus === 'pcie', `${what}: accesses waited for the adapter`);
      t.equal(mostWaiting, 8, `${what}: the bus was full`);
      t.equal(flood.read(CSR.DOORBELLS_EXPLICIT), flood.qps.length, `${what}: the read is behind all doorbells`);
      t.equal(flood.read(CSR.DOORBELLS_LOST) > 0, bus === 'open', what);
      drain(machine);
      t.equal(flood.cq.drain().length, flood.qps.length, what);
      t.equal(other.cq.drain().length, 4, `${what}: the other function`);
    }
});

t.test('writes that a host makes although the bus is blocked are held, in order, and none is dropped', async (t) => {
  for (let seed = 1; seed <= 5; seed++) {
    const { machine, flood, doorbells } = start('pcie', seed);
    const { access } = flood.tenant;
    const { random } = machine;
    // A live host makes the accesses of one message of a client, or of one receive, at once.
    const { port } = access;
    const readRegister = port.readRegister.bind(port);
    const writeRegister = port.writeRegister.bind(port);
    const writeCollect = port.writeCollect.bind(port);
    const eager = { takesAccess: true, readHigh: 0, readRegister, writeRegister, writeCollect };
    Object.defineProperty(access, 'port', { value: eager });
    const order = [...flood.qps];
    random.shuffle(order);
    for (const qp of order) qp.post(NOP, random.pick(['register', 'doorbell', 'collect'] as const));
    t.ok(doorbells.held.count > 0 && doorbells.inbound.posted <= 8, `seed ${seed}: ${doorbells.held.count} are held`);
    drain(machine);
    t.same([doorbells.held.count, flood.read(CSR.DOORBELLS_LOST)], [0, 0], `seed ${seed}`);
    t.equal(flood.cq.drain().length, flood.qps.length, `seed ${seed}`);
  }
});

t.test('a session on this bus replays byte for byte', async (t) => {
  const pieces: Uint8Array[] = [];
  const record = (options: AdapterOptions, count: number) =>
    new Recorder(options, count, (bytes) => pieces.push(bytes.slice()));
  const { machine, flood } = start('pcie', 3, record);
  for (const qp of flood.qps) qp.post(NOP, 'register');
  t.equal(flood.read(CSR.DOORBELLS_LOST), 0);
  drain(machine);
  machine.recorder?.flush();
  const replay = new Replay(Buffer.concat(pieces), (options, clock, hosts) => new Adapter(options, clock, hosts)).run();
  t.equal(replay.divergence, undefined);
});

t.test('while one function is blocked, another one reads, writes and sends', async (t) => {
  const fixture = start('pcie');
  const { machine, flood, other } = fixture;
  const control = other.tenant.access;
  control.writeRegister(CSR.ADAPTER_CONTROL, 4, CSR_ADAPTER_CONTROL_DISABLE_MASK, 0);
  for (const qp of flood.qps.slice(0, 8)) qp.post(NOP, 'register');
  t.notOk(flood.tenant.access.port.takesAccess, 'the bus of the disabled adapter is full');
  t.ok(control.port.takesAccess);
  other.qps[0].post(NOP, 'collect');
  control.writeRegister(CSR.ADAPTER_CONTROL, 4, 0, 0);
  t.equal(flood.read(CSR.DOORBELLS_LOST), 0);
  drain(machine);
  t.same([flood.cq.drain().length, other.cq.drain().length], [8, 1]);
});

t.test('a reset of the function ends the blocking', async (t) => {
  const fixture = start('pcie');
  const { machine, flood, other } = fixture;
  other.tenant.access.writeRegister(CSR.ADAPTER_CONTROL, 4, CSR_ADAPTER_CONTROL_DISABLE_MASK, 0);
  for (const qp of flood.qps.slice(0, 8)) qp.post(NOP, 'register');
  t.notOk(flood.tenant.access.port.takesAccess);
  machine.reset(1, 'function');
  t.ok(flood.tenant.access.port.takesAccess);
});

t.test('the option has two values', async (t) => {
  const { options } = start('pcie').machine.device.functions[0].shared;
  t.equal(findOptionError(options), undefined);
  t.equal(findOptionError({ ...options, bus: 'isa' as BusModelName }), 'option bus is isa; it must be open or pcie');
});
