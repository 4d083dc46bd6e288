// SPDX-License-Identifier: Apache-2.0
/**
 * The table of faults in docs/DEBUGGING.md: every fault kind once, and a hint for each that the
 * adapter's code can put into a CQE.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { completionHints } from '../../protocol/layout/completion-hints.ts';
import { FaultKind } from '../../protocol/layout/gen/values.gen.ts';
import { valueTables } from '../../protocol/layout/values.ts';
import { FAULTS_PATH, writeFaultSection } from './fault-section.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DOCUMENT = readFileSync(join(ROOT, FAULTS_PATH), 'utf8');
/** Faults that these files report, but never as the result of a WQE. */
const REPORTED_ONLY = [
  'CQ_ERROR',
  'DOORBELL_BEYOND_TAIL',
  'PKEY_VIOLATION',
  'QKEY_VIOLATION',
  'XRC_DOMAIN',
  'XRC_QUEUE',
];

t.test('every fault kind is explained once', async (t) => {
  const rows = [...DOCUMENT.matchAll(/^\| (\d+) \| `(\w+)` \| [A-Z]/gm)].map(([, value, name]) => [
    name,
    Number(value),
  ]);
  t.same(Object.fromEntries(rows), FaultKind);
  t.equal(rows.length, Object.keys(FaultKind).length);
});

t.test('faults that a CQE can have say what to check', async (t) => {
  const transport = readdirSync(join(ROOT, 'device/hca/transport'), { recursive: true, encoding: 'utf8' }).filter(
    (name) => /(?<!\.test|\.long)\.ts$/.test(name),
  );
  const files = [
    ...transport.map((name) => `device/hca/transport/${name}`),
    'device/hca/scheduler/command-check.ts',
    'device/hca/scheduler/command-fetcher.ts',
    'device/hca/protection/key-check.ts',
  ];
  const code = files.map((name) => readFileSync(join(ROOT, name), 'utf8')).join('\n');
  const named = new Set([...code.matchAll(/FaultKind\.([A-Z_]+)/g)].map(([, name]) => name));
  for (const name of REPORTED_ONLY) t.ok(named.delete(name), `${name} is still only reported`);
  t.same(Object.keys(completionHints).sort(), [...named].sort());
});

t.test('a document without the marks is refused', async (t) => {
  t.throws(() => writeFaultSection('# Debugging', valueTables), /lacks the marks of the table of faults/);
});
