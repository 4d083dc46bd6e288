// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run bench -- fabric [--data FILE]`: what the built-in subnet manager needs for fat trees of
 * two and three levels in one process, without guests: processor time of the first sweep and of one
 * that finds nothing new, requests, and memory. The nodes are real switches and
 * virtual adapters, which have the agents of an adapter and no queues.
 */
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { ManagedFabric } from '../../device/rig/fixtures/managed-fabric.ts';
import { runEntry } from '../../qemu/setup/tools/errors.ts';
import { defineScript, readOptions, wholeNumber } from '../../qemu/setup/tools/script-options.ts';
import { table } from '../console/table.ts';
import type { FabricFigure } from './fabric-figure.ts';
import { type FatTree, planFatTree, TREES } from './fat-trees.ts';

const BYTES_PER_MIB = 2 ** 20;
const TITLES = [...['levels', 'adapters', 'switches', 'links', 'first sweep s', 'later s', 'requests', 'MiB']];
/** Simulated time that the largest fabric may need. */
const LIMIT_NS = 3600e9;

await runEntry(async () => {
  const script = defineScript('npm run bench -- fabric', 'Measures the subnet manager on fat trees.')
    .option('--most <N>', 'The largest number of adapters.', wholeNumber(2), 1024)
    .option('--data <FILE>', 'Keeps the figures, for the plot of docs/FABRIC.md.');
  const { most, data } = readOptions<{ most: number; data?: string }>(script);
  const figures: FabricFigure[] = [];
  for (const tree of TREES.filter(({ adapters }) => adapters <= most)) {
    figures.push(await measure(tree));
    // The largest may take minutes.
    if (data !== undefined) writeFileSync(resolve(data), `${JSON.stringify(figures, undefined, 1)}\n`);
    process.stderr.write(
      `${tree.adapters} adapters, ${tree.levels} levels: ${figures.at(-1)?.firstSeconds.toFixed(1)} s\n`,
    );
  }
  process.stdout.write(table([TITLES, ...figures.map(cellsOf)], 0));
});

function cellsOf(figure: FabricFigure): (string | number)[] {
  const { levels, adapters, switches, links, firstSeconds, laterSeconds, requests, mebibytes } = figure;
  const seconds = [firstSeconds, laterSeconds].map((value) => value.toFixed(2));
  return [levels, adapters, switches, links, ...seconds, requests, mebibytes.toFixed(0)];
}

async function measure(tree: FatTree): Promise<FabricFigure> {
  const before = await findUsedBytes();
  const plan = planFatTree(tree);
  const fabric = new ManagedFabric(plan);
  const mebibytes = ((await findUsedBytes()) - before) / BYTES_PER_MIB;
  const manager = fabric.managers[0];
  const isSettled = (): boolean => manager.isMaster && manager.isSettled;
  const sweep = (begin: () => void, isDone: () => boolean): number => {
    const start = process.cpuUsage();
    begin();
    if (!fabric.runUntil(isDone, LIMIT_NS)) throw new Error(`${tree.adapters} adapters: the sweep does not end`);
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1e6;
  };
  const firstSeconds = sweep(() => {}, isSettled);
  const requests = manager.sent;
  if (!fabric.allActive) throw new Error(`${tree.adapters} adapters: a port is not ACTIVE`);
  const { heavySweeps } = manager.sweeper;
  const laterSeconds = sweep(
    () => manager.sweeper.sweepNow(),
    () => manager.sweeper.heavySweeps > heavySweeps && isSettled(),
  );
  return {
    levels: tree.levels,
    adapters: tree.adapters,
    switches: plan.switches.length,
    links: plan.links.length,
    ...{ firstSeconds, laterSeconds, requests },
    mebibytes,
  };
}

/** Memory of the process without what an earlier fabric has left. */
async function findUsedBytes(): Promise<number> {
  let usedBytes = Number.POSITIVE_INFINITY;
  for (;;) {
    // Buffers are freed some time after the objects that hold them.
    globalThis.gc?.();
    await setTimeout(50);
    const { heapUsed, external } = process.memoryUsage();
    if (heapUsed + external > usedBytes - BYTES_PER_MIB) return heapUsed + external;
    usedBytes = heapUsed + external;
  }
}
