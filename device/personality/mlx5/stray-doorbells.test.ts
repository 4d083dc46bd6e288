// SPDX-License-Identifier: Apache-2.0
/**
 * Doorbells that nothing waits for: they do nothing, are counted, and are no faults, because a
 * driver that starts a device anew still rings for queues and UAR pages that it had before.
 */
import t from 'tap';
import { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import { ARM_CQ_OFFSET, BAR_BYTES, DOORBELL_OFFSET, UAR_PAGE_BYTES } from '../../../protocol/mlx5/gen/constants.gen.ts';
import { SendOpcode } from '../../../protocol/mlx5/gen/values.gen.ts';
import { Random } from '../../random.ts';
import { DataFixture } from '../../rig/mlx5/driver/data-fixture.ts';

t.test('a driver that starts the device anew rings for what it had before', async (t) => {
  const fixture = new DataFixture();
  const { device, port } = fixture.driver;
  const [a] = fixture.connect();
  const { underlying } = device;
  t.equal(device.functions[0].strayDoorbells, 0, 'a driver that works rings for what there is');
  a.write({ opcode: SendOpcode.NOP });
  port.reset('software');
  // Before and after the function runs again: its numbers begin anew, but not for these pages.
  for (const ring of [() => a.ring(), () => a.setup.cq.arm(), () => fixture.driver.arm(fixture.events)]) ring();
  t.equal(device.functions[0].strayDoorbells, 3);
  fixture.driver.start();
  for (const ring of [() => a.ring(), () => a.setup.cq.arm({ asDwords: true })]) ring();
  t.equal(device.functions[0].strayDoorbells, 6, 'two stores of the CQ');
  fixture.driver.allocateUar();
  for (const ring of [() => a.ring(), () => a.setup.cq.arm(), () => fixture.driver.arm(fixture.events)]) ring();
  t.equal(device.functions[0].strayDoorbells, 9, 'the page is there, and its queues are not');
  t.equal(underlying.faults.firstKind, FaultKind.NONE);
  port.reset('function');
  t.equal(device.functions[0].strayDoorbells, 9, 'counted since power-on');
});

t.test('any store to pages and queues that nobody owns', async (t) => {
  const seed = 31;
  const random = new Random(seed);
  const fixture = new DataFixture();
  const [device] = fixture.driver.device.functions;
  const pages = BAR_BYTES / UAR_PAGE_BYTES;
  const free = fixture.driver.allocateUar() + 1;
  for (let store = 1; store <= 500; store++) {
    const offset = random.between(free, pages - 1) * UAR_PAGE_BYTES + 8 * random.below(UAR_PAGE_BYTES / 8);
    fixture.driver.port.writeRegister(offset, random.pick([4, 8]), random.next() | 0, random.next() | 0);
    t.equal(device.strayDoorbells, store, `seed ${seed}, store ${store}`);
  }
  t.equal(fixture.driver.device.underlying.faults.firstKind, FaultKind.NONE);
});

t.test('a register that no page has is a fault, and a store of two bytes as well', async (t) => {
  const fixture = new DataFixture();
  const [device] = fixture.driver.device.functions;
  const reserved = fixture.uar * UAR_PAGE_BYTES + ARM_CQ_OFFSET - 8;
  fixture.driver.port.writeRegister(reserved, 4, 0, 0);
  fixture.driver.port.writeRegister(fixture.uar * UAR_PAGE_BYTES + DOORBELL_OFFSET, 2, 0, 0);
  const { counts } = fixture.driver.device.underlying.faults;
  t.same([counts[FaultKind.REGISTER_RESERVED], counts[FaultKind.REGISTER_WIDTH]], [1, 1]);
  t.equal(device.strayDoorbells, 0);
});
