// SPDX-License-Identifier: Apache-2.0
/**
 * Transmit virtual lanes of the picture: the credits of each kind, private and shared, and the
 * commands in each kick list (US 8,484,392 par. 41-47, 115-117). `inside.ts` calls it.
 */
import type { ViewRow } from '../../cli/view/view-protocol.ts';
import { citations } from './citations.ts';
import {
  type AdapterReport,
  type Cell,
  commandIn,
  groupRows,
  type Meter,
  meterOf,
  type Table,
  tableOf,
  textIn,
  type Unit,
} from './picture.ts';

type LanesReport = AdapterReport['lanes'];
type LaneReport = LanesReport['lanes'][number];
type LaneCredits = LaneReport['execution'];

/** `chosen`: lanes of other functions are dimmed. */
export function describeLanes(lanes: LanesReport, waiting: readonly ViewRow[], chosen: number | undefined): Unit {
  const unused = lanes.count - lanes.lanes.length;
  return {
    id: 'lanes',
    title: 'Lanes',
    source: citations.lanes,
    facts: [
      { name: 'launched', value: lanes.launches },
      { name: 'waiting', value: lanes.waiting },
      { name: 'lanes', value: lanes.count },
      ...(unused > 0 ? [{ name: 'shared, never used', value: unused }] : []),
    ],
    meters: [creditMeter('execution credits', lanes.execution), creditMeter('completion credits', lanes.completion)],
    grids: [
      { name: 'lanes; bars: execution, completion, waiting', cells: lanes.lanes.map((lane) => laneCell(lane, chosen)) },
    ],
    tables: [waitingTable(waiting)],
  };
}

function creditMeter(name: string, { total, used, shared, sharedUsed }: LanesReport['execution']): Meter {
  const parts = [
    { kind: 'own', value: used - sharedUsed },
    { kind: 'shared', value: sharedUsed },
  ] as const;
  return { ...meterOf(name, total, parts), words: `${used} of ${total}, ${sharedUsed} of ${shared} shared` };
}

/** Bars: execution credits, completion credits, length of the kick list. */
function laneCell(lane: LaneReport, chosen: number | undefined): Cell {
  const { number, owner, levels, weight, length, listSize, launches, execution, completion } = lane;
  const isWaiting = length > 0;
  const isBusy = execution.used + execution.sharedUsed + completion.used + completion.sharedUsed > 0;
  const parts = [
    `lane ${number}: ${owner === undefined ? 'shared by all functions' : `function ${owner}`}`,
    ...(levels.length > 0 ? [`level ${levels.join(' and ')}`] : []),
    `weight ${weight}`,
    `${length} of ${listSize} wait`,
    `${launches} launched`,
    creditWords('execution', execution),
    creditWords('completion', completion),
  ];
  return {
    kind: isWaiting ? 'waiting' : isBusy ? 'running' : 'idle',
    text: `${number}`,
    words: parts.join(', '),
    bars: [creditPart(execution), creditPart(completion), listSize === 0 ? 0 : length / listSize],
    isHigh: levels.length === 1 && levels[0] === 1,
    isOther: chosen !== undefined && owner !== undefined && owner !== chosen,
  };
}

function creditWords(name: string, { private: own, used, sharedUsed, mayShare }: LaneCredits): string {
  return `${name} ${used} of ${own}${mayShare ? ` and ${sharedUsed} shared` : ''}`;
}

/** Credits in use, of its own ones and those that it has borrowed. */
function creditPart({ private: own, used, sharedUsed }: LaneCredits): number {
  return own + sharedUsed === 0 ? 0 : (used + sharedUsed) / (own + sharedUsed);
}

/** A row for each lane on which commands wait, the next one first. */
function waitingTable(rows: readonly ViewRow[]): Table {
  const byLane = [...groupRows(rows, (row) => textIn(row, 'lane'))];
  return tableOf('waiting on lanes', ['lane', 'commands, the next one first'], byLane, ([lane, commands]) => ({
    key: lane,
    cells: [lane, describeWaiting(commands)],
  }));
}

const WAITING_MAX = 8;

/** `QP 5 number 12, 13; QP 6 number 1`. */
function describeWaiting(commands: readonly ViewRow[]): string {
  const words = commands.slice(0, WAITING_MAX).map((row, place) => {
    const follows = place > 0 && commands[place - 1].qp === row.qp;
    return follows ? `, ${textIn(row, 'sequence')}` : `${place > 0 ? '; ' : ''}${commandIn(row)}`;
  });
  const more = commands.length - words.length;
  return `${words.join('')}${more > 0 ? `; ${more} more` : ''}`;
}
