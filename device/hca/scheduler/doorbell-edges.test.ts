// SPDX-License-Identifier: Apache-2.0
/**
 * The doorbell unit at the borders of a stall, of spilling and of a reset (US 9,069,485 par. 74,
 * 90-93; docs/DOCUMENTS.md decision 7), one step at a time.
 */
import t from 'tap';
import { OverflowPolicy } from '../../../protocol/layout/gen/values.gen.ts';
import { ENTRIES, DoorbellFixture as Fixture } from '../../rig/fixtures/doorbell-fixture.ts';
import { Inbound } from './inbound-queue.ts';

t.test('a stall needs a doorbell at the head of the bus and a full buffer', async (t) => {
  const fixture = new Fixture();
  const { unit } = fixture;
  unit.policy = OverflowPolicy.OFF;
  fixture.ring(0, 1);
  t.equal(unit.inbound.kind, Inbound.POSTED);
  t.notOk(unit.stalled, 'entries are free');
  fixture.ring(1, ENTRIES);
  for (let steps = 0; steps < 2 * ENTRIES && unit.buffer.free > 0; steps++) unit.advance(1);
  t.equal(unit.buffer.free, 0);
  t.not(unit.inbound.kind, Inbound.POSTED);
  t.notOk(unit.stalled, 'completions free entries');
});

t.test('spilling goes on while reads are stuck and doorbells wait, whatever is free', async (t) => {
  const fixture = new Fixture(1);
  const { unit } = fixture;
  fixture.setOverflow();
  fixture.hasBuffer = false;
  unit.thresholds.set(1, 2);
  fixture.ring(0, 4);
  fixture.runAll();
  t.equal(fixture.owner.counters.deadlocksDetected, 1, 'one episode');
  t.same(fixture.scheduled, [0, 1, 2, 3]);
});

t.test('a bus tells whether completions have arrived', async (t) => {
  const fixture = new Fixture(8, 12, 100);
  const { inbound } = fixture.unit;
  t.equal(inbound.land(1000), false, 'no read is in flight');
  inbound.read(Inbound.RECORD, fixture.qps[0], 0, undefined);
  t.equal(inbound.flying, 1);
  t.equal(inbound.land(99), false);
  t.equal(inbound.land(100), true);
  t.equal(inbound.kind, Inbound.RECORD);
  t.equal(inbound.land(1000), false);
});

t.test('a reset drops the read of an overflow entry, which has no queue pair', async (t) => {
  const fixture = new Fixture();
  const { unit } = fixture;
  fixture.setOverflow();
  fixture.spill(0, 2);
  unit.advance(1);
  t.equal(unit.inbound.kind, Inbound.OVERFLOW_ENTRY);
  t.doesNotThrow(() => unit.reset());
  t.equal(unit.inbound.length, 0);
});
