// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca show`: reads a view of a running adapter over its control socket and prints its
 * rows as a table or as JSON, once or again and again. The rows of a long view come in several
 * answers, between which the adapter goes on.
 */
import type { CliCommand } from '../options/cli-command.ts';
import { renderRows } from '../screens/show-screen.ts';
import { showScreens, withAdapter } from '../session/with-adapter.ts';
import type { ShowArguments } from './show-command.ts';

export async function performShow(command: CliCommand): Promise<number> {
  const [view] = command.processedArgs as [string];
  const given = command.opts<ShowArguments>();
  const { adapter, function: number, qp, process } = given;
  await withAdapter(given.control, async (client) => {
    const read = async () => {
      const parts = await client.requestAll('show', { view, adapter, function: number, qp, process });
      return { view, rows: parts.flatMap(({ rows }) => rows) };
    };
    await showScreens(given, read, ({ rows }) => renderRows(rows));
  });
  return 0;
}
