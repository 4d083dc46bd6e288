// SPDX-License-Identifier: Apache-2.0
/**
 * Compares the cost of a message in variants of the adapter to a few percent, on a machine whose
 * processors change speed by more than that within seconds. Each variant runs in a process of its
 * own, where no other variant affects the compiled code; all take turns of some milliseconds on one
 * processor, so that its changes affect all alike. Compilation still differs from process to
 * process, so a set of new processes is one observation of many. Called by checkouts.ts and
 * trace-hooks.ts.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { compile } from '../setup/compile.mjs';
import { median } from './statistics.ts';
import type { Traffic } from './transport-traffic.ts';
import { TurnWorker } from './turn-worker.ts';

const WORKER = join(import.meta.dirname, 'side-by-side-worker.ts');
const ENTRY = 'scripts/bench/transport-traffic.ts';
const PROGRAM = 'transport-traffic.js';
/** Of this checkout, where Node.js takes the files for modules. */
const BUILD = join(import.meta.dirname, '..', '..', 'build');
/** Messages of a turn; fewer when they are long. */
const TURN_MESSAGES = 16_000;
const TURN_BYTES = 1 << 24;
const WARM_UP_TURNS = 24;
const TURNS = 36;

/** A variant of the adapter. */
export interface Variant {
  /** Path of the compiled traffic of its sources. */
  readonly program: string;
  /** All QPs are traced. */
  readonly traced: boolean;
  /** V8's limit of inlined bytes when it differs from a live process. */
  readonly inlinedBytes?: number | undefined;
}

/** ns of processor time per message, and its ratio to that of the first variant. */
export interface Cost {
  readonly ns: number;
  readonly ratio: number;
}

/**
 * Compiles the traffic of the sources at each of `roots` as live processes are compiled, and calls
 * `use` with the paths of the programs. tsx would add a look-up to each use of an import, which a
 * live process does not make.
 */
export async function withPrograms<T>(
  roots: readonly string[],
  use: (programs: readonly string[]) => Promise<T>,
): Promise<T> {
  mkdirSync(BUILD, { recursive: true });
  const folder = mkdtempSync(join(BUILD, 'bench-'));
  try {
    const targets = roots.map((_, index) => join(folder, `${index}`));
    for (const [index, root] of roots.entries()) await compile(targets[index], { root, entry: ENTRY });
    return await use(targets.map((target) => join(target, PROGRAM)));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * One observation of each variant, on processor `number` modulo their count. Throws when a process
 * fails.
 */
export async function observeSideBySide(
  variants: readonly Variant[],
  traffic: Traffic,
  number: number,
): Promise<Cost[]> {
  const workers = variants.map(
    (variant) => new TurnWorker(WORKER, [JSON.stringify(variant), JSON.stringify(traffic)], number % cpus().length),
  );
  try {
    for (const worker of workers) await worker.ready;
    const count = Math.min(TURN_MESSAGES, Math.ceil(TURN_BYTES / traffic.size));
    const times: number[][] = variants.map(() => []);
    for (let turn = -WARM_UP_TURNS; turn < TURNS; turn++)
      for (let place = 0; place < workers.length; place++) {
        // The order changes, so that none always runs behind the same one.
        const index = (turn + WARM_UP_TURNS + place) % workers.length;
        const ns = await workers[index].send(count);
        if (turn >= 0) times[index].push(ns);
      }
    return times.map((own) => ({ ns: median(own), ratio: median(own.map((ns, turn) => ns / times[0][turn])) }));
  } finally {
    for (const worker of workers) worker.end();
  }
}
