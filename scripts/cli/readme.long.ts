// SPDX-License-Identifier: Apache-2.0
/** The command of the README for a kernel and an initramfs of a user's own. */
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { buildInitramfs } from '../../qemu/initramfs.ts';
import { provideGuestKernel } from '../../qemu/setup/guest-kernel.ts';
import { makeDirectory } from './testing/directory.ts';
import { readmeArguments } from './testing/readme-commands.ts';
import { runCli } from './testing/run-cli.ts';

// A guest that falls silent is ended; no other bound holds on a busy machine.
t.setTimeout(0);

t.test("one's own kernel and initramfs", async (t) => {
  const directory = makeDirectory(t);
  const kernel = join(directory, 'bzImage');
  const initramfs = join(directory, 'initrd.img');
  copyFileSync((await provideGuestKernel()).imagePath, kernel);
  copyFileSync(await buildInitramfs({ init: '#!/bin/sh\necho hello from an initramfs\npoweroff -f\n' }), initramfs);
  const args = readmeArguments('scripts/vuhca run --kernel', { bzImage: kernel, 'initrd.img': initramfs });
  const result = await runCli(args, { XDG_RUNTIME_DIR: directory });
  t.match(result.stdout + result.stderr, /hello from an initramfs/);
  t.equal(result.status, 0);
});
