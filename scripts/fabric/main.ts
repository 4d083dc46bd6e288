// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run test:fabric`: Debian's opensm, diagnostics and osmtest judge the fabric over the host
 * door, without a guest (docs/FABRIC.md). Ends with the line "N passed, N failed" and a non-zero
 * status when anything failed; the judges' output then stays.
 */
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BASE_PACKAGES, installMissingPackages, TEST_PACKAGES } from '../../qemu/setup/system-packages.ts';
import { runEntry } from '../../qemu/setup/tools/errors.ts';
import { defineScript, readOptions } from '../../qemu/setup/tools/script-options.ts';
import { perform, scenarios } from './scenarios.ts';
import { Scoreboard } from './scoreboard.ts';

await runEntry(async () => {
  const script = defineScript(
    'npm run test:fabric --',
    "Lets Debian's InfiniBand management software judge the fabric.",
  ).option('--only <TEXT>', 'Only scenarios whose titles contain this.', '');
  const { only } = readOptions<{ only: string }>(script);
  await installMissingPackages([...BASE_PACKAGES, ...TEST_PACKAGES]);
  const folder = await mkdtemp(join(tmpdir(), 'vuhca-fabric-'));
  const board = new Scoreboard();
  for (const scenario of scenarios) {
    if (!scenario.title.includes(only)) continue;
    process.stdout.write(`== ${scenario.title}\n`);
    await perform(scenario, board, folder);
  }
  if (board.failed > 0) process.stdout.write(`what the judges printed is in ${folder}\n`);
  else rmSync(folder, { recursive: true });
  process.stdout.write(`${board.passed} passed, ${board.failed} failed\n`);
  process.exitCode = board.failed > 0 ? 1 : 0;
});
