// SPDX-License-Identifier: Apache-2.0
/** Runs gdb without a terminal. Called by the tests of docs/DEBUGGING.md. */
import { spawn } from 'node:child_process';

/** By default gdb waits 2 s for an answer of a guest, which is too short on a busy machine. */
const PATIENCE = 'set remotetimeout 600';

/** Executes commands of gdb; returns all that it prints. */
export async function runGdb(lines: readonly string[]): Promise<string> {
  const child = spawn('gdb', ['-batch', ...[PATIENCE, ...lines].flatMap((line) => ['-ex', line])], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      said += chunk;
    });
  await new Promise((resolve) => child.once('close', resolve));
  return said;
}

/** The commands in a line `gdb -ex '...' -ex '...'` of a document. */
export function commandsOf(line: string): string[] {
  return [...line.matchAll(/-ex '([^']*)'/g)].map(([, text]) => text as string);
}

/** The commands that a document shows after gdb's prompt. */
export function typedLines(text: string): string[] {
  return [...text.matchAll(/^ *\(gdb\) (.*)$/gm)].map(([, line]) => line as string);
}
