// SPDX-License-Identifier: Apache-2.0
/**
 * Debian's opensm, diagnostics and osmtest judge the fabric over the host door, without a guest
 * (docs/FABRIC.md). The output of the judges stays in build/fabric. `npm run test:fabric` runs the
 * same by hand.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { perform, scenarios } from './scenarios.ts';
import { Scoreboard } from './scoreboard.ts';

const FOLDER = fileURLToPath(new URL('../../build/fabric', import.meta.url));

// The judges have bounds of their own.
t.setTimeout(0);

rmSync(FOLDER, { recursive: true, force: true });
mkdirSync(FOLDER, { recursive: true });

for (const scenario of scenarios) {
  t.test(scenario.title, async (t) => {
    const board = new Scoreboard(({ name, detail, wrong }) => {
      t.ok(wrong === undefined, detail === undefined ? name : `${name}: ${detail}`, { wrong });
    });
    await perform(scenario, board, FOLDER);
    t.ok(board.passed > 0, `the judges' output is in ${join('build', 'fabric')}`);
  });
}
