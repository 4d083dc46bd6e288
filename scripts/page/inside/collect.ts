// SPDX-License-Identifier: Apache-2.0
/**
 * VCBs and PCBs of the picture: each command from its first store to the release of its buffer
 * (US 8,484,392 par. 48-53, 56, 96-100). `inside.ts` calls it.
 */
import type { ViewRow } from '../../cli/view/view-protocol.ts';
import { citations } from './citations.ts';
import { type Cell, commandIn, type Kind, meterOf, numberIn, type Shown, sumOf, textIn, type Unit } from './picture.ts';

/** VCBs that are all drawn, the free ones too: those of one function of usual size. */
const VCBS_MAX = 128;

const kinds: Readonly<Record<string, Kind>> = {
  collecting: 'filling',
  kicked: 'waiting',
  launched: 'running',
  locked: 'locked',
};

export function describeCollect(shown: Shown): Unit {
  const { report, functions, chosen } = shown;
  const { total, shared, sharedInUse } = report.collectBuffers;
  const cells = bufferCells(shown, 'collect', total);
  const refusals = sumOf(functions, ({ collect }) => collect.refusals);
  return {
    id: 'collect',
    title: 'Collect buffers',
    source: citations.collect,
    facts: [
      { name: 'kicks', value: sumOf(functions, ({ collect }) => collect.kicks) },
      { name: 'without a PCB', value: refusals },
      { name: 'cancelled', value: sumOf(functions, ({ collect }) => collect.cancels) },
      { name: 'stale', value: sumOf(functions, ({ commands }) => commands.stale) },
    ],
    meters: [
      meterOf('PCBs', total, countKinds(cells)),
      ...(shared > 0 ? [meterOf('PCBs for all', shared, [{ kind: 'shared', value: sharedInUse }])] : []),
      ...(chosen === undefined ? [] : levelMeters(shown)),
    ],
    grids: [
      { name: 'VCBs', cells: vcbCells(shown) },
      { name: 'PCBs', cells },
    ],
    tables: [],
  };
}

/** The PCBs that a level of the chosen function holds, of those that it could have now. */
function levelMeters({ functions }: Shown) {
  return functions.flatMap(({ collect }) =>
    collect.levels.map(({ inUse, available }, level) =>
      meterOf(`level ${level}`, inUse + available, [{ kind: 'own', value: inUse }]),
    ),
  );
}

/** The buffers of a pool by number. */
export function bufferCells({ allRows, chosen }: Shown, pool: string, total: number): Cell[] {
  const cells = Array.from(
    { length: total },
    (_, pcb): Cell => ({ kind: 'free', text: '', words: `PCB ${pcb}: free` }),
  );
  const arrived = fillings(allRows('vcbs'));
  for (const row of allRows('pcbs')) {
    const pcb = numberIn(row, 'pcb');
    if (row.pool === pool && pcb < total) cells[pcb] = bufferCell(row, chosen, arrived.get(pcb));
  }
  return cells;
}

function bufferCell(row: ViewRow, chosen: number | undefined, filled: number | undefined): Cell {
  const state = textIn(row, 'state');
  const [lane, vcb] = [numberIn(row, 'lane'), numberIn(row, 'vcb')];
  const parts = [
    `PCB ${textIn(row, 'pcb')}: ${state}`,
    `function ${textIn(row, 'function')} level ${textIn(row, 'level')}`,
    ...(row.account === null ? [] : [`paid by ${textIn(row, 'account')}`]),
    ...(vcb < 0 ? [] : [`VCB ${vcb}`]),
    ...(commandIn(row) === '' ? [] : [commandIn(row)]),
    ...(lane < 0 ? [] : [`lane ${lane}`]),
  ];
  return {
    kind: kinds[state] ?? 'locked',
    text: numberIn(row, 'qp') < 0 ? '' : textIn(row, 'qp').slice(-4),
    words: parts.join(', '),
    isHigh: row.level === 1,
    isOther: isOther(row, chosen),
    ...(state === 'collecting' && filled !== undefined ? { bars: [filled] } : {}),
  };
}

/** How far the command of each PCB has arrived. */
function fillings(rows: readonly ViewRow[]): ReadonlyMap<number, number> {
  return new Map(rows.map((row) => [numberIn(row, 'pcb'), filledPart(row)]));
}

/** Bytes that have arrived, as a part of the length; half while the length is not known. */
function filledPart(row: ViewRow): number {
  const length = numberIn(row, 'length');
  return length <= 0 ? 0.5 : Math.min(1, numberIn(row, 'arrived') / length);
}

/** VCBs in use; the free ones of a function as well, where they are not too many. */
function vcbCells({ functions, rows, chosen }: Shown): Cell[] {
  const used = rows('vcbs');
  const [first] = functions;
  if (functions.length !== 1 || first.collect.vcbs > VCBS_MAX) return used.map((row) => vcbCell(row, chosen));
  const cells = Array.from(
    { length: first.collect.vcbs },
    (_, page): Cell => ({ kind: 'free', text: '', words: `page ${page}: free` }),
  );
  for (const row of used) cells[numberIn(row, 'page')] = vcbCell(row, chosen);
  return cells;
}

function vcbCell(row: ViewRow, chosen: number | undefined): Cell {
  const isBound = row.mode === 'collect';
  const length = numberIn(row, 'length');
  const parts = [
    `page ${textIn(row, 'page')} of function ${textIn(row, 'function')} level ${textIn(row, 'level')}`,
    isBound ? `bound to PCB ${textIn(row, 'pcb')}` : 'no PCB was free: send-queue mode',
    `${textIn(row, 'arrived')} of ${length < 0 ? 'unknown' : length} bytes`,
    ...(commandIn(row) === '' ? [] : [commandIn(row)]),
  ];
  return {
    kind: isBound ? 'filling' : 'refused',
    text: isBound ? textIn(row, 'pcb') : '',
    words: parts.join(', '),
    bars: [filledPart(row)],
    isHigh: row.level === 1,
    isOther: isOther(row, chosen),
  };
}

function isOther(row: ViewRow, chosen: number | undefined): boolean {
  return chosen !== undefined && row.function !== chosen;
}

/** Parts of a meter: the cells of each kind that is not free. */
export function countKinds(cells: readonly Cell[]): { kind: Kind; value: number }[] {
  const order: readonly Kind[] = ['filling', 'waiting', 'running', 'locked'];
  return order.map((kind) => ({ kind, value: cells.filter((cell) => cell.kind === kind).length }));
}
