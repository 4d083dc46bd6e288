// SPDX-License-Identifier: Apache-2.0
/**
 * The deadlock of US 9,069,485 in a guest, as `npm run demo -- deadlock --guest` shows it: the
 * kernel tests of the suite `overload` ring for more queues than the scheduler buffer has entries,
 * while the adapter runs and its reads take long. Called by main.ts.
 */
import { runGuestCases } from '../../../guest-tests/harness/kernel-cases.ts';
import { SetupError } from '../../../qemu/setup/tools/errors.ts';
import { table } from '../../console/table.ts';
import { setUp } from '../../setup/set-up.ts';

/** A case of the suite, as the guest reports it. */
export interface OverloadCase {
  readonly name: string;
  readonly ok: boolean;
  readonly skipped: string | undefined;
  /** Notes of the case. */
  readonly notes: readonly string[];
}

/** Runs the suite in a guest. Throws SetupError when guest or adapter cannot run it. */
export async function runInGuest(): Promise<readonly OverloadCase[]> {
  await setUp('start');
  const { results, faults } = await runGuestCases({ suites: ['overload'] });
  const [fault] = faults;
  if (fault !== undefined) throw new SetupError(`the guest did not run it: ${fault.text}`);
  return results
    .filter(({ path }) => path.length === 2 && path[0] === 'overload')
    .map(({ path, ok, skipped, diagnostics }) => ({ name: path[1], ok, skipped, notes: diagnostics }));
}

/** A line for each note of each case, and their meaning. */
export function formatCases(cases: readonly OverloadCase[]): string {
  const rows = cases.flatMap(({ name, ok, skipped, notes }) => {
    const verdict = skipped !== undefined ? 'skipped' : ok ? 'ok' : 'FAILED';
    const texts = skipped !== undefined ? [skipped] : notes.length > 0 ? notes : [''];
    return texts.map((text, place) => [place === 0 ? name : '', place === 0 ? verdict : '', text]);
  });
  return `In a guest: the queue pairs of a driver ring while the adapter runs, and a read takes half a second.
${table(rows, 3)}The same doorbells end in a deadlock where the policy forbids spilling, and are all executed where it allows it.
`;
}
