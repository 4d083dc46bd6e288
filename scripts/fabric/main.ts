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
import { BASE_PACKAGES, installMissingPackages, TEST_PACKAGES } from '../../qemu/setup/system-packages.ts';
import { type BenchOptions, withDevice, withFabric } from './bench.ts';
import { judgeBuiltIn, judgeBuiltInDiscovery, judgeTakeover } from './built-in-scenarios.ts';
import { judgeAdapters, judgeAll, judgeDiscovery, judgeFunctions, judgeLarge } from './opensm-scenarios.ts';
import { Scoreboard } from './scoreboard.ts';
import { judgeSeveral } from './several-managers.ts';
import { fatTree, ring, star } from './shapes.ts';

interface Scenario {
  readonly title: string;
  run(options: BenchOptions): Promise<void>;
}

/** Two adapters with two functions each, whose ports are at one switch. */
const functions = {
  adapters: {
    a1: { sockets: ['a1.sock', 'a1.1.sock'], portModel: 'vswitch' },
    a2: { sockets: ['a2.sock', 'a2.1.sock'], portModel: 'vswitch' },
  },
  switches: { s1: { ports: 8 } },
  links: ['a1:1', 'a1:2', 'a2:1', 'a2:2'].map((port) => ({ ports: [port, 's1'] })),
};

const scenarios: readonly Scenario[] = [
  {
    title: 'the built-in manager on one switch',
    run: (options) => withFabric(options, { ...star(3), manager: 's1' }, judgeBuiltIn),
  },
  {
    title: 'the built-in manager on a fat tree',
    run: (options) => withFabric(options, { ...fatTree(4, 2, 3), manager: 'spine1' }, judgeBuiltInDiscovery),
  },
  {
    title: 'takeover on a ring',
    run: (options) => withFabric(options, { ...ring(3, 1), manager: 's2' }, judgeTakeover),
  },
  {
    title: 'four managers on a fat tree',
    run: (options) => withFabric(options, { ...fatTree(4, 2, 3), manager: 'spine1' }, judgeSeveral),
  },
  { title: 'opensm on one switch with 3 adapters', run: (options) => withFabric(options, star(3), judgeAll) },
  { title: 'opensm on a ring of 4 switches', run: (options) => withFabric(options, ring(4, 2), judgeDiscovery) },
  {
    title: 'opensm on a fat tree of 6 switches',
    run: (options) => withFabric(options, fatTree(4, 2, 3), judgeDiscovery),
  },
  {
    title: 'opensm on 64 adapters and 12 switches',
    run: (options) => withFabric(options, fatTree(8, 4, 8), judgeLarge),
  },
  {
    title: 'opensm on vuhca device with adapters on a ring',
    run: (options) => withDevice(options, { generate: { ring: { switches: 3, adaptersPerSwitch: 2 } } }, judgeAdapters),
  },
  {
    title: 'opensm on functions behind embedded switches',
    run: (options) => withDevice(options, functions, judgeFunctions),
  },
];

await runEntry(async () => {
  const script = defineScript(
    'npm run test:fabric --',
    "Lets Debian's InfiniBand management software judge the fabric.",
  ).option('--only <TEXT>', 'Only scenarios whose titles contain this.', '');
  const { only } = readOptions<{ only: string }>(script);
  await installMissingPackages([...BASE_PACKAGES, ...TEST_PACKAGES]);
  const tools = await provideInfinibandTools();
  const folder = await mkdtemp(join(tmpdir(), 'vuhca-fabric-'));
  const board = new Scoreboard();
  for (const [index, { title, run }] of scenarios.entries()) {
    if (!title.includes(only)) continue;
    board.begin(title);
    await board.run(() => run({ board, tools, folder: join(folder, `${index + 1}`) }));
  }
  if (board.failed > 0) process.stdout.write(`what the judges printed is in ${folder}\n`);
  else rmSync(folder, { recursive: true });
  process.stdout.write(`${board.passed} passed, ${board.failed} failed\n`);
  process.exitCode = board.failed > 0 ? 1 : 0;
});
