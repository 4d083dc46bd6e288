// SPDX-License-Identifier: Apache-2.0
/**
 * Runs test files in processes of their own, several at once, with tap's runner as a library: its
 * command line sorts the files by name and loads two modules into every process, which costs each
 * of them a second. Files run as a user would run one: `node --import=#typescript FILE`. Called by
 * main.ts.
 */
import type { ChildProcess } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { availableParallelism } from 'node:os';
import { createInterface } from 'node:readline';
import { type Base, type Spawn, t } from 'tap';
import type { Parser } from 'tap-parser';

/** A process that runs, or one that has ended. */
export interface Running {
  /** The file, from the root of the repository. */
  readonly file: string;
  readonly pid: number;
  /** What it says, as it comes. */
  readonly parser: Parser;
}

export interface Ended {
  readonly file: string;
  readonly ok: boolean;
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Why it was not run, by its own words. */
  readonly skipped: string | undefined;
}

export interface RunHooks {
  begin(process: Running): void;
  end(process: Ended): void;
  /** A line of its standard error. */
  say(line: string): void;
}

/**
 * Ends only a test or a file that would never end. A machine with many busy loops may need twenty
 * times as long as an idle one.
 */
const PATIENCE_SECONDS = 5400;
/** tap adds a module of its own to every Node process by NODE_OPTIONS; these words undo that. */
const PLAIN = [`NODE_OPTIONS=${process.env.NODE_OPTIONS ?? ''}`, process.execPath, '--import=#typescript'];
/** Guests wait for timers and for each other, so one more than there are processors. */
export const JOBS = availableParallelism() + 1;

// tap counts the time from here on, and set-up comes before the first file.
t.setTimeout(0);

/** Runs `files` in that order and resolves when all have ended; `logPath` receives their TAP. */
export async function runProcesses(files: readonly string[], logPath: string, hooks: RunHooks): Promise<void> {
  const children = new Set<ChildProcess>();
  // A second signal ends this process as any other.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => {
      for (const child of children) child.kill(signal);
    });
  t.jobs = Math.min(JOBS, files.length);
  const log = createWriteStream(logPath);
  t.pipe(log);
  t.on('spawn', (spawned: Spawn) => {
    spawned.once('process', (child: ChildProcess) => {
      children.add(child);
      child.once('exit', () => children.delete(child));
      if (child.stderr !== null) createInterface({ input: child.stderr }).on('line', (line) => hooks.say(line));
      hooks.begin({ file: spawned.name, pid: child.pid as number, parser: spawned.parser as unknown as Parser });
    });
  });
  t.on('subtestEnd', (ended: Base) => hooks.end(describeEnd(ended)));
  const options = {
    buffered: true,
    at: null,
    timeout: PATIENCE_SECONDS * 1000,
    stdio: ['ignore', 'pipe', 'pipe'] as ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, TAP_TIMEOUT: `${PATIENCE_SECONDS}` },
  };
  await Promise.all(files.map((file) => t.spawn('env', [...PLAIN, file], { ...options }, file)));
  const written = new Promise<void>((resolve) => log.once('finish', resolve));
  t.end();
  await written;
}

function describeEnd(ended: Base): Ended {
  const {
    exitCode = null,
    signal = null,
    skip,
  } = ended.options as {
    exitCode?: number | null;
    signal?: NodeJS.Signals | null;
    skip?: boolean | string;
  };
  const skipped = typeof skip === 'string' ? skip : skip ? 'no reason given' : undefined;
  return { file: ended.name, ok: ended.results?.ok ?? false, exitCode, signal, skipped };
}
