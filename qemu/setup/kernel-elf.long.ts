// SPDX-License-Identifier: Apache-2.0
/** The image of Debian's kernel, unpacked, which takes 10 s of processor time. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { provideGuestKernel } from './guest-kernel.ts';
import { provideKernelElf, readTickHz } from './kernel-elf.ts';

// The kernel may have to be fetched.
t.setTimeout(0);

t.test('the stock kernel', async (t) => {
  const { imagePath, configPath, release } = await provideGuestKernel();
  const elf = readFileSync(await provideKernelElf(imagePath));
  t.equal(elf.toString('latin1', 1, 4), 'ELF');
  t.ok(elf.includes(`Linux version ${release} `), 'whole and not packed');
  t.equal(readTickHz(imagePath), Number(/^CONFIG_HZ=(\d+)$/m.exec(readFileSync(configPath, 'utf8'))?.[1]));
});
