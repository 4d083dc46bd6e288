// SPDX-License-Identifier: Apache-2.0
/**
 * The BAR of an mlx5 device by itself: which accesses are faults, what each register reads, and
 * what a store to a UAR page does. start.test.ts and stray-doorbells.test.ts show a driver.
 */
import t from 'tap';
import { swapBytes } from '../../../protocol/layout/dwords.ts';
import { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import {
  ARM_CQ_OFFSET,
  ARM_EQ_OFFSET,
  BAR_BYTES,
  COMMAND_ADDRESS_OFFSET,
  COMMAND_DOORBELL_OFFSET,
  DOORBELL_BYTES,
  DOORBELL_OFFSET,
  EQ_CONSUMER_OFFSET,
  FIRST_UAR,
  HEALTH_OFFSET,
  MSIX_PBA_OFFSET,
  TIMER_OFFSET,
  UAR_PAGE_BYTES,
} from '../../../protocol/mlx5/gen/constants.gen.ts';
import { HEALTH_BUFFER_SIZE } from '../../../protocol/mlx5/gen/health-buffer.gen.ts';
import { ArmState, HealthSyndrome } from '../../../protocol/mlx5/gen/values.gen.ts';
import { Mlx5Driver } from '../../rig/mlx5/driver/mlx5-driver.ts';
import { Firmware } from '../shared/firmware.ts';
import { FIRMWARE_MAJOR, FIRMWARE_MINOR, FIRMWARE_SUBMINOR } from './hca/firmware-version.ts';

class BarFixture {
  readonly driver = new Mlx5Driver();
  readonly device = this.driver.device.functions[0];

  /** Stores dwords as software writes them. */
  store(offset: number, first: number, second?: number): void {
    const sizeBytes = second === undefined ? 4 : 8;
    this.device.writeRegister(offset, sizeBytes, swapBytes(first) | 0, swapBytes(second ?? 0) | 0);
  }

  /** Faults of a kind, and stray doorbells. */
  counts(kind: FaultKind): number[] {
    return [this.driver.device.underlying.faults.counts[kind], this.device.strayDoorbells];
  }
}

t.test('registers tell versions, the command queue and the health', async (t) => {
  const { driver, device } = new BarFixture();
  t.equal(driver.readRegister(0), FIRMWARE_MINOR * 2 ** 16 + FIRMWARE_MAJOR);
  t.equal(driver.readRegister(4), 5 * 2 ** 16 + FIRMWARE_SUBMINOR);
  driver.connect();
  t.equal(driver.readRegister(COMMAND_ADDRESS_OFFSET), Math.floor(driver.entries / 2 ** 32));
  t.equal(driver.readRegister(COMMAND_ADDRESS_OFFSET + 4), ((driver.entries % 2 ** 32) | 0x56) >>> 0);
  for (const sizeBytes of [1, 2, 4, 8]) {
    device.readRegister(0, sizeBytes);
    t.equal(device.readHigh, sizeBytes === 8 ? swapBytes(driver.readRegister(4)) >>> 0 : 0, `${sizeBytes} bytes`);
  }
  driver.device.hca.fail(HealthSyndrome.HARDWARE, Firmware.REFUSES);
  const health = Array.from({ length: HEALTH_BUFFER_SIZE / 4 }, (_, at) => driver.readRegister(HEALTH_OFFSET + 4 * at));
  t.ok(health.some((dword) => dword !== 0));
  for (const offset of [HEALTH_OFFSET - 8, HEALTH_OFFSET + HEALTH_BUFFER_SIZE, 0x800, 0x2000, BAR_BYTES - 4])
    t.equal(driver.readRegister(offset), 0, `nothing at ${offset}`);
});

t.test('the timer has 64 bits', async (t) => {
  const { driver } = new BarFixture();
  driver.machine.clock.advance(3 * 2 ** 32 + 7);
  const now = driver.machine.clock.now();
  const read = [0, 4].map((at) => driver.readRegister(TIMER_OFFSET + at));
  t.same(read, [Math.floor(now / 2 ** 32), now % 2 ** 32]);
});

t.test('the pending bits are those of all vectors, and no more', async (t) => {
  const { driver, device } = new BarFixture();
  const { pending } = driver.device.underlying.msix;
  for (const word of pending.keys()) pending[word] = 0x8000_0001 + word;
  const read = Array.from({ length: pending.length + 2 }, (_, word) =>
    device.readRegister(MSIX_PBA_OFFSET + 4 * word, 4),
  );
  t.same(read, [...pending, 0, 0]);
});

t.test('a store of another width or place is a fault, and does nothing', async (t) => {
  const fixture = new BarFixture();
  const { driver, device } = fixture;
  driver.connect();
  const address = driver.readRegister(COMMAND_ADDRESS_OFFSET);
  for (const [offset, sizeBytes] of [
    [COMMAND_ADDRESS_OFFSET, 1],
    [COMMAND_ADDRESS_OFFSET, 2],
    [COMMAND_ADDRESS_OFFSET + 2, 4],
    [COMMAND_ADDRESS_OFFSET + 2, 2],
    [FIRST_UAR * UAR_PAGE_BYTES + 1, 8],
  ]) {
    const [before] = fixture.counts(FaultKind.REGISTER_WIDTH);
    device.writeRegister(offset, sizeBytes, -1, -1);
    t.same(fixture.counts(FaultKind.REGISTER_WIDTH), [before + 1, 0], `${sizeBytes} bytes at ${offset}`);
  }
  t.equal(driver.readRegister(COMMAND_ADDRESS_OFFSET), address);
});

t.test('the segment takes the command queue and its doorbell, by 4 bytes or by 8', async (t) => {
  const fixture = new BarFixture();
  const { driver } = fixture;
  const read = () => [0, 4].map((at) => driver.readRegister(COMMAND_ADDRESS_OFFSET + at));
  fixture.store(COMMAND_ADDRESS_OFFSET, 0x12, 0x3456_7000);
  t.same(read(), [0x12, 0x3456_7056]);
  fixture.store(COMMAND_ADDRESS_OFFSET, 0x13);
  t.same(read(), [0x13, 0x3456_7056]);
  fixture.store(COMMAND_DOORBELL_OFFSET, 0b101);
  t.equal(driver.readRegister(COMMAND_DOORBELL_OFFSET), 0b101);
  t.same(fixture.counts(FaultKind.REGISTER_RESERVED), [0, 0]);
  fixture.store(COMMAND_DOORBELL_OFFSET + 4, 1);
  fixture.store(FIRST_UAR * UAR_PAGE_BYTES - 4, 1);
  t.same(fixture.counts(FaultKind.REGISTER_RESERVED), [2, 0], 'other registers of the segment');
  fixture.store(FIRST_UAR * UAR_PAGE_BYTES, 1);
  t.same(fixture.counts(FaultKind.REGISTER_RESERVED), [2, 1], 'the first page, which nobody has');
});

t.test('a page has doorbells of QPs, CQs and EQs, and nothing between them', async (t) => {
  const fixture = new BarFixture();
  const { driver } = fixture;
  driver.start();
  const page = driver.allocateUar() * UAR_PAGE_BYTES;
  const stored = (offset: number, first: number, second?: number): number[] => {
    const before = fixture.counts(FaultKind.REGISTER_RESERVED);
    fixture.store(page + offset, first, second);
    return fixture.counts(FaultKind.REGISTER_RESERVED).map((count, index) => count - before[index]);
  };
  const NO_QP = 0x123456 << 8;
  for (let at = DOORBELL_OFFSET; at < UAR_PAGE_BYTES; at += DOORBELL_BYTES / 2) {
    t.same(stored(at, NO_QP), [0, 0], 'the first dword says nothing of the QP');
    t.same(stored(at + 4, NO_QP), [0, 1], 'the second one does');
    t.same(stored(at, NO_QP, NO_QP), [0, 1]);
    t.same(stored(at + 8, NO_QP), [0, 0], 'what follows is the rest of a request');
  }
  t.same(stored(ARM_CQ_OFFSET, 0), [0, 0]);
  t.same(stored(ARM_CQ_OFFSET, 0, 0x777), [0, 1]);
  t.same(stored(ARM_CQ_OFFSET + 4, 0x777), [0, 1]);
  for (const offset of [0, ARM_CQ_OFFSET - 4, ARM_CQ_OFFSET + 8, DOORBELL_OFFSET - 4])
    t.same(stored(offset, 0), [1, 0], `${offset}`);
});

t.test('an EQ takes the index of its consumer, and is armed by one of two registers', async (t) => {
  const fixture = new BarFixture();
  const { driver } = fixture;
  driver.start();
  const [uar, other] = [driver.allocateUar(), driver.allocateUar()];
  const { number } = driver.createEventQueue(uar, 0n);
  const queue = driver.device.hca.events.get(number);
  if (queue === undefined) throw new Error('there is no queue');
  for (let event = 0; event < 3; event++) {
    queue.begin();
    queue.post(0x13);
  }
  const store = (offset: number, index: number, page = uar, eq = number): unknown[] => {
    fixture.store(page * UAR_PAGE_BYTES + offset, ((eq << 24) | index) >>> 0);
    return [queue.pendingEntries, queue.armState, fixture.device.strayDoorbells];
  };
  const { ARMED, FIRED } = ArmState;
  t.same(store(EQ_CONSUMER_OFFSET, 1), [2, FIRED, 0]);
  t.same(store(EQ_CONSUMER_OFFSET, 3), [0, FIRED, 0]);
  t.same(store(ARM_EQ_OFFSET, 3, other), [0, FIRED, 1], 'of another page');
  t.same(store(ARM_EQ_OFFSET, 3, uar, number + 1), [0, FIRED, 2], 'no queue');
  t.same(store(ARM_EQ_OFFSET, 3), [0, ARMED, 2]);
});
