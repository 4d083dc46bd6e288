// SPDX-License-Identifier: Apache-2.0
/**
 * The scenarios in which Debian's management software judges the fabric, and their run. Called by
 * `npm run test:fabric` and by fabric.long.ts.
 */
import { join } from 'node:path';
import { type InfinibandTools, provideInfinibandTools } from '../../qemu/setup/infiniband-tools.ts';
import { judgeBuiltIn, judgeBuiltInDiscovery, judgeTakeover } from './built-in-scenarios.ts';
import { type FixtureOptions, withDevice, withFabric } from './fabric-fixture.ts';
import { judgeAdapters, judgeAll, judgeDiscovery, judgeFunctions, judgeLarge } from './opensm-scenarios.ts';
import type { Scoreboard } from './scoreboard.ts';
import { judgeSeveral } from './several-managers.ts';
import { fatTree, ring, star } from './shapes.ts';

export interface Scenario {
  readonly title: string;
  run(options: FixtureOptions): Promise<void>;
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

export const scenarios: readonly Scenario[] = [
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

let tools: Promise<InfinibandTools> | undefined;

/** Performs the scenario; the output of the judges stays in folders below `folder`. */
export async function perform(scenario: Scenario, board: Scoreboard, folder: string): Promise<void> {
  tools ??= provideInfinibandTools();
  const options = { board, tools: await tools, folder: join(folder, `${scenarios.indexOf(scenario) + 1}`) };
  await board.run(() => scenario.run(options));
}
