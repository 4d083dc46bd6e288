// SPDX-License-Identifier: Apache-2.0
/**
 * Layout of a sequence diagram of two ends: a row for each event, an arrow for each packet or run
 * of packets, a bar for each wait, words beside the lines of the ends. Pure; places are in pixels.
 * `vuhca trace show --ladder` and the page of `vuhca view` draw it.
 */
import type { Point } from './area.ts';
import { microseconds } from './text.ts';

/** 0: the end that sends the message; 1: the one that receives it. */
export type SequenceSide = 0 | 1;

/** Where an event is in the diagram: its time, and a place that orders equal times. */
export interface SequencePoint {
  readonly timeNs: number;
  readonly index: number;
}

export interface SequencePacket {
  /** The end from which it comes. */
  readonly from: SequenceSide;
  readonly sent: SequencePoint;
  /** When it arrived, or was found lost; absent when no step says so. */
  readonly ended?: SequencePoint | undefined;
  /** `lost`: on its way; `dropped`: the receiver does not take it. */
  readonly end: 'arrives' | 'lost' | 'dropped' | 'unknown';
  readonly name: string;
  readonly psn: number;
  readonly isAgain: boolean;
  /** Why it was lost or dropped. */
  readonly cause: string;
}

/** A wait of one end. */
export interface SequenceWait {
  readonly side: SequenceSide;
  readonly from: SequencePoint;
  readonly to: SequencePoint;
  readonly text: string;
}

export interface SequenceNote {
  readonly side: SequenceSide;
  readonly at: SequencePoint;
  readonly text: string;
}

/** The events of one message. */
export interface Sequence {
  readonly ends: readonly [string, string];
  readonly packets: readonly SequencePacket[];
  readonly waits: readonly SequenceWait[];
  readonly notes: readonly SequenceNote[];
}

/** Lines of words; `isLeft`: they end at `x`. */
export interface SequenceWords {
  readonly x: number;
  readonly y: number;
  readonly isLeft: boolean;
  readonly isBad: boolean;
  readonly lines: readonly string[];
}

export interface SequenceArrow {
  readonly begin: Point;
  readonly end: Point;
  /** What tells it from an arrow that arrives: `again`, `run`, `lost`, `dropped`, `unknown`. */
  readonly kinds: readonly string[];
  readonly hasCross: boolean;
  /** Its name, along the arrow. */
  readonly label: Point & { readonly angle: string; readonly isLeft: boolean; readonly words: string };
  /** Why it was lost or not taken. */
  readonly cause: SequenceWords | undefined;
}

export interface SequenceLayout {
  readonly width: number;
  readonly height: number;
  readonly top: number;
  /** Where the lines of the ends stop. */
  readonly bottom: number;
  readonly axis: readonly {
    readonly y: number;
    /** Since the first event, in us; absent where no time has passed. */
    readonly time?: string;
    /** A long time that passed before it. */
    readonly passed?: { readonly y: number; readonly words: string };
  }[];
  readonly waits: readonly {
    readonly x: number;
    readonly y: number;
    readonly height: number;
    readonly words: SequenceWords;
  }[];
  readonly arrows: readonly SequenceArrow[];
  readonly notes: readonly SequenceWords[];
  /** What the shapes mean that are there. */
  readonly legend: string;
  /** The diagram in words. */
  readonly description: string;
}

const WIDTH = 980;
/** The lines of both ends, and the link in the middle. */
export const LINES = [320, 710] as const;
export const LINK = (LINES[0] + LINES[1]) / 2;
/** Right end of the times. */
export const AXIS = 84;
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
const WORD_DISTANCE = 14;
/** Width of the bar of a wait. */
export const BAR = 9;
/** Columns of words beside a line, and the height of one of their lines. */
const SIDE_COLUMNS = 34;
export const LINE_HEIGHT = 15;

/** Places everything that is in the diagram. */
export function layOutSequence(sequence: Sequence): SequenceLayout {
  const rows = new Rows(sequence);
  return {
    width: WIDTH,
    height: rows.bottom + BOTTOM,
    top: TOP,
    bottom: rows.bottom,
    axis: rows.describeAxis(),
    waits: sequence.waits.map((wait) => placeWait(wait, rows)),
    arrows: joinRuns(sequence.packets).map((run) => placeArrow(run, rows)),
    notes: sequence.notes.map(({ side, at, text }) => placeWords(side, rows.y(at), text)),
    legend: explainShapes(sequence),
    description: describe(sequence),
  };
}

/** The place of each event: a row for each, in the order of time. */
class Rows {
  readonly bottom: number;
  readonly #moments: readonly SequencePoint[];
  readonly #places = new Map<string, number>();
  readonly #startNs: number;

  constructor({ packets, waits, notes }: Sequence) {
    const runs = joinRuns(packets);
    const moments = [
      ...runs.flatMap(({ first, last }) => [first.sent, last.ended ?? first.sent]),
      ...waits.flatMap(({ from, to }) => [from, to]),
      ...notes.map(({ at }) => at),
    ];
    const different = new Map(moments.map((moment) => [keyOf(moment), moment]));
    this.#moments = [...different.values()].sort((one, next) => one.timeNs - next.timeNs || one.index - next.index);
    this.#startNs = this.#moments[0]?.timeNs ?? 0;
    let y = TOP;
    let before = this.#startNs;
    for (const moment of this.#moments) {
      const passedNs = moment.timeNs - before;
      if (moment !== this.#moments[0]) y += ROW + Math.min(GAP_MAX, GAP_PER_DECADE * Math.log10(1 + passedNs / 100));
      this.#places.set(keyOf(moment), Math.round(y));
      before = moment.timeNs;
    }
    this.bottom = Math.round(y) + ROW;
  }

  y(moment: SequencePoint): number {
    return this.#places.get(keyOf(moment)) ?? TOP;
  }

  /** A tick and its time for each event, and the time that passed in long gaps. */
  describeAxis(): SequenceLayout['axis'] {
    return this.#moments.map((moment, place) => {
      const y = this.y(moment);
      const before = this.#moments[place - 1];
      const passedNs = before === undefined ? 0 : moment.timeNs - before.timeNs;
      const middle = before === undefined ? y : (this.y(before) + y) / 2 + 4;
      const isNew = before === undefined || passedNs > 0;
      return {
        y,
        ...(isNew ? { time: microseconds(moment.timeNs - this.#startNs) } : {}),
        ...(passedNs >= LONG_NS ? { passed: { y: middle, words: `+ ${microseconds(passedNs)}` } } : {}),
      };
    });
  }
}

function keyOf({ timeNs, index }: SequencePoint): string {
  return `${timeNs} ${index}`;
}

/** Packets that are drawn as one arrow. */
interface Run {
  readonly first: SequencePacket;
  readonly last: SequencePacket;
  readonly count: number;
}

/** Long runs of packets that follow each other and arrive become three arrows. */
function joinRuns(packets: readonly SequencePacket[]): Run[] {
  const groups = packets.reduce<SequencePacket[][]>((all, one) => {
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
    const inner = {
      first: group[1] as SequencePacket,
      last: group.at(-2) as SequencePacket,
      count: group.length - 2,
    };
    return [{ first, last: first, count: 1 }, inner, { first: last, last, count: 1 }];
  });
}

function follows(last: SequencePacket, next: SequencePacket): boolean {
  return (
    last.from === next.from &&
    last.end === 'arrives' &&
    next.end === 'arrives' &&
    last.isAgain === next.isAgain &&
    last.psn + 1 === next.psn
  );
}

function placeArrow(run: Run, rows: Rows): SequenceArrow {
  const { first, last, count } = run;
  const { from, isAgain, end: fate } = first;
  const [here, there] = from === 0 ? LINES : [LINES[1], LINES[0]];
  const y = rows.y(first.sent);
  const ended = last.ended === undefined ? y + ROW : Math.max(rows.y(last.ended), y + ROW / 2);
  const begin = { x: here, y };
  const end = { x: fate === 'lost' ? LINK : there, y: ended };
  return {
    begin,
    end,
    kinds: [...(isAgain ? ['again'] : []), ...(count > 1 ? ['run'] : []), ...(fate === 'arrives' ? [] : [fate])],
    hasCross: fate === 'lost' || fate === 'dropped',
    label: placeLabel(begin, end, nameRun(run)),
    cause: placeCause(first, end),
  };
}

function nameRun({ first: { name, psn, isAgain }, last, count }: Run): string {
  const words = count > 1 ? `${count} packets, PSN ${psn} to ${last.psn}` : `${name}, PSN ${psn}`;
  return `${words}${isAgain ? ', again' : ''}`;
}

/** Why a packet was lost or not taken, behind its cross. */
function placeCause({ from, end: fate, cause }: SequencePacket, { x, y }: Point): SequenceWords | undefined {
  const isRight = from === 0;
  if (fate === 'dropped') return { ...placeWords(isRight ? 1 : 0, y, cause), isBad: true };
  if (fate !== 'lost') return undefined;
  const distance = isRight ? WORD_DISTANCE : -WORD_DISTANCE;
  return { x: x + distance, y: y + 14, isLeft: !isRight, isBad: true, lines: [`lost: ${cause}`] };
}

/** Words above an arrow, near its begin, in its direction. */
function placeLabel(begin: Point, end: Point, words: string): SequenceArrow['label'] {
  const isRight = end.x > begin.x;
  const slope = (end.y - begin.y) / (end.x - begin.x);
  const x = begin.x + (isRight ? WORD_DISTANCE : -WORD_DISTANCE);
  const y = begin.y + (x - begin.x) * slope - 5;
  return { x, y, words, isLeft: !isRight, angle: ((Math.atan(slope) * 180) / Math.PI).toFixed(1) };
}

function placeWait({ side, from, to, text }: SequenceWait, rows: Rows): SequenceLayout['waits'][number] {
  const [begin, end] = [rows.y(from), rows.y(to)];
  const words = `${text}, ${microseconds(to.timeNs - from.timeNs)} us`;
  return {
    x: LINES[side] - BAR / 2,
    y: begin,
    height: Math.max(2, end - begin),
    words: placeWords(side, (begin + end) / 2, words),
  };
}

/** Words beside the line of an end, away from the link; long ones take several lines. */
function placeWords(side: SequenceSide, y: number, words: string): SequenceWords {
  const distance = BAR + 5;
  const x = side === 0 ? LINES[0] - distance : LINES[1] + distance;
  return { x, y: y + 4, isLeft: side === 0, isBad: false, lines: wrap(words) };
}

function wrap(words: string): string[] {
  return words.split(' ').reduce<string[]>((rows, word) => {
    const last = rows.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= SIDE_COLUMNS) rows[rows.length - 1] = `${last} ${word}`;
    else rows.push(word);
    return rows;
  }, []);
}

function explainShapes({ packets, waits }: Sequence): string {
  const has = (end: SequencePacket['end']): boolean => packets.some((packet) => packet.end === end);
  const parts = [
    ...(packets.some(({ isAgain }) => isAgain) ? ['long dashes: sent again'] : []),
    ...(has('lost') ? ['cross in the middle: lost on the link'] : []),
    ...(has('dropped') ? ['cross at a line: not taken'] : []),
    ...(has('unknown') ? ['dots: no step says what became of it'] : []),
    ...(waits.length > 0 ? ['bar: a wait'] : []),
  ];
  return parts.join('; ');
}

function describe({ ends, packets, waits }: Sequence): string {
  const count = (end: SequencePacket['end']): number => packets.filter((packet) => packet.end === end).length;
  const lost = packets
    .filter(({ end }) => end === 'lost')
    .map(({ name, psn, cause }) => `${name} PSN ${psn}: ${cause}`);
  const parts = [
    `${packets.length} packets between ${ends.join(' and ')}`,
    `${packets.filter(({ isAgain }) => isAgain).length} of them sent again`,
    `${count('lost')} lost${lost.length === 0 ? '' : ` (${lost.join('; ')})`}`,
    `${count('dropped')} not taken`,
    ...waits.map(({ text, from, to }) => `${text} of ${microseconds(to.timeNs - from.timeNs)} us`),
  ];
  return `${parts.join(', ')}.`;
}
