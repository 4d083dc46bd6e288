// SPDX-License-Identifier: Apache-2.0
/**
 * The lesson of the session, if it has one: the present stop, and the move to another one. A lesson
 * begins at its first stop. shell.tsx calls it.
 */
import { useEffect } from 'preact/hooks';
import { type Lesson, type LessonPart, stopAt } from '../../cli/view/lesson.ts';
import type { View } from '../shell/use-view.tsx';

interface LessonState {
  readonly lesson: Lesson | undefined;
  /** Number of the last stop before the step that is shown; -1 before the first. */
  readonly stop: number;
  /** The part that the stop is about, while its own step is shown. */
  readonly part: LessonPart | undefined;
  goToStop(stop: number): void;
}

/** `look`: shows the tab and the adapter that a stop is about. */
export function useLesson(
  { session, moments, step, goTo }: View,
  look: (tab: string, adapter: string) => void,
): LessonState {
  const lesson = session?.lesson;
  const goToStop = (number: number): void => {
    const stop = lesson?.stops[number];
    if (stop === undefined) return;
    goTo(stop.step);
    look(tabOf(stop.part), stop.adapter);
  };
  // A session may be read again, with the same lesson.
  useEffect(() => goToStop(0), [lesson?.name]);
  const stop = lesson === undefined ? -1 : stopAt(lesson, step);
  const shown = lesson?.stops[stop];
  const part = shown?.step === step ? shown.part : undefined;
  const state = moments.at(-1);
  useEffect(() => {
    if (part !== undefined) document.querySelector(`.unit-${part}`)?.scrollIntoView({ block: 'center' });
  }, [part, state]);
  return { lesson, stop, part, goToStop };
}

/** The tab that shows a part: the parts of an adapter are in its picture. */
function tabOf(part: LessonPart): string {
  return part === 'fabric' || part === 'story' ? part : 'inside';
}
