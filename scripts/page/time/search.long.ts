// SPDX-License-Identifier: Apache-2.0
/**
 * Searches of the page in Chromium, whose length the test determines: progress, and the end by the
 * reader and by a page that is closed.
 */
import t from 'tap';
import { FalseSource, stateAt } from '../../cli/view/testing/false-source.ts';
import { until } from '../../cli/view/testing/served-view.ts';
import type { ViewQuery, ViewSession, ViewState } from '../../cli/view/view-protocol.ts';
import { ViewServer } from '../../cli/view/view-server.ts';
import { providePage } from '../build/build-page.ts';
import { startBrowser } from '../testing/browser.ts';

t.setTimeout(0);

/** A recording of 40 steps. */
class Recording extends FalseSource {
  override async session(): Promise<ViewSession> {
    return { ...(await super.session()), kind: 'recording', mayAct: false, steps: 40 };
  }

  override async state({ step = 0 }: ViewQuery): Promise<ViewState> {
    return { ...stateAt(step), step };
  }
}

t.test('a search tells how far it has come, and ends by the reader and with the page', async (t) => {
  const open = await startBrowser(t);
  const source = new Recording();
  const server = await ViewServer.start({ source, page: await providePage(), mayAct: false, port: 0 });
  t.teardown(() => server.close());
  const { page, errors } = await open(`${server.address}#time`);
  const bar = page.getByRole('region', { name: 'Time' });
  const cancel = bar.getByRole('button', { name: 'Cancel' });
  const begin = async (): Promise<void> => {
    await bar.getByRole('button', { name: 'Find', exact: true }).click();
    await until(() => source.look !== undefined);
  };
  await bar.getByLabel('Condition').fill('long');
  await begin();
  await bar.getByText('searching ...').waitFor();
  for (const step of [12, 35]) {
    source.look?.(step);
    await bar.getByText(`searching: step ${step} of 40`).waitFor();
  }
  await cancel.click();
  await bar.getByText('ended', { exact: true }).waitFor();
  await until(() => source.look === undefined);
  t.equal(await cancel.count(), 0);
  await begin();
  await bar.getByLabel('Condition').fill('short');
  await bar.getByRole('button', { name: 'Find', exact: true }).click();
  await until(() => source.look === undefined);
  await bar.getByText('by step 3').waitFor();
  await bar.getByText('step 4 of 40').waitFor();
  t.same(errors, []);
  await bar.getByLabel('Condition').fill('long');
  await begin();
  await page.close();
  await until(() => source.look === undefined);
  t.pass('a page that is closed searches no longer');
});
