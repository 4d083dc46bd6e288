// SPDX-License-Identifier: Apache-2.0
/** Runs gdb without a person. Called by tests of what docs/DEBUGGING.md says of gdb. */
import { spawn } from 'node:child_process';

/** By itself gdb gives a guest 2 s for an answer, which a busy machine may miss. */
const PATIENCE = 'set remotetimeout 600';

/** Executes commands of gdb; returns all that it says. */
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

/** What a line `gdb -ex '...' -ex '...'` of a document tells gdb. */
export function commandsOf(line: string): string[] {
  return [...line.matchAll(/-ex '([^']*)'/g)].map(([, text]) => text as string);
}

/** What lines of a document are typed at gdb's prompt. */
export function typedLines(text: string): string[] {
  return [...text.matchAll(/^ *\(gdb\) (.*)$/gm)].map(([, line]) => line as string);
}
