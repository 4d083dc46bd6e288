// SPDX-License-Identifier: Apache-2.0
/**
 * Places of the texts of an SVG, and those that overlap or lie outside the page. Reads the SVG of
 * our pictures: groups, `translate`, `rotate`, lines of text as `tspan`. Called by the tests of
 * pictures.
 */
import type { Area } from '../area.ts';
import { measureText } from '../text.ts';

/** A line of text on the page. */
export interface PlacedText extends Area {
  readonly text: string;
}

/** `x' = a x + c y + e`, `y' = b x + d y + f`. */
type Matrix = readonly [a: number, b: number, c: number, d: number, e: number, f: number];

interface Frame {
  readonly name: string;
  readonly matrix: Matrix;
  readonly attributes: Readonly<Record<string, string>>;
}

const IDENTITY: Matrix = [1, 0, 0, 1, 0, 0];
const TOKEN = /<(\/?)(\w+)((?:\s[\w:-]+="[^"]*")*)\s*(\/?)>|([^<]+)/g;
/** Of the font's size: from the baseline up, and down. */
const ASCENT = 0.76;
const DESCENT = 0.24;
/** Texts may touch by this much: rounding, and room that the measure adds. */
const TOLERANCE = 1;

/** Width and height of the page, from its view box. */
export function readPage(svg: string): Area {
  const [, x, y, width, height] = (/viewBox="(\S+) (\S+) (\S+) (\S+)"/.exec(svg) ?? []).map(Number);
  return { x, y, width, height };
}

/** Every visible line of text. */
export function placeTexts(svg: string): PlacedText[] {
  const texts: PlacedText[] = [];
  const stack: Frame[] = [{ name: '', matrix: IDENTITY, attributes: {} }];
  const pen = { x: 0, y: 0 };
  for (const [, closing, name, words, empty, content] of svg.matchAll(TOKEN)) {
    const frame = stack.at(-1) as Frame;
    if (content !== undefined) {
      if (frame.name === 'text' || frame.name === 'tspan') texts.push(placeText(content, frame, pen));
    } else if (closing === '/') stack.pop();
    else {
      const attributes = readAttributes(words);
      movePen(pen, name, attributes);
      const matrix = (attributes.transform ?? '').split(/(?<=\))\s*/).reduce(transform, frame.matrix);
      if (empty === '') stack.push({ name, matrix, attributes: { ...frame.attributes, ...attributes } });
    }
  }
  return removeHalos(texts);
}

/** Pairs of texts that lie on each other, and texts that leave the page; as sentences. */
export function findCollisions(svg: string): string[] {
  const page = readPage(svg);
  const texts = placeTexts(svg);
  return texts.flatMap((one, index) => [
    ...(isInside(one, page) ? [] : [`"${one.text}" leaves the page`]),
    ...texts
      .slice(index + 1)
      .filter((other) => overlap(one, other))
      .map(({ text }) => `"${one.text}" lies on "${text}"`),
  ]);
}

/** True when two areas share more than an edge. */
export function overlap(one: Area, other: Area): boolean {
  const isApart = (from: number, size: number, otherFrom: number, otherSize: number): boolean =>
    from + size <= otherFrom + TOLERANCE || otherFrom + otherSize <= from + TOLERANCE;
  return !isApart(one.x, one.width, other.x, other.width) && !isApart(one.y, one.height, other.y, other.height);
}

function isInside({ x, y, width, height }: Area, page: Area): boolean {
  return x >= page.x && y >= page.y && x + width <= page.x + page.width && y + height <= page.y + page.height;
}

function readAttributes(words: string): Record<string, string> {
  return Object.fromEntries([...words.matchAll(/([\w:-]+)="([^"]*)"/g)].map(([, key, value]) => [key, value]));
}

/** A text starts a pen of its own; a `tspan` moves it. */
function movePen(pen: { x: number; y: number }, name: string, { x, y, dx, dy }: Record<string, string>): void {
  if (name !== 'text' && name !== 'tspan') return;
  if (name === 'text') Object.assign(pen, { x: 0, y: 0 });
  if (x !== undefined) pen.x = Number(x);
  if (y !== undefined) pen.y = Number(y);
  pen.x += Number(dx ?? 0);
  pen.y += Number(dy ?? 0);
}

function placeText(content: string, { attributes, matrix }: Frame, pen: { x: number; y: number }): PlacedText {
  const text = content
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&');
  const size = Number.parseFloat(attributes['font-size']);
  const width = measureText(text, size, Number(attributes['font-weight'] ?? 400));
  const before = { start: 0, middle: 0.5, end: 1 }[attributes['text-anchor'] ?? 'start'] ?? 0;
  const left = pen.x - before * width;
  const corners = [
    [left, pen.y - ASCENT * size],
    [left + width, pen.y + DESCENT * size],
  ].map(([x, y]) => apply(matrix, x, y));
  const [xs, ys] = [corners.map(([x]) => x), corners.map(([, y]) => y)];
  const [x, y] = [Math.min(...xs), Math.min(...ys)];
  return { text, x, y, width: Math.max(...xs) - x, height: Math.max(...ys) - y };
}

function apply([a, b, c, d, e, f]: Matrix, x: number, y: number): readonly [number, number] {
  return [a * x + c * y + e, b * x + d * y + f];
}

function transform(outer: Matrix, words: string): Matrix {
  const [, kind, values] = /(\w+)\(([^)]*)\)/.exec(words) ?? [];
  if (kind === undefined) return outer;
  const [first, second = 0] = values.split(/[\s,]+/).map(Number);
  const [cos, sin] = [Math.cos((first * Math.PI) / 180), Math.sin((first * Math.PI) / 180)];
  const inner: Matrix = kind === 'rotate' ? [cos, sin, -sin, cos, 0, 0] : [1, 0, 0, 1, first, second];
  const [a, b, c, d] = outer;
  const [e, f] = apply(outer, inner[4], inner[5]);
  const columns = [inner[0], inner[1], inner[2], inner[3]];
  return [
    a * columns[0] + c * columns[1],
    b * columns[0] + d * columns[1],
    a * columns[2] + c * columns[3],
    b * columns[2] + d * columns[3],
    e,
    f,
  ];
}

/** A halo is the same text at the same place. */
function removeHalos(texts: readonly PlacedText[]): PlacedText[] {
  const keys = texts.map(({ text, x, y }) => `${text} ${x} ${y}`);
  return texts.filter((_, index) => keys.indexOf(keys[index]) === index);
}
