// SPDX-License-Identifier: Apache-2.0
/**
 * The pictures of the page in docs/pictures/view, taken from lessons in Chromium, light and dark.
 * Each must show the subject of its name, and stay small; they are not compared, because browsers
 * draw letters differently. `VUHCA_SCREENSHOTS=write` renews them.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { LessonSources } from '../cli/view/lesson-sources.ts';
import { RecordingSource } from '../cli/view/recording-source.ts';
import { ViewServer } from '../cli/view/view-server.ts';
import { providePage } from './build/build-page.ts';
import { startBrowser } from './testing/browser.ts';

t.setTimeout(0);

const FOLDER = fileURLToPath(new URL('../../docs/pictures/view', import.meta.url));
const BYTES_MAX = 150_000;
const SCHEMES = ['light', 'dark'] as const;

interface Shot {
  readonly name: string;
  readonly lesson: string;
  /** Leads the page to what is shown. */
  show(page: Page): Promise<void>;
}

const stop = async (page: Page, number: number): Promise<void> => {
  for (let at = 0; at < number; at++) await page.getByRole('button', { name: 'Next stop' }).click();
  await page.locator('.time-bar .place:not(.busy)').waitFor();
};
/** A lesson shows the tab of its stop. */
const goToEnd = async (page: Page): Promise<void> => {
  await page.getByRole('button', { name: 'Last step' }).click();
  await page.getByText(/^stop (\d+) of \1$/).waitFor();
  await page.locator('.time-bar .place:not(.busy)').waitFor();
};
const tab = (page: Page, name: string) => page.getByRole('tab', { name, exact: true }).click();

const shots: readonly Shot[] = [
  {
    name: 'fabric',
    lesson: 'rerouted-trunk',
    show: async (page) => {
      await stop(page, 2);
      await tab(page, 'Fabric');
      await page.locator('.node.cell').first().waitFor();
    },
  },
  {
    name: 'inside',
    lesson: 'guarantees',
    show: async (page) => {
      await stop(page, 2);
      await tab(page, 'Inside');
      await page.getByRole('region', { name: 'Lanes' }).waitFor();
    },
  },
  {
    name: 'story',
    lesson: 'lossy-link',
    show: async (page) => {
      await goToEnd(page);
      await tab(page, 'Story');
      await page.getByRole('img', { name: / packets between / }).waitFor();
    },
  },
  {
    name: 'time',
    lesson: 'rerouted-trunk',
    show: async (page) => {
      await page.locator('.time-bar').getByRole('button', { name: 'Mark' }).click();
      await goToEnd(page);
      await tab(page, 'Time');
      await page.getByRole('figure').nth(1).waitFor();
    },
  },
  {
    name: 'lesson',
    lesson: 'doorbell-overflow',
    show: async (page) => {
      await stop(page, 2);
      const doorbells = page.getByRole('region', { name: 'Doorbells' });
      await doorbells.locator('dt:text-is("spilled") + dd').filter({ hasText: /^1$/ }).waitFor();
    },
  },
];

async function serve(t: Test, lessons: LessonSources, name: string): Promise<string> {
  const source = await lessons.sourceOf(name);
  const server = await ViewServer.start({ source, page: await providePage(), lessons, mayAct: false, port: 0 });
  t.teardown(() => server.close());
  return server.address;
}

t.test('each view of the page, light or dark', async (t) => {
  const lessons = new LessonSources((path) => RecordingSource.open(path, { version: '1' }));
  t.teardown(() => lessons.close());
  const open = await startBrowser(t);
  const isWritten = process.env.VUHCA_SCREENSHOTS === 'write';
  if (isWritten) mkdirSync(FOLDER, { recursive: true });
  for (const [place, { name, lesson, show }] of shots.entries()) {
    const address = await serve(t, lessons, lesson);
    // What is not kept is drawn in one of them: page.long.ts has both.
    for (const colorScheme of isWritten ? SCHEMES : [SCHEMES[place % SCHEMES.length]]) {
      const { page, errors } = await open(address, { colorScheme, reducedMotion: 'reduce' });
      await page.locator('.time-bar .place:not(.busy)').waitFor();
      await show(page);
      const png = await page.screenshot({ animations: 'disabled' });
      t.ok(png.length < BYTES_MAX, `${name}, ${colorScheme}: ${png.length} bytes`);
      t.same(errors, []);
      if (isWritten) writeFileSync(join(FOLDER, `${name}-${colorScheme}.png`), png);
      await page.context().close();
    }
  }
});
