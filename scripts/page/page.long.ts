// SPDX-License-Identifier: Apache-2.0
/**
 * The page in Chromium, on a server without a process (testing/false-server.ts): fabric, ways,
 * hands, time, hostile strings, the end of a process, keys, small windows, and the cost of a frame.
 */
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { ControlServer } from '../../device/process/control/control-server.ts';
import { makeFabricCommands } from '../../device/rig/live/served-fabric.ts';
import { ThreeKinds } from '../../device/rig/mixed/three-kinds.ts';
import { makeDirectory } from '../cli/testing/directory.ts';
import { LiveSource } from '../cli/view/live-source.ts';
import type { ViewState } from '../cli/view/view-protocol.ts';
import { ViewServer } from '../cli/view/view-server.ts';
import { providePage } from './build/build-page.ts';
import { type Open, startBrowser } from './testing/browser.ts';
import { treePlan } from './testing/fabrics.ts';
import { serveFalsely } from './testing/false-server.ts';
import { type FalseSource, liveSource, recordedSource } from './testing/false-source.ts';

t.setTimeout(0);

/** Serves the source and opens the page; both end with the test. */
async function show(t: Test, open: Open, source: FalseSource, options?: Parameters<Open>[1]) {
  const server = await serveFalsely(source);
  t.teardown(() => server.close());
  const opened = await open(server.address, options);
  await opened.page.getByRole('tab', { selected: true }).waitFor();
  const check = () => {
    t.same(opened.errors, [], 'no error in the page');
    t.same([...opened.origins], [server.address.slice(0, -1)], 'no other host');
  };
  return { ...opened, server, check };
}

const boxOf = (page: Page, name: string) => page.getByRole('button', { name: new RegExp(`^\\w+ ${name}, `) });

t.test('64 adapters on 12 switches at 10 Hz: all of them, readable, with time to spare', async (t) => {
  const open = await startBrowser(t);
  const { page, check } = await show(t, open, liveSource(treePlan(4, 8, 64)));
  await boxOf(page, 'a63').waitFor();
  t.equal(await page.locator('.node').count(), 76);
  t.equal(await page.locator('.link').count(), 96);
  const [smallest, overlaps] = (await page.evaluate(`(() => {
    const boxes = [...document.querySelectorAll('.node.cell > rect:first-of-type')].map((one) => one.getBoundingClientRect());
    const over = boxes.filter((one, at) => boxes.slice(at + 1).some((other) =>
      one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom));
    const texts = [...document.querySelectorAll('.node .name')].map((one) => one.getBoundingClientRect().height);
    return [Math.min(...texts), over.length];
  })()`)) as number[];
  t.ok(smallest >= 10, `names are ${smallest} pixels high`);
  t.equal(overlaps, 0);
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Performance.enable');
  const measure = async (): Promise<Record<string, number>> => {
    const { metrics } = await devtools.send('Performance.getMetrics');
    return Object.fromEntries(metrics.map(({ name, value }) => [name, value]));
  };
  const before = await measure();
  const spans = (await page.evaluate(`new Promise((done) => {
    const spans = [];
    let last = performance.now();
    requestAnimationFrame(function next(now) {
      spans.push(now - last);
      last = now;
      if (spans.length < 60) requestAnimationFrame(next);
      else done(spans);
    });
  })`)) as number[];
  const after = await measure();
  const spent = (name: string): number => after[name] - before[name];
  const share = spent('TaskDuration') / spent('Timestamp');
  const sorted = [...spans].sort((one, other) => one - other);
  const at = (part: number): string => sorted[Math.floor(part * (sorted.length - 1))].toFixed(1);
  t.comment(`frames: median ${at(0.5)} ms, 95 % ${at(0.95)} ms, longest ${at(1)} ms`);
  t.comment(
    `of ${spent('Timestamp').toFixed(1)} s busy ${(100 * share).toFixed(0)} %: scripts ${spent('ScriptDuration').toFixed(2)} s, ` +
      `layout ${spent('LayoutDuration').toFixed(2)} s, styles ${spent('RecalcStyleDuration').toFixed(2)} s`,
  );
  t.ok(share < 0.9, 'the page keeps up');
  check();
});

t.test('nodes are chosen by keys; two of them have a way; pointing shows counters', async (t) => {
  const open = await startBrowser(t);
  const { page, check } = await show(t, open, liveSource(treePlan(2, 2, 4)));
  await boxOf(page, 'a0').focus();
  await page.keyboard.press('Enter');
  t.equal(await boxOf(page, 'a0').getAttribute('aria-pressed'), 'true');
  const panel = page.getByRole('complementary', { name: 'Details' });
  await panel.getByRole('heading', { name: 'a0' }).waitFor();
  t.match(await panel.textContent(), /adapter 0[\s\S]*LID[\s\S]*Peer\s*s2:\d[\s\S]*Sent/);
  await boxOf(page, 'a3').focus();
  await page.keyboard.press(' ');
  await page.keyboard.press('Shift+Tab');
  await page.evaluate('document.activeElement.blur()');
  await panel.getByText(/take 4 links/).waitFor();
  t.same(
    (await panel.locator('.hops b').allTextContents()).map((name) => name.replace(/s[01]/, 'root')),
    ['a0', 's2', 'root', 's3', 'a3'],
  );
  t.equal(await page.locator('.link.way').count(), 4);
  await page.keyboard.press('Escape');
  t.equal(await page.locator('.link.way').count(), 0);
  await page.locator('.link .reach').first().hover({ force: true });
  await panel.getByRole('heading', { name: /^s0:1/, level: 2 }).waitFor();
  check();
});

t.test('a picture is zoomed and moved by wheel, keys and buttons; a drag chooses nothing', async (t) => {
  const open = await startBrowser(t);
  const { page, check } = await show(t, open, liveSource(treePlan(2, 2, 4)));
  await boxOf(page, 'a0').waitFor();
  const frame = () => page.locator('.frame > svg > g').getAttribute('transform');
  const whole = await frame();
  await page.locator('.frame').hover();
  await page.mouse.wheel(0, -400);
  await page.locator(`.frame > svg > g:not([transform="${whole}"])`).waitFor();
  await page.getByRole('button', { name: 'Show all' }).click();
  t.equal(await frame(), whole);
  await boxOf(page, 's0').focus();
  for (const key of ['+', 'ArrowLeft', '-', 'ArrowRight']) await page.keyboard.press(key);
  await page.keyboard.press('0');
  t.equal(await frame(), whole);
  await boxOf(page, 's0').hover();
  await page.mouse.down();
  await page.mouse.move(500, 500, { steps: 4 });
  await page.mouse.up();
  t.not(await frame(), whole, 'the picture has moved');
  t.equal(await page.locator('[aria-pressed="true"]').count(), 0);
  check();
});

t.test('strings of guests are text, whatever they say', async (t) => {
  const hostile = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>';
  const change = (state: ViewState): ViewState => ({
    ...state,
    fabric: {
      ...state.fabric,
      nodes: state.fabric.nodes.map((node) => ({ ...node, description: `${hostile}\u202e` })),
    },
  });
  const open = await startBrowser(t);
  const source = liveSource(treePlan(1, 1, 1), { change });
  const { page, check } = await show(t, open, { ...source, session: { ...source.session, title: hostile } });
  await boxOf(page, 'a0').click();
  await page.mouse.move(5, 5);
  const panel = page.getByRole('complementary', { name: 'Details' });
  await panel.getByText(hostile).waitFor();
  t.equal(await page.locator('img, #page script').count(), 0);
  t.equal(await page.evaluate('window.hit'), undefined);
  check();
});

t.test('a link is cut by hand: the command line before and after, the picture stays', async (t) => {
  const open = await startBrowser(t);
  const { page, check } = await show(t, open, liveSource(treePlan(2, 2, 4)));
  await boxOf(page, 'a0').waitFor();
  const places = () => page.locator('.node > rect:first-of-type').evaluateAll((all) => all.map((one) => one.outerHTML));
  const before = await places();
  await page.getByRole('tab', { name: 'Do' }).click();
  const form = page.getByRole('form', { name: 'Cut a link' });
  t.ok(await form.getByRole('button', { name: 'Cut' }).isDisabled());
  await form.getByLabel('Link').selectOption('s0:1');
  t.equal(await form.locator('.command').textContent(), 'vuhca link down s0:1 --control=/run/user/1000/vuhca/control');
  await form.getByRole('button', { name: 'Cut' }).click();
  await form.getByText('the link of s0:1 is down').waitFor();
  await form.getByRole('button', { name: 'Cut' }).click();
  await form.getByText('already down').waitFor();
  await page.getByRole('tab', { name: 'Fabric' }).click();
  await page.locator('.link.cut').waitFor();
  t.same(await places(), before);
  check();
});

t.test('a page that may only look has no hands', async (t) => {
  const open = await startBrowser(t);
  const { page, check } = await show(t, open, liveSource(treePlan(1, 1, 1), { mayAct: false }));
  t.same(await page.getByRole('tab').allTextContents(), ['Fabric', 'Inside', 'Story', 'Time', 'Lessons']);
  check();
});

t.test('the end of a process, a server that goes and comes, a frozen picture', async (t) => {
  const open = await startBrowser(t);
  const source = liveSource(treePlan(1, 1, 2));
  const { page, server } = await show(t, open, source);
  await boxOf(page, 'a0').waitFor();
  await page.keyboard.press('f');
  await page
    .getByRole('status')
    .getByText(/stands still/)
    .waitFor();
  await server.whenQuiet();
  const time = (await page.locator('.clock').textContent()) ?? '';
  t.equal(await page.locator('.clock').textContent(), time);
  await page.keyboard.press('f');
  await page.locator('.clock').filter({ hasNotText: time }).waitFor();
  const port = Number(new URL(server.address).port);
  server.close();
  await page
    .getByRole('status')
    .getByText(/does not answer/)
    .waitFor();
  const again = await serveFalsely(source, port);
  t.teardown(() => again.close());
  await page.getByRole('status').filter({ hasNotText: /./ }).waitFor({ state: 'attached' });
  again.end('process 7 has ended');
  await page.getByRole('status').getByText('Process 7 has ended. The page shows its last state.').waitFor();
  t.equal(await page.locator('.node.cell').count(), 2);
  await again.whenQuiet();
});

t.test('a recording: steps by keys, buttons and slider, conditions, two moments', async (t) => {
  const open = await startBrowser(t);
  const { page, check } = await show(t, open, recordedSource(treePlan(2, 2, 4), 40));
  await boxOf(page, 'a0').waitFor();
  await page.getByText('of 10 (read: 25 %)').waitFor();
  await page.keyboard.press('End');
  await page.getByText('step 10 of 40').waitFor();
  await page.keyboard.press('Home');
  const place = (step: number) => page.locator('.time-bar .place:not(.busy)').getByText(`step ${step} of 40`).waitFor();
  await place(0);
  await page.getByText('no LID').first().waitFor();
  await page.keyboard.press('.');
  await place(1);
  await page.getByRole('button', { name: 'Last step' }).click();
  await place(40);
  await page.keyboard.press('Home');
  await place(0);
  await page.getByRole('slider', { name: 'Step' }).fill('7');
  await place(7);
  await page.keyboard.press('Tab');
  const mark = page.locator('.time-bar').getByRole('button', { name: 'Mark' });
  await mark.click();
  await page.getByLabel('Condition').fill('link down');
  await page.getByRole('button', { name: 'Find', exact: true }).click();
  await place(21);
  await page.locator('.link.cut').waitFor();
  await page.getByRole('button', { name: 'Find', exact: true }).click();
  await page.getByText('not from here on').waitFor();
  await page.getByRole('button', { name: 'Last step' }).click();
  await place(40);
  await page.getByRole('button', { name: 'Find before' }).click();
  await place(21);
  await page.getByRole('button', { name: 'Find before' }).click();
  await page.getByText('not before').waitFor();
  await page.getByRole('tab', { name: 'Time' }).click();
  await page.getByRole('row', { name: /s0 port 1 link peer/ }).waitFor();
  for (const index of [0, 1]) {
    const figure = page.getByRole('figure').nth(index);
    await figure.locator('.link.changed').waitFor({ state: 'attached' });
    await figure.locator('.node.changed').first().waitFor();
  }
  t.equal(await page.getByRole('figure').count(), 2);
  await page.getByLabel('Only those with these words').fill('sweeps');
  t.same(await page.locator('tbody tr').count(), 1);
  check();
  await page.getByLabel('Condition').fill('<b>nonsense</b>');
  await page.getByRole('button', { name: 'Find', exact: true }).click();
  await page.getByText('there is no condition <b>nonsense</b>').waitFor();
  t.equal(await page.locator('.search b').count(), 0);
  t.equal(await page.getByRole('tab', { name: 'Do' }).count(), 0);
  t.same(
    (await page.evaluate(
      'performance.getEntriesByType("resource").filter(({ name }) => name.includes("stream"))',
    )) as [],
    [],
  );
});

t.test('before the first state of a recording there is nothing to mark', async (t) => {
  const open = await startBrowser(t);
  let answer = (): void => {};
  const whenReady = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const server = await serveFalsely({ ...recordedSource(treePlan(2, 2, 4), 40), whenReady });
  t.teardown(() => server.close());
  const { page, errors } = await open(server.address);
  const mark = page.locator('.time-bar').getByRole('button', { name: 'Mark' });
  await mark.waitFor();
  t.ok(await mark.isDisabled());
  t.equal(await page.locator('.time-bar .place:not(.busy)').count(), 0, 'the place is on the way');
  answer();
  await mark.click();
  await page.getByRole('tab', { name: 'Time' }).click();
  await page.getByRole('figure').nth(1).waitFor();
  t.same(errors, []);
});

t.test('the real server and a process with adapters of three kinds', async (t) => {
  const open = await startBrowser(t);
  const { machine, built } = new ThreeKinds();
  const commands = makeFabricCommands({ machine, built, adapterNames: ['m', 'v', 'n'], switchNames: ['s'] });
  const events = { failed: () => {}, threw: (where: string, error: unknown) => t.fail(where, { error }) };
  const control = new ControlServer(join(makeDirectory(t), 'c'), commands, events);
  const source = await LiveSource.open(control.path);
  const server = await ViewServer.start({ source, page: await providePage(), mayAct: true, port: 0 });
  t.teardown(() => server.close());
  t.teardown(() => source.close());
  const { page, errors, origins } = await open(server.address);
  await boxOf(page, 'v').waitFor();
  t.equal(new URL(page.url()).search, '', 'the token is not in the address any more');
  const names = (await page.locator('.node .name').allTextContents()).sort();
  t.same(names, ['m', 'n', 's', 'v']);
  await boxOf(page, 'v').click();
  await boxOf(page, 'n').click();
  await page.mouse.move(5, 5);
  await page.locator('.hops').waitFor();
  await page.getByRole('tab', { name: 'Inside' }).click();
  for (const name of ['v', 'm', 'n']) {
    await page.getByLabel('Adapter').selectOption(name);
    await page.getByRole('heading', { name: /^Transport/ }).waitFor();
  }
  await page.getByRole('tab', { name: 'Story' }).click();
  await page.locator('.stories').waitFor();
  await page.getByRole('tab', { name: 'Do' }).click();
  const form = page.getByRole('form', { name: 'Trace new queue pairs' });
  const line = await form.locator('.command').textContent();
  t.equal(line, `vuhca trace on --adapter=n --new --control=${control.path}`);
  await form.getByRole('button', { name: 'Trace' }).click();
  await form.getByText('done').waitFor();
  t.same(errors, []);
  t.same([...origins], [new URL(server.address).origin]);
  control.close();
  await page
    .getByRole('status')
    .getByText(/has ended\. The page shows its last state\.$/)
    .waitFor();
});

t.test('small windows and both themes: nothing leaves the window, every control has a name', async (t) => {
  const open = await startBrowser(t);
  const source = liveSource(treePlan(2, 2, 4));
  const sizes = [
    { viewport: { width: 390, height: 780 }, colorScheme: 'dark' },
    { viewport: { width: 1280, height: 800 }, colorScheme: 'light' },
  ] as const;
  for (const options of sizes) {
    const { page, check } = await show(t, open, source, options);
    for (const name of ['Fabric', 'Inside', 'Story', 'Time', 'Do']) {
      await page.getByRole('tab', { name }).click();
      const width = (await page.evaluate('document.documentElement.scrollWidth')) as number;
      t.ok(width <= options.viewport.width, `${name}: ${width} of ${options.viewport.width}`);
      const nameless = (await page.evaluate(`[...document.querySelectorAll('button, input, select')].filter((one) =>
        (one.innerText ?? '').trim() === '' && !one.ariaLabel && one.labels?.length === 0).length`)) as number;
      t.equal(nameless, 0, `${name}: controls without a name`);
    }
    const ground = () => page.evaluate('getComputedStyle(document.body).backgroundColor');
    const before = await ground();
    t.equal(before, options.colorScheme === 'dark' ? 'rgb(17, 21, 28)' : 'rgb(255, 255, 255)');
    await page.getByRole('button', { name: 'Light or dark' }).click();
    t.not(await ground(), before);
    await page.reload();
    await page.getByRole('tab', { selected: true }).waitFor();
    t.not(await ground(), before, 'the choice stays');
    await page.keyboard.press('?');
    const help = page.getByRole('dialog', { name: 'Keys' });
    await help.waitFor();
    await help.getByRole('button', { name: 'Close' }).click();
    await help.waitFor({ state: 'hidden' });
    check();
  }
});
