// SPDX-License-Identifier: Apache-2.0
/** A lesson beside its subject: the present stop, its sentences, and links to other stops. */
import type { Lesson } from '../../cli/view/lesson.ts';

interface LessonPanelProps {
  readonly lesson: Lesson;
  /** Number of the stop that is shown; -1 before the first. */
  readonly stop: number;
  /** Goes to another stop. */
  onStop(stop: number): void;
}

export function LessonPanel({ lesson, stop, onStop }: LessonPanelProps) {
  const { title, summary, stops } = lesson;
  const shown = stops[stop];
  return (
    <section class="lesson" aria-label={`Lesson: ${title}`}>
      <header>
        <h2>{title}</h2>
        <p class="muted">{shown === undefined ? 'before the first stop' : `stop ${stop + 1} of ${stops.length}`}</p>
        <ol>
          {stops.map((one, index) => (
            <li key={one.step}>
              <button
                type="button"
                title={one.title}
                aria-label={`Stop ${index + 1}: ${one.title}`}
                aria-current={index === stop ? 'step' : undefined}
                onClick={() => onStop(index)}
              >
                {index + 1}
              </button>
            </li>
          ))}
        </ol>
        <nav aria-label="Stops">
          <button type="button" disabled={stop < 1} onClick={() => onStop(stop - 1)}>
            Previous stop
          </button>
          <button class="primary" type="button" disabled={stop + 1 >= stops.length} onClick={() => onStop(stop + 1)}>
            Next stop
          </button>
        </nav>
      </header>
      <div aria-live="polite">
        <h3>{shown?.title ?? summary}</h3>
        {shown?.says.map((sentences) => (
          <p key={sentences}>{sentences}</p>
        ))}
        {shown !== undefined && <p class="muted">{shown.source}</p>}
      </div>
    </section>
  );
}
