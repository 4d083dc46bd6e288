// SPDX-License-Identifier: Apache-2.0
/**
 * Draws the events of one message as a sequence diagram in SVG: a line for each end, an arrow for
 * each packet, a cross where one was lost, a bar for each wait. Colours follow the reader's scheme;
 * shapes and words say the same without them. `vuhca trace show --ladder` writes it.
 */

import { escapeXml } from '../../picture/text.ts';
import type { Ladder, LadderPacket, LadderPoint, LadderWait, Side } from './ladder.ts';
import { LADDER_STYLE } from './ladder-style.ts';
import { microseconds } from './wire-text.ts';

const WIDTH = 980;
/** The lines of both ends, and the link in the middle. */
const LINES = [320, 710] as const;
const LINK = (LINES[0] + LINES[1]) / 2;
const AXIS = 84;
const TOP = 92;
const BOTTOM = 64;
/** Height of a row, and of the longest time between two rows. */
const ROW = 20;
const GAP_MAX = 44;
const GAP_PER_DECADE = 9;
/** A time that is written between two rows, because they stand closer than it is. */
const LONG_NS = 1000;
/** Packets in a row of which the first and the last one are drawn alone. */
const RUN_MIN = 5;
const CROSS = 7;
const WORD_DISTANCE = 14;
const BAR = 9;
/** Columns of words beside a line, and the height of one of their lines. */
const SIDE_COLUMNS = 34;
const LINE_HEIGHT = 15;

interface Point {
  readonly x: number;
  readonly y: number;
}

/** The picture as the text of an SVG file. */
export function drawLadder(ladder: Ladder): string {
  const rows = new Rows(ladder);
  const height = rows.bottom + BOTTOM;
  const { title, ends, packets, waits, notes } = ladder;
  const runs = joinRuns(packets);
  const marker = (id: string, size: number): string =>
    `<marker id="${id}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="${size}" markerHeight="${size}" orient="auto"><path class="head" d="M0,0 L10,5 L0,10 z"/></marker>`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="title desc">`,
    `<title id="title">${escapeXml(title)}</title>`,
    `<desc id="desc">${escapeXml(describe(ladder))}</desc>`,
    `<style>${LADDER_STYLE}</style>`,
    `<defs>${marker('head', 6)}${marker('wide', 3)}</defs>`,
    '<rect class="ground" width="100%" height="100%"/>',
    text('title', 24, 30, title),
    text('time', AXIS, TOP - 28, 'us'),
    ...ends.map((name, side) => text('end', LINES[side as Side], TOP - 28, name)),
    text('legend middle word', LINK, TOP - 28, 'link'),
    ...LINES.map((x) => stroke('line', x, TOP - 16, x, rows.bottom)),
    stroke('link', LINK, TOP - 16, LINK, rows.bottom),
    ...rows.drawAxis(),
    ...waits.map((wait) => drawWait(wait, rows)),
    ...runs.map((run) => drawArrow(run, rows)),
    ...runs.map((run) => nameRun(run, rows)),
    ...notes.map(({ side, at, text: words }) => sideText(side, rows.y(at), words)),
    text('legend', 24, height - 30, legend(ladder)),
    text(
      'legend',
      24,
      height - 12,
      'Times count from the first event; the distance of rows grows with the logarithm of time.',
    ),
    '</svg>',
    '',
  ].join('\n');
}

/** The place of each event: a row for each, in the order of time. */
class Rows {
  readonly bottom: number;
  readonly #points: readonly LadderPoint[];
  readonly #places = new Map<string, number>();
  readonly #startNs: number;

  constructor({ packets, waits, notes }: Ladder) {
    const runs = joinRuns(packets);
    const points = [
      ...runs.flatMap(({ first, last }) => [first.sent, last.ended ?? first.sent]),
      ...waits.flatMap(({ from, to }) => [from, to]),
      ...notes.map(({ at }) => at),
    ];
    const different = new Map(points.map((point) => [keyOf(point), point]));
    this.#points = [...different.values()].sort((one, next) => one.timeNs - next.timeNs || one.index - next.index);
    this.#startNs = this.#points[0]?.timeNs ?? 0;
    let y = TOP;
    let before = this.#startNs;
    for (const point of this.#points) {
      const passedNs = point.timeNs - before;
      if (point !== this.#points[0]) y += ROW + Math.min(GAP_MAX, GAP_PER_DECADE * Math.log10(1 + passedNs / 100));
      this.#places.set(keyOf(point), Math.round(y));
      before = point.timeNs;
    }
    this.bottom = Math.round(y) + ROW;
  }

  y(point: LadderPoint): number {
    return this.#places.get(keyOf(point)) ?? TOP;
  }

  /** A tick and its time for each event, and the time that passed in long gaps. */
  drawAxis(): string[] {
    let before: LadderPoint | undefined;
    return this.#points.flatMap((point) => {
      const y = this.y(point);
      const passedNs = before === undefined ? 0 : point.timeNs - before.timeNs;
      const middle = before === undefined ? y : (this.y(before) + y) / 2 + 4;
      const isNew = before === undefined || passedNs > 0;
      before = point;
      return [
        ...(passedNs >= LONG_NS ? [text('time', AXIS, middle, `+ ${microseconds(passedNs)}`)] : []),
        stroke('tick', AXIS + 4, y, AXIS + 10, y),
        ...(isNew ? [text('time', AXIS, y + 4, microseconds(point.timeNs - this.#startNs))] : []),
      ];
    });
  }
}

function keyOf({ timeNs, index }: LadderPoint): string {
  return `${timeNs} ${index}`;
}

/** Packets that are drawn as one arrow. */
interface Run {
  readonly first: LadderPacket;
  readonly last: LadderPacket;
  readonly count: number;
}

/** Long runs of packets that follow each other and arrive become three arrows. */
function joinRuns(packets: readonly LadderPacket[]): Run[] {
  const groups = packets.reduce<LadderPacket[][]>((all, one) => {
    const group = all.at(-1);
    const last = group?.at(-1);
    if (group !== undefined && last !== undefined && follows(last, one)) group.push(one);
    else all.push([one]);
    return all;
  }, []);
  return groups.flatMap((group) => {
    const [first] = group;
    const last = group.at(-1);
    if (first === undefined || last === undefined || group.length < RUN_MIN)
      return group.map((one) => ({ first: one, last: one, count: 1 }));
    const inner = { first: group[1] as LadderPacket, last: group.at(-2) as LadderPacket, count: group.length - 2 };
    return [{ first, last: first, count: 1 }, inner, { first: last, last, count: 1 }];
  });
}

function follows(last: LadderPacket, next: LadderPacket): boolean {
  return (
    last.from === next.from &&
    last.end === 'arrives' &&
    next.end === 'arrives' &&
    last.isAgain === next.isAgain &&
    last.psn + 1 === next.psn
  );
}

/** Where the arrow of a run begins and ends. */
function placeRun({ first, last }: Run, rows: Rows): { readonly begin: Point; readonly end: Point } {
  const [here, there] = first.from === 0 ? LINES : [LINES[1], LINES[0]];
  const y = rows.y(first.sent);
  const ended = last.ended === undefined ? y + ROW : Math.max(rows.y(last.ended), y + ROW / 2);
  return { begin: { x: here, y }, end: { x: first.end === 'lost' ? LINK : there, y: ended } };
}

function drawArrow(run: Run, rows: Rows): string {
  const { begin, end } = placeRun(run, rows);
  const { isAgain, end: fate } = run.first;
  const again = isAgain ? ['again'] : [];
  const classes = ['packet', ...again, ...(run.count > 1 ? ['run'] : []), ...(fate === 'arrives' ? [] : [fate])];
  const cross = fate === 'lost' || fate === 'dropped' ? drawCross(end) : '';
  return stroke(classes.join(' '), begin.x, begin.y, end.x, end.y) + cross;
}

/** The name of the packet along its arrow, and why it was lost or not taken behind its cross. */
function nameRun(run: Run, rows: Rows): string {
  const { begin, end } = placeRun(run, rows);
  const { first, last, count } = run;
  const { from, isAgain, name, psn, end: fate, cause } = first;
  const words = count > 1 ? `${count} packets, PSN ${psn} to ${last.psn}` : `${name}, PSN ${psn}`;
  const isRight = from === 0;
  const x = end.x + (isRight ? WORD_DISTANCE : -WORD_DISTANCE);
  return [
    alongText(begin, end, `${words}${isAgain ? ', again' : ''}`),
    ...(fate === 'lost' ? [text(`bad word${isRight ? '' : ' left'}`, x, end.y + 14, `lost: ${cause}`)] : []),
    ...(fate === 'dropped' ? [sideText(isRight ? 1 : 0, end.y, cause, 'bad ')] : []),
  ].join('');
}

/** Words above an arrow, near its begin, in its direction. */
function alongText(begin: Point, end: Point, words: string): string {
  const isRight = end.x > begin.x;
  const slope = (end.y - begin.y) / (end.x - begin.x);
  const x = begin.x + (isRight ? WORD_DISTANCE : -WORD_DISTANCE);
  const y = begin.y + (x - begin.x) * slope - 5;
  const angle = ((Math.atan(slope) * 180) / Math.PI).toFixed(1);
  const turn = `rotate(${angle} ${Math.round(x)} ${Math.round(y)})`;
  return text(isRight ? 'word' : 'word left', x, y, words, ` transform="${turn}"`);
}

function drawCross({ x, y }: Point): string {
  return (
    stroke('cross', x - CROSS, y - CROSS, x + CROSS, y + CROSS) +
    stroke('cross', x - CROSS, y + CROSS, x + CROSS, y - CROSS)
  );
}

function drawWait({ side, from, to, text: words }: LadderWait, rows: Rows): string {
  const [begin, end] = [rows.y(from), rows.y(to)];
  const x = LINES[side] - BAR / 2;
  const bar = `<rect class="wait" x="${x}" y="${begin}" width="${BAR}" height="${Math.max(2, end - begin)}"/>`;
  const passed = `${words}, ${microseconds(to.timeNs - from.timeNs)} us`;
  return bar + sideText(side, (begin + end) / 2, passed);
}

/** Words beside the line of an end, away from the link; long ones take several lines. */
function sideText(side: Side, y: number, words: string, more = ''): string {
  const distance = BAR + 5;
  const x = side === 0 ? LINES[0] - distance : LINES[1] + distance;
  const kind = side === 0 ? `${more}left` : more.trim();
  return wrap(words)
    .map((row, place) => text(kind, x, y + 4 + place * LINE_HEIGHT, row))
    .join('');
}

function wrap(words: string): string[] {
  return words.split(' ').reduce<string[]>((rows, word) => {
    const last = rows.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= SIDE_COLUMNS) rows[rows.length - 1] = `${last} ${word}`;
    else rows.push(word);
    return rows;
  }, []);
}

function legend({ packets, waits }: Ladder): string {
  const has = (end: LadderPacket['end']): boolean => packets.some((packet) => packet.end === end);
  const parts = [
    ...(packets.some(({ isAgain }) => isAgain) ? ['long dashes: sent again'] : []),
    ...(has('lost') ? ['cross in the middle: lost on the link'] : []),
    ...(has('dropped') ? ['cross at a line: not taken'] : []),
    ...(has('unknown') ? ['dots: no step says what became of it'] : []),
    ...(waits.length > 0 ? ['bar: a wait'] : []),
  ];
  return parts.join('; ');
}

/** The picture in words. */
function describe({ ends, packets, waits }: Ladder): string {
  const count = (end: LadderPacket['end']): number => packets.filter((packet) => packet.end === end).length;
  const lost = packets
    .filter(({ end }) => end === 'lost')
    .map(({ name, psn, cause }) => `${name} PSN ${psn}: ${cause}`);
  const parts = [
    `${packets.length} packets between ${ends.join(' and ')}`,
    `${packets.filter(({ isAgain }) => isAgain).length} of them sent again`,
    `${count('lost')} lost${lost.length === 0 ? '' : ` (${lost.join('; ')})`}`,
    `${count('dropped')} not taken`,
    ...waits.map(({ text: words, from, to }) => `${words} of ${microseconds(to.timeNs - from.timeNs)} us`),
  ];
  return `${parts.join(', ')}.`;
}

function stroke(kind: string, x1: number, y1: number, x2: number, y2: number): string {
  return `<line class="${kind}" x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}"/>`;
}

function text(kind: string, x: number, y: number, words: string, more = ''): string {
  const attribute = kind === '' ? '' : ` class="${kind}"`;
  return `<text${attribute}${more} x="${Math.round(x)}" y="${Math.round(y)}">${escapeXml(words)}</text>`;
}
