// SPDX-License-Identifier: Apache-2.0
/**
 * Images that are packed otherwise stay what they are; kernel-elf.long.ts unpacks the stock one.
 */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { provideKernelElf, readTickHz } from './kernel-elf.ts';

t.test('a kernel that is packed otherwise', async (t) => {
  const directory = t.testdir({ bzImage: Buffer.alloc(4096), config: '# CONFIG_HZ_250 is not set\n' });
  const elf = await provideKernelElf(`${directory}/bzImage`);
  t.same(readFileSync(elf), Buffer.alloc(4096), 'is booted as it is');
  t.equal(readTickHz(`${directory}/bzImage`), undefined);
});

t.test('a kernel that was built here', async (t) => {
  const directory = t.testdir({ '.config': 'CONFIG_HZ=1000\n', arch: { x86: { boot: { bzImage: '' } } } });
  t.equal(readTickHz(`${directory}/arch/x86/boot/bzImage`), 1000);
});
