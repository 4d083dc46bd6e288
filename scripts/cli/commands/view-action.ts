// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca view`: serves the page of a running process or of a recording until a signal, or
 * until the process ends, which the page then says.
 */
import { findOnlyControlPath } from '../../../device/process/control/control-path.ts';
import { providePage } from '../../page/build/build-page.ts';
import type { CliCommand } from '../options/cli-command.ts';
import { UsageError } from '../options/usage-error.ts';
import { readVersion } from '../options/version.ts';
import { openInBrowser } from '../session/open-browser.ts';
import { takeSignals } from '../session/signals.ts';
import { LiveSource } from '../view/live-source.ts';
import { RecordingSource } from '../view/recording-source.ts';
import { ViewServer } from '../view/view-server.ts';
import { PAGE_IS_AT, type ViewArguments } from './view-command.ts';

export async function performView(command: CliCommand): Promise<number> {
  const [file] = command.processedArgs as [string | undefined];
  const { control, port = 0, read = false, open } = command.opts<ViewArguments>();
  if (file !== undefined && control !== undefined) throw new UsageError('give FILE or --control, not both');
  const source =
    file === undefined
      ? await LiveSource.open(control ?? (await findOnlyControlPath()))
      : await RecordingSource.open(file, { version: readVersion() });
  try {
    const server = await ViewServer.start({ source, page: await providePage(), mayAct: !read, port });
    // Before, a signal ends this process as any other.
    const { whenAsked, forget } = takeSignals();
    process.stdout.write(`${PAGE_IS_AT} ${server.address}\n`);
    if (open) openInBrowser(server.address);
    const sentence = await Promise.race([whenAsked.then(() => undefined), source.whenEnded]);
    forget();
    if (sentence !== undefined) process.stderr.write(`${sentence}\n`);
    await server.close(sentence);
    return 0;
  } finally {
    await source.close();
  }
}
