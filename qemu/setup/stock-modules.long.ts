// SPDX-License-Identifier: Apache-2.0
/** Modules of the stock kernel come with their dependencies, in loading order. */
import t from 'tap';
import { provideGuestKernel, provideStockModules } from './guest-kernel.ts';

t.test('stock modules', async (t) => {
  const kernel = await provideGuestKernel();
  const wanted = ['rdma_rxe', 'ib-uverbs', 'mlx5_ib', 'virtio_pci'];
  const names = (await provideStockModules(kernel, wanted)).map(({ name }) => name);
  for (const [before, after] of [
    ['ib_core', 'ib_uverbs'],
    ['ib_uverbs', 'rdma_rxe'],
    ['udp_tunnel', 'rdma_rxe'],
    ['mlxfw', 'mlx5_core'],
    ['mlx5_core', 'mlx5_ib'],
    ['ib_uverbs', 'mlx5_ib'],
  ]) {
    t.ok(names.indexOf(before as string) >= 0, `${before} is there`);
    t.ok(names.indexOf(before as string) < names.indexOf(after as string), `${before} before ${after}`);
  }
  t.notOk(names.includes('virtio_pci'), 'built in');
  await t.rejects(provideStockModules(kernel, ['no_such']), { name: 'SetupError', message: /has no module no_such/ });
});
