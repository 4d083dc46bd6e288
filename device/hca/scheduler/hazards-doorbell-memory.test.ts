// SPDX-License-Identifier: Apache-2.0
/**
 * Hazards 38, 39 and 42 of docs/HAZARDS.md for doorbells: queue pairs are destroyed, and memory is
 * overwritten, reset or unmapped, while descriptors and commands are read and doorbells are
 * spilled.
 */
import t from 'tap';
import { OVERFLOW_ENTRY_BYTES, PAGE_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  DOORBELL_QPN_SHIFT,
  DOORBELL_SEQUENCE_MASK,
  DOORBELL_SEQUENCE_OFFSET,
  getDoorbellQpn,
  setDoorbellQpn,
} from '../../../protocol/layout/gen/doorbell.gen.ts';
import { CSR, getCsrOverflowControlEnable } from '../../../protocol/layout/gen/registers.gen.ts';
import { CompletionStatus, FaultKind, QpState } from '../../../protocol/layout/gen/values.gen.ts';
import { DoorbellFlood, stepUntil } from '../../rig/fixtures/doorbell-flood.ts';
import type { QueuePair } from '../queues/queue-pair.ts';

const SWEEPING = 2;

t.test('hazard 38: a QP destroyed, reset or failed while its doorbell is in the overflow buffer', async (t) => {
  const flood = new DoorbellFlood({ seed: 38 });
  flood.burst();
  stepUntil(flood.fixture, () => flood.read(CSR.OVERFLOW_WRITTEN) > 8, 'spilled doorbells');
  const entries = flood.fixture.access.view(flood.fixture.driver.overflowAddress, 64);
  const spilled = [0, 1, 2].map((index) =>
    flood.qps.find(({ qpn }) => qpn === getDoorbellQpn(entries, index * OVERFLOW_ENTRY_BYTES)),
  );
  t.ok(
    spilled.every((qp) => qp !== undefined),
    'the first three entries are of known QPs',
  );
  // Called directly: during a management command the device would run on.
  const adapter = flood.fixture.machine.device;
  const [destroyed, failed] = spilled.map((qp) => adapter.tables.queuePairs.get(qp?.qpn ?? 0) as QueuePair);
  adapter.engine.life.drop(destroyed);
  adapter.engine.life.changeState(failed, QpState.ERR, false);
  flood.fixture.settle();
  const completions = flood.cq.drain();
  t.notOk(
    completions.some(({ qpn }) => qpn === spilled[0]?.qpn),
    'no completion of the destroyed QP',
  );
  t.ok(
    completions.filter(({ qpn }) => qpn === spilled[1]?.qpn).every(({ status }) => status === CompletionStatus.FLUSHED),
  );
  t.equal(flood.fixture.faults(FaultKind.OVERFLOW_ENTRY), 0, 'the entry of the destroyed QP is known');
  t.equal(flood.read(CSR.OVERFLOW_READ), flood.read(CSR.OVERFLOW_WRITTEN));
  flood.fixture.finish();
});

t.test(
  'hazard 39: what software writes over the overflow buffer is not believed, and no command is lost',
  async (t) => {
    const scribbles: [string, (entries: DataView, foreign: number) => void][] = [
      ['zeros', (entries) => fill(entries, 0, 0)],
      ['all ones', (entries) => fill(entries, 0xffffffff, 0xffffffff)],
      ['a QP without an entry', (entries, foreign) => fill(entries, (foreign << DOORBELL_QPN_SHIFT) >>> 0, 0)],
      ['wrong reserved bits', (entries) => entries.setUint32(DOORBELL_SEQUENCE_OFFSET, ~DOORBELL_SEQUENCE_MASK, true)],
      ['one entry twice', (entries) => setDoorbellQpn(entries, OVERFLOW_ENTRY_BYTES, getDoorbellQpn(entries, 0))],
    ];
    for (const [what, scribble] of scribbles) {
      const flood = new DoorbellFlood({ seed: 39, budget: 4 });
      const foreign = flood.add();
      flood.burst();
      stepUntil(
        flood.fixture,
        () => flood.read(CSR.OVERFLOW_WRITTEN) - flood.read(CSR.OVERFLOW_READ) >= 8,
        'spilled doorbells',
      );
      scribble(flood.fixture.access.view(flood.fixture.driver.overflowAddress, 64), foreign.qpn);
      t.equal(flood.findWrong(), undefined, what);
      t.ok(flood.fixture.faults(FaultKind.OVERFLOW_ENTRY) > 0, `${what}: counted`);
      t.ok(flood.read(CSR.SWEEPS) > 0, `${what}: looked for`);
      flood.fixture.finish();
    }
  },
);

function fill(entries: DataView, low: number, high: number): void {
  for (let offset = 0; offset < entries.byteLength; offset += 8) {
    entries.setUint32(offset, low, true);
    entries.setUint32(offset + 4, high, true);
  }
}

/**
 * Conditions under which a hazard strikes: during a link check, a fetch, a spill, a drain, a sweep.
 */
const moments: [string, number, (flood: DoorbellFlood) => boolean][] = [
  ['a link check', 10, (flood) => flood.read(CSR.BUS_READS) > 0 && flood.read(CSR.QUEUES_LINKED) === 0],
  ['a fetch', 10, (flood) => flood.read(CSR.COMMANDS_FETCHED) > 2],
  ['a spill', 10, (flood) => flood.read(CSR.OVERFLOW_WRITTEN) > 2],
  ['a drain', 10, (flood) => flood.read(CSR.OVERFLOW_READ) > 0],
  ['a sweep', 3, (flood) => flood.read(CSR.OVERFLOW_STATUS) === SWEEPING],
];

for (const [what, ringLog2, isNow] of moments) {
  t.test(`hazard 42: the function is reset during ${what}: nothing is written afterwards`, async (t) => {
    for (const kind of ['function', 'software', 'lost', 'device'] as const) {
      const flood = new DoorbellFlood({ seed: 42, queuePairs: 40, ringLog2, budget: 2 });
      flood.burst();
      stepUntil(flood.fixture, () => isNow(flood), what);
      flood.fixture.machine.reset(0, kind);
      flood.fixture.settle();
      t.equal(flood.read(CSR.OVERFLOW_CONTROL), 0);
      t.equal(flood.read(CSR.DOORBELL_BUFFER_USED) + flood.read(CSR.DOORBELLS_INBOUND) + flood.read(CSR.BUS_READS), 0);
      flood.fixture.machine.resume();
      flood.fixture.bringUp();
      flood.fixture.proveItWorks();
      flood.fixture.finish();
    }
  });

  t.test(
    `hazard 42: bus mastering is turned off during ${what}: nothing is written; later all works again`,
    async (t) => {
      const flood = new DoorbellFlood({ seed: 43, queuePairs: 40, ringLog2, budget: 2 });
      flood.burst();
      stepUntil(flood.fixture, () => isNow(flood), what);
      flood.fixture.access.port.setBusMaster(false);
      flood.fixture.host.quietBecause = 'bus mastering is off';
      flood.fixture.settle();
      t.ok(flood.fixture.faults(FaultKind.BUS_MASTER_OFF) > 0);
      flood.fixture.machine.resume();
      flood.fixture.proveItWorks();
      flood.fixture.finish();
    },
  );

  t.test(`hazard 42: the overflow buffer is unmapped during ${what}: it is given up, no command is lost`, async (t) => {
    const flood = new DoorbellFlood({ seed: 44, queuePairs: 40, ringLog2, budget: 2 });
    flood.burst();
    stepUntil(flood.fixture, () => isNow(flood), what);
    const page = Math.floor(flood.fixture.driver.overflowAddress / PAGE_BYTES) * PAGE_BYTES;
    const ring = flood.fixture.access.view(flood.fixture.driver.overflowAddress, 8 * 2 ** ringLog2);
    flood.fixture.access.port.memoryUnmapped(page, PAGE_BYTES * 3);
    const bytes = new Uint8Array(ring.buffer, ring.byteOffset, ring.byteLength);
    bytes.fill(0x66);
    t.equal(flood.findWrong(), undefined);
    t.equal(getCsrOverflowControlEnable(flood.read(CSR.OVERFLOW_CONTROL)), 0, 'given up');
    t.ok(
      bytes.every((byte) => byte === 0x66),
      'untouched',
    );
    flood.fixture.finish();
  });
}
