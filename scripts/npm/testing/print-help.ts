// SPDX-License-Identifier: Apache-2.0
/**
 * Calls entry files with `--help`, each once, all in this process: a process for each takes two
 * seconds. The last line of the output is a JSON array of what each has done; the first argument is
 * one of files and their words. Called by npm-scripts.long.ts.
 */
import { fileURLToPath, pathToFileURL } from 'node:url';

/** An entry file, relative to the repository, and its words. */
export interface HelpCall {
  readonly file: string;
  readonly words: readonly string[];
}

/** What a program has written, and the status with which it ended. */
export interface Help {
  stdout: string;
  stderr: string;
  status?: number;
}

const ROOT = pathToFileURL(fileURLToPath(new URL('../../..', import.meta.url)));
const { stdout, stderr } = process;
const write = stdout.write.bind(stdout);

/** Thrown in place of the end of this process. */
class Ended extends Error {}

async function call({ file, words }: HelpCall): Promise<Help> {
  const help: Help = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    process[name].write = (text: string | Uint8Array): boolean => {
      // A program that has ended writes nothing.
      if (help.status === undefined) help[name] += text;
      return true;
    };
  process.exitCode = undefined;
  process.exit = (status = 0): never => {
    help.status ??= Number(status);
    throw new Ended();
  };
  const url = new URL(file, ROOT);
  process.argv = [process.execPath, fileURLToPath(url), ...words, '--help'];
  try {
    await import(url.href);
    help.status ??= Number(process.exitCode ?? 0);
  } catch (error) {
    if (!(error instanceof Ended)) help.stderr += String(error);
  }
  return help;
}

// Each program watches the streams.
for (const stream of [stdout, stderr]) stream.setMaxListeners(0);
const calls = JSON.parse(process.argv[2] as string) as HelpCall[];
const all: Help[] = [];
for (const one of calls) all.push(await call(one));
process.exitCode = 0;
write(`\n${JSON.stringify(all)}\n`);
