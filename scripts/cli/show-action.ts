// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca show`: reads a view of a running adapter over its control socket and prints its
 * rows as a table or as JSON, once or again and again. The rows of a long view come in several
 * answers, between which the adapter goes on.
 */
import type { Contents } from '../../device/adapter/contents/contents.ts';
import type { Row } from '../../device/adapter/contents/rows.ts';
import { ControlClient } from '../../device/main/control-client.ts';
import { findOnlyControlPath } from '../../device/main/control-path.ts';
import type { CliCommand } from './cli-command.ts';
import type { ShowArguments } from './show-command.ts';
import { renderRows } from './show-screen.ts';
import { CLEAR_SCREEN } from './status-sample.ts';

export async function performShow(command: CliCommand): Promise<number> {
  const [view] = command.processedArgs as [string];
  const given = command.opts<ShowArguments>();
  const { json = false, watch } = given;
  const client = await ControlClient.connect(given.control ?? (await findOnlyControlPath()));
  try {
    for (let isFirst = true; isFirst || watch !== undefined; isFirst = false) {
      if (!isFirst && watch !== undefined) await new Promise((done) => setTimeout(done, watch * 1000));
      const rows = await readRows(client, view, given);
      const text = json ? `${JSON.stringify({ view, rows })}\n` : renderRows(rows);
      process.stdout.write(watch === undefined || json ? text : `${CLEAR_SCREEN}${text}`);
    }
  } finally {
    client.close();
  }
  return 0;
}

async function readRows(client: ControlClient, view: string, given: ShowArguments): Promise<Row[]> {
  const { adapter, function: number, qp, process } = given;
  const rows: Row[] = [];
  for (let first: number | undefined = 0; first !== undefined; ) {
    const part = (await client.request('show', { view, first, adapter, function: number, qp, process })) as Contents;
    rows.push(...part.rows);
    first = part.next;
  }
  return rows;
}
