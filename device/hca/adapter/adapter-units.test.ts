// SPDX-License-Identifier: Apache-2.0
/**
 * Activity and holdings of a function, as the share adjuster reads them from the units of an
 * adapter: any use is activity, and a function with commands in flight is busy, so that its share
 * is not lent below them (US 8,484,392 par. 64).
 */
import t, { type Test } from 'tap';
import { PAGE_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { CSR, CSR_ADAPTER_CONTROL_LEND_IDLE_MASK } from '../../../protocol/layout/gen/registers.gen.ts';
import { SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import { AdapterFixture, type Pair } from '../../rig/fixtures/adapter-fixture.ts';
import { InProcessAccess } from '../../rig/machine/access.ts';
import { AdapterUnits } from './adapter-units.ts';
import type { AdapterOptions } from './options.ts';

const NOP = { header: { opcode: SendOpcode.NOP } };
const FUNCTION = 1;
const OTHER = 2;
const LATENCY_NS = 1000;
const IDLE_NS = 10 * LATENCY_NS;
/** Less than a command header. */
const HALF_BYTES = 40;

interface Bench {
  readonly fixture: AdapterFixture;
  readonly units: AdapterUnits;
  readonly pair: Pair;
}

/** A virtual function with a pair of QPs. */
function makeBench(adapter: Partial<AdapterOptions> = {}): Bench {
  const access = (machine: AdapterFixture['machine']) => new InProcessAccess(machine, FUNCTION);
  const fixture = new AdapterFixture({ functionCount: 3, adapter: { idleIntervalNs: IDLE_NS, ...adapter }, access });
  const pair = fixture.createPair({ sender: { sendEntriesLog2: 6 } });
  return { fixture, units: new AdapterUnits(fixture.machine.device), pair };
}

/** Each kind of use, as software makes it; no other counter of the sum grows. */
const uses: Readonly<Record<string, (bench: Bench) => void>> = {
  'a command through a collect page': ({ pair }) => pair.sender.post(pair.to()),
  'a doorbell': ({ pair }) => pair.sender.ring(0, 'register'),
  'a management command': ({ fixture }) => void fixture.driver.createProtectionDomain(),
  'a command that found no collect buffer': ({ fixture, pair }) => {
    const { sender } = pair;
    const half = sender.fill(pair.to()).subarray(0, HALF_BYTES);
    for (let page = 0; fixture.read(CSR.PCB_AVAILABLE) > 0; page += PAGE_BYTES)
      if (page !== sender.parts.page) sender.collect(half, {}, page);
    // It is refused at its first store; its kick would count as well.
    sender.collect(half);
  },
};

for (const [what, use] of Object.entries(uses))
  t.test(`activity: ${what}`, async (t) => {
    const bench = makeBench({ pcbCount: 24, pcbGuaranteed: [4, 4] });
    const { units } = bench;
    const before = [FUNCTION, OTHER].map((number) => units.getActivity(number));
    use(bench);
    t.ok(units.getActivity(FUNCTION) > before[0], 'it is seen');
    t.equal(units.getActivity(OTHER), before[1], 'as that of its function');
  });

t.test('activity: commands of an old doorbell that are launched', async (t) => {
  const { fixture, units, pair } = makeBench({ dmaLatencyNs: LATENCY_NS });
  pair.sender.post(pair.to(), 'slot');
  pair.sender.ring(0, 'register');
  const before = units.getActivity(FUNCTION);
  fixture.machine.runUntil(() => fixture.machine.device.lanes.functionLaunches[FUNCTION] > 0, 'the launch');
  t.ok(units.getActivity(FUNCTION) > before);
});

/** What a function holds while it waits for memory or for software. */
function checkBusy(t: Test, { fixture, units }: Bench, isDone: () => boolean): void {
  t.ok(units.isBusy(FUNCTION));
  t.notOk(units.isBusy(OTHER), 'another function is not');
  fixture.machine.runUntil(isDone, 'the end');
  t.notOk(units.isBusy(FUNCTION), 'and no longer at the end');
}

t.test('busy: half a command in a collect page, of either QoS level', async (t) => {
  for (const level of [0, 1]) {
    const bench = makeBench();
    const { fixture, pair } = bench;
    const pages = fixture.read(CSR.VCB_COUNT);
    fixture.access.writeRegister(CSR.QOS_DIVIDER, 8, (pages / 2) * PAGE_BYTES, 0);
    const page = (level === 0 ? 0 : pages - 1) * PAGE_BYTES;
    pair.sender.collect(pair.sender.fill(pair.to()).subarray(0, HALF_BYTES), {}, page);
    checkBusy(t, bench, () => {
      pair.sender.cancel(page);
      return true;
    });
  }
});

t.test('busy: a command in a dedicated buffer while it is read', async (t) => {
  const bench = makeBench({ dmaLatencyNs: LATENCY_NS });
  const { fixture, pair, units } = bench;
  const { schedulerBuffers, lanes } = fixture.machine.device;
  pair.sender.post(NOP, 'slot');
  pair.sender.ring(0, 'register');
  fixture.machine.runUntil(() => schedulerBuffers.getInUse(FUNCTION, 0) > 0, 'the read');
  t.equal(lanes.completion.functions[FUNCTION].used, 0);
  checkBusy(t, bench, () => pair.sender.parts.sendCq.ready && !units.isBusy(FUNCTION));
});

t.test('busy: a message that waits for its acknowledgement holds no buffer, but a credit', async (t) => {
  const bench = makeBench();
  const { completion } = bench.fixture.machine.device.lanes;
  const hold = completion.take(0, FUNCTION);
  checkBusy(t, bench, () => {
    completion.give(0, FUNCTION, hold);
    return true;
  });
});

t.test('a share is not lent while commands of its function are in flight', async (t) => {
  const { fixture, pair } = makeBench({ dmaLatencyNs: 2 * IDLE_NS });
  const { device, clock } = fixture.machine;
  fixture.steady = false;
  new InProcessAccess(fixture.machine).writeRegister(CSR.ADAPTER_CONTROL, 4, CSR_ADAPTER_CONTROL_LEND_IDLE_MASK, 0);
  const buffer = fixture.createBuffer(64);
  pair.sender.post(pair.to({ sges: [fixture.sge(buffer)] }));
  fixture.settle();
  clock.advance(IDLE_NS + 1);
  fixture.settle();
  t.ok(device.shareManager.isLent(OTHER), 'that of an idle function is');
  t.notOk(device.shareManager.isLent(FUNCTION), 'a read of the command is outstanding');
  fixture.machine.runUntil(() => pair.sender.parts.sendCq.ready, 'the completion');
  clock.advance(IDLE_NS + 1);
  fixture.settle();
  t.ok(device.shareManager.isLent(FUNCTION));
});
