// SPDX-License-Identifier: Apache-2.0
/**
 * Device memory below the transport and in BAR0 (docs/FEATURES.md, Device memory): messages
 * between device memory and guest memory, keys and functions that have no right to it, ranges in
 * use, and a recorded session.
 */
import t from 'tap';
import { DEVICE_MEMORY_OFFSET } from '../../../protocol/layout/gen/constants.gen.ts';
import { getMrAttributesDeviceMemory } from '../../../protocol/layout/gen/mr-attributes.gen.ts';
import {
  AccessFlag,
  CompletionStatus,
  FaultKind,
  ManagementOpcode,
  ManagementStatus,
  MrKind,
  SendOpcode,
} from '../../../protocol/layout/gen/values.gen.ts';
import { Recorder } from '../../hosts/recording.ts';
import { Replay } from '../../hosts/replay.ts';
import { allocateDeviceMemory, createDeviceMemory, type DriverDeviceMemory } from '../../rig/driver/device-memory.ts';
import { Driver } from '../../rig/driver/driver.ts';
import { mrPayload } from '../../rig/driver/payloads.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { connect, FULL_ACCESS } from '../../rig/fixtures/connected-fixture.ts';
import { InProcessAccess } from '../../rig/machine/access.ts';
import { InProcessMachine } from '../../rig/machine/machine.ts';
import { Adapter } from '../adapter/adapter.ts';

const ZERO_BASED = FULL_ACCESS | AccessFlag.ZERO_BASED;
const SIZE = 16 * 1024;
const { SUCCESS, LOCAL_PROTECTION_ERROR, REMOTE_ACCESS_ERROR } = CompletionStatus;

/** Sends, WRITEs, READs and atomics between two ranges, with random places and lengths. */
function exchange(fixture: AdapterFixture, rounds: number): void {
  const { a, b } = connect(fixture);
  const [near, far] = [0, 1].map(() => createDeviceMemory(fixture.driver, SIZE, 12));
  const keys = [near, far].map((range) => range.register(fixture.pd, ZERO_BASED));
  const models = [near, far].map((range) => {
    const bytes = fixture.random.bytes(SIZE);
    range.store(bytes);
    return bytes;
  });
  for (let round = 0; round < rounds; round++) {
    const { random } = fixture;
    const length = random.between(1, 6000);
    const [from, to] = [random.below(SIZE - length), random.below(SIZE - length)];
    const opcode = random.pick([SendOpcode.SEND, SendOpcode.RDMA_WRITE, SendOpcode.RDMA_READ]);
    const reads = opcode === SendOpcode.RDMA_READ;
    if (opcode === SendOpcode.SEND) b.postReceive([{ address: to, length, lkey: keys[1].lkey }]);
    const local = { address: reads ? to : from, length, lkey: keys[0].lkey };
    a.post({ opcode, sges: [local], remote: { address: reads ? from : to, rkey: keys[1].rkey } });
    const { status } = a.parts.sendCq.take();
    if (status !== SUCCESS) throw new Error(`round ${round}: status ${status}`);
    if (opcode === SendOpcode.SEND) b.parts.receiveCq.take();
    const [source, target] = reads ? [1, 0] : [0, 1];
    models[target].set(models[source].subarray(from, from + length), to);
  }
  for (const [index, range] of [near, far].entries())
    if (Buffer.compare(range.load(), models[index]) !== 0) throw new Error(`range ${index} has other bytes`);
}

for (const seed of [1, 2, 3, 4, 5, 6])
  t.test(`messages between two ranges arrive whole, seed ${seed}`, async () => {
    const fixture = new AdapterFixture({ seed, adapter: { dmaLatencyNs: (seed % 2) * 500 } });
    exchange(fixture, 40);
    fixture.finish();
  });

t.test('an atomic changes device memory', async (t) => {
  const fixture = new AdapterFixture();
  const { a } = connect(fixture);
  const range = createDeviceMemory(fixture.driver, 64);
  const { rkey } = range.register(fixture.pd, ZERO_BASED);
  const found = fixture.createBuffer(8);
  range.store(new Uint8Array([5, 0, 0, 0, 1, 0, 0, 0]), 8);
  const remote = { address: 8, rkey };
  const sges = [fixture.sge(found)];
  a.post({ opcode: SendOpcode.FETCH_ADD, sges, remote, atomic: { swapOrAdd: 3n, compare: 0n } });
  t.equal(a.parts.sendCq.take().status, SUCCESS);
  t.same([...found.bytes], [5, 0, 0, 0, 1, 0, 0, 0]);
  t.same([...range.load(8, 8)], [8, 0, 0, 0, 1, 0, 0, 0]);
  const compare = { swapOrAdd: 1n, compare: 0x1_0000_0008n };
  a.post({ opcode: SendOpcode.COMPARE_SWAP, sges, remote, atomic: compare });
  t.equal(a.parts.sendCq.take().status, SUCCESS);
  t.same([...range.load(8, 8)], [1, 0, 0, 0, 0, 0, 0, 0]);
  fixture.finish();
});

t.test('a region begins anywhere in its range, and may have virtual addresses', async (t) => {
  const fixture = new AdapterFixture();
  const { a } = connect(fixture);
  const range = createDeviceMemory(fixture.driver, 256);
  const source = fixture.createBuffer(fixture.random.bytes(32));
  const { rkey } = range.register(fixture.pd, FULL_ACCESS, 96, 32, 0x7f00_0000_1003);
  a.post({
    opcode: SendOpcode.RDMA_WRITE,
    sges: [fixture.sge(source)],
    remote: { address: 0x7f00_0000_1003, rkey },
  });
  t.equal(a.parts.sendCq.take().status, SUCCESS);
  t.same(range.load(96, 32), source.bytes);
  t.ok(range.load(0, 96).every((byte) => byte === 0));
  t.ok(range.load(128).every((byte) => byte === 0));
  fixture.finish();
});

const outside: [string, number, number][] = [
  ['before the region', -4, 8],
  ['past the end', 96, 64],
  ['behind it', 128, 8],
];
for (const [what, address, length] of outside)
  t.test(`a key does not reach ${what}, though the range goes on`, async (t) => {
    const fixture = new AdapterFixture();
    const { a } = connect(fixture);
    const range = createDeviceMemory(fixture.driver, 1024);
    range.store(new Uint8Array(1024).fill(0x5a));
    const { rkey } = range.register(fixture.pd, ZERO_BASED, 512, 128);
    a.post({
      opcode: SendOpcode.RDMA_WRITE,
      sges: [fixture.sge(fixture.createBuffer(length))],
      remote: { address: address < 0 ? 2 ** 52 + address : address, rkey },
    });
    t.equal(a.parts.sendCq.take().status, REMOTE_ACCESS_ERROR);
    t.ok(range.load().every((byte) => byte === 0x5a));
    fixture.finish();
  });

t.test('a queue pair of another protection domain has no access', async (t) => {
  const fixture = new AdapterFixture();
  const { a } = connect(fixture);
  const range = createDeviceMemory(fixture.driver, 64);
  range.store(new Uint8Array(64).fill(7));
  const other = range.register(fixture.driver.createProtectionDomain(), ZERO_BASED);
  const request = { sges: [fixture.sge(fixture.createBuffer(64))], remote: { address: 0, rkey: other.rkey } };
  a.post({ opcode: SendOpcode.RDMA_READ, ...request });
  t.equal(a.parts.sendCq.take().status, REMOTE_ACCESS_ERROR);
  const { a: c } = connect(fixture);
  c.post({ opcode: SendOpcode.SEND, sges: [{ address: 0, length: 8, lkey: other.lkey }] });
  t.match(c.parts.sendCq.take(), { status: LOCAL_PROTECTION_ERROR, vendorError: FaultKind.KEY_PD });
  fixture.finish();
});

t.test('a region of no bytes reaches none', async (t) => {
  const fixture = new AdapterFixture();
  const { a } = connect(fixture);
  const range = createDeviceMemory(fixture.driver, 64);
  const { rkey } = range.register(fixture.pd, ZERO_BASED, 0, 0);
  const remote = { address: 0, rkey };
  a.post({ opcode: SendOpcode.RDMA_WRITE, sges: [], remote });
  t.equal(a.parts.sendCq.take().status, SUCCESS, 'a WRITE of no bytes');
  a.post({ opcode: SendOpcode.RDMA_WRITE, sges: [fixture.sge(fixture.createBuffer(1))], remote });
  t.equal(a.parts.sendCq.take().status, REMOTE_ACCESS_ERROR);
  t.same(range.load(), new Uint8Array(64));
  fixture.finish();
});

t.test('a range stays while it has regions; its key ends with the region', async (t) => {
  const fixture = new AdapterFixture();
  const { a } = connect(fixture);
  const range = createDeviceMemory(fixture.driver, 4096, 12);
  const region = range.register(fixture.pd, ZERO_BASED);
  t.equal(range.query().regions, 1);
  t.equal(range.free(), ManagementStatus.IN_USE);
  const { management } = fixture.driver;
  const { payload } = management.perform({ opcode: ManagementOpcode.QUERY_MR, objectNumber: region.number });
  t.equal(getMrAttributesDeviceMemory(payload, 0), range.number);
  management.perform({ opcode: ManagementOpcode.DESTROY_MR, objectNumber: region.number });
  t.equal(range.free(), ManagementStatus.OK);
  t.equal(range.free(), ManagementStatus.BAD_OBJECT);
  a.post({
    opcode: SendOpcode.RDMA_WRITE,
    sges: [fixture.sge(fixture.createBuffer(8))],
    remote: { address: 0, rkey: region.rkey },
  });
  t.equal(a.parts.sendCq.take().status, REMOTE_ACCESS_ERROR);
  fixture.finish();
});

t.test('after it was freed, software reaches a range no more, and the next owner finds zeros', async (t) => {
  const fixture = new AdapterFixture();
  const range = createDeviceMemory(fixture.driver, 128);
  range.store(new Uint8Array(128).fill(9));
  range.free();
  t.ok(range.load().every((byte) => byte === 0));
  range.store(new Uint8Array(128).fill(9));
  t.equal(fixture.faults(FaultKind.DEVICE_MEMORY), 32);
  const next = createDeviceMemory(fixture.driver, 128);
  t.equal(next.offset, range.offset);
  t.ok(next.load().every((byte) => byte === 0));
  fixture.finish();
});

t.test('functions have device memory of their own, and no access to that of others', async (t) => {
  const machine = new InProcessMachine({ functionCount: 2, adapter: { functionCount: 2 } });
  const drivers = [0, 1].map((index) => new Driver(new InProcessAccess(machine, index)).bringUp());
  const ranges = drivers.map((driver) => createDeviceMemory(driver, 256 * 1024));
  ranges[0].store(new Uint8Array(64).fill(1));
  ranges[1].store(new Uint8Array(64).fill(2));
  t.same(ranges[0].load(0, 64), new Uint8Array(64).fill(1));
  t.equal(allocateDeviceMemory(drivers[1], 1), undefined, 'all is taken');
  const { management } = drivers[1];
  const foreign = { objectNumber: ranges[0].number };
  for (const opcode of [ManagementOpcode.QUERY_DEVICE_MEMORY, ManagementOpcode.DESTROY_DEVICE_MEMORY])
    t.equal(management.execute({ opcode, ...foreign }).status, ManagementStatus.BAD_OBJECT);
  const pd = drivers[1].createProtectionDomain();
  const payload = mrPayload({ pd, kind: MrKind.DEVICE, length: 64, deviceMemory: ranges[0].number });
  t.equal(
    management.execute({ opcode: ManagementOpcode.CREATE_MR, payload }).status,
    ManagementStatus.BAD_OBJECT,
    'no region of the range of another function',
  );
  machine.functionAt(1).reset('function');
  t.same(ranges[0].load(0, 64), new Uint8Array(64).fill(1), 'a reset of the neighbour changes nothing');
});

for (const kind of ['function', 'lost', 'device', 'software'] as const)
  t.test(`all ranges come back after a reset (${kind})`, async (t) => {
    const fixture = new AdapterFixture();
    const ranges: DriverDeviceMemory[] = [];
    for (let count = 0; count < 64; count++) ranges.push(createDeviceMemory(fixture.driver, 4096, 12));
    for (const range of ranges.slice(0, 8)) range.register(fixture.pd);
    t.equal(allocateDeviceMemory(fixture.driver, 1), undefined);
    ranges[63].store(new Uint8Array(8).fill(3));
    fixture.machine.reset(0, kind);
    fixture.machine.resume();
    fixture.bringUp();
    t.equal(fixture.machine.device.tables.deviceMemory.size, 0);
    const all = createDeviceMemory(fixture.driver, 256 * 1024, 18);
    t.same(all.load(ranges[63].offset, 8), new Uint8Array(8), 'what was there is gone');
    fixture.finish();
  });

t.test('an adapter without device memory says so', async (t) => {
  const fixture = new AdapterFixture({ adapter: { deviceMemoryBytes: 0 } });
  t.throws(() => createDeviceMemory(fixture.driver, 1), /status 5/);
  fixture.access.writeRegister(DEVICE_MEMORY_OFFSET, 4, 1, 0);
  t.equal(fixture.access.readRegister(DEVICE_MEMORY_OFFSET, 4), 0);
  t.equal(fixture.faults(FaultKind.DEVICE_MEMORY), 2);
  fixture.finish();
});

t.test('a recorded session with device memory replays byte for byte', async (t) => {
  const pieces: Uint8Array[] = [];
  const fixture = new AdapterFixture({
    seed: 7,
    memoryBytes: 32 * 1024 * 1024,
    record: (options, count) => new Recorder(options, count, (bytes) => pieces.push(bytes.slice())),
  });
  exchange(fixture, 20);
  fixture.finish();
  fixture.machine.recorder?.flush();
  const replay = new Replay(Buffer.concat(pieces), (options, clock, hosts) => new Adapter(options, clock, hosts));
  const result = replay.run();
  t.equal(result.divergence, undefined);
  t.notOk(result.truncated);
});
