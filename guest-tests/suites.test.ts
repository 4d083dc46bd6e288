// SPDX-License-Identifier: Apache-2.0
/**
 * guest.test.ts runs every suite of the test module, except those that need another adapter or a
 * second guest: these are listed here, with the test that runs each.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { LONG_SUITES } from './long-suites.ts';

/** Suites that kernel.sh leaves out, and the file that names them. */
const elsewhere: Readonly<Record<string, string>> = {
  blocked_bus: 'guest-variants.long.ts',
  converge: 'tenant-run.ts',
  lend: 'tenant-run.ts',
  port_count: 'guest-variants.long.ts',
  peer: 'cases/peer.sh',
  flood: 'cases/tenant.sh',
};

t.test('every suite of the module is run by a test', async (t) => {
  const module = [...read('kernel/vt_main.c').matchAll(/^\t&vt_suite_(\w+),$/gm)].map(([, name]) => name as string);
  const named = /^all_suites="([^"]*)"/m.exec(read('cases/kernel.sh'))?.[1]?.split(/\s+/) ?? [];
  t.ok(module.length > 40);
  t.ok(LONG_SUITES.every((name) => named.includes(name)));
  t.same(module.filter((name) => !named.includes(name)).sort(), Object.keys(elsewhere).sort());
  for (const [name, file] of Object.entries(elsewhere)) t.match(read(file), new RegExp(`\\b${name}\\b`));
});

function read(relative: string): string {
  return readFileSync(fileURLToPath(new URL(relative, import.meta.url)), 'utf8');
}
