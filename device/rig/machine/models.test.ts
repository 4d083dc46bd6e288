// SPDX-License-Identifier: Apache-2.0
/** The models of the in-process machine: clock, guest memory, host, access log, collect stores. */
import t from 'tap';
import { PAGE_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { Random } from '../../random.ts';
import { commandChecksum } from '../driver/checksum.ts';
import { planStores } from '../driver/collect-writer.ts';
import { AccessKind } from './access-log.ts';
import { GuestMemoryModel, PageAccess, POISON } from './guest-memory-model.ts';
import { InProcessHost } from './host.ts';
import { SimulatedClock } from './simulated-clock.ts';

t.test('the clock advances to the earliest alarm and clears it', async (t) => {
  const clock = new SimulatedClock(10);
  t.notOk(clock.jumpToAlarm());
  clock.setAlarm(500);
  clock.setAlarm(300);
  clock.setAlarm(900);
  t.ok(clock.jumpToAlarm());
  t.equal(clock.now(), 300);
  t.notOk(clock.jumpToAlarm());
  clock.setAlarm(100);
  t.ok(clock.jumpToAlarm(), 'an alarm in the past is due at once');
  t.equal(clock.now(), 300);
  t.throws(() => clock.advance(-1));
});

t.test('the rights of pages apply to the device, not to software', async (t) => {
  const memory = new GuestMemoryModel(4 * PAGE_BYTES);
  const bytes = Uint8Array.of(1, 2, 3, 4);
  const target = new Uint8Array(4);
  memory.protect(memory.base + PAGE_BYTES, 1, PageAccess.READ_ONLY);
  memory.protect(memory.base + 2 * PAGE_BYTES, 1, PageAccess.UNMAPPED);
  t.ok(memory.write({ value: memory.base + PAGE_BYTES - 4 }, bytes, 0, 4));
  t.notOk(memory.write({ value: memory.base + PAGE_BYTES - 2 }, bytes, 0, 4), 'half of it is read-only');
  t.ok(memory.read({ value: memory.base + PAGE_BYTES - 4 }, 4, target, 0));
  t.same(target, bytes, 'the refused write changed nothing');
  t.ok(memory.read({ value: memory.base + PAGE_BYTES }, 4, target, 0));
  t.same(target, new Uint8Array(4).fill(POISON));
  t.notOk(memory.read({ value: memory.base + 2 * PAGE_BYTES - 1 }, 2, target, 0));
  t.notOk(memory.read({ value: memory.base - 1 }, 2, target, 0));
  t.notOk(memory.read({ value: memory.base + 4 * PAGE_BYTES - 1 }, 2, target, 0));
  t.notOk(memory.read({ value: memory.base % 0x1_0000_0000 }, 4, target, 0), 'an address without its upper half');
  memory.view(memory.base + 2 * PAGE_BYTES, 4).setUint32(0, 7);
  t.throws(() => memory.view(memory.base + 4 * PAGE_BYTES, 1));
});

t.test('a publication is two stores, and the host records violations of its rules', async (t) => {
  const memory = new GuestMemoryModel(PAGE_BYTES);
  const host = new InProcessHost(memory);
  let between = 0;
  host.onBody = () => {
    between = memory.view(memory.base + 60, 4).getUint32(0, true);
  };
  const entry = new Uint8Array(64).fill(9);
  t.ok(host.publish({ value: memory.base }, entry, 0, 64, 4));
  t.equal(between, 0xa5a5a5a5, 'the validity word came after the body');
  host.masked[3] = 1;
  t.notOk(host.raiseVector(3));
  t.ok(host.raiseVector(4));
  t.same(
    host.log.since(0).map(({ kind }) => kind),
    [AccessKind.BODY, AccessKind.VALIDITY, AccessKind.DENIED_VECTOR, AccessKind.VECTOR],
  );
  t.same(host.violations, []);
  host.raiseVector(64);
  host.publish({ value: memory.base + 2 }, entry, 0, 64, 4);
  host.writeMemory({ value: memory.base }, entry, 60, 5);
  host.quietBecause = 'it was reset';
  host.writeMemory({ value: memory.base }, entry, 0, 4);
  t.equal(host.violations.length, 4);
});

t.test('the log throws when it has lost accesses', async (t) => {
  const host = new InProcessHost(new GuestMemoryModel(PAGE_BYTES));
  for (let count = 0; count < 5000; count++) host.raiseVector(0);
  t.throws(() => host.log.since(0), /holds 4096/);
  t.equal(host.log.since(4999).length, 1);
});

t.test('planned stores cover a command once, and the last of them completes it', async (t) => {
  for (let seed = 0; seed < 200; seed++) {
    const random = new Random(seed);
    const lengthBytes = random.between(8, 40) * 8;
    const storeBytes = random.pick([0, 1, 2, 4, 8] as const);
    const lengthLast = random.oneIn(2);
    const stores = planStores(lengthBytes, { storeBytes, random, repeat: random.oneIn(2), lengthLast });
    const seen = new Uint8Array(lengthBytes);
    stores.forEach(({ offset, sizeBytes }, index) => {
      const fresh = seen.subarray(offset, offset + sizeBytes).every((count) => count === 0);
      if (index === stores.length - 1) t.ok(fresh, `seed ${seed}: the last store is a new one`);
      if (offset % sizeBytes !== 0) t.fail(`seed ${seed}: store of ${sizeBytes} at ${offset}`);
      seen.subarray(offset, offset + sizeBytes).fill(1);
    });
    t.ok(
      seen.every((count) => count === 1),
      `seed ${seed}: everything is written`,
    );
  }
});

t.test('the checksum folds carries and counts its own field as zero', async (t) => {
  const view = new DataView(new ArrayBuffer(16));
  t.equal(commandChecksum(view, 4, 0), 0xffffffff);
  view.setUint32(0, 0xffffffff, true);
  view.setUint32(4, 0x12345678, true);
  view.setUint32(8, 2, true);
  t.equal(commandChecksum(view, 4, 0), ~2 >>> 0, '0xffffffff + 2 folds to 2');
  t.equal(commandChecksum(view, 4, 5), ~7 >>> 0);
});
