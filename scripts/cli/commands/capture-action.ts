// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca capture`: makes a running adapter write the packets of its ports to a file, until
 * Ctrl-C, a number of packets or a time. The capture ends with this command, however the command
 * ends.
 */
import { resolve } from 'node:path';
import type { CaptureProgress } from '../../../device/process/control/capture-file.ts';
import { printable } from '../../../protocol/system/printable.mjs';
import { SetupError } from '../../../qemu/setup/tools/errors.ts';
import type { CliCommand } from '../options/cli-command.ts';
import { BYTES_PER_MIB } from '../options/option-values.ts';
import { startCapture } from '../session/remote-capture.ts';
import { takeSignals } from '../session/signals.ts';
import { withAdapter } from '../session/with-adapter.ts';
import type { CaptureArguments } from './capture-command.ts';

export async function performCapture(command: CliCommand): Promise<number> {
  const { output, control, seconds, limit, ...choice } = command.opts<CaptureArguments>();
  const path = resolve(output);
  return withAdapter(control, async (client) => {
    const capture = await startCapture(client, { path, limitBytes: limit * BYTES_PER_MIB, ...choice });
    // Until then a signal ends this process like any other, and its connection with it.
    const { whenAsked, forget } = takeSignals();
    try {
      process.stderr.write(`capturing to ${printable(path)}\n`);
      await Promise.race([whenAsked, capture.whenEnded, ...(seconds === undefined ? [] : [passed(seconds)])]);
      return conclude(await capture.stop());
    } finally {
      forget();
    }
  });
}

/** Does not keep the process from ending. */
function passed(seconds: number): Promise<void> {
  return new Promise((done) => {
    setTimeout(done, seconds * 1000).unref();
  });
}

/** Reports the content of the file; throws SetupError when it could take no more. */
function conclude({ path, packets, lost, bytes, early, failed }: CaptureProgress): number {
  if (early !== undefined && failed) throw new SetupError(early);
  if (early !== undefined) process.stderr.write(`${early}\n`);
  const loss = lost > 0 ? `, ${lost} packets lost because the file could not keep up` : '';
  process.stderr.write(`${packets} packets, ${bytes} bytes in ${printable(path)}${loss}\n`);
  return 0;
}
