// SPDX-License-Identifier: Apache-2.0
/**
 * Runs a command line in this process, as main.ts does: for tests of many calls, each of which
 * would cost a process. Calls may run at the same time; what they print is told apart.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { performWords } from '../perform-words.ts';
import type { CliResult } from './run-cli.ts';

interface Output {
  stdout: string;
  stderr: string;
}

const running = new AsyncLocalStorage<Output>();

/** Gives what a call prints to it, and leaves all else to the stream. */
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

/** Performs a command to its end. */
export async function runWords(words: readonly string[]): Promise<CliResult> {
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
