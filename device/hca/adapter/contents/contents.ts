// SPDX-License-Identifier: Apache-2.0
/**
 * The views of `vuhca show` by name, as the control socket answers them: some rows at a time, so
 * that an answer stays below what the socket keeps for a client. `ControlCommands` calls it.
 */
import { Refusal } from '../refusal.ts';
import { showPcbs, showVcbs } from './buffers.ts';
import { showCommands, showLanes } from './commands.ts';
import { showConnections } from './connections.ts';
import { showBlocks, showContexts, showEvents } from './events.ts';
import { showLists, showOverflow } from './lists.ts';
import { showCompletions, showQueues } from './queues.ts';
import type { Row, ShownAdapter, View } from './rows.ts';
import { VIEW_NAMES, type ViewName } from './view-names.ts';

const views: Readonly<Record<ViewName, View>> = {
  vcbs: showVcbs,
  pcbs: showPcbs,
  lists: showLists,
  lanes: showLanes,
  overflow: showOverflow,
  commands: showCommands,
  queues: showQueues,
  completions: showCompletions,
  connections: showConnections,
  events: showEvents,
  contexts: showContexts,
  blocks: showBlocks,
};

/** Rows in one answer: some hundred KiB of JSON. */
export const ROWS_MAX = 1000;

/** The request of a client. Without a filter: all rows. */
export interface ContentsRequest {
  readonly view?: unknown;
  /** Place of the first row of the answer. */
  readonly first?: unknown;
  /** Only rows of this function, of this queue pair, and of queue pairs of this process. */
  readonly function?: unknown;
  readonly qp?: unknown;
  readonly process?: unknown;
}

export interface Contents {
  readonly rows: readonly Row[];
  /** Place of the first row of the next answer; absent in the last one. */
  readonly next?: number;
}

/** Answers a request. Throws an error of one sentence for one that cannot be met. */
export function showContents(shown: ShownAdapter, request: ContentsRequest): Contents {
  const name = readView(request);
  const processOf = (qpn: number): number | undefined => shown.adapter.tables.queuePairs.get(qpn)?.creation.process;
  return selectRows(views[name](shown), request, processOf);
}

/** The view that is asked for; the other members of the request are checked, too. */
export function readView({ view, first, function: functionNumber, qp, process }: ContentsRequest): ViewName {
  const name = VIEW_NAMES.find((one) => one === view);
  if (name === undefined) throw new Refusal(`view must be ${VIEW_NAMES.join(', ')}`);
  for (const [field, value] of Object.entries({ first, function: functionNumber, qp, process }))
    if (value !== undefined && !(Number.isSafeInteger(value) && (value as number) >= 0))
      throw new Refusal(`${field} must be a whole number`);
  return name;
}

/** The part of all rows that is asked for. `processOf`: the process that has a queue pair. */
export function selectRows(
  all: readonly Row[],
  request: ContentsRequest,
  processOf: (qpn: number) => number | undefined,
): Contents {
  const { first = 0 } = request;
  const rows = all.filter((row) => isWanted(row, request, processOf));
  const end = (first as number) + ROWS_MAX;
  const part = rows.slice(first as number, end);
  return rows.length > end ? { rows: part, next: end } : { rows: part };
}

function isWanted(
  row: Row,
  { function: number, qp, process }: ContentsRequest,
  processOf: (qpn: number) => number | undefined,
): boolean {
  if (number !== undefined && row.function !== number) return false;
  const own = row.queue === 'QP' ? row.number : row.qp;
  if (qp !== undefined && own !== qp) return false;
  return process === undefined || processOf(own as number) === process;
}
