// SPDX-License-Identifier: Apache-2.0
/** All lessons, each of which a click starts: its link names it, and the server opens it. */
import { lessonEntries } from '../../cli/view/lesson.ts';
import { LESSON_PARAMETER } from '../../cli/view/view-protocol.ts';

/** `current`: the name of the lesson that is shown. */
export function LessonList({ current }: { readonly current: string | undefined }) {
  return (
    <section class="lessons" aria-labelledby="lessons">
      <h2 id="lessons">Lessons</h2>
      <p>Recordings of short sessions, with stops that say what happens, and why.</p>
      <ul>
        {lessonEntries.map(({ name, title, summary }) => (
          <li key={name}>
            <a href={`/?${LESSON_PARAMETER}=${name}`} aria-current={name === current ? 'page' : undefined}>
              {title}
            </a>
            <p class="muted">{summary}</p>
          </li>
        ))}
      </ul>
      {current !== undefined && (
        <p>
          <a href="/">Leave the lesson</a>
        </p>
      )}
    </section>
  );
}
