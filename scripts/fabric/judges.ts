// SPDX-License-Identifier: Apache-2.0
/**
 * Runs Debian's management programs on the fabric of an adapter process, each in a folder of its
 * own, where its output stays for the analysis of a failure. Scenarios use it.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { InfinibandTools } from '../../qemu/setup/infiniband-tools.ts';
import { type CommandResult, tryRun } from '../../qemu/setup/tools/command.ts';
import { Opensm } from './opensm.ts';
import { CheckError } from './scoreboard.ts';

/** Ends a program that would never end. */
const BOUND_MS = 600_000;

export interface JudgeOptions {
  /** The host of the door that the program runs on. */
  readonly host?: string;
  /** The folder to run in, in place of a new one. */
  readonly folder?: string;
  /** Exit statuses of success; 0 when absent. */
  readonly statuses?: readonly number[];
}

export class Judges {
  readonly tools: InfinibandTools;
  readonly folder: string;
  /** The host of programs that name none. */
  host = 'judge';
  readonly #doorPort: number;
  #count = 0;

  constructor(tools: InfinibandTools, doorPort: number, folder: string) {
    this.tools = tools;
    this.folder = folder;
    this.#doorPort = doorPort;
    mkdirSync(folder, { recursive: true });
  }

  /** A new folder, named after its use. */
  newFolder(name: string): string {
    const folder = join(this.folder, `${++this.#count}-${name.replaceAll(/[^\w.-]+/g, '-')}`);
    mkdirSync(folder, { recursive: true });
    return folder;
  }

  /** The environment of a program on `host`. */
  environmentOf(host: string): NodeJS.ProcessEnv {
    return { ...process.env, PORT: `${this.#doorPort}`, SIM_HOST: host, LC_ALL: 'C.UTF-8' };
  }

  /** Runs a command line, `ibnetdiscover -p`. Throws CheckError when it fails. */
  async run(words: string, { host = this.host, folder, statuses = [0] }: JudgeOptions = {}): Promise<CommandResult> {
    const cwd = folder ?? this.newFolder(words);
    const args = words.split(' ');
    const result = await tryRun(this.tools.launcher, args, { cwd, env: this.environmentOf(host), timeoutMs: BOUND_MS });
    const output = join(cwd, `${args[0]}.out`);
    writeFileSync(output, `${result.stdout}\n${result.stderr}`);
    if (result.status !== null && statuses.includes(result.status)) return result;
    const end = result.status === null ? 'was killed' : `ended with status ${result.status}`;
    throw new CheckError(`${words} on ${host} ${end}; see ${output}\n${lastLines(result.stderr || result.stdout)}`);
  }

  /** Starts opensm on `host`; it runs until it is stopped. */
  startOpensm(host: string, args: readonly string[] = []): Opensm {
    const folder = this.newFolder(`opensm-${host}`);
    return new Opensm(this.tools.launcher, this.environmentOf(host), folder, args);
  }
}

function lastLines(text: string): string {
  return text.trim().split('\n').slice(-5).join('\n');
}
