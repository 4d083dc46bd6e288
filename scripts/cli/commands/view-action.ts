// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca view`: serves the page of a running process, a recording or a lesson until a
 * signal, or until the process ends, which the page then shows.
 */
import { findOnlyControlPath } from '../../../device/process/control/control-path.ts';
import { table } from '../../console/table.ts';
import { providePage } from '../../page/build/build-page.ts';
import type { CliCommand } from '../options/cli-command.ts';
import { UsageError } from '../options/usage-error.ts';
import { readVersion } from '../options/version.ts';
import { openInBrowser } from '../session/open-browser.ts';
import { takeSignals } from '../session/signals.ts';
import { lessonEntries } from '../view/lesson.ts';
import { LessonSources } from '../view/lesson-sources.ts';
import { LiveSource } from '../view/live-source.ts';
import { RecordingSource } from '../view/recording-source.ts';
import { ViewServer } from '../view/view-server.ts';
import type { ViewSource } from '../view/view-source.ts';
import { PAGE_IS_AT, type ViewArguments } from './view-command.ts';

export async function performView(command: CliCommand): Promise<number> {
  const [file] = command.processedArgs as [string | undefined];
  const { control, lesson, port = 0, read = false, open, lessons: isList = false } = command.opts<ViewArguments>();
  const shown = Object.entries({ FILE: file, '--control': control, '--lesson': lesson });
  const given = shown.flatMap(([name, value]) => (value === undefined ? [] : [name]));
  if (given.length > 1) throw new UsageError(`give ${given.join(' or ')}, not both`);
  if (isList) {
    process.stdout.write(formatLessons());
    return 0;
  }
  const openRecording = (path: string): Promise<RecordingSource> =>
    RecordingSource.open(path, { version: readVersion() });
  const lessons = new LessonSources(openRecording);
  const openSource = async (): Promise<ViewSource> => {
    if (file !== undefined) return openRecording(file);
    return lesson === undefined ? LiveSource.open(control ?? (await findOnlyControlPath())) : lessons.sourceOf(lesson);
  };
  const source = await openSource();
  try {
    const server = await ViewServer.start({ source, page: await providePage(), lessons, mayAct: !read, port });
    // Until then a signal ends this process like any other.
    const { whenAsked, forget } = takeSignals();
    process.stdout.write(`${PAGE_IS_AT} ${server.address}\n`);
    if (open) openInBrowser(server.address);
    const sentence = await Promise.race([whenAsked.then(() => undefined), source.whenEnded]);
    forget();
    if (sentence !== undefined) process.stderr.write(`${sentence}\n`);
    await server.close(sentence);
    return 0;
  } finally {
    await source.close();
    await lessons.close();
  }
}

function formatLessons(): string {
  return table(lessonEntries.map(({ name, title, summary }) => [name, title, summary]));
}
