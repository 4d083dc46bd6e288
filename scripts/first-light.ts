// SPDX-License-Identifier: Apache-2.0
//
// `npm start`: from a fresh clone to a running guest with nothing to decide. Sets everything up, boots Debian's stock
// kernel, and shows what the guest reports until it powers off.

import { buildInitramfs } from '../qemu/initramfs.ts';
import { KernelLogWatch } from '../qemu/kernel-log.ts';
import { launchGuest } from '../qemu/launch.ts';
import { runEntry, SetupError } from './setup/errors.ts';
import { setUp } from './setup/set-up.ts';

const CASE = ['#!/bin/sh', 'echo "guest: $(uname -sr) on $(nproc) processors"', ''].join('\n');

await runEntry(async () => {
  const { qemu, accelerator } = await setUp('start');
  const start = performance.now();
  const watch = new KernelLogWatch();
  const initramfs = await buildInitramfs({ caseScript: CASE });
  const guest = await launchGuest({ initramfs, accelerator, onConsoleLine: (line) => watch.push(line) });
  process.stdout.write(`QEMU ${qemu.version} (${accelerator}) runs as process ${guest.pid}\n`);
  guest.port().onLine((line) => process.stdout.write(`${line}\n`));
  const { status, errors } = await guest.whenExited;
  if (status !== 0) throw new SetupError(`the guest ended with status ${status}; QEMU said: ${errors || 'nothing'}`);
  if (watch.count > 0) throw new SetupError(`the guest's kernel complained: ${watch.complaints[0]?.line}`);
  process.stdout.write(`done in ${((performance.now() - start) / 1000).toFixed(1)} s\n`);
});
