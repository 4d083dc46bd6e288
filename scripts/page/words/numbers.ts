// SPDX-License-Identifier: Apache-2.0
/** Numbers of the page as people read them: times, counts, bytes, rates. */

const NS_PER_SECOND = 1e9;
const TIME_UNITS = [
  ['s', NS_PER_SECOND],
  ['ms', 1e6],
  ['us', 1e3],
] as const;
const BIT_UNITS = [
  ['Gb/s', 1e9],
  ['Mb/s', 1e6],
  ['kb/s', 1e3],
] as const;
const DIGITS_OF_GROUP = 3;
const THIN_SPACE = '\u2009';
const DIGITS = 3;

/** `12.345 678 901 s`: a point of time, to the nanosecond. */
export function pointOfTime(timeNs: number): string {
  const whole = Math.floor(timeNs / NS_PER_SECOND);
  const rest = Math.round(timeNs - whole * NS_PER_SECOND);
  const digits = String(rest).padStart(9, '0');
  return `${count(whole)}.${digits.match(/.{3}/g)?.join(THIN_SPACE)} s`;
}

/** `1.25 ms`: how long something takes. */
export function duration(ns: number): string {
  const [unit, size] = TIME_UNITS.find(([, least]) => Math.abs(ns) >= least) ?? ['ns', 1];
  return `${short(ns / size)} ${unit}`;
}

/** `1 234 567` */
export function count(value: number): string {
  const [whole, fraction] = String(value).split('.');
  const groups = new RegExp(`\\B(?=(?:\\d{${DIGITS_OF_GROUP}})+$)`, 'g');
  return whole.replaceAll(groups, THIN_SPACE) + (fraction === undefined ? '' : `.${fraction}`);
}

/** `1.2 Gb/s` */
export function bitRate(bitsPerSecond: number): string {
  const [unit, size] = BIT_UNITS.find(([, least]) => bitsPerSecond >= least) ?? ['b/s', 1];
  return `${short(bitsPerSecond / size)} ${unit}`;
}

/** `37 %`; less than one in ten thousand is not told from nothing. */
export function percentage(part: number): string {
  const value = part * 100;
  return value > 0 && value < 0.01 ? '< 0.01 %' : `${Number(value.toPrecision(2))} %`;
}

/** Three digits that count. */
function short(value: number): string {
  return Math.abs(value) >= 1000 ? count(Math.round(value)) : `${Number(value.toPrecision(DIGITS))}`;
}

/** `vl15Dropped` as `vl15 dropped`, `POLLING` as `polling`. */
export function words(name: string): string {
  if (name === name.toUpperCase()) return name.toLowerCase().replaceAll('_', ' ');
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replaceAll('_', ' ');
}
