// SPDX-License-Identifier: Apache-2.0
/**
 * Debian's opensm as a child that runs in the background. Its log shows its actions, and waits are
 * for lines of the log. `Judges` starts it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { CheckError } from './scoreboard.ts';

/** Ends only a wait that would never end. */
const PATIENCE_MS = 600_000;
const POLL_MS = 10;
/** With `-d 2` each line of the log is written at once. */
const ARGUMENTS = ['-f', 'opensm.log', '-d', '2'];

export class Opensm {
  readonly folder: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;

  constructor(launcher: string, environment: NodeJS.ProcessEnv, folder: string, args: readonly string[]) {
    this.folder = folder;
    const output = openSync(join(folder, 'opensm.out'), 'w');
    const env = { ...environment, OSM_TMP_DIR: folder, OSM_CACHE_DIR: folder };
    const command = ['--pdeathsig', 'SIGKILL', '--', launcher, 'opensm', ...ARGUMENTS, ...args];
    this.#child = spawn('setpriv', command, { cwd: folder, env, stdio: ['ignore', output, output] });
    this.#ended = once(this.#child, 'close');
  }

  /** Its log so far. */
  get log(): string {
    const path = join(this.folder, 'opensm.log');
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  }

  /** Lines of its log that report errors. */
  get errors(): string[] {
    return this.log.split('\n').filter((line) => /\bERR [0-9A-F]{4}\b/.test(line));
  }

  /** Waits until the log has `pattern`, after the first `from` characters. */
  async whenLogged(pattern: RegExp, from = 0): Promise<void> {
    for (const start = performance.now(); !pattern.test(this.log.slice(from)); await delay(POLL_MS)) {
      if (this.#child.exitCode !== null || this.#child.signalCode !== null)
        throw new CheckError(`opensm has ended; see ${this.folder}`);
      if (performance.now() - start > PATIENCE_MS)
        throw new CheckError(`opensm does not log ${pattern}; see ${this.folder}/opensm.log`);
    }
  }

  whenUp(): Promise<void> {
    return this.whenLogged(/SUBNET UP/);
  }

  /** Ends it as an administrator would. */
  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    await this.#ended;
  }

  /** Ends it as a crash would. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }
}
