// SPDX-License-Identifier: Apache-2.0
/**
 * Lessons in Chromium, on the server of `vuhca view`: one click starts a lesson, buttons and slider
 * move between its stops, and the page shows the adapter and the part to which a stop refers.
 */
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { type Lesson, lessonEntries } from '../../cli/view/lesson.ts';
import { LessonSources } from '../../cli/view/lesson-sources.ts';
import { openLesson } from '../../cli/view/lessons.ts';
import { RecordingSource } from '../../cli/view/recording-source.ts';
import { ViewServer } from '../../cli/view/view-server.ts';
import { providePage } from '../build/build-page.ts';
import { startBrowser } from '../testing/browser.ts';

t.setTimeout(0);

/** Opens the page at a lesson, as `vuhca view --lesson NAME` does. */
async function show(t: Test, name: string) {
  const lessons = new LessonSources((path) => RecordingSource.open(path, { version: '1' }));
  const source = await lessons.sourceOf(name);
  const server = await ViewServer.start({ source, page: await providePage(), lessons, mayAct: true, port: 0 });
  t.teardown(async () => {
    await server.close();
    await lessons.close();
  });
  const open = await startBrowser(t);
  return open(server.address);
}

async function readLesson(name: string): Promise<Lesson> {
  const { lesson, close } = await openLesson(name);
  close();
  return lesson;
}

/** Waits until the panel is at a stop, and the state of its step is shown. */
async function waitForStop(page: Page, { title, stops }: Lesson, number: number): Promise<void> {
  const panel = page.getByRole('region', { name: `Lesson: ${title}` });
  await panel.getByText(`stop ${number + 1} of ${stops.length}`).waitFor();
  await panel.getByRole('heading', { name: stops[number].title }).waitFor();
  await page.locator('.time-bar .place:not(.busy)').waitFor();
}

t.test('a lesson begins at its first stop; buttons, numbers and slider move it', async (t) => {
  const lesson = await readLesson('doorbell-overflow');
  const { page, errors } = await show(t, lesson.name);
  await waitForStop(page, lesson, 0);
  const panel = page.getByRole('region', { name: /^Lesson: / });
  t.ok(await panel.getByRole('button', { name: 'Previous stop' }).isDisabled());
  for (let number = 1; number < lesson.stops.length; number++) {
    await panel.getByRole('button', { name: 'Next stop' }).click();
    await waitForStop(page, lesson, number);
    const { adapter, says, part, source } = lesson.stops[number];
    t.equal(await page.getByLabel('Adapter').inputValue(), adapter);
    for (const sentence of [...says, source])
      t.ok(await panel.getByText(sentence, { exact: true }).isVisible(), sentence);
    t.equal(await page.locator('.shell').getAttribute('data-part'), part);
  }
  t.ok(await panel.getByRole('button', { name: 'Next stop' }).isDisabled());
  await panel.getByRole('button', { name: /^Stop 2: / }).click();
  await waitForStop(page, lesson, 1);
  await page.getByRole('button', { name: 'A step on' }).click();
  // Beside the step of a stop nothing is marked.
  await page.locator('.shell:not([data-part])').waitFor();
  await page.getByLabel('Step', { exact: true }).fill('0');
  await panel.getByText('before the first stop').waitFor();
  t.same(errors, []);
});

t.test('one click starts each lesson from the list, and another leaves it', async (t) => {
  const { page, errors, origins } = await show(t, 'guarantees');
  for (const { name, title } of lessonEntries) {
    await page.getByRole('tab', { name: 'Lessons' }).click();
    await page.getByRole('link', { name: title }).click();
    await waitForStop(page, await readLesson(name), 0);
    t.match(page.url(), new RegExp(`\\?lesson=${name}`));
  }
  await page.getByRole('tab', { name: 'Lessons' }).click();
  await page.getByRole('link', { name: 'Leave the lesson' }).click();
  await waitForStop(page, await readLesson('guarantees'), 0);
  t.equal(new URL(page.url()).search, '', 'the server shows what it showed before');
  t.equal(origins.size, 1);
  t.same(errors, []);
});
