// SPDX-License-Identifier: Apache-2.0
/** A bzImage becomes an ELF file; an image that is packed otherwise stays what it is. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { provideGuestKernel } from './guest-kernel.ts';
import { provideKernelElf, readTickHz } from './kernel-elf.ts';

t.test('the stock kernel', async (t) => {
  const { imagePath, configPath, release } = await provideGuestKernel();
  const elf = readFileSync(await provideKernelElf(imagePath));
  t.equal(elf.toString('latin1', 1, 4), 'ELF');
  t.ok(elf.includes(`Linux version ${release} `), 'whole and not packed');
  t.equal(readTickHz(imagePath), Number(/^CONFIG_HZ=(\d+)$/m.exec(readFileSync(configPath, 'utf8'))?.[1]));
});

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
