// SPDX-License-Identifier: Apache-2.0
/**
 * Areas of mutation tests: the sources that are changed, and the test files that must notice a
 * change: the unit tests beside the units, plus those of the whole adapter that show the same
 * mechanism. A path covers all files whose paths begin with it. Read by main.ts, run-area.ts and
 * scores.ts.
 */
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TEST = '.test.ts';
const LONG_TEST = '.long.ts';

export interface Area {
  /** Argument of `npm run mutate`, and row in docs/TESTING.md. */
  readonly name: string;
  /** Beginnings of the paths of source files. */
  readonly sources: readonly string[];
  /** Beginnings of the paths of test files. */
  readonly tests: readonly string[];
}

function folders(name: string, names: readonly string[], more: readonly string[] = []): Area {
  const paths = names.map((folder) => `device/hca/${folder}/`);
  return { name, sources: paths, tests: [...paths, ...more] };
}

const MLX5 = 'device/personality/mlx5/';

/** A folder of the mlx5 personality; `more` are other tests of the whole device. */
function mlx5(folder: string, more: readonly string[] = []): Area {
  const path = `${MLX5}${folder}/`;
  return { name: `mlx5-${folder}`, sources: [path], tests: [path, ...more.map((name) => MLX5 + name)] };
}

function transport(side: string, name: string): Area {
  const tests = ['device/hca/transport/', 'device/rig/conformance/connected', 'device/hca/protection/'];
  return { name, sources: [`device/hca/transport/${side}/${name}`], tests };
}

export const areas: readonly Area[] = [
  folders('collect', ['collect'], ['device/hca/scheduler/']),
  folders('scheduler', ['scheduler']),
  folders('lane', ['lane']),
  folders('events', ['events']),
  folders('pio', ['pio']),
  folders('shares', ['shares']),
  folders('protection', ['protection']),
  // The steps of a message are tested by the stories that they tell.
  folders('trace', ['trace'], ['scripts/cli/trace/trace-stories']),
  transport('requester', 'requester'),
  transport('responder', 'responder'),
  transport('requester', 'completer'),
  mlx5('queues', ['data-', 'key-', 'stray', 'announced', 'start', 'commands/completion', 'commands/shared']),
  mlx5('memory', ['key-', 'commands/memory-key']),
  mlx5('commands', ['start', 'fatal', 'queues/shared']),
  mlx5('hca', ['start', 'fatal', 'data-path', 'commands/']),
  {
    name: 'mlx5',
    sources: ['contents', 'mlx5-', 'options', 'queue-pairs'].map((name) => MLX5 + name),
    tests: ['contents', 'data-path', 'fatal', 'key-', 'mlx5-', 'queue-pairs', 'start', 'stray'].map(
      (name) => MLX5 + name,
    ),
  },
];

/** The source files of `area`, without tests, as paths from the root of the repository. */
export function sourcesOf(area: Area): string[] {
  return area.sources.flatMap(listFiles).filter((path) => !path.endsWith(TEST) && !path.endsWith(LONG_TEST));
}

/** The test files of `area`. */
export function testsOf(area: Area): string[] {
  return area.tests.flatMap(listFiles).filter((path) => path.endsWith(TEST));
}

/** TypeScript files whose paths begin with `beginning`; their folder is part of it. */
function listFiles(beginning: string): string[] {
  const folder = beginning.endsWith('/') ? beginning.slice(0, -1) : dirname(beginning);
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => `${folder}/${name}`)
    .filter((path) => path.startsWith(beginning) && path.endsWith('.ts'))
    .sort();
}
