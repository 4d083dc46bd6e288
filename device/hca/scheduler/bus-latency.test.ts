// SPDX-License-Identifier: Apache-2.0
/**
 * The bus of the doorbell unit in time (US 9,069,485 par. 67, 74, 84-92): reads take their latency,
 * doorbells that arrive meanwhile are before their completions, so that load alone brings the
 * deadlock or spilling; writes to the collect BAR wait on the stalled bus.
 */
import t from 'tap';
import { PAGE_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import { OverflowPolicy } from '../../../protocol/layout/gen/values.gen.ts';
import { NOP } from '../../rig/fixtures/command-poster.ts';
import { BUFFER_ENTRIES, DoorbellFlood } from '../../rig/fixtures/doorbell-flood.ts';
import { HELD_WRITES_MAX } from './held-writes.ts';

const LATENCY_NS = 2000;
const STALLED = 4;
/** Fewer reads than a burst: with all of them in flight nothing but spilling helps. */
const LOAD = { adapter: { doorbellEntries: BUFFER_ENTRIES, dmaLatencyNs: LATENCY_NS } };

/** Lets `timeNs` pass, and the device work. */
function pass({ fixture }: DoorbellFlood, timeNs = LATENCY_NS): void {
  fixture.machine.clock.advance(timeNs);
  fixture.settle();
}

t.test('each read of a doorbell takes the latency: link check, record, command', async (t) => {
  const flood = new DoorbellFlood({ ...LOAD, queuePairs: 1 });
  flood.post(flood.qps[0]);
  for (let read = 0; read < 3; read++) {
    flood.fixture.settle();
    t.equal(flood.read(CSR.BUS_READS), 1, `read ${read}`);
    pass(flood, LATENCY_NS - 1);
    t.equal(flood.read(CSR.BUS_READS), 1);
    t.equal(flood.cq.drain().length, 0);
    pass(flood, 1);
  }
  t.equal(flood.read(CSR.BUS_READS), 0);
  t.equal(flood.findWrong(), undefined);
  t.equal(flood.total, 1);
});

t.test('reads overlap: many doorbells take as long as one', async (t) => {
  const flood = new DoorbellFlood({ ...LOAD, queuePairs: 6 });
  for (const qp of flood.qps) flood.post(qp);
  flood.fixture.settle();
  t.equal(flood.read(CSR.BUS_READS), 6);
  for (let read = 0; read < 3; read++) pass(flood);
  t.equal(flood.findWrong(), undefined);
  t.equal(flood.total, 6);
});

t.test('the same load with and without an overflow buffer: spilling, or the deadlock', async (t) => {
  for (const seed of [1, 2, 3]) {
    const spilling = new DoorbellFlood({ ...LOAD, seed, queuePairs: 24 });
    spilling.burst();
    spilling.fixture.settle();
    t.ok(spilling.read(CSR.DOORBELLS_SPILLED) > 0, 'spilled');
    t.equal(spilling.finish(), undefined, 'and every command is executed');
    t.equal(spilling.read(CSR.DOORBELLS_DRAINED), spilling.read(CSR.DOORBELLS_SPILLED));
    t.equal(spilling.read(CSR.DOORBELLS_LOST), 0);

    const dead = new DoorbellFlood({ ...LOAD, seed, queuePairs: 24, policy: OverflowPolicy.OFF });
    dead.burst();
    for (let turns = 0; turns < 20; turns++) pass(dead);
    t.equal(dead.read(CSR.OVERFLOW_STATUS), STALLED);
    t.equal(dead.read(CSR.DOORBELL_BUFFER_USED), BUFFER_ENTRIES);
    t.equal(dead.read(CSR.BUS_READS), BUFFER_ENTRIES, 'their completions are on the bus, behind doorbells');
    dead.reap();
    t.equal(dead.total, 0, 'and nothing is executed');
    dead.fixture.access.writeRegister(CSR.DOORBELL_POLICY, 4, OverflowPolicy.NEWEST, 0);
    t.equal(dead.finish(), undefined, 'until doorbells may be spilled');
  }
});

t.test('doorbells that come slower than reads complete need no spilling, even without a policy', async (t) => {
  const flood = new DoorbellFlood({ ...LOAD, queuePairs: 24, policy: OverflowPolicy.OFF });
  for (const qp of flood.qps) {
    flood.post(qp);
    pass(flood, LATENCY_NS / 4);
  }
  t.equal(flood.finish(), undefined);
  t.equal(flood.read(CSR.DEADLOCKS_DETECTED), 0);
});

t.test('completions keep the order of their reads when the latency becomes shorter', async (t) => {
  const flood = new DoorbellFlood({ ...LOAD, queuePairs: 2 });
  const { dmaTiming } = flood.fixture.machine.device;
  flood.post(flood.qps[0]);
  flood.fixture.settle();
  dmaTiming.latencyNs = 0;
  flood.post(flood.qps[1]);
  flood.fixture.settle();
  t.equal(flood.read(CSR.BUS_READS), 2);
  t.equal(flood.read(CSR.LINK_CHECKS), 0);
  pass(flood);
  t.equal(flood.findWrong(), undefined, 'both are executed at once then');
  t.equal(dmaTiming.busReads, 0);
});

t.test('a reset drops reads in flight', async (t) => {
  const flood = new DoorbellFlood({ ...LOAD, queuePairs: 6 });
  const { machine } = flood.fixture;
  for (const qp of flood.qps) flood.post(qp);
  flood.fixture.settle();
  pass(flood);
  t.ok(flood.read(CSR.BUS_READS) > 0);
  machine.reset(0, 'function');
  t.equal(machine.device.dmaTiming.busReads, 0);
  t.equal(machine.device.schedulerBuffers.freeCount, machine.device.schedulerBuffers.buffers.length);
  pass(flood);
  t.equal(machine.clock.alarmNs, Number.POSITIVE_INFINITY, 'no alarm is left');
});

t.test('collect writes wait on the stalled bus, in their order among doorbells', async (t) => {
  const flood = new DoorbellFlood({ ...LOAD, queuePairs: 24, policy: OverflowPolicy.OFF });
  const { fixture } = flood;
  const { device } = fixture.machine;
  const [, other] = [flood.qps[0], flood.add()];
  other.post(NOP);
  fixture.settle();
  t.equal(flood.cq.drain().length, 1, 'a collect copy is executed at once while the bus moves');
  flood.burst();
  fixture.settle();
  pass(flood);
  t.equal(flood.read(CSR.OVERFLOW_STATUS), STALLED);
  const kicks = flood.read(CSR.COLLECT_KICKS);
  const waiting = flood.read(CSR.DOORBELLS_INBOUND);
  other.post(NOP);
  fixture.settle();
  t.equal(flood.read(CSR.COLLECT_KICKS), kicks, 'its copy does not arrive');
  t.equal(flood.read(CSR.DOORBELLS_INBOUND), waiting + device.functions[0].doorbells.held.count);
  t.ok(device.functions[0].doorbells.held.count > 0);
  const { doorbells } = device.functions[0];
  const { held, inbound } = doorbells;
  const [before, writes] = [inbound.arrived, held.count];
  t.ok(before > inbound.taken);
  fixture.access.writeRegister(CSR.DOORBELL_POLICY, 4, OverflowPolicy.NEWEST, 0);
  other.post(NOP);
  t.equal(held.count, 2 * writes, 'the bus moves again, but a write behind a held one waits as well');
  while (held.count === 2 * writes) doorbells.advance(1);
  t.equal(inbound.taken, before, 'all doorbells that came before are taken');
  fixture.settle();
  t.equal(flood.read(CSR.COLLECT_KICKS), kicks + 2);
  t.equal(held.count, 0);
  flood.posted.set(other.qpn, 3);
  flood.completed.set(other.qpn, 1);
  t.equal(flood.finish(), undefined);
});

t.test('writes beyond the capacity of the bus are lost; a sweep finds their commands', async (t) => {
  const flood = new DoorbellFlood({ ...LOAD, queuePairs: 24, policy: OverflowPolicy.OFF });
  const { fixture } = flood;
  const { held } = fixture.machine.device.functions[0].doorbells;
  const other = flood.add();
  flood.burst();
  fixture.settle();
  for (let write = 0; write < HELD_WRITES_MAX - 1; write++) fixture.access.port.writeCollect(PAGE_BYTES * 9, 8, 0, 0);
  t.equal(flood.read(CSR.DOORBELLS_LOST), 0);
  other.post(NOP);
  t.equal(held.count, HELD_WRITES_MAX);
  t.ok(flood.read(CSR.DOORBELLS_LOST) > 0);
  fixture.access.writeRegister(CSR.DOORBELL_POLICY, 4, OverflowPolicy.NEWEST, 0);
  flood.posted.set(other.qpn, 1);
  t.equal(flood.finish(), undefined);
  t.ok(flood.read(CSR.SWEEPS) > 0);
});

t.test('a reset drops held writes', async (t) => {
  const flood = new DoorbellFlood({ ...LOAD, queuePairs: 24, policy: OverflowPolicy.OFF });
  const { fixture } = flood;
  const { held } = fixture.machine.device.functions[0].doorbells;
  flood.burst();
  fixture.settle();
  flood.qps[0].post(NOP);
  t.ok(held.count > 0);
  fixture.machine.reset(0, 'function');
  t.equal(held.count, 0);
});
