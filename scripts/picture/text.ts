// SPDX-License-Identifier: Apache-2.0
/**
 * Text in pictures: its estimated width without a font, its line breaks, and its XML. Called by
 * graphs and plots.
 */
import { printable } from '../../protocol/system/printable.mjs';

/** Widths of characters in parts of the font's size, as in DejaVu Sans, the widest usual font. */
const WIDE = /[mwMW%@—]/;
const CAPITAL = /[A-HK-LN-VX-Z→←≥≤+<>=#&~]/;
const NARROW = /[iljftIJr.,:;'!|()[\]/ -]/;
const WIDTHS = { wide: 0.98, capital: 0.79, other: 0.64, narrow: 0.4 };
const NS_PER_US = 1000;
const BOLD = 1.14;
const BOLD_FROM = 600;

/** The width of a text in pixels; what readers see is hardly ever wider. */
export function measureText(text: string, fontSize: number, fontWeight = 400): number {
  let width = 0;
  for (const character of text) {
    if (WIDE.test(character)) width += WIDTHS.wide;
    else if (CAPITAL.test(character)) width += WIDTHS.capital;
    else width += NARROW.test(character) ? WIDTHS.narrow : WIDTHS.other;
  }
  return width * fontSize * (fontWeight < BOLD_FROM ? 1 : BOLD);
}

/** What stays on the line of the number before it: units and signs. */
const UNIT = /(?<=\d|\bx) (?=(?:%|x|us|ns|ms|s|KiB|MiB|Gb\/s|Mb\/s|points)(?![\w/]))|(?<=\bx) (?=\d)/g;
const NO_BREAK = '\u00a0';

/** The text with each number tied to its unit, so that no line ends between them. */
export function tieUnits(text: string): string {
  return text.replaceAll(UNIT, NO_BREAK);
}

/** Text of others as the content of an element or an attribute. */
export function escapeXml(words: string): string {
  return printable(words)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/** Lines of about equal length that are at most `width` pixels wide, broken between words. */
export function wrapText(text: string, width: number, fontSize: number, fontWeight = 400): string[] {
  const measure = (words: string): number => measureText(words, fontSize, fontWeight);
  const count = Math.ceil(measure(text) / width);
  for (let target = measure(text) / count; ; target = Math.min(width, target + fontSize)) {
    const lines = fill(text, target, measure);
    if (lines.length <= count || target >= width) return lines;
  }
}

/** As many words in each line as fit. A word that is wider stands alone. */
function fill(text: string, width: number, measure: (words: string) => number): string[] {
  const lines: string[] = [];
  for (const word of tieUnits(text).split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && measure(`${last} ${word}`) <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** A time of a trace, `12.345`. */
export function microseconds(ns: number): string {
  return (ns / NS_PER_US).toFixed(3);
}
