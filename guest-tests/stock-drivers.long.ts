// SPDX-License-Identifier: Apache-2.0
/**
 * Debian's unmodified drivers in real guests. With the kernel of Debian 13: mlx5_core and mlx5_ib
 * on a device that is cabled to our own adapter in the same process; and ib_mthca on a device with
 * two ports that are cabled to each other, and on one with a port that is linked to our own adapter
 * in another process. With the kernels of Debian 12 and of the backports: the first of these.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { DeviceProcess } from './harness/device-process.ts';
import { checkStockDrivers, type StockDevice } from './stock-driver-run.ts';

const MLX5 = { driver: 'mlx5', type: 'MT4119', firmware: '16.99.0000', nodeGuid: '0056554843415000' } as const;
const MTHCA = { driver: 'mthca', type: 'MT25208', firmware: '5.3.0', nodeGuid: '0056554843416000', lid: 11 } as const;
const MTHCA_ONE_PORT = {
  driver: 'mthca',
  type: 'MT25204',
  firmware: '1.2.0',
  nodeGuid: '0056554843417000',
  lid: 13,
} as const;
/** Our own adapter is no device of the guest, so it comes last. */
const OWN = { sockets: ['own.sock'], portLids: [3, 4] };

// The session ends a guest that falls silent; no other bound holds on a busy machine.
t.setTimeout(0);

function adapterOf({ nodeGuid, lid = 1 }: StockDevice, personality: string): object {
  return { sockets: [`${personality}.sock`], personality, nodeGuid, portLids: [lid, lid + 1] };
}

t.test('the stock drivers on mlx5, mthca and mthca-one-port', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'vuhca-stock-'));
  t.teardown(() => rmSync(directory, { recursive: true }));
  const link = join(directory, 'link');
  const peer = await DeviceProcess.start({ arguments: [`--link=1=listen:${link}`, '--lids=14,15'] });
  const topology = {
    adapters: {
      m: adapterOf(MLX5, 'mlx5'),
      two: adapterOf(MTHCA, 'mthca'),
      one: adapterOf(MTHCA_ONE_PORT, 'mthca-one-port'),
      own: OWN,
    },
    links: [{ ports: ['m:1', 'own:1'] }, { ports: ['two:1', 'two:2'] }, { port: 'one:1', connect: link }],
    subnet: 'fixed',
  };
  await checkStockDrivers(t, { devices: [MLX5, MTHCA, MTHCA_ONE_PORT], adapters: { topology } });
  t.same(await peer.stop(), [], 'the other process');
});

for (const kernel of ['bookworm', 'backports'])
  t.test(`the stock driver on mlx5, with the kernel of ${kernel}`, async (t) => {
    const topology = {
      adapters: { m: adapterOf(MLX5, 'mlx5'), own: OWN },
      links: [{ ports: ['m:1', 'own:1'] }],
      subnet: 'fixed',
    };
    await checkStockDrivers(t, { devices: [MLX5], adapters: { topology }, kernel });
  });
