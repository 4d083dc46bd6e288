// SPDX-License-Identifier: Apache-2.0
/**
 * The table of an adapter's functions for `vuhca status` and `vuhca top`: a row for each function,
 * with both QoS levels, so that 34 functions fit one screen. A narrow terminal gets two tables: the
 * resources that functions hold, and the paths of their doorbells. Functions that have had no guest
 * share a line. Pure.
 */
import { formatLanes as formatNumbers } from '../../../device/process/reports/resource-syntax.ts';
import type { FunctionReport, StatusReport } from '../../../device/process/reports/status-report.ts';
import { table } from '../../console/table.ts';

type ServedReport = StatusReport['adapters'][number];
type Credits = FunctionReport['lanes']['execution'];

/** The activity of a function: since its reset, or per second. */
export interface FunctionActivity {
  readonly commands: number;
  /** By QoS level. */
  readonly refusals: readonly number[];
  readonly explicit: number;
  readonly implicit: number;
  readonly spilled: number;
  readonly drained: number;
  readonly sweeps: number;
  /** Bytes of guest memory. */
  readonly read: number;
  readonly written: number;
}

const UNITS = ['', 'k', 'M', 'G', 'T'];

/** The activity of a function since its reset. */
export function activityOf({
  collect,
  lanes,
  doorbells,
  dmaBytesRead,
  dmaBytesWritten,
}: FunctionReport): FunctionActivity {
  const { explicit, implicit, overflow, sweeps } = doorbells;
  return {
    commands: lanes.launches,
    refusals: collect.levels.map(({ refusals }) => refusals),
    explicit,
    implicit,
    spilled: overflow.spilled,
    drained: overflow.drained,
    sweeps,
    read: dmaBytesRead,
    written: dmaBytesWritten,
  };
}

/** Options of the table. */
export interface TableView {
  /** The one function to show; all of them otherwise. */
  readonly number: number | undefined;
  /** Columns of the terminal. */
  readonly columns: number;
  /** `activity` is per second. */
  readonly isRate: boolean;
}

/** The table with its legend; `activity` by function. */
export function describeFunctions(
  { sockets, functions }: ServedReport,
  activity: readonly FunctionActivity[],
  { number, columns, isRate }: TableView,
): string {
  const isIdle = (one: number): boolean => number === undefined && sockets[one].attaches === 0;
  const numbers = number === undefined ? functions.map((unit) => unit.number) : [number];
  const [idle, shown] = [numbers.filter(isIdle), numbers.filter((one) => !isIdle(one))];
  const rows = shown.map((one) => describeRow(functions[one], sockets[one].attached, activity[one]));
  return [
    ...(rows.length === 0 ? [] : [...layOut(rows, columns, isRate), ...(isRate ? [RATE_LEGEND] : [])]),
    ...(idle.length === 0 ? [] : [`no guest has attached function ${formatNumbers(idle)} yet`]),
  ].join('\n');
}

const HEADER = [
  ...['fn', 'guest', 'VCBs', 'PCBs', 'refused', 'lanes', 'wait', 'exec', 'compl'],
  ...['expl', 'impl', 'listed', 'ovfl', 'spill', 'drain', 'sweep', 'cmds', 'read', 'write'],
];
/** Function and guest are aligned to the left, numbers to the right. */
const LEFT_COLUMNS = 2;
/** A screen has no room for all. */
const NOT_AS_RATE: readonly string[] = ['lanes', 'sweep'];
const ONLY_AS_RATE: readonly string[] = ['read', 'write'];
const HELD_LEGEND = [
  'a+b: QoS level 0 + 1; exec, compl: credits held, own + shared; /n: of n given',
  'refused: found no PCB; wait: in kick lists',
];
const DOORBELL_LEGEND = [
  'expl, impl: doorbells by origin; listed: SQs in scheduler lists',
  'ovfl: in the overflow buffer; spill, drain: to and from it',
];
const RATE_LEGEND =
  'refused, expl, impl, spill, drain, cmds, and read and write, in bytes of guest memory, are per second';

/** One table if the terminal is wide enough, otherwise two; the function is in front in both. */
function layOut(rows: readonly (readonly string[])[], columns: number, isRate: boolean): string[] {
  const omitted = isRate ? NOT_AS_RATE : ONLY_AS_RATE;
  const whole = [HEADER, ...rows].map((row) => row.filter((_, column) => !omitted.includes(HEADER[column])));
  /** Column at which the second of two tables begins. */
  const doorbellColumn = whole[0].indexOf('expl');
  const show = (part: readonly (readonly string[])[]): string[] => table(part, LEFT_COLUMNS).trimEnd().split('\n');
  const wide = [...show(whole), HELD_LEGEND.join('; '), DOORBELL_LEGEND.join('; ')];
  if (wide.every((line) => line.length <= columns)) return wide;
  const held = whole.map((row) => row.slice(0, doorbellColumn));
  const doorbells = whole.map(([number, guest, ...row]) => [
    number,
    guest,
    ...row.slice(doorbellColumn - LEFT_COLUMNS),
  ]);
  return [...show(held), ...HELD_LEGEND, ...show(doorbells), ...DOORBELL_LEGEND];
}

function describeRow(unit: FunctionReport, attached: boolean, activity: FunctionActivity): string[] {
  const { collect, lanes, doorbells } = unit;
  return [
    `${unit.number}`,
    attached ? (unit.enabled ? 'enabled' : 'yes') : 'gone',
    `${collect.vcbsInUse}/${collect.vcbs}`,
    `${sumWords(collect.levels.map(({ inUse }) => inUse))}/${collect.pcbs}`,
    sumWords(activity.refusals),
    sumWords(lanes.levels.map((level) => level.lanes)),
    sumWords(lanes.levels.map(({ waiting }) => waiting)),
    credits(lanes.execution),
    credits(lanes.completion),
    short(activity.explicit),
    short(activity.implicit),
    sumWords(doorbells.listed),
    `${short(doorbells.overflow.depth)}${doorbells.stalled ? ' !STALLED' : ''}`,
    short(activity.spilled),
    short(activity.drained),
    short(activity.sweeps),
    short(activity.commands),
    short(activity.read),
    short(activity.written),
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

/**
 * The rates per second between two reports `seconds` apart. The counts of a function that was reset
 * in between start from 0.
 */
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
    read: rate(first.read, last.read),
    written: rate(first.written, last.written),
  };
}
