// SPDX-License-Identifier: Apache-2.0
/** Commands of the README, for the tests that run them: readme.test.ts and readme.long.ts. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const README = fileURLToPath(new URL('../../../README.md', import.meta.url));

/** Commands of all shell blocks, without their comments. */
export function readCommands(): string[] {
  const readme = readFileSync(README, 'utf8');
  const blocks = [...readme.matchAll(/```sh\n(.*?)```/gs)].map((match) => match[1]);
  return blocks
    .flatMap((block) => block.split('\n'))
    .map((line) => line.replace(/\s+#.*$/, '').trim())
    .filter((line) => line !== '');
}

/** The README's command that begins with `start`, with the paths of files replaced. */
export function readmeArguments(start: string, files: Readonly<Record<string, string>>): string[] {
  const command = readCommands().find((line) => line.startsWith(start));
  if (command === undefined) throw new Error(`the README does not say \`${start}\` any more`);
  const words = command.match(/"[^"]*"|\S+/g) ?? [];
  return words.slice(1).map((word) => files[word] ?? word.replaceAll('"', ''));
}
