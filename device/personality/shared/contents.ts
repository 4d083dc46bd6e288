// SPDX-License-Identifier: Apache-2.0
/**
 * The views of `vuhca show` that a device of a personality has: kick lists, commands and
 * connections, which are those of the common transport, and its own queues
 * (docs/verbs/PERSONALITIES.md). It has no VCBs, doorbell units, overflow buffers and send
 * contexts. The control socket answers with it; it only reads.
 */
import { type CommandHolder, showHeldCommands, showLanes } from '../../hca/adapter/contents/commands.ts';
import { showConnections } from '../../hca/adapter/contents/connections.ts';
import { type Contents, type ContentsRequest, readView, selectRows } from '../../hca/adapter/contents/contents.ts';
import { asCompletions } from '../../hca/adapter/contents/queues.ts';
import type { Row } from '../../hca/adapter/contents/rows.ts';
import type { ViewName } from '../../hca/adapter/contents/view-names.ts';
import { Refusal } from '../../hca/adapter/refusal.ts';

/** Views by name. */
export type Views = Readonly<Partial<Record<ViewName, () => Row[]>>>;

/** A device, with the views of its own. */
export interface ShownDevice extends Pick<CommandHolder, 'lanes' | 'tables'> {
  readonly personality: string;
  /** Its collect buffers stand in the place of the scheduler's. */
  readonly sends: CommandHolder['schedulerBuffers'];
  readonly views: Views;
}

/** A row of the view `queues` in which nothing is known. */
export const unknownQueue = {
  queue: '',
  number: 0,
  function: 0,
  state: null,
  service: null,
  entries: null,
  next: 0,
  inFlight: null,
  unread: null,
  sendCq: null,
  receiveCq: null,
  srq: null,
} as const;

/** Answers a request. Throws an error of one sentence for one that cannot be met. */
export function showViews(device: ShownDevice, request: ContentsRequest): Contents {
  const { personality, lanes, tables, sends } = device;
  const holder: CommandHolder = { lanes, tables, collectBuffers: { buffers: [] }, schedulerBuffers: sends };
  const views: Views = {
    lanes: () => showLanes({ adapter: holder }),
    commands: () => showHeldCommands(holder),
    connections: () => showConnections({ adapter: holder }),
    ...device.views,
    completions: () => (device.views.queues?.() ?? []).filter(({ queue }) => queue === 'CQ').map(asCompletions),
  };
  const name = readView(request);
  const view = views[name];
  if (view === undefined)
    throw new Refusal(
      `the personality ${personality} has nothing to show as ${name}; it has ${Object.keys(views).join(', ')}`,
    );
  // No command names the process that owns a queue pair.
  return selectRows(view(), request, () => undefined);
}

/** The objects of a table in the order of their numbers. */
export function sorted<T extends { readonly number: number }>(table: { values(): Iterable<T> }): T[] {
  return [...table.values()].sort((a, b) => a.number - b.number);
}
