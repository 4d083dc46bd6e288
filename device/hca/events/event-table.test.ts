// SPDX-License-Identifier: Apache-2.0
/**
 * The decision table of event queues (IPCOM000126453D par. 3-4; docs/DOCUMENTS.md decision 8):
 * controls, delays, shared bytes and asynchronous events one by one, then random steps against an
 * oracle.
 */
import t from 'tap';
import { decodeEqAttributes, newEqAttributes } from '../../../protocol/layout/gen/eq-attributes.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import { EqControl, EqMask, EventType, ManagementOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import { eqPayload } from '../../rig/driver/payloads.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { delayOf, EventQueueFixture, NOP, POLL_ONLY, VECTOR } from '../../rig/fixtures/event-queue-fixture.ts';

/** Overruns a CQ of its own, which posts an asynchronous event. */
function causeCqError(fixture: AdapterFixture): void {
  const qp = fixture.createQueuePair({ sendCq: fixture.driver.createCompletionQueue({ entriesLog2: 0 }) });
  qp.post(NOP);
  qp.post(NOP);
  fixture.settle();
}

t.test('controls: nothing, primary byte, primary byte and interrupt', async (t) => {
  const seen = [EqControl.NOTHING, EqControl.PRIMARY_SUMMARY, EqControl.INTERRUPT].map((controls) => {
    const fixture = new EventQueueFixture({ delayNs: 1000, controls });
    fixture.complete(0);
    fixture.adapterFixture.machine.clock.advance(5000);
    fixture.complete(1);
    return [fixture.summary, fixture.interrupts];
  });
  t.same(seen, [
    [[0, 1, 1, 0, 0], 1],
    [[1, 1, 1, 0, 0], 1],
    [[1, 1, 1, 0, 0], 2],
  ]);
});

t.test('delay 0 under each control: the controls decide on the first event, each later one interrupts', async (t) => {
  for (const [controls, interrupts, unresponsive] of [
    [EqControl.NOTHING, 3, 3],
    [EqControl.PRIMARY_SUMMARY, 3, 3],
    [EqControl.INTERRUPT, 4, 0],
  ] as const) {
    const fixture = new EventQueueFixture({ delayNs: 0, controls });
    for (let index = 0; index < 4; index++) fixture.complete(index);
    t.equal(fixture.interrupts, interrupts, `controls ${controls}`);
    t.equal(fixture.query().unresponsive, unresponsive, 'an interrupt per event was not asked for');
    t.same(fixture.summary, [controls === EqControl.NOTHING ? 0 : 1, 1, 1, 1, 1]);
    fixture.finish();
  }
});

t.test('the largest delay under each control: no event interrupts, bytes are set as ever', async (t) => {
  for (const controls of [EqControl.NOTHING, EqControl.PRIMARY_SUMMARY, EqControl.INTERRUPT]) {
    const fixture = new EventQueueFixture({ ...POLL_ONLY, controls });
    for (let index = 0; index < 4; index++) fixture.complete(index);
    t.equal(fixture.interrupts, 0, `controls ${controls}`);
    t.same(fixture.summary, [controls === EqControl.NOTHING ? 0 : 1, 1, 1, 1, 1]);
    fixture.finish();
  }
});

t.test('event queues that share a primary byte: one look finds which of them to serve', async (t) => {
  const fixture = new AdapterFixture();
  const { driver } = fixture;
  const shared = driver.createEventQueue({ vector: VECTOR, summaryCount: 2 });
  const { payload } = driver.management.perform({ opcode: ManagementOpcode.QUERY_EQ, objectNumber: shared.eqn });
  const { primarySummaryAddress } = decodeEqAttributes(payload, 0, newEqAttributes());
  const queues = [0, 1, 2].map(() =>
    driver.createEventQueue({
      vector: VECTOR,
      attributes: { controls: EqControl.PRIMARY_SUMMARY, primarySummaryAddress, ...delayOf(1e9) },
    }),
  );
  const qps = queues.map((eventQueue) => {
    const sendCq = fixture.createCompletionQueue({ eventQueue });
    sendCq.notify();
    return fixture.createQueuePair({ sendCq });
  });
  const summary = shared.summary as DataView;
  for (const [index, qp] of qps.entries()) {
    summary.setUint8(0, 0);
    qp.post(NOP);
    fixture.settle();
    t.equal(summary.getUint8(0), 1, `the first event of queue ${index}, with events pending on ${index} others`);
    t.same(
      queues.map((queue) => queue.walk().length),
      queues.map((_, other) => (other === index ? 1 : 0)),
    );
  }
  t.equal(fixture.host.raised[VECTOR] ?? 0, 0);
  fixture.finish();
});

t.test('secondary bytes alone choose the CQs to serve', async (t) => {
  const fixture = new EventQueueFixture({ delayNs: 1e9, controls: EqControl.PRIMARY_SUMMARY }, 4, { seed: 5 });
  const { random } = fixture.adapterFixture;
  const posted = [0, 0, 0, 0];
  const taken = [0, 0, 0, 0];
  for (let turn = 0; turn < 300; turn++) {
    for (let count = random.below(4); count > 0; count--) {
      const index = random.below(4);
      fixture.complete(index);
      posted[index]++;
    }
    const bytes = fixture.summary;
    fixture.clearSummary();
    for (const [index, queue] of fixture.queues.entries()) {
      if (bytes[index + 1] === 0) continue;
      const found = queue.drain().length;
      t.ok(found > 0, 'a byte names a CQ with completions');
      taken[index] += found;
      queue.notify();
    }
    fixture.events.walk();
    t.equal(bytes[0], bytes.slice(1).some((byte) => byte !== 0) ? 1 : 0, 'the primary byte announces them');
  }
  t.same(taken, posted);
  t.equal(fixture.interrupts, 0);
  fixture.finish();
});

t.test('asynchronous events have no EQ pending bit: each one sets the primary byte and interrupts', async (t) => {
  const fixture = new EventQueueFixture({ delayNs: 10_000 });
  const payload = eqPayload({ attributeMask: EqMask.ASYNCHRONOUS, asynchronous: 1 });
  const { management } = fixture.adapterFixture.driver;
  management.perform({ opcode: ManagementOpcode.MODIFY_EQ, objectNumber: fixture.events.eqn, payload });
  for (let count = 1; count <= 3; count++) {
    fixture.clearSummary();
    const before = fixture.interrupts;
    causeCqError(fixture.adapterFixture);
    t.ok(fixture.events.walk().some(({ eventType }) => eventType === EventType.CQ_ERROR));
    t.ok(fixture.interrupts > before, 'although no time has passed');
    t.same(fixture.summary, [1, 0, 0, 0, 0]);
  }
  t.equal(fixture.query().completionEventCounter, 0);
  fixture.finish();
});

t.test('asynchronous events under each control: as a first event, whatever the stamp', async (t) => {
  const seen = [
    { controls: EqControl.NOTHING },
    { controls: EqControl.PRIMARY_SUMMARY },
    { controls: EqControl.INTERRUPT },
    { controls: EqControl.INTERRUPT, ...POLL_ONLY },
  ].map((attributes) => {
    const fixture = new EventQueueFixture({ delayNs: 10_000, ...attributes });
    const payload = eqPayload({ attributeMask: EqMask.ASYNCHRONOUS, asynchronous: 1 });
    const { management } = fixture.adapterFixture.driver;
    management.perform({ opcode: ManagementOpcode.MODIFY_EQ, objectNumber: fixture.events.eqn, payload });
    // A completion event is pending, and the stamp has passed.
    fixture.complete(0);
    fixture.adapterFixture.machine.clock.advance(20_000);
    fixture.clearSummary();
    const before = fixture.interrupts;
    const { nextInterruptTimeLow: stamp } = fixture.query();
    causeCqError(fixture.adapterFixture);
    t.ok(fixture.events.walk().some(({ eventType }) => eventType === EventType.CQ_ERROR));
    t.equal(fixture.query().nextInterruptTimeLow, stamp, 'the stamp stands');
    t.equal(fixture.query().completionEventCounter, 1, 'the counter stands');
    return [fixture.summary[0], fixture.interrupts - before, fixture.query().unresponsive];
  });
  t.same(seen, [
    [0, 0, 0],
    [1, 0, 0],
    [1, 1, 0],
    [1, 0, 0],
  ]);
});

t.test(
  'random events, clearings, settings of local time, delay and controls against an oracle of the table',
  async (t) => {
    for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
      const outcome = runAgainstOracle(seed);
      t.equal(outcome, '');
    }
  },
);

/** The table of IPCOM000126453D par. 3-4 in BigInt arithmetic. */
class Table {
  readonly pending = new Set<number>();
  delay = 1000n;
  stamp = 0n;
  controls: EqControl = EqControl.INTERRUPT;
  interrupts = 0;
  unresponsive = 0;
  primary = 0;

  post(index: number, now: bigint): void {
    const empty = this.pending.size === 0;
    const pollOnly = this.delay === 2n ** 64n - 1n;
    const late = !pollOnly && (this.delay === 0n || BigInt.asIntN(64, now - this.stamp) > 0n);
    this.pending.add(index);
    if (!empty && !late) return;
    this.stamp = BigInt.asUintN(64, now + this.delay);
    if (empty && this.controls !== EqControl.NOTHING) this.primary = 1;
    const asked = this.controls === EqControl.INTERRUPT;
    if (!empty || (asked && !pollOnly)) this.interrupts++;
    if (!empty && !(asked && this.delay === 0n)) this.unresponsive++;
  }
}

/** Compares random steps with the table; returns the difference or ''. */
function runAgainstOracle(seed: number): string {
  const fixture = new EventQueueFixture({ delayNs: 1000 }, 6, { seed });
  const { random, machine, driver } = fixture.adapterFixture;
  const table = new Table();
  let offset = 0n;
  const now = (): bigint => BigInt.asUintN(64, BigInt(machine.clock.now()) + offset);
  const modify = (attributes: object): void => {
    const payload = eqPayload(attributes);
    driver.management.perform({ opcode: ManagementOpcode.MODIFY_EQ, objectNumber: fixture.events.eqn, payload });
  };
  for (let step = 0; step < 1500; step++) {
    const index = random.below(6);
    const choice = random.below(21);
    if (choice < 9 && !table.pending.has(index)) {
      table.post(index, now());
      fixture.complete(index);
      fixture.events.walk();
    } else if (choice < 14) {
      fixture.clearPending(index);
      table.pending.delete(index);
    } else if (choice < 18) machine.clock.advance(random.below(1500));
    else if (choice === 18) {
      const target = BigInt.asUintN(64, BigInt(random.below(4000) - 2000));
      offset = target - BigInt(machine.clock.now());
      const low = Number(target & 0xffffffffn);
      fixture.adapterFixture.access.writeRegister(CSR.LOCAL_TIME, 8, low, Number(target >> 32n));
    } else if (choice === 19) {
      const { delay } = Object.assign(table, { delay: random.pick([0n, 1n, 700n, 2n ** 62n, 2n ** 64n - 1n]) });
      modify({
        attributeMask: EqMask.DELAY,
        nextInterruptDelayNsLow: Number(delay & 0xffffffffn),
        nextInterruptDelayNsHigh: Number(delay >> 32n),
      });
    } else {
      table.controls = random.pick([EqControl.NOTHING, EqControl.PRIMARY_SUMMARY, EqControl.INTERRUPT]);
      modify({ attributeMask: EqMask.CONTROLS, controls: table.controls });
      fixture.clearSummary();
      table.primary = 0;
    }
    const { completionEventCounter, unresponsive } = fixture.query();
    const seen = [fixture.interrupts, completionEventCounter, unresponsive, fixture.summary[0]].join();
    const right = [table.interrupts, table.pending.size, table.unresponsive, table.primary].join();
    if (seen !== right) return `seed ${seed}, step ${step}: ${seen} in place of ${right}`;
  }
  fixture.finish();
  return '';
}
