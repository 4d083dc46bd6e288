// SPDX-License-Identifier: Apache-2.0
/** What in-process.ts shows: a table, bars in the terminal, and the same bars as SVG with a line where the guarantee is. */
import type { GUESTS, PhaseShare } from '../../../device/simulations/qos/worked-example.ts';

export interface Row {
  readonly name: string;
  readonly shares: readonly PhaseShare[];
}

const BAR_CELLS = 50;
const COLOURS = ['#4477aa', '#ee6677', '#228833'];
const WIDTH = 480;
const LEFT = 170;
const BAR_HEIGHT = 18;

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

export function drawSvg(names: readonly string[], rows: readonly Row[]): string {
  const parts: string[] = [];
  let y = 30;
  for (const { name, shares } of rows) {
    parts.push(`<text x="10" y="${y + 14}" font-weight="bold">${name}</text>`);
    y += 22;
    for (const [at, { share, expected }] of shares.entries()) {
      parts.push(`<text x="${LEFT - 70}" y="${y + 13}">${names[at]}</text>`);
      parts.push(
        `<rect x="${LEFT}" y="${y}" width="${(share * WIDTH).toFixed(1)}" height="${BAR_HEIGHT - 3}" fill="${COLOURS[at]}"/>`,
      );
      parts.push(`<text x="${(LEFT + share * WIDTH + 6).toFixed(1)}" y="${y + 13}">${percent(share)}</text>`);
      const x = (LEFT + expected * WIDTH).toFixed(1);
      if (expected > 0) parts.push(`<line x1="${x}" x2="${x}" y1="${y - 2}" y2="${y + BAR_HEIGHT}" stroke="black"/>`);
      y += BAR_HEIGHT;
    }
    y += 12;
  }
  const title = '<text x="10" y="18">Messages of each guest; black line: the share its lanes guarantee</text>';
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${LEFT + WIDTH + 70}" height="${y}" font-family="sans-serif" font-size="13">${title}${parts.join('')}</svg>\n`;
}

function pad(value: number | string, width: number): string {
  return `${value}`.padStart(width);
}
