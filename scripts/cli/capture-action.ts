// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca capture`: has a running adapter write the packets of its ports to a file, until
 * Ctrl-C, a number of packets or a time. The capture ends with this command, however the command
 * ends.
 */
import { resolve } from 'node:path';
import { ControlClient } from '../../device/main/control-client.ts';
import { findOnlyControlPath } from '../../device/main/control-path.ts';
import type { CaptureArguments } from './capture-command.ts';
import type { CliCommand } from './cli-command.ts';
import { startCapture } from './remote-capture.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export async function performCapture(command: CliCommand): Promise<number> {
  const { output, control, seconds, ...choice } = command.opts<CaptureArguments>();
  const path = resolve(output);
  const ended = new Promise<void>((done) => {
    for (const signal of SIGNALS) process.once(signal, () => done());
    if (seconds !== undefined) setTimeout(done, seconds * 1000).unref();
  });
  const client = await ControlClient.connect(control ?? (await findOnlyControlPath()));
  const capture = await startCapture(client, { path, ...choice });
  process.stderr.write(`capturing to ${path}\n`);
  await Promise.race([ended, capture.whenEnded]);
  const { packets, lost, bytes } = await capture.stop();
  client.close();
  const loss = lost > 0 ? `, ${lost} packets lost because the file could not keep up` : '';
  process.stderr.write(`${packets} packets, ${bytes} bytes in ${path}${loss}\n`);
  return 0;
}
