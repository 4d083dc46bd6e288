// SPDX-License-Identifier: Apache-2.0
/**
 * Debian's unmodified driver ib_mthca on a device with one port, which is linked to a port of our
 * own adapter in another process.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { DeviceProcess } from './harness/device-process.ts';
import { checkStockDrivers } from './stock-driver-run.ts';

// The session ends a guest that falls silent; no other bound holds on a busy machine.
t.setTimeout(0);

t.test('the stock driver on mthca-one-port', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'vuhca-mthca-'));
  t.teardown(() => rmSync(directory, { recursive: true }));
  const link = join(directory, 'link');
  const peer = await DeviceProcess.start({ arguments: [`--link=1=listen:${link}`, '--lids=3,4'] });
  await checkStockDrivers(t, {
    devices: [{ driver: 'mthca', type: 'MT25204', firmware: '1.2.0' }],
    adapters: { arguments: ['--personality=mthca-one-port', `--link=1=connect:${link}`] },
  });
  t.same(await peer.stop(), [], 'the other process');
});
