// SPDX-License-Identifier: Apache-2.0
/**
 * The worked example over simulated time as text: a table, and bars with a mark where the guarantee is. Pure; called by
 * in-process.ts.
 */
import type { GUESTS, PhaseShare } from '../../../device/simulations/qos/worked-example.ts';

export interface Row {
  readonly name: string;
  readonly shares: readonly PhaseShare[];
}

const BAR_CELLS = 50;

const percent = (part: number): string => `${(100 * part).toFixed(1)} %`;

export function formatTable(guests: typeof GUESTS, rows: readonly Row[]): string {
  const lines = ['guest     VCBs  PCBs  lanes'];
  for (const { name, vcbs, pcbs, lanes } of guests)
    lines.push(`${name.padEnd(9)} ${pad(vcbs, 4)} ${pad(pcbs, 5)} ${pad(lanes, 6)}`);
  lines.push('', 'phase                     guest     messages    share   by lanes   PCBs at most   of these shared');
  for (const { name, shares } of rows)
    for (const [index, { messages, share, expected, pcbsPeak, sharedPeak }] of shares.entries())
      lines.push(
        `${(index === 0 ? name : '').padEnd(25)} ${guests[index].name.padEnd(9)} ${pad(messages, 8)} ${pad(percent(share), 8)} ${pad(percent(expected), 10)} ${pad(pcbsPeak, 14)} ${pad(sharedPeak, 17)}`,
      );
  return `${lines.join('\n')}\n`;
}

/** A bar for each guest and phase; `|` stands where its lanes would have it. */
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

function pad(value: number | string, width: number): string {
  return `${value}`.padStart(width);
}
