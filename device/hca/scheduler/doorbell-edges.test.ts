// SPDX-License-Identifier: Apache-2.0
/**
 * The doorbell unit at the borders of a stall, of spilling and of a reset (US 9,069,485 par. 74,
 * 90-93; docs/DOCUMENTS.md decision 7), one step at a time.
 */
import t from 'tap';
import { OverflowPolicy } from '../../../protocol/layout/gen/values.gen.ts';
import { DoorbellFixture as Bench, ENTRIES } from '../../rig/fixtures/doorbell-fixture.ts';
import { Inbound } from './inbound-queue.ts';

t.test('a stall needs a doorbell at the head of the bus and a full buffer', async (t) => {
  const bench = new Bench();
  const { unit } = bench;
  unit.policy = OverflowPolicy.OFF;
  bench.ring(0, 1);
  t.equal(unit.inbound.kind, Inbound.POSTED);
  t.notOk(unit.stalled, 'entries are free');
  bench.ring(1, ENTRIES);
  for (let steps = 0; steps < 2 * ENTRIES && unit.buffer.free > 0; steps++) unit.advance(1);
  t.equal(unit.buffer.free, 0);
  t.not(unit.inbound.kind, Inbound.POSTED);
  t.notOk(unit.stalled, 'completions free entries');
});

t.test('spilling goes on while reads are stuck and doorbells wait, whatever is free', async (t) => {
  const bench = new Bench(1);
  const { unit } = bench;
  bench.setOverflow();
  bench.hasBuffer = false;
  unit.thresholds.set(1, 2);
  bench.ring(0, 4);
  bench.runAll();
  t.equal(bench.owner.counters.deadlocksDetected, 1, 'one episode');
  t.same(bench.scheduled, [0, 1, 2, 3]);
});

t.test('a bus tells whether completions have arrived', async (t) => {
  const bench = new Bench(8, 12, 100);
  const { inbound } = bench.unit;
  t.equal(inbound.land(1000), false, 'no read is in flight');
  inbound.read(Inbound.RECORD, bench.qps[0], 0, undefined);
  t.equal(inbound.flying, 1);
  t.equal(inbound.land(99), false);
  t.equal(inbound.land(100), true);
  t.equal(inbound.kind, Inbound.RECORD);
  t.equal(inbound.land(1000), false);
});

t.test('a reset drops the read of an overflow entry, which has no queue pair', async (t) => {
  const bench = new Bench();
  const { unit } = bench;
  bench.setOverflow();
  bench.spill(0, 2);
  unit.advance(1);
  t.equal(unit.inbound.kind, Inbound.OVERFLOW_ENTRY);
  t.doesNotThrow(() => unit.reset());
  t.equal(unit.inbound.length, 0);
});
