// SPDX-License-Identifier: Apache-2.0
/**
 * Debian's unmodified drivers mlx5_core and mlx5_ib in real guests, with the kernels of Debian 13,
 * of Debian 12 and of the backports, on a device that is cabled to our own adapter in the same
 * process.
 */
import t from 'tap';
import { DEFAULT_KERNEL } from '../qemu/setup/kernel-list.ts';
import { checkStockDrivers } from './stock-driver-run.ts';

const NODE_GUID = '0056554843415000';
const TOPOLOGY = {
  adapters: { m: { sockets: ['m.sock'], personality: 'mlx5', nodeGuid: NODE_GUID }, v: { sockets: ['v.sock'] } },
  links: [{ ports: ['m:1', 'v:1'] }],
  subnet: 'fixed',
};

// The session ends a guest that falls silent; no other bound holds on a busy machine.
t.setTimeout(0);

for (const kernel of [DEFAULT_KERNEL, 'bookworm', 'backports'])
  t.test(`the stock driver on mlx5, with the kernel of ${kernel}`, async (t) => {
    await checkStockDrivers(t, {
      devices: [{ driver: 'mlx5', type: 'MT4119', firmware: '16.99.0000', nodeGuid: NODE_GUID }],
      adapters: { topology: TOPOLOGY },
      kernel,
    });
  });
