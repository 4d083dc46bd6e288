// SPDX-License-Identifier: Apache-2.0
/**
 * The deadlock of US9069485 and its cure, as `npm run demo -- deadlock` shows them: one seeded load
 * of doorbells without overflow, and with each overflow policy. Called by main.ts.
 */
import { BUFFER_ENTRIES, DoorbellFlood } from '../../../device/rig/fixtures/doorbell-flood.ts';
import { CSR, getCsrOverflowStatusStalled } from '../../../protocol/layout/gen/registers.gen.ts';
import { OverflowPolicy } from '../../../protocol/layout/gen/values.gen.ts';
import { table } from '../../console/table.ts';

const HOUR_NS = 3_600_000_000_000;
/** Latency of a read of guest memory, and time between two doorbells. */
const READ_NS = 2000;
const FAST_NS = 50;
const SLOW_NS = 1000;

/** The end of a run. */
export interface DeadlockRun {
  readonly policy: string;
  /** Time between two doorbells. */
  readonly paceNs: number;
  readonly posted: number;
  readonly executed: number;
  /** Doorbells written to the overflow buffer, and read back from it. */
  readonly spilled: number;
  readonly drained: number;
  /**
   * Doorbells in the scheduler buffer, and reads of descriptors that wait behind doorbells on the
   * bus.
   */
  readonly buffered: number;
  readonly readsWaiting: number;
  readonly stalled: boolean;
}

/**
 * Rings queue pairs one after another while the adapter runs; then an hour passes. Throws when a
 * command is executed twice or out of order.
 */
function runDeadlock(seed: number, policy: OverflowPolicy, name: string, paceNs: number): DeadlockRun {
  const ringLog2 = policy === OverflowPolicy.OFF ? 0 : 10;
  const flood = new DoorbellFlood({ seed, policy, ringLog2, adapter: { dmaLatencyNs: READ_NS } });
  const { clock } = flood.fixture.machine;
  const order = [...flood.qps];
  flood.fixture.random.shuffle(order);
  for (const qp of order) {
    flood.burst([qp]);
    flood.fixture.settle();
    clock.advance(paceNs);
    flood.fixture.settle();
  }
  const endNs = clock.now() + HOUR_NS;
  while (clock.alarmNs < endNs) {
    clock.jumpToAlarm();
    flood.fixture.settle();
  }
  const wrong = flood.reap();
  if (wrong !== undefined) throw new Error(`seed ${seed}, overflow ${name}: ${wrong}`);
  return {
    policy: name,
    paceNs,
    posted: [...flood.posted.values()].reduce((sum, count) => sum + count, 0),
    executed: flood.total,
    spilled: flood.read(CSR.DOORBELLS_SPILLED),
    drained: flood.read(CSR.DOORBELLS_DRAINED),
    buffered: flood.read(CSR.DOORBELL_BUFFER_USED),
    readsWaiting: flood.read(CSR.BUS_READS),
    stalled: getCsrOverflowStatusStalled(flood.read(CSR.OVERFLOW_STATUS)) === 1,
  };
}

/** The same seed without overflow buffer and with both policies; and without one at a slow pace. */
export function runAll(seed: number): DeadlockRun[] {
  return [
    runDeadlock(seed, OverflowPolicy.OFF, 'off', FAST_NS),
    runDeadlock(seed, OverflowPolicy.NEWEST, 'newest first', FAST_NS),
    runDeadlock(seed, OverflowPolicy.MOST_SPILLED, 'most spilled first', FAST_NS),
    runDeadlock(seed, OverflowPolicy.OFF, 'off', SLOW_NS),
  ];
}

/** A table of the runs, and its meaning. */
export function formatRuns(seed: number, runs: readonly DeadlockRun[]): string {
  const header = ['overflow', 'pace/ns', 'posted', 'executed', 'spilled', 'read back', 'buffered', 'reads waiting', ''];
  const rows = runs.map((run) => [
    run.policy,
    ...[run.paceNs, run.posted, run.executed, run.spilled, run.drained, run.buffered, run.readsWaiting],
    run.stalled ? 'DEADLOCK: still so after an hour' : 'all executed, each once',
  ]);
  return `seed ${seed}: 24 queue pairs ring one after the other, the scheduler buffer has ${BUFFER_ENTRIES} entries, a read takes ${READ_NS} ns
${table([header, ...rows])}
Each entry waits for a read of its send queue descriptor. When doorbells come faster than these reads
complete, their completions arrive behind doorbells that have no entry: nothing moves any more. With an
overflow buffer the adapter writes these doorbells to host memory, the completions arrive, and the adapter
reads the doorbells back (US9069485). Doorbells that come slowly need no overflow buffer.
`;
}
