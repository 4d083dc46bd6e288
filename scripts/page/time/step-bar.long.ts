// SPDX-License-Identifier: Apache-2.0
/**
 * The page of a real process that stands still, in Chromium: steps by buttons and keys, runs to a
 * condition, moves of others meanwhile, and a read-only page.
 */
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { makeDirectory } from '../../cli/testing/directory.ts';
import { CliProcess } from '../../cli/testing/run-cli.ts';
import { runWords } from '../../cli/testing/run-words.ts';
import { LiveSource } from '../../cli/view/live-source.ts';
import { ViewServer } from '../../cli/view/view-server.ts';
import { providePage } from '../build/build-page.ts';
import { startBrowser } from '../testing/browser.ts';

t.setTimeout(0);

async function startDevice(t: Test): Promise<string> {
  const directory = makeDirectory(t);
  const control = join(directory, 'control');
  const device = new CliProcess(['device', '--socket', join(directory, 's'), '--control', control, '--stepwise']);
  t.teardown(async () => {
    device.child.kill('SIGTERM');
    await device.whenExited;
  });
  await device.until(/^listening on/m);
  return control;
}

async function serve(t: Test, control: string, mayAct: boolean): Promise<string> {
  const source = await LiveSource.open(control);
  const server = await ViewServer.start({ source, page: await providePage(), mayAct, port: 0 });
  t.teardown(async () => {
    await server.close();
    await source.close();
  });
  return server.address;
}

t.test('a process is moved by the page, and by others', async (t) => {
  const control = await startDevice(t);
  const open = await startBrowser(t);
  const { page, errors } = await open(await serve(t, control, true));
  const bar = page.getByRole('region', { name: 'Steps' });
  const stands = (steps: number) => bar.getByText(new RegExp(`^stands still after ${steps} steps?(: .*)?$`)).waitFor();
  await stands(0);
  await bar.getByRole('button', { name: 'A step on' }).click();
  await stands(1);
  await bar.getByText(`vuhca step 1 --control=${control}`).waitFor();
  await bar.getByRole('button', { name: '10 steps on', exact: true }).click();
  await stands(11);
  await page.keyboard.press('.');
  await stands(12);
  await runWords(['step', '30', '--control', control]);
  await stands(42);
  await bar.getByLabel('Condition').fill('qp 5 leaves RTS');
  await bar.getByRole('button', { name: 'Run to it' }).click();
  await bar.getByText('the adapter runs until qp 5 leaves RTS').waitFor();
  await bar.getByRole('button', { name: 'Stand still' }).click();
  await bar.getByText(/^stands still after/).waitFor();
  await bar.getByRole('button', { name: 'Run', exact: true }).click();
  await bar.getByText('the adapter runs', { exact: true }).waitFor();
  const clock = (await page.locator('.clock').textContent()) ?? '';
  await page.locator('.clock').filter({ hasNotText: clock }).waitFor();
  await bar.getByLabel('Condition').fill('<b>moon</b>');
  await bar.getByRole('button', { name: 'Run to it' }).click();
  await bar.getByText('the condition `<b>moon</b>` is not understood').waitFor();
  t.equal(await bar.locator('b').count(), 0);
  t.same(errors, []);
});

t.test('a page that may only look shows no buttons, and the picture follows', async (t) => {
  const control = await startDevice(t);
  const open = await startBrowser(t);
  const { page, errors } = await open(await serve(t, control, false));
  await page.locator('.clock').filter({ hasText: /\d/ }).waitFor();
  t.equal(await page.getByRole('region', { name: 'Steps' }).count(), 0);
  await page.keyboard.press('.');
  const clock = (await page.locator('.clock').textContent()) ?? '';
  await runWords(['step', '--go', '--control', control]);
  await page.locator('.clock').filter({ hasNotText: clock }).waitFor();
  t.match(await runWords(['step', '--stop', '--control', control]), {
    stdout: /^the adapter stands still after 0 steps$/m,
  });
  t.same(errors, []);
});
