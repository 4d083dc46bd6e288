// SPDX-License-Identifier: Apache-2.0
/**
 * Draws the events of one message as a sequence diagram in SVG: a line for each end, an arrow for
 * each packet, a cross where one was lost, a bar for each wait. Colours follow the reader's scheme;
 * shapes and words carry the same information. `vuhca trace show --ladder` writes it.
 */

import type { Point } from '../../picture/area.ts';
import {
  AXIS,
  BAR,
  LINE_HEIGHT,
  LINES,
  LINK,
  layOutSequence,
  type SequenceArrow,
  type SequenceLayout,
  type SequenceSide,
  type SequenceWords,
} from '../../picture/sequence.ts';
import { escapeXml } from '../../picture/text.ts';
import type { Ladder } from './ladder.ts';
import { LADDER_STYLE } from './ladder-style.ts';

const CROSS = 7;

/** The picture as the text of an SVG file. */
export function drawLadder(ladder: Ladder): string {
  const { title, ends } = ladder;
  const layout = layOutSequence(ladder);
  const { width, height, top, bottom, waits, arrows, notes, legend, description } = layout;
  const marker = (id: string, size: number): string =>
    `<marker id="${id}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="${size}" markerHeight="${size}" orient="auto"><path class="head" d="M0,0 L10,5 L0,10 z"/></marker>`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title desc">`,
    `<title id="title">${escapeXml(title)}</title>`,
    `<desc id="desc">${escapeXml(description)}</desc>`,
    `<style>${LADDER_STYLE}</style>`,
    `<defs>${marker('head', 6)}${marker('wide', 3)}</defs>`,
    '<rect class="ground" width="100%" height="100%"/>',
    text('title', 24, 30, title),
    text('time', AXIS, top - 28, 'us'),
    ...ends.map((name, side) => text('end', LINES[side as SequenceSide], top - 28, name)),
    text('legend middle word', LINK, top - 28, 'link'),
    ...LINES.map((x) => stroke('line', x, top - 16, x, bottom)),
    stroke('link', LINK, top - 16, LINK, bottom),
    ...drawAxis(layout),
    ...waits.map(drawWait),
    ...arrows.map(drawArrow),
    ...arrows.map(nameArrow),
    ...notes.map(drawWords),
    text('legend', 24, height - 30, legend),
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

function drawAxis({ axis }: SequenceLayout): string[] {
  return axis.flatMap(({ y, time, passed }) => [
    ...(passed === undefined ? [] : [text('time', AXIS, passed.y, passed.words)]),
    stroke('tick', AXIS + 4, y, AXIS + 10, y),
    ...(time === undefined ? [] : [text('time', AXIS, y + 4, time)]),
  ]);
}

function drawArrow({ begin, end, kinds, hasCross }: SequenceArrow): string {
  const line = stroke(['packet', ...kinds].join(' '), begin.x, begin.y, end.x, end.y);
  return line + (hasCross ? drawCross(end) : '');
}

/**
 * The name of the packet along its arrow, and after its cross the reason why it was lost or not
 * taken.
 */
function nameArrow({ label, cause, kinds }: SequenceArrow): string {
  const { x, y, angle, isLeft, words } = label;
  const turn = `rotate(${angle} ${Math.round(x)} ${Math.round(y)})`;
  const name = text(isLeft ? 'word left' : 'word', x, y, words, ` transform="${turn}"`);
  if (cause === undefined) return name;
  if (!kinds.includes('lost')) return name + drawWords(cause);
  return name + text(`bad word${cause.isLeft ? ' left' : ''}`, cause.x, cause.y, cause.lines.join(' '));
}

function drawCross({ x, y }: Point): string {
  return (
    stroke('cross', x - CROSS, y - CROSS, x + CROSS, y + CROSS) +
    stroke('cross', x - CROSS, y + CROSS, x + CROSS, y - CROSS)
  );
}

function drawWait({ x, y, height, words }: SequenceLayout['waits'][number]): string {
  return `<rect class="wait" x="${x}" y="${y}" width="${BAR}" height="${height}"/>${drawWords(words)}`;
}

function drawWords({ x, y, isLeft, isBad, lines }: SequenceWords): string {
  const kind = [...(isBad ? ['bad'] : []), ...(isLeft ? ['left'] : [])].join(' ');
  return lines.map((row, place) => text(kind, x, y + place * LINE_HEIGHT, row)).join('');
}

function stroke(kind: string, x1: number, y1: number, x2: number, y2: number): string {
  return `<line class="${kind}" x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}"/>`;
}

function text(kind: string, x: number, y: number, words: string, more = ''): string {
  const attribute = kind === '' ? '' : ` class="${kind}"`;
  return `<text${attribute}${more} x="${Math.round(x)}" y="${Math.round(y)}">${escapeXml(words)}</text>`;
}
