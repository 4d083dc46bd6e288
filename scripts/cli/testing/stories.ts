// SPDX-License-Identifier: Apache-2.0
/**
 * The stories of the scripted situations, word for word: texts in stories/, where a line `# NAME`
 * begins the story of a situation. Each was checked against the events of the situation;
 * trace-stories.test.ts compares them with the present output of `vuhca trace show`.
 */
import { readFileSync } from 'node:fs';

const FILES = ['doorbells.txt', 'events.txt', 'outcomes.txt', 'waits.txt', 'ways.txt', 'wire.txt'];

/** By the name of the situation. */
export const stories: Readonly<Record<string, string>> = Object.fromEntries(FILES.flatMap(readStories));

function readStories(file: string): [name: string, story: string][] {
  const text = readFileSync(new URL(`stories/${file}`, import.meta.url), 'utf8');
  return [...text.matchAll(/^# (.*)\n((?:(?!# ).*\n)*)/gm)].map(([, name, story]) => [name, story]);
}
