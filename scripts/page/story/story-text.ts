// SPDX-License-Identifier: Apache-2.0
/**
 * The words of stories (view-protocol.ts): lines of `vuhca trace show` in their columns, and the
 * identity of stories when the list is read again. Pure; `StoryView` calls it.
 */
import type { Story, StoryList } from '../../cli/view/view-protocol.ts';

export interface StoryLine {
  /** Microseconds since the first step; absent in headlines and remarks. */
  readonly time?: string;
  readonly text: string;
}

const STEP = /^ *(\d+\.\d+) us {2}(.*)$/;

/** A line in its columns. The text keeps its inner spaces, which set the parts of a step in. */
export function splitLine(line: string): StoryLine {
  const [, time, text] = STEP.exec(line) ?? [];
  return time === undefined || text === undefined ? { text: line } : { time, text };
}

/** Name of a message that does not depend on its outcome: its title up to there. */
export function keyOfStory({ title, ends }: Story): string {
  return `${title.replace(/:[^:]*$/, '')}, ${ends.join(', ')}`;
}

/**
 * The chosen story in its present state; the newest one when none was chosen, or when it is gone.
 */
export function findStory(stories: readonly Story[], chosen: string | undefined): Story | undefined {
  return stories.find((story) => keyOfStory(story) === chosen) ?? stories.at(-1);
}

/** The queue pair that is shown: the one that was chosen, or else the first that is traced. */
export function chooseQueuePair({ queuePairs }: StoryList, chosen: number): number {
  return queuePairs.includes(chosen) ? chosen : (queuePairs[0] ?? chosen);
}

/** State of a message, as the name of its style. */
export function standOf({ outcome }: Story): 'completed' | 'open' | 'failed' {
  if (outcome === 'completed') return 'completed';
  return outcome.startsWith('failed') ? 'failed' : 'open';
}
