// SPDX-License-Identifier: Apache-2.0
/**
 * Words and lines that the screens of `vuhca status` share: labelled lines within 80 columns,
 * times, sizes. Numbers of objects, sequence numbers and PSNs are decimal; addresses and keys are
 * hexadecimal (docs/DEBUGGING.md, Numbers).
 */
import { styleText } from 'node:util';

const LABEL_COLUMNS = 13;
const COLUMNS = 80;
const NS_PER_SECOND = 1e9;
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** Prefix of a part that needs attention. Signs are visible without colours. */
export const BAD = '!';
/** Good states, and parts that need attention, at the beginning of a part. */
const GOOD_PARTS = /(?<=^.{13}|, )(?:attached|enabled|ACTIVE)(?=,|$)/gm;
const BAD_PARTS = /(?<=^.{13}|, )![^,\n]+/gm;

/** A count that should be 0. */
export function bad(count: number, words: string): string {
  return `${count > 0 ? BAD : ''}${count} ${words}`;
}

/**
 * The text with colours for a terminal: parts that need attention are red, good states are green.
 */
export function colour(text: string): string {
  return text
    .replaceAll(BAD_PARTS, (part) => styleText('red', part, { validateStream: false }))
    .replaceAll(GOOD_PARTS, (part) => styleText('green', part, { validateStream: false }));
}

/** A label and a sentence; words that do not fit continue in further lines. */
export function paragraph(label: string, text: string): string {
  const rows = [''];
  for (const word of text.split(' ')) {
    const last = rows.at(-1) as string;
    if (last !== '' && LABEL_COLUMNS + last.length + 1 + word.length > COLUMNS) rows.push(word);
    else rows[rows.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return rows.map((row, i) => `${(i === 0 ? label : '').padEnd(LABEL_COLUMNS - 1)} ${row}`).join('\n');
}

/** A label and its parts; parts that do not fit continue in further lines. */
export function line(label: string, parts: readonly string[]): string {
  const rows: string[] = [];
  for (const part of parts) {
    const last = rows[rows.length - 1];
    if (last === undefined || LABEL_COLUMNS + last.length + part.length + 2 > COLUMNS) rows.push(part);
    else rows[rows.length - 1] = `${last}, ${part}`;
  }
  return rows.map((row, i) => `${(i === 0 ? label : '').padEnd(LABEL_COLUMNS - 1)} ${row}`).join('\n');
}

/** `2 h 5 min`, `3 min 4 s`. */
export function duration(ns: number): string {
  const whole = Math.floor(ns / NS_PER_SECOND);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  if (hours > 0) return `${hours} h ${minutes} min`;
  return minutes > 0 ? `${minutes} min ${whole % 60} s` : `${whole} s`;
}

/** A time in seconds, to the microsecond. */
export function seconds(ns: number): string {
  return (ns / NS_PER_SECOND).toFixed(6);
}

/** A size with its unit. */
export function bytes(count: number): string {
  let unit = 0;
  let value = count;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${UNITS[unit]}`;
}

/** An address or a key. */
export function hex(value: number): string {
  return `0x${value.toString(16)}`;
}

/** The end of `text`, within `columns`. */
export function shorten(text: string, columns: number): string {
  return text.length <= columns ? text : `...${text.slice(text.length - columns + 3)}`;
}
