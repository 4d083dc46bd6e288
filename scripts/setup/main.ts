// SPDX-License-Identifier: Apache-2.0
//
// The command line of set-up: `npx tsx scripts/setup/main.ts [--refresh] COMMAND...`. Prints what it made on standard
// output, one path a line, and news on standard error. `--refresh` looks for newer Debian packages.

import { provideBusybox } from './busybox.ts';
import { runEntry, SetupError } from './errors.ts';
import { provideGuestKernel } from './guest-kernel.ts';
import { provideLibrary } from './library.ts';
import { refreshPackages } from './packages.ts';
import { provideQemu } from './qemu.ts';

const COMMANDS: Record<string, () => Promise<string>> = {
  library: async () => (await provideLibrary()).path,
  qemu: async () => (await provideQemu()).path,
  kernel: async () => (await provideGuestKernel()).imagePath,
  busybox: async () => (await provideBusybox()).path,
};

await runEntry(async () => {
  const args = process.argv.slice(2);
  if (args.includes('--refresh')) refreshPackages();
  const names = args.filter((arg) => arg !== '--refresh');
  for (const name of names) {
    const command = COMMANDS[name];
    if (command === undefined) {
      throw new SetupError(`unknown set-up command ${name}; use one of: ${Object.keys(COMMANDS).join(', ')}.`);
    }
    process.stdout.write(`${await command()}\n`);
  }
});
