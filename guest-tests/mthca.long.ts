// SPDX-License-Identifier: Apache-2.0
/**
 * Debian's unmodified driver ib_mthca in a real guest, on a device with two ports that are cabled
 * to each other. mthca-one-port.long.ts covers the device with one port.
 */
import t from 'tap';
import { checkStockDrivers } from './stock-driver-run.ts';

// The session ends a guest that falls silent; no other bound holds on a busy machine.
t.setTimeout(0);

t.test('the stock driver on mthca', async (t) => {
  await checkStockDrivers(t, {
    devices: [{ driver: 'mthca', type: 'MT25208', firmware: '5.3.0' }],
    adapters: { arguments: ['--personality', 'mthca'] },
  });
});
