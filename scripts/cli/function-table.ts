// SPDX-License-Identifier: Apache-2.0
//
// The table of an adapter's functions for `vuhca status` and `vuhca top`: a row for each, both QoS levels in it, so that 34 functions fit one screen. Functions that
// nobody has attached yet share a row. Pure.

import { formatLanes as formatNumbers } from '../../device/main/resource-words.ts';
import type { FunctionReport, StatusReport } from '../../device/main/status-report.ts';
import { table } from './table.ts';

type ServedReport = StatusReport['adapters'][number];
type Credits = FunctionReport['lanes']['execution'];

/** What a function has done: since its reset, or per second. */
export interface FunctionActivity {
  readonly commands: number;
  /** By QoS level. */
  readonly refusals: readonly number[];
  readonly explicit: number;
  readonly implicit: number;
  readonly spilled: number;
  readonly drained: number;
  readonly sweeps: number;
}

const UNITS = ['', 'k', 'M', 'G', 'T'];

/** What the function did since it was reset. */
export function activityOf({ collect, lanes, doorbells }: FunctionReport): FunctionActivity {
  const { explicit, implicit, overflow, sweeps } = doorbells;
  return {
    commands: lanes.launches,
    refusals: collect.levels.map(({ refusals }) => refusals),
    explicit,
    implicit,
    spilled: overflow.spilled,
    drained: overflow.drained,
    sweeps,
  };
}

/** The rows of `numbers`, or of all functions; `activity` by function. */
export function describeFunctions(
  { sockets, functions }: ServedReport,
  activity: readonly FunctionActivity[],
  number: number | undefined,
): string {
  const isIdle = (one: number): boolean => number === undefined && sockets[one].attaches === 0;
  const numbers = number === undefined ? functions.map((unit) => unit.number) : [number];
  const [idle, shown] = [numbers.filter(isIdle), numbers.filter((one) => !isIdle(one))];
  const rows = shown.map((one) => describeRow(functions[one], sockets[one].attached, activity[one]));
  return [
    ...(rows.length === 0 ? [] : [`${table([HEADER, ...rows], LEFT_COLUMNS)}${LEGEND}`]),
    ...(idle.length === 0 ? [] : [`nobody has attached function ${formatNumbers(idle)} yet`]),
  ].join('\n');
}

const HEADER = [
  ...['fn', 'guest', 'VCBs', 'PCBs', 'refused', 'lanes', 'wait', 'exec', 'compl'],
  ...['expl', 'impl', 'listed', 'ovfl', 'spill', 'drain', 'sweep', 'cmds'],
];
/** Function and guest stand to the left, numbers to the right. */
const LEFT_COLUMNS = 2;
const LEGEND =
  'a+b: QoS level 0 + 1, credits private + shared; /n: given. expl, impl: doorbells by origin; listed: SQs in scheduler lists';

function describeRow(unit: FunctionReport, attached: boolean, activity: FunctionActivity): string[] {
  const { collect, lanes, doorbells } = unit;
  return [
    `${unit.number}`,
    attached ? (unit.enabled ? 'enabled' : 'yes') : 'gone',
    `${collect.vcbsInUse}/${collect.vcbs}`,
    `${sumWords(collect.levels.map(({ inUse }) => inUse))}/${collect.pcbs}`,
    sumWords(activity.refusals),
    sumWords(lanes.levels.map((level) => level.lanes)),
    short(lanes.waiting),
    credits(lanes.execution),
    credits(lanes.completion),
    short(activity.explicit),
    short(activity.implicit),
    sumWords(doorbells.listed),
    `${short(doorbells.overflow.depth)}${doorbells.stalled ? ' STALLED' : ''}`,
    short(activity.spilled),
    short(activity.drained),
    short(activity.sweeps),
    short(activity.commands),
  ];
}

function credits({ privateUsed, sharedUsed, private: given }: Credits): string {
  return `${sumWords([privateUsed, sharedUsed])}/${given}`;
}

function sumWords(counts: readonly number[]): string {
  return counts.map(short).join('+');
}

/** A number in at most five characters. */
export function short(count: number): string {
  let value = Math.round(count);
  let unit = 0;
  while (value >= 10_000) {
    value /= 1000;
    unit++;
  }
  return `${Math.floor(value)}${UNITS[unit]}`;
}

/** What happened per second between two reports `seconds` apart. A function that was reset meanwhile counts from 0. */
export function computeActivity(before: FunctionReport, after: FunctionReport, seconds: number): FunctionActivity {
  const [first, last] = [activityOf(before), activityOf(after)];
  const rate = (from: number, to: number): number => (seconds > 0 ? (to < from ? to : to - from) / seconds : 0);
  return {
    commands: rate(first.commands, last.commands),
    refusals: last.refusals.map((count, level) => rate(first.refusals[level], count)),
    explicit: rate(first.explicit, last.explicit),
    implicit: rate(first.implicit, last.implicit),
    spilled: rate(first.spilled, last.spilled),
    drained: rate(first.drained, last.drained),
    sweeps: rate(first.sweeps, last.sweeps),
  };
}
