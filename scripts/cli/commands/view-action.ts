// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca view`: serves the page of a running process until a signal, or until the process
 * ends, which the page then says.
 */
import { findOnlyControlPath } from '../../../device/process/control/control-path.ts';
import { providePage } from '../../page/build/build-page.ts';
import type { CliCommand } from '../options/cli-command.ts';
import { openInBrowser } from '../session/open-browser.ts';
import { takeSignals } from '../session/signals.ts';
import { LiveSource } from '../view/live-source.ts';
import { ViewServer } from '../view/view-server.ts';
import { PAGE_IS_AT, type ViewArguments } from './view-command.ts';

export async function performView(command: CliCommand): Promise<number> {
  const { control, port = 0, read = false, open } = command.opts<ViewArguments>();
  const source = await LiveSource.open(control ?? (await findOnlyControlPath()));
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
