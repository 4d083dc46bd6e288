// SPDX-License-Identifier: Apache-2.0
/**
 * Pages of guests in Chromium: a session that `vuhca run --record` has recorded, with slider,
 * conditions and a story; and the page that `--view` of `vuhca test` and of `npm start` serves.
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { makeDirectory } from '../cli/testing/directory.ts';
import { CliProcess, runCli } from '../cli/testing/run-cli.ts';
import { startBrowser } from './testing/browser.ts';
import { count } from './words/numbers.ts';

// Only the machine's own bound ends a slow guest.
t.setTimeout(0);

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PAGE = /the page is at (http:\S+)|page +(http:\S+)/;
const CASE = `#!/bin/sh
insmod /modules/vuhca_traffic.ko || exit 2
until grep -q '^port 1 collected [1-9]' /sys/kernel/debug/vuhca-traffic/counters; do usleep 100000; done
rmmod vuhca_traffic
`;

t.test('the recording of a guest: any step, conditions, stories', async (t) => {
  const directory = makeDirectory(t);
  const [script, recording] = ['case.sh', 'x.rec'].map((name) => join(directory, name));
  writeFileSync(script, CASE);
  const { status, stderr } = await runCli(['run', '--record', recording, '--case', script]);
  t.equal(status, 0, stderr);
  const view = new CliProcess(['view', '--no-open', recording]);
  t.teardown(() => view.child.kill('SIGKILL'));
  const [, address] = await view.until(PAGE);
  const open = await startBrowser(t);
  const { page, errors, origins } = await open(address);
  const bar = page.getByRole('region', { name: 'Time' });
  const place = bar.locator('.place:not(.busy)');
  await place.filter({ hasNotText: 'read:' }).waitFor();
  const last = Number(await bar.getByRole('slider', { name: 'Step' }).getAttribute('max'));
  t.ok(last > 1000, `${last} steps`);
  const middle = last >> 1;
  await bar.getByRole('slider', { name: 'Step' }).fill(`${middle}`);
  await place.filter({ hasText: `step ${count(middle)} of ${count(last)}` }).waitFor();
  await bar.getByRole('button', { name: 'First step' }).click();
  await place.filter({ hasText: /^step 0 of/ }).waitFor();
  const find = async (condition: string): Promise<void> => {
    await bar.getByLabel('Condition').fill(condition);
    await bar.getByRole('button', { name: 'Find', exact: true }).click();
  };
  await find('interrupt');
  await bar.getByText(/^by step /).waitFor();
  await place.filter({ hasNotText: /^step 0 of/ }).waitFor();
  await find('counter sweeps > 1000000');
  await bar.getByText('not from here on').waitFor();
  await bar.getByRole('button', { name: 'Last step' }).click();
  await page.getByRole('tab', { name: 'Story' }).click();
  await page.getByRole('img', { name: / packets? between / }).waitFor();
  await page.getByRole('tab', { name: 'Inside' }).click();
  await page.getByRole('region', { name: 'Doorbells' }).waitFor();
  t.same(errors, []);
  t.same([...origins], [new URL(address).origin]);
  view.child.kill('SIGINT');
  t.equal(await view.whenExited, 0);
});

t.test('--view of `vuhca test`', async (t) => {
  const run = new CliProcess(['test', join(ROOT, 'guest-tests/example'), '--view=read']);
  t.teardown(() => run.child.kill('SIGKILL'));
  const [, address] = await run.until(PAGE);
  const open = await startBrowser(t);
  const { page, errors } = await open(address);
  await page
    .getByRole('button', { name: /^adapter / })
    .first()
    .waitFor();
  t.equal(await page.getByRole('tab', { name: 'Do' }).count(), 0, 'it may only look');
  t.equal(await run.whenExited, 0, run.stderr);
  await page
    .getByRole('status')
    .getByText(/has ended\. The page shows its last state\.$/)
    .waitFor();
  t.same(
    errors.filter((one) => !/ERR_/.test(one)),
    [],
  );
});

t.test('--view of `npm start`', async (t) => {
  const child = spawn('npm', ['start', '--silent', '--', '--view'], { cwd: ROOT, detached: true });
  t.teardown(() => {
    if (child.exitCode === null) process.kill(-(child.pid as number), 'SIGKILL');
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (part) => {
      text += part;
    });
  const ended = new Promise<number | null>((done) => child.once('close', done));
  while (!PAGE.test(text) && child.exitCode === null) await new Promise((done) => setTimeout(done, 50));
  const [, first, second] = PAGE.exec(text) ?? [];
  const open = await startBrowser(t);
  const { page } = await open(first ?? second);
  await page.getByRole('tab', { name: 'Do' }).waitFor();
  await page.getByRole('tab', { name: 'Inside' }).click();
  await page.getByRole('region', { name: 'Transport' }).waitFor();
  t.equal(await ended, 0, text);
  await page
    .getByRole('status')
    .getByText(/has ended\. The page shows its last state\.$/)
    .waitFor();
});
