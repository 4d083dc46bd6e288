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
import { runEntry } from '../../qemu/setup/errors.ts';
import { provideInfinibandTools } from '../../qemu/setup/infiniband-tools.ts';
import { defineScript, readOptions } from '../../qemu/setup/script-options.ts';
import { type Bench, withFabric } from './bench.ts';
import type { FabricShape } from './local-fabric.ts';
import { judgeAll, judgeDiscovery } from './opensm-scenarios.ts';
import { Scoreboard } from './scoreboard.ts';
import { fatTree, ring, star } from './shapes.ts';

interface Scenario {
  readonly title: string;
  readonly shape: FabricShape;
  perform(bench: Bench): Promise<void>;
}

const scenarios: readonly Scenario[] = [
  { title: 'opensm on one switch with 3 adapters', shape: star(3), perform: judgeAll },
  { title: 'opensm on a ring of 4 switches', shape: ring(4, 2), perform: judgeDiscovery },
  { title: 'opensm on a fat tree of 6 switches', shape: fatTree(4, 2, 3), perform: judgeDiscovery },
];

await runEntry(async () => {
  const script = defineScript(
    'npm run test:fabric --',
    "Lets Debian's InfiniBand management software judge the fabric.",
  ).option('--only <TEXT>', 'Only scenarios whose titles contain this.', '');
  const { only } = readOptions<{ only: string }>(script);
  const tools = await provideInfinibandTools();
  const folder = await mkdtemp(join(tmpdir(), 'vuhca-fabric-'));
  const board = new Scoreboard();
  for (const [index, { title, shape, perform }] of scenarios.entries()) {
    if (!title.includes(only)) continue;
    board.begin(title);
    await board.run(() => withFabric({ board, tools, shape, folder: join(folder, `${index + 1}`) }, perform));
  }
  if (board.failed > 0) process.stdout.write(`what the judges printed is in ${folder}\n`);
  else rmSync(folder, { recursive: true });
  process.stdout.write(`${board.passed} passed, ${board.failed} failed\n`);
  process.exitCode = board.failed > 0 ? 1 : 0;
});
