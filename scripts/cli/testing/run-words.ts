// SPDX-License-Identifier: Apache-2.0
/**
 * Runs a command line in this process, as main.ts does: for tests of many calls, each of which
 * would cost a process. Calls may run at the same time; their outputs are kept apart. A call with
 * variables of its own changes the environment of this process, so it must be the only one.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { performWords } from '../perform-words.ts';
import type { CliResult } from './run-cli.ts';

interface Output {
  stdout: string;
  stderr: string;
}

const running = new AsyncLocalStorage<Output>();

/** Passes the output of a call to it, and leaves all other output to the stream. */
function divert(stream: NodeJS.WriteStream, name: keyof Output): void {
  const write = stream.write.bind(stream) as (...args: unknown[]) => boolean;
  stream.write = (text: string | Uint8Array, ...rest: unknown[]): boolean => {
    const output = running.getStore();
    if (output === undefined) return write(text, ...rest);
    output[name] += text;
    return true;
  };
}

let diverted = false;

let calls = 0;

/** Performs a command to its end, with some variables of the environment set. */
export async function runWords(
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<CliResult> {
  if (calls > 0 && Object.keys(environment).length > 0) throw new Error('another call runs in this environment');
  calls++;
  const before = replaceVariables(environment);
  try {
    return await perform(words);
  } finally {
    replaceVariables(before);
    calls--;
  }
}

async function perform(words: readonly string[]): Promise<CliResult> {
  if (!diverted) {
    divert(process.stdout, 'stdout');
    divert(process.stderr, 'stderr');
    diverted = true;
  }
  const output: Output = { stdout: '', stderr: '' };
  const status = await running.run(output, () =>
    performWords(words, (text) => {
      output.stderr += text;
    }),
  );
  return { status, ...output };
}

/**
 * Sets variables of this process, or deletes those that are undefined; returns their former values.
 */
function replaceVariables(variables: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  const before = Object.fromEntries(Object.keys(variables).map((name) => [name, process.env[name]]));
  for (const [name, value] of Object.entries(variables)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  return before;
}
