// SPDX-License-Identifier: Apache-2.0
/**
 * Completion queues, event queues and interrupts of the picture: unread entries, the completion
 * event counter, the stamp against the time of the adapter, and the summary byte
 * (IPCOM000126453D par. 1-4). `inside.ts` calls it.
 */
import type { ViewRow } from '../../cli/view/view-protocol.ts';
import { citations } from './citations.ts';
import { type Fact, numberIn, type TableRow, tableOf, textIn, type Unit } from './picture.ts';

/** Sums over the functions that are shown. */
export interface QueueSums {
  readonly completions: { readonly count: number; readonly posted: number; readonly errors: number };
  readonly events: { readonly count: number; readonly posted: number; readonly errors: number };
  /** Number of queue pairs in each state. */
  readonly queuePairs: Readonly<Record<string, number>>;
  readonly vectorsSent: number;
  readonly vectorsPending: number;
}

export function describeCompletions({ completions, queuePairs }: QueueSums, queues: readonly ViewRow[]): Unit {
  return {
    id: 'completions',
    title: 'Completion queues',
    source: citations.completions,
    facts: [
      { name: 'CQEs', value: completions.posted },
      ...errorFact(completions.errors),
      ...Object.entries(queuePairs).map(([state, count]) => ({
        name: `QPs in ${state}`,
        value: count,
        isBad: state === 'ERR' || state === 'SQE',
      })),
    ],
    meters: [],
    grids: [],
    tables: [tableOf('CQs', ['CQ', 'unread', 'state', 'EQ'], queues, completionRow)],
  };
}

function completionRow(row: ViewRow): TableRow {
  const pending = row.eqPending === true ? ', pending' : '';
  return {
    key: textIn(row, 'cq'),
    cells: [
      textIn(row, 'cq'),
      `${textIn(row, 'unread')} of ${textIn(row, 'entries')}`,
      textIn(row, 'state'),
      `${textIn(row, 'eq')}${pending}`,
    ],
    isBad: row.state === 'ERROR' || row.state === 'OVERFLOW',
  };
}

export function describeEvents(sums: QueueSums, queues: readonly ViewRow[], timeNs: number): Unit {
  const { events, vectorsSent, vectorsPending } = sums;
  return {
    id: 'events',
    title: 'Event queues, interrupts',
    source: citations.events,
    facts: [
      { name: 'EQEs', value: events.posted },
      { name: 'interrupts', value: vectorsSent },
      { name: 'vectors pending', value: vectorsPending },
      ...errorFact(events.errors),
    ],
    meters: [],
    grids: [],
    tables: [
      tableOf('EQs', ['EQ', 'vector', 'unread', 'pending', 'stamp', 'summary', 'interrupts'], queues, (row) =>
        eventRow(row, timeNs),
      ),
    ],
  };
}

/** Interrupts because the driver was late are counted with the others. */
function eventRow(row: ViewRow, timeNs: number): TableRow {
  const late = numberIn(row, 'late');
  return {
    key: textIn(row, 'eq'),
    cells: [
      textIn(row, 'eq'),
      textIn(row, 'vector'),
      textIn(row, 'unread'),
      textIn(row, 'pending'),
      describeStamp(row, timeNs),
      describeSummary(row.summary),
      `${textIn(row, 'interrupts')}${late > 0 ? `, ${late} late` : ''}`,
    ],
    isBad: row.error === true,
  };
}

/** Time until the driver is late, or since it is; a queue without events waits for nothing. */
function describeStamp(row: ViewRow, timeNs: number): string {
  if (row.delayNs === 'poll only') return 'polled';
  const stampNs = numberIn(row, 'stampNs');
  if (stampNs < 0) return textIn(row, 'state');
  if (numberIn(row, 'pending') <= 0) return 'idle';
  const leftNs = stampNs - timeNs;
  return leftNs >= 0 ? `in ${duration(leftNs)}` : `${duration(-leftNs)} ago`;
}

/** `12.3 us`. */
export function duration(ns: number): string {
  if (ns < 1e3) return `${Math.round(ns)} ns`;
  if (ns < 1e6) return `${(ns / 1e3).toFixed(1)} us`;
  return ns < 1e9 ? `${(ns / 1e6).toFixed(1)} ms` : `${(ns / 1e9).toFixed(1)} s`;
}

function describeSummary(summary: ViewRow[string] | undefined): string {
  if (summary === null || summary === undefined) return '';
  return summary === 0 ? 'clear' : 'set';
}

function errorFact(errors: number): Fact[] {
  return errors > 0 ? [{ name: 'in error', value: errors, isBad: true }] : [];
}
