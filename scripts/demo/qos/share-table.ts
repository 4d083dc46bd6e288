// SPDX-License-Identifier: Apache-2.0
/**
 * The worked example over simulated time as text: a table, and bars with a mark where the guarantee
 * is. Pure; called by in-process.ts.
 */
import type { GUESTS, PhaseShare } from '../../../device/rig/qos/worked-example.ts';
import { table } from '../../console/table.ts';

export interface Row {
  readonly name: string;
  readonly shares: readonly PhaseShare[];
}

const BAR_CELLS = 50;
const GIVEN = ['guest', 'VCBs', 'PCBs', 'lanes'];
const HAD = [
  'phase',
  'guest',
  'messages',
  'share',
  'by lanes',
  'PCBs at most',
  'of these shared',
  'completion credits at most',
];

/** A part as the table and the plot write it. */
export const percent = (part: number): string => `${(100 * part).toFixed(1)} %`;

/** The resources of each guest, and its messages in each phase. */
export function formatTable(guests: typeof GUESTS, rows: readonly Row[]): string {
  const given = guests.map(({ name, vcbs, pcbs, lanes }) => [name, vcbs, pcbs, lanes]);
  const had = rows.flatMap(({ name, shares }) =>
    shares.map(({ messages, share, expected, pcbsPeak, sharedPeak, completionPeak }, index) => [
      index === 0 ? name : '',
      guests[index].name,
      messages,
      percent(share),
      percent(expected),
      pcbsPeak,
      sharedPeak,
      completionPeak,
    ]),
  );
  return `${table([GIVEN, ...given], 1)}\n${table([HAD, ...had], 2)}`;
}

/** A bar for each guest and phase; `|` marks the guarantee of its lanes. */
export function drawBars(names: readonly string[], rows: readonly Row[]): string {
  const bar = ({ share, expected }: PhaseShare): string => {
    const cells: string[] = Array.from({ length: BAR_CELLS + 1 }, (_, at) =>
      at < Math.round(share * BAR_CELLS) ? '#' : ' ',
    );
    if (expected > 0) cells[Math.round(expected * BAR_CELLS)] = '|';
    return cells.join('');
  };
  return rows
    .map(
      ({ name, shares }) =>
        `${name}\n${shares.map((share, at) => `  ${names[at].padEnd(8)} ${bar(share)}\n`).join('')}`,
    )
    .join('');
}
