// SPDX-License-Identifier: Apache-2.0
/**
 * Lessons of `vuhca view`: guided scenes over bundled recordings, as data. The page imports it, so
 * it uses nothing of Node. scripts/lessons makes recordings and stops; `lessons.ts` opens them.
 */

/** A lesson, as lists show it. */
export interface LessonEntry {
  /** The word of `--lesson` and of the page's address. */
  readonly name: string;
  readonly title: string;
  /** One sentence. */
  readonly summary: string;
}

/** Part of the page to which a stop refers: the fabric, a part of an adapter, or the messages. */
export const lessonParts = [
  'fabric',
  'collect',
  'doorbells',
  'lanes',
  'contexts',
  'events',
  'transport',
  'ports',
  'story',
] as const;
export type LessonPart = (typeof lessonParts)[number];

/** A moment of the recording, and its explanation. */
export interface LessonStop {
  readonly title: string;
  /** The state before this step is shown: `step` of a ViewQuery. */
  readonly step: number;
  /** The adapter to look at, by its name in the recording. */
  readonly adapter: string;
  readonly part: LessonPart;
  /** The queue pair whose messages are shown. */
  readonly queuePair?: number;
  /** Two or three sentences. */
  readonly says: readonly string[];
  /** Document and paragraph that it illustrates, cited as in docs/DOCUMENTS.md. */
  readonly source: string;
}

/** A lesson with its stops, in order of their steps. */
export interface Lesson extends LessonEntry {
  /** Steps of the recording. */
  readonly steps: number;
  readonly stops: readonly LessonStop[];
}

/** All lessons, in the order for a newcomer. */
export const lessonEntries = [
  {
    name: 'doorbell-overflow',
    title: 'Doorbell overflow',
    summary: 'Doorbells come faster than reads complete: one adapter stops for ever, its twin spills and drains.',
  },
  {
    name: 'interrupt-timer',
    title: 'An interrupt timer under rising load',
    summary: 'From one interrupt per event to one interrupt per delay, without a timer that runs.',
  },
  {
    name: 'credit-returns',
    title: 'Send credits returned in runs',
    summary: 'Packets leave send blocks in any order; credits return in order, many at a time.',
  },
  {
    name: 'guarantees',
    title: 'Guarantees under a flood',
    summary: 'One level floods the adapter, and the other still gets every buffer and credit that it was promised.',
  },
  {
    name: 'lossy-link',
    title: 'A reliable connection over a lossy link',
    summary: 'Lost requests, lost acknowledgements, damaged and doubled packets, and how a connection survives them.',
  },
  {
    name: 'rerouted-trunk',
    title: 'A cut trunk, rerouted',
    summary: 'A cable between two switches is cut under traffic; the subnet manager finds another way.',
  },
] as const satisfies readonly LessonEntry[];

export type LessonName = (typeof lessonEntries)[number]['name'];

/** Number of the last stop at or before a step; -1 before the first. */
export function stopAt({ stops }: Lesson, step: number): number {
  return stops.findLastIndex((stop) => stop.step <= step);
}
