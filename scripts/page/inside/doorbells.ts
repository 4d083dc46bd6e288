// SPDX-License-Identifier: Apache-2.0
/**
 * Doorbells of the picture: bus, scheduler buffer with its thresholds, overflow buffer
 * (US 9,069,485 par. 67, 86-93), and the scheduler with its lists and dedicated PCBs
 * (US 8,484,392 par. 34, 102-107). `inside.ts` calls it.
 */
import type { ViewRow } from '../../cli/view/view-protocol.ts';
import { citations } from './citations.ts';
import { bufferCells, countKinds } from './collect.ts';
import {
  type Cell,
  commandIn,
  type FunctionReport,
  type Grid,
  type Meter,
  meterOf,
  numberIn,
  type Shown,
  sumOf,
  type Table,
  tableOf,
  textIn,
  type Unit,
} from './picture.ts';

type DoorbellReport = FunctionReport['doorbells'];

export function describeDoorbells(shown: Shown): Unit {
  const all = shown.functions.map(({ doorbells }) => doorbells);
  const sum = (count: (one: DoorbellReport) => number): number => sumOf(all, count);
  const lost = sum(({ overflow }) => overflow.lost);
  const stalled = all.some(({ stalled: isStalled }) => isStalled);
  return {
    id: 'doorbells',
    title: 'Doorbells',
    source: citations.doorbells,
    facts: [
      { name: 'explicit', value: sum(({ explicit }) => explicit) },
      { name: 'implicit', value: sum(({ implicit }) => implicit) },
      { name: 'stale', value: sum(({ stale }) => stale) },
      { name: 'spilled', value: sum(({ overflow }) => overflow.spilled) },
      { name: 'drained', value: sum(({ overflow }) => overflow.drained) },
      { name: 'lost', value: lost, isBad: lost > 0 },
      { name: 'sweeps', value: sum(({ sweeps }) => sweeps) },
      ...(stalled ? [{ name: 'bus', value: 'stalled', isBad: true }] : []),
    ],
    meters: describeBuffers(all),
    grids: all.length === 1 ? [busGrid(shown), bufferGrid(shown, all[0])] : [],
    tables: all.length === 1 ? [] : [functionTable(shown.functions)],
  };
}

/** One function has thresholds; of several there is only the sum. */
function describeBuffers(all: readonly DoorbellReport[]): Meter[] {
  const total = (count: (one: DoorbellReport) => number): number => sumOf(all, count);
  const [{ buffer }] = all;
  const marks =
    all.length === 1
      ? [
          { at: buffer.entries - buffer.low, name: `spilling begins with less than ${buffer.low} free` },
          { at: buffer.entries - buffer.high, name: `spilling ends with ${buffer.high} free` },
        ]
      : undefined;
  const used = total((one) => one.buffer.used);
  return [
    meterOf(
      'reads on the bus',
      total(({ bus }) => bus.readsLimit),
      [{ kind: 'running', value: total(({ bus }) => bus.reads) }],
    ),
    meterOf(
      'scheduler buffer',
      total((one) => one.buffer.entries),
      [{ kind: 'waiting', value: used }],
      marks,
    ),
    meterOf(
      'overflow buffer',
      total(({ overflow }) => overflow.entries),
      [{ kind: 'refused', value: total(({ overflow }) => overflow.depth) }],
    ),
  ];
}

function busGrid({ rows }: Shown): Grid {
  const bus = rows('lists').filter(({ where }) => where === 'bus');
  return { name: 'bus', cells: bus.slice(0, 64).map(entryCell) };
}

/** The scheduler buffer from its head on, with its free entries. */
function bufferGrid({ rows }: Shown, { buffer }: DoorbellReport): Grid {
  const cells = Array.from({ length: buffer.entries }, (_, place): Cell => {
    return { kind: 'free', text: '', words: `entry ${place}: free` };
  });
  for (const row of rows('lists')) if (row.where === 'scheduler buffer') cells[numberIn(row, 'place')] = entryCell(row);
  return { name: 'scheduler buffer', cells };
}

function entryCell(row: ViewRow): Cell {
  const entry = textIn(row, 'entry');
  const isRead = entry.startsWith('read');
  const isChecked = entry.endsWith('checked');
  return {
    kind: isRead || isChecked ? 'running' : 'waiting',
    text: numberIn(row, 'qp') < 0 ? '' : textIn(row, 'qp').slice(-4),
    words: [`${textIn(row, 'where')} ${textIn(row, 'place')}: ${entry}`, commandIn(row)].filter(Boolean).join(', '),
  };
}

/** The functions that have doorbells anywhere. */
function functionTable(functions: readonly FunctionReport[]): Table {
  const busy = functions.filter(
    ({ doorbells: { bus, buffer, overflow } }) => bus.posted + bus.reads + buffer.used + overflow.depth > 0,
  );
  return tableOf('functions with doorbells', ['function', 'bus', 'buffer', 'overflow'], busy, (one) => ({
    key: `${one.number}`,
    cells: [
      one.number,
      one.doorbells.bus.posted + one.doorbells.bus.reads,
      one.doorbells.buffer.used,
      one.doorbells.overflow.depth,
    ],
    isBad: one.doorbells.stalled,
  }));
}

export function describeScheduler(shown: Shown): Unit {
  const { report, functions, rows } = shown;
  const cells = bufferCells(shown, 'scheduler', report.schedulerBuffers.total);
  const owner = (row: ViewRow): string => (functions.length > 1 ? `function ${textIn(row, 'function')} ` : '');
  return {
    id: 'scheduler',
    title: 'Scheduler',
    source: citations.scheduler,
    facts: [
      { name: 'turns', value: sumOf(functions, ({ doorbells }) => doorbells.queueTurns) },
      { name: 'fetched', value: sumOf(functions, ({ commands }) => commands.fetched) },
      { name: 'linked', value: sumOf(functions, ({ doorbells }) => doorbells.queuesLinked) },
      ...listFacts(functions),
    ],
    meters: [meterOf('dedicated PCBs', report.schedulerBuffers.total, countKinds(cells))],
    grids: [{ name: 'dedicated PCBs', cells }],
    tables: [
      tableOf(
        'send queues in turn',
        ['list', 'QP', 'next command'],
        rows('lists').filter((row) => textIn(row, 'where').startsWith('list')),
        (row) => ({
          key: `${textIn(row, 'function')} ${textIn(row, 'where')} ${textIn(row, 'qp')}`,
          cells: [`${owner(row)}${textIn(row, 'where')}`, textIn(row, 'qp'), textIn(row, 'sequence')],
        }),
      ),
    ],
  };
}

/** Send queues in the list of each level. */
function listFacts(functions: readonly FunctionReport[]) {
  const levels = functions[0]?.doorbells.listed ?? [];
  return levels.map((_, level) => ({
    name: `listed, level ${level}`,
    value: sumOf(functions, ({ doorbells }) => doorbells.listed[level]),
  }));
}
