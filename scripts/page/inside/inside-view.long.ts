// SPDX-License-Identifier: Apache-2.0
/**
 * The picture of an adapter in Chromium, from states of adapters of the rig: every unit, cells
 * described by pointer and keys, one function of several, the largest adapter at 10 Hz, and
 * personalities, in every size of window. Beside it, stories of messages as diagrams.
 */
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { DataFixture } from '../../../device/rig/mthca/driver/data-fixture.ts';
import { playExample } from '../../cli/testing/example-ladder.ts';
import { makeLadder } from '../../cli/trace/ladder.ts';
import { chooseMessages } from '../../cli/trace/message-choice.ts';
import { renderMessage } from '../../cli/trace/trace-screen.ts';
import type { Story, ViewState } from '../../cli/view/view-protocol.ts';
import { type Open, startBrowser } from '../testing/browser.ts';
import { serveFalsely } from '../testing/false-server.ts';
import type { FalseSource } from '../testing/false-source.ts';
import { BusyAdapter, type BusyOptions } from './testing/busy-adapter.ts';
import { personalityStateOf } from './testing/view-state.ts';

t.setTimeout(0);

/** Amount that the page may have to read ten times a second from the largest adapter. */
const STATE_BYTES_MAX = 330_000;
/** States of that adapter, which come in turn. */
const STATES = 15;

const SMALL: BusyOptions = {
  seed: 3,
  functions: 2,
  flowsOfEach: 8,
  adapter: { pcbCount: 48, pcbGuaranteed: [6, 4], schedulerBufferCount: 16, laneCount: 16, doorbellEntries: 16 },
};

/** A source of one adapter; `next` gives its states one after another. */
function sourceOf(next: () => ViewState, stories: readonly Story[] = []): FalseSource & { told: ViewState[] } {
  const told: ViewState[] = [];
  const first = next();
  const { name = '', personality } = first.personality ?? { name: first.adapter?.name };
  return {
    told,
    session: {
      ...{ kind: 'live', title: 'test', version: '0', mayAct: false },
      adapters: [{ name, ...(personality !== undefined && { personality }) }],
    },
    state: () => {
      const state = next();
      told.push(state);
      return state;
    },
    stories: () => ({ queuePairs: [2, 3], stories }),
    route: () => ({}),
    find: () => ({}),
    act: () => ({ line: '', error: 'nothing may be changed' }),
  };
}

async function show(t: Test, open: Open, source: FalseSource, tab: string, options?: Parameters<Open>[1]) {
  const server = await serveFalsely(source);
  t.teardown(() => server.close());
  const { page, errors } = await open(`${server.address}#${tab.toLowerCase()}`, options);
  await page.getByRole('tab', { name: tab, selected: true }).waitFor();
  return { page, check: () => t.same(errors, []) };
}

const unitOf = (page: Page, title: string) => page.getByRole('region', { name: title });

t.test('every unit is there; a cell is told by pointer and keys; paragraphs unfold', async (t) => {
  const open = await startBrowser(t);
  const busy = new BusyAdapter(SMALL);
  const { page, check } = await show(
    t,
    open,
    sourceOf(() => busy.next()),
    'Inside',
  );
  for (const title of ['Collect buffers', 'Lanes', 'Transport', 'Ports', 'Doorbells', 'Scheduler'])
    await unitOf(page, title).waitFor();
  for (const title of ['Completion queues', 'Event queues, interrupts', 'Send contexts'])
    await unitOf(page, title).waitFor();
  t.equal(await page.locator('.chart canvas').count(), 3);
  const cells = unitOf(page, 'Collect buffers').getByRole('slider', { name: /^PCBs:/ });
  t.equal(await cells.getAttribute('aria-valuemax'), '47');
  await cells.focus();
  t.match(await cells.getAttribute('aria-valuetext'), /^PCB 0: /);
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  t.match(await cells.getAttribute('aria-valuetext'), /^PCB 2: /);
  await page.keyboard.press('End');
  t.match(await cells.getAttribute('aria-valuetext'), /^PCB 47: /);
  await cells.locator('svg').hover({ position: { x: 5, y: 5 } });
  await unitOf(page, 'Collect buffers')
    .getByText(/^PCB 0: /)
    .waitFor();
  const lanes = unitOf(page, 'Lanes');
  await lanes.getByText('US 8,484,392 par. 42').click();
  await lanes.getByText('execution credit: held while a command executes').waitFor();
  await page.locator('.changed').first().waitFor();
  check();
});

t.test('one function of several: its own numbers, and nothing of others but dimmed', async (t) => {
  const open = await startBrowser(t);
  const busy = new BusyAdapter(SMALL);
  const source = sourceOf(() => busy.next());
  const { page, check } = await show(t, open, source, 'Inside');
  await page.getByLabel('Show').selectOption('1');
  await unitOf(page, 'Collect buffers').getByText('level 1', { exact: true }).waitFor();
  const kicks = unitOf(page, 'Collect buffers').locator('dt:text-is("kicks") + dd');
  const shown = Number(await kicks.textContent());
  t.ok(
    source.told.some(({ adapter }) => adapter?.functions[1].collect.kicks === shown),
    `${shown} kicks`,
  );
  check();
});

t.test('34 functions, 256 PCBs and 128 lanes at 10 Hz', async (t) => {
  const open = await startBrowser(t);
  const adapter = { pcbCount: 256, laneCount: 128, vcbCount: 16, privatePercent: 100 };
  const busy = new BusyAdapter({ seed: 4, functions: 34, flowsOfEach: 4, adapter });
  const states = Array.from({ length: STATES }, () => busy.next());
  let place = 0;
  const source = sourceOf(() => states[place++ % states.length]);
  const { page, check } = await show(t, open, source, 'Inside');
  await unitOf(page, 'Lanes').waitFor();
  const devtools = await page.context().newCDPSession(page);
  // The time that the page's own thread works, whatever else runs on the machine.
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' });
  const measure = async (): Promise<number> => {
    const { metrics } = await devtools.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0;
  };
  const whenTold = async (count: number): Promise<void> => {
    const end = source.told.length + count;
    while (source.told.length < end) await page.evaluate('new Promise(requestAnimationFrame)');
  };
  // The first states are slower: the browser has not compiled the script yet.
  await whenTold(states.length);
  const [before, told] = [await measure(), source.told.length];
  await whenTold(states.length);
  const [spent, frames] = [(await measure()) - before, source.told.length - told];
  const bytes = Math.max(...states.map((state) => JSON.stringify(state).length));
  t.comment(`${frames} states of ${bytes} bytes, ${((spent * 1000) / frames).toFixed(1)} ms of work for each`);
  // The time depends on the machine and its load; the amount that the page has to read does not.
  t.ok(bytes < STATE_BYTES_MAX, `${bytes} bytes`);
  const elements = (): Promise<unknown> => page.evaluate('document.querySelectorAll("*").length');
  const drawn = Number(await elements());
  await whenTold(states.length);
  t.ok(Number(await elements()) < drawn * 1.2, 'what is drawn does not grow');
  check();
});

t.test('a personality has its own units; strange names are text', async (t) => {
  const open = await startBrowser(t);
  const { driver } = new DataFixture();
  let timeNs = 0;
  const source = sourceOf(() => {
    const state = personalityStateOf(driver.device, timeNs++ * 1e8);
    const personality = { ...state.personality, objects: { '<img src=x onerror=alert(1)>': 1 } };
    return { ...state, personality } as ViewState;
  });
  const { page, check } = await show(t, open, source, 'Inside');
  await unitOf(page, 'Driver of mthca').getByText('<img src=x onerror=alert(1)>').waitFor();
  t.equal(await page.locator('.inside img').count(), 0);
  t.equal(await unitOf(page, 'Doorbells').count(), 0);
  check();
});

t.test('a story: the diagram has each packet, and the sentences are those of the trace', async (t) => {
  const open = await startBrowser(t);
  const all = playExample().stage.observers.map((observer) => observer.read('a', 0));
  const stories = chooseMessages(all, {}).map((end): Story => {
    const lines = renderMessage(end, all).trimEnd().split('\n');
    const ladder = makeLadder(end, all);
    const named = { ...ladder, ends: ['<b>QP 2</b> sends', ladder.ends[1]], outcome: 'completed', lines };
    return JSON.parse(JSON.stringify(named)) as Story;
  });
  const busy = new BusyAdapter(SMALL);
  const { page, check } = await show(
    t,
    open,
    sourceOf(() => busy.next(), stories),
    'Story',
  );
  const [story] = stories;
  const diagram = page.getByRole('img', { name: new RegExp(`^${story.packets.length} packets between `) });
  await diagram.waitFor();
  const count = (selector: string) => diagram.locator(selector).count();
  t.equal(await count('.packet'), story.packets.length);
  t.equal(await count('.again'), story.packets.filter(({ isAgain }) => isAgain).length);
  t.equal(await count('.lost'), story.packets.filter(({ end }) => end === 'lost').length);
  t.equal(await count('.wait'), story.waits.length);
  t.same(await diagram.locator('.end').allTextContents(), story.ends);
  const rows = page.getByRole('table', { name: 'Steps' }).getByRole('row');
  t.equal(await rows.count(), story.lines.length);
  for (const [place, line] of story.lines.entries()) {
    const shown = ((await rows.nth(place).textContent()) ?? '').replaceAll(/\s+/g, '').trim();
    t.equal(shown, line.replaceAll(/\s+/g, '').trim());
  }
  await page.getByRole('navigation', { name: 'Messages' }).getByRole('button').first().focus();
  await page.keyboard.press('Enter');
  await diagram.waitFor();
  check();
});

t.test('nothing leaves a window of 1280 x 800 nor that of a phone, light and dark', async (t) => {
  const open = await startBrowser(t);
  for (const [width, height, colorScheme] of [[1280, 800, 'light'] as const, [390, 844, 'dark'] as const]) {
    const busy = new BusyAdapter(SMALL);
    const options = { viewport: { width, height }, colorScheme };
    for (const tab of ['Inside', 'Story']) {
      const { page, check } = await show(
        t,
        open,
        sourceOf(() => busy.next()),
        tab,
        options,
      );
      await page.locator('.unit, .stories').first().waitFor();
      const widest = (await page.evaluate('document.documentElement.scrollWidth')) as number;
      t.ok(widest <= width, `${tab}: ${widest} of ${width}`);
      check();
    }
  }
});
