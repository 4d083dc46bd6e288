// SPDX-License-Identifier: Apache-2.0
/**
 * Our verbs for ten minutes: Debian's programs in turns beside traffic by IP. Nothing may be left,
 * and the process of the adapter may not grow. `SOAK_MINUTES` sets another time.
 */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { runStress } from './stress-run.ts';

const MINUTES = Number(process.env.SOAK_MINUTES ?? 10);
const ROUND = /^# round \d+,/;
/** The memory of a process varies with garbage collection. */
const GROWTH_MAX = 1.25;
const SPREAD_MIB = 32;

// The session ends a guest that falls silent; no other bound holds on a busy machine.
t.setTimeout(0);

const isLarge = process.env.VUHCA_LARGE !== undefined;
const large = isLarge ? {} : { skip: 'ten minutes: set VUHCA_LARGE' };

t.test('our verbs for minutes', large, async (t) => {
  const sizes: number[] = [];
  await runStress(t, {
    script: 'soak.sh',
    settings: { MINUTES },
    device: { arguments: ['--fabric=switch'] },
    hasVerbs: true,
    checks: 3,
    onLine: (line, adapter) => {
      if (ROUND.test(line.trim())) sizes.push(readResidentMiB(adapter));
    },
  });
  const quarter = Math.ceil(sizes.length / 4);
  const early = Math.max(...sizes.slice(quarter, 2 * quarter));
  const late = Math.min(...sizes.slice(-quarter));
  t.comment(
    `${sizes.length} rounds; ${early.toFixed(0)} MiB at most in the second quarter, ${late.toFixed(0)} MiB at least in the last`,
  );
  t.ok(late <= early * GROWTH_MAX + SPREAD_MIB, 'the adapter does not grow');
});

function readResidentMiB(pid: number): number {
  const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) / 1024;
}
