// SPDX-License-Identifier: Apache-2.0
/**
 * Judgement of a run of three guests. Called by tenants.long.ts.
 */
import type { Test } from 'tap';
import { hasPassed, report } from './harness/report.ts';
import { judge, SERVICE_CLAIM } from './shares/judge.ts';
import { judgeReturn } from './shares/return.ts';
import type { TenantRun } from './tenant-run.ts';

export function reportTenants(t: Test, run: TenantRun): void {
  for (const [number, guest] of run.guests.entries()) {
    t.test(`function ${number}`, (t) => {
      t.ok(guest.results.length > 0, 'there are results');
      report(t, guest);
      t.end();
    });
  }
  t.ok(run.killed.results.length > 0, 'the guest that was killed had run tests');
  t.same(
    run.killed.results.filter(({ ok }) => !ok).map(({ path }) => path.join('/')),
    [],
    'and all its results until then were good',
  );
  hasPassed(t, run.guests[0], ['lend/idle', 'converge/vcbs', 'converge/pcbs']);
  // Doorbells of a virtual function spilled to its own memory.
  hasPassed(
    t,
    run.guests[1],
    ['spill', 'full', 'absent', 'deadlock'].map((name) => `overflow/${name}`),
  );
  for (const { claim, outcome, detail } of judge(run.shares)) {
    // Between two samples a busy machine may stop a guest, which then has no commands waiting. This
    // claim is judged over simulated time (device/rig/qos/shares.test.ts); no other claim is
    // excused.
    if (claim === SERVICE_CLAIM) t.comment(`${claim}: ${outcome}: ${detail}`);
    else t.equal(outcome, 'holds', `${claim}: ${detail}`);
  }
  const { claim, outcome, detail } = judgeReturn(run.returned);
  t.equal(outcome, 'holds', `${claim}: ${detail}`);
  t.comment(`${run.guests[0].seconds.toFixed(1)} s`);
}
