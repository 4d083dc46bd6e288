// SPDX-License-Identifier: Apache-2.0
/**
 * The part of a guest's kernel log that explains a result or a fault. Called by reports of `vuhca
 * test` and of foreign suites.
 */
import { cutReport } from '../../qemu/kernel-log.ts';
import type { GuestRun } from './guest-run.ts';
import type { GuestFault, TestResult } from './guest-session.ts';

const LOG_BEFORE = 12;
const LOG_AFTER = 12;
/** The longest call trace that an excerpt holds. */
const REPORT_MAX = 200;

/** The lines of the log around it; for a complaint of the kernel its whole call trace. */
export function excerptLog(run: Pick<GuestRun, 'logBetween'>, entry: TestResult | GuestFault): readonly string[] {
  const before = Math.min(LOG_BEFORE, entry.logLines);
  const from = entry.logLines - before;
  if (!('kind' in entry) || entry.kind !== 'kernel') return run.logBetween(from, entry.logLines + LOG_AFTER);
  return cutReport(run.logBetween(from, entry.logLines + REPORT_MAX), before, LOG_AFTER);
}
