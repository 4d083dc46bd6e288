// SPDX-License-Identifier: Apache-2.0
/** The register BAR against its table: every offset, width and access kind. docs/REGISTERS.md. */
import t from 'tap';
import {
  BAR_REGISTERS_BYTES,
  IDENTITY_MAGIC,
  LAYOUT_HASH_HIGH,
  LAYOUT_HASH_LOW,
  MSIX_PBA_OFFSET,
  MSIX_TABLE_OFFSET,
  VECTOR_COUNT,
} from '../../../protocol/layout/gen/constants.gen.ts';
import {
  CSR,
  CSR_SIZE,
  csrRegisters,
  getCsrDedicatedStateLocked,
  type RegisterDescriptor,
} from '../../../protocol/layout/gen/registers.gen.ts';
import { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { InProcessAccess } from '../../rig/machine/access.ts';
import { InProcessMachine } from '../../rig/machine/machine.ts';

const SIZES = [1, 2, 4, 8];
/** Registers whose plain write does more than store, or whose value moves by itself. */
const LIVELY = new Set([
  'DEVICE_CONTROL',
  'LOCAL_TIME',
  'DEDICATED_LOCK',
  'SEND_CONTEXT_CONTROL',
  'OVERFLOW_CONTROL',
  'DOORBELL_POLICY',
  'DOORBELL_THRESHOLDS',
]);

function powerOn(): InProcessAccess {
  return new InProcessAccess(new InProcessMachine());
}

function faultCount(access: InProcessAccess, ...kinds: FaultKind[]): number {
  return kinds.reduce<number>((sum, kind) => sum + access.readRegister(CSR.FAULT_COUNT + kind * 4, 4), 0);
}

/** Every register by itself, arrays taken apart. */
function* eachRegister(): Generator<{ register: RegisterDescriptor; offset: number; bytes: number }> {
  for (const register of csrRegisters) {
    const bytes = register.bits / 8;
    for (let index = 0; index < register.count; index++)
      yield { register, offset: register.offset + index * bytes, bytes };
  }
}

t.test('identity tells what the tables say', async (t) => {
  const access = powerOn();
  t.equal(access.readRegister(CSR.IDENTITY, 4), IDENTITY_MAGIC);
  t.equal(access.readRegister(CSR.LAYOUT_HASH, 8), LAYOUT_HASH_LOW);
  t.equal(access.readHigh, LAYOUT_HASH_HIGH);
  t.equal(access.readRegister(CSR.LAYOUT_HASH, 4), LAYOUT_HASH_LOW);
  t.equal(access.readRegister(CSR.LAYOUT_HASH + 4, 4), LAYOUT_HASH_HIGH);
  t.equal(access.readRegister(CSR.VECTOR_COUNT, 4), VECTOR_COUNT);
  t.equal(access.readRegister(CSR.FUNCTION_NUMBER, 4), 0);
  t.equal(access.readRegister(CSR.PORT_COUNT, 4), 2);
  t.equal(access.readRegister(CSR.DEVICE_STATUS, 4) & 1, 1, 'ready');
});

t.test('rw registers hold what fits their writable bits, by dwords and whole', async (t) => {
  for (const { register, offset, bytes } of eachRegister()) {
    if (register.access !== 'rw' || LIVELY.has(register.name)) continue;
    const access = powerOn();
    access.writeRegister(offset, bytes, 0xffffffff, 0xffffffff);
    t.equal(access.readRegister(offset, bytes), register.writableLow, `${register.name}, all ones`);
    if (bytes === 8) t.equal(access.readHigh, register.writableHigh, `${register.name}, upper half`);
    access.writeRegister(offset, 4, 0x5aa5f00f, 0);
    t.equal(access.readRegister(offset, 4), (0x5aa5f00f & register.writableLow) >>> 0, `${register.name}, a dword`);
    if (bytes !== 8) continue;
    t.equal(access.readRegister(offset + 4, 4), register.writableHigh, `${register.name}: the other half stays`);
    access.writeRegister(offset + 4, 4, 0x12345678, 0);
    t.equal(
      access.readRegister(offset + 4, 4),
      (0x12345678 & register.writableHigh) >>> 0,
      `${register.name}, upper dword`,
    );
    t.equal(
      access.readRegister(offset, 4),
      (0x5aa5f00f & register.writableLow) >>> 0,
      `${register.name}: the lower stays`,
    );
  }
});

t.test('ro registers ignore writes and count them', async (t) => {
  const access = powerOn();
  for (const { register, offset, bytes } of eachRegister()) {
    if (register.access !== 'ro' || register.offset === CSR.FAULT_COUNT || register.name.startsWith('FIRST_FAULT'))
      continue;
    const low = access.readRegister(offset, bytes);
    const high = access.readHigh;
    const counted = faultCount(access, FaultKind.REGISTER_READ_ONLY);
    access.writeRegister(offset, bytes, ~low >>> 0, ~high >>> 0);
    if (access.readRegister(offset, bytes) !== low || access.readHigh !== high) t.fail(`${register.name} changed`);
    const moved = faultCount(access, FaultKind.REGISTER_READ_ONLY) - counted;
    if (moved !== 1) t.fail(`${register.name}: ${moved} faults counted`);
  }
  t.equal(access.readRegister(CSR.FIRST_FAULT_KIND, 4), FaultKind.REGISTER_READ_ONLY);
  t.equal(access.readRegister(CSR.FIRST_FAULT_ADDRESS, 8), CSR.IDENTITY, 'the first one is kept');
});

t.test('wo registers read as zero', async (t) => {
  const access = powerOn();
  for (const { register, offset, bytes } of eachRegister()) {
    if (register.access !== 'wo') continue;
    access.writeRegister(offset, bytes, 0xffffffff, 0xffffffff);
    t.equal(access.readRegister(offset, bytes), 0, register.name);
    t.equal(access.readHigh, 0, register.name);
  }
});

t.test('the dedicated lock is given once, and given again after its release', async (t) => {
  const access = powerOn();
  t.equal(access.readRegister(CSR.DEDICATED_LOCK, 4), 1);
  t.equal(access.readRegister(CSR.DEDICATED_LOCK, 4), 0);
  access.readRegister(CSR.DEDICATED_LOCK, 1);
  access.writeRegister(CSR.DEDICATED_LOCK, 4, 0, 0);
  access.readRegister(CSR.DEDICATED_LOCK, 1);
  t.equal(access.readRegister(CSR.DEDICATED_LOCK, 4), 1, 'a read of one byte takes no lock');
});

t.test('the state of the lock is shown without taking it', async (t) => {
  const access = powerOn();
  const locked = () => getCsrDedicatedStateLocked(access.readRegister(CSR.DEDICATED_STATE, 4));
  t.same([locked(), locked()], [0, 0]);
  t.equal(access.readRegister(CSR.DEDICATED_LOCK, 4), 1);
  t.same([locked(), locked()], [1, 1]);
  access.writeRegister(CSR.DEDICATED_LOCK, 4, 0, 0);
  t.equal(locked(), 0);
});

t.test('the first-fault record stays until all ones are written', async (t) => {
  const access = powerOn();
  access.machine.clock.advance(5000);
  access.writeRegister(CSR.IDENTITY, 4, 1, 0);
  access.machine.clock.advance(5000);
  access.writeRegister(0x7ff8, 4, 1, 0);
  t.equal(access.readRegister(CSR.FIRST_FAULT_KIND, 4), FaultKind.REGISTER_READ_ONLY);
  t.equal(access.readRegister(CSR.FIRST_FAULT_TIME, 8), 5000);
  access.writeRegister(CSR.FIRST_FAULT_KIND, 4, 0xffffffff, 0);
  t.equal(access.readRegister(CSR.FIRST_FAULT_KIND, 4), FaultKind.NONE);
  t.equal(access.readRegister(CSR.FIRST_FAULT_TIME, 8), 0);
  access.writeRegister(0x7ff8, 4, 1, 0);
  t.equal(access.readRegister(CSR.FIRST_FAULT_KIND, 4), FaultKind.REGISTER_RESERVED, 'a new record starts');
  t.equal(faultCount(access, FaultKind.REGISTER_RESERVED), 2, 'counts are not cleared');
});

t.test('gaps read as zero, drop writes, and count both', async (t) => {
  const access = powerOn();
  const used = new Uint8Array(CSR_SIZE / 4);
  for (const { offset, bytes } of eachRegister()) used.fill(1, offset / 4, (offset + bytes) / 4);
  for (let offset = 0; offset < CSR_SIZE; offset += 4) {
    if (used[offset / 4] === 1) continue;
    const counted = faultCount(access, FaultKind.REGISTER_RESERVED);
    access.writeRegister(offset, 4, 0xffffffff, 0);
    if (access.readRegister(offset, 4) !== 0) t.fail(`0x${offset.toString(16)} is not zero`);
    if (faultCount(access, FaultKind.REGISTER_RESERVED) !== counted + 2)
      t.fail(`0x${offset.toString(16)} is not counted`);
  }
  t.equal(access.readRegister(CSR.IDENTITY, 4), IDENTITY_MAGIC);
});

t.test('no offset and no width throws, moves time or changes what it should not', async (t) => {
  const fixture = new AdapterFixture();
  const { access } = fixture;
  for (let offset = 0; offset < BAR_REGISTERS_BYTES; offset++) {
    for (const sizeBytes of SIZES) {
      if (offset + sizeBytes > BAR_REGISTERS_BYTES) continue;
      const value = access.readRegister(offset, sizeBytes);
      if (!Number.isInteger(value) || value < 0 || value > 2 ** (8 * Math.min(sizeBytes, 4)) - 1) {
        t.fail(`0x${offset.toString(16)}, ${sizeBytes} bytes: read ${value}`);
      }
      const high = access.readHigh;
      if (sizeBytes < 8 ? high !== 0 : !(high >= 0 && high <= 0xffffffff)) {
        t.fail(`0x${offset.toString(16)}, ${sizeBytes} bytes: high dword ${high}`);
      }
    }
  }
  access.writeRegister(CSR.DEDICATED_LOCK, 4, 0, 0);
  fixture.proveItWorks();
  fixture.finish();
});

t.test('narrow and unaligned writes change nothing and are counted', async (t) => {
  const access = powerOn();
  access.writeRegister(CSR.SCRATCH, 8, 0x11111111, 0x22222222);
  for (const [offset, sizeBytes] of [
    [0, 1],
    [0, 2],
    [1, 1],
    [2, 2],
    [1, 2],
    [3, 4],
    [2, 4],
    [4, 8],
    [1, 8],
  ] as const) {
    const counted = faultCount(access, FaultKind.REGISTER_WIDTH);
    access.writeRegister(CSR.SCRATCH + offset, sizeBytes, 0xffffffff, 0xffffffff);
    t.equal(access.readRegister(CSR.SCRATCH, 8), 0x11111111, `${sizeBytes} bytes at ${offset}`);
    t.equal(access.readHigh, 0x22222222, `${sizeBytes} bytes at ${offset}`);
    t.equal(faultCount(access, FaultKind.REGISTER_WIDTH), counted + 1, `${sizeBytes} bytes at ${offset}`);
  }
  t.equal(access.readRegister(CSR.SCRATCH + 4, 1), 0x22, 'narrow reads give their part');
  t.equal(access.readRegister(CSR.SCRATCH + 2, 2), 0x1111);
});

t.test('half a doorbell is none', async (t) => {
  const fixture = new AdapterFixture();
  const before = fixture.faults(FaultKind.REGISTER_WIDTH);
  for (const offset of [CSR.CQ_NOTIFY, CSR.EQ_CONSUMER, CSR.SEND_DOORBELL]) {
    fixture.access.writeRegister(offset, 4, 0xffffffff, 0);
    fixture.access.writeRegister(offset + 4, 4, 0xffffffff, 0);
  }
  t.equal(fixture.faults(FaultKind.REGISTER_WIDTH), before + 6);
  t.equal(fixture.read(CSR.DOORBELLS_EXPLICIT), 0);
  fixture.finish();
});

t.test('local time runs with the clock, can be set, and wraps', async (t) => {
  const access = powerOn();
  const { clock } = access.machine;
  clock.advance(12345);
  t.equal(access.readRegister(CSR.LOCAL_TIME, 8), 12345);
  access.writeRegister(CSR.LOCAL_TIME, 8, 0xffffff00, 0xffffffff);
  clock.advance(0x200);
  t.equal(access.readRegister(CSR.LOCAL_TIME, 8), 0x100);
  t.equal(access.readHigh, 0, 'modulo 2^64');
  access.writeRegister(CSR.LOCAL_TIME, 8, 0xfffffff0, 7);
  clock.advance(0x20);
  t.equal(access.readRegister(CSR.LOCAL_TIME, 4), 0x10);
  t.equal(access.readRegister(CSR.LOCAL_TIME + 4, 4), 8);
});

t.test('two reads of 4 bytes give one value of 8', async (t) => {
  const access = powerOn();
  access.writeRegister(CSR.LOCAL_TIME, 8, 0xffffffff, 1);
  const low = access.readRegister(CSR.LOCAL_TIME, 4);
  access.machine.clock.advance(1000);
  t.same([low, access.readRegister(CSR.LOCAL_TIME + 4, 4)], [0xffffffff, 1], 'the upper half was latched');
});

t.test('the trigger register raises its vector once, and no vector that does not exist', async (t) => {
  const fixture = new AdapterFixture();
  const { host, access } = fixture;
  for (const vector of [0, 7, VECTOR_COUNT - 1]) {
    const before = host.raised[vector] ?? 0;
    access.writeRegister(CSR.INTERRUPT_TRIGGER, 4, vector, 0);
    fixture.settle();
    t.equal(host.raised[vector], before + 1);
  }
  access.writeRegister(CSR.INTERRUPT_TRIGGER, 4, VECTOR_COUNT, 0);
  access.writeRegister(CSR.INTERRUPT_TRIGGER, 4, 0xffff, 0);
  fixture.settle();
  t.ok(fixture.faults(FaultKind.REGISTER_RESERVED) >= 2, 'counted');
});

t.test('a masked vector is pending in the PBA and is sent when unmasked', async (t) => {
  const fixture = new AdapterFixture();
  const { host, access } = fixture;
  const vector = 37;
  host.masked[vector] = 1;
  for (let repetition = 0; repetition < 3; repetition++) access.writeRegister(CSR.INTERRUPT_TRIGGER, 4, vector, 0);
  fixture.settle();
  t.equal(host.raised[vector], 0);
  t.equal(access.readRegister(MSIX_PBA_OFFSET + 4, 4), 1 << (vector - 32));
  t.equal(access.readRegister(MSIX_PBA_OFFSET, 8), 0);
  t.equal(access.readHigh, 1 << (vector - 32));
  host.masked[vector] = 0;
  fixture.settle();
  t.equal(host.raised[vector], 1, 'requests while pending are one');
  t.equal(access.readRegister(MSIX_PBA_OFFSET + 4, 4), 0);
  fixture.settle();
  t.equal(host.raised[vector], 1);
});

t.test('the MSI-X table and the PBA take no writes', async (t) => {
  const fixture = new AdapterFixture();
  for (const offset of [MSIX_TABLE_OFFSET, MSIX_TABLE_OFFSET + 12, MSIX_PBA_OFFSET]) {
    fixture.access.writeRegister(offset, 4, 0xffffffff, 0);
  }
  t.equal(fixture.access.readRegister(MSIX_PBA_OFFSET, 4), 0);
  fixture.settle();
  t.equal(
    fixture.host.raised.reduce((sum, count) => sum + count, 0),
    0,
  );
});
