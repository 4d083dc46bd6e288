// SPDX-License-Identifier: Apache-2.0
/**
 * The screens of `vuhca status` and `vuhca top`. An adapter of one function is described in full
 * within 80 columns and 24 lines. Several functions are a table with a line for each within 132
 * columns, or two tables within 80. Pure: a report in, text out.
 */
import type { AdapterReport, FunctionReport, StatusReport } from '../../../device/process/reports/status-report.ts';
import { activityOf, describeFunctions, type FunctionActivity } from './function-table.ts';
import { describePersonality, type PersonalityActivity } from './personality-screen.ts';
import { BAD, bad, bytes, colour, duration, line, paragraph, shorten } from './screen-text.ts';
import {
  describeDrops,
  describeFaults,
  describeGuest,
  describePort,
  describeResets,
  queues,
  states,
} from './status-lines.ts';

/** Rates per second. */
export interface ActivityRates {
  readonly requests: number;
  readonly commands: number;
  readonly packets: number;
  /** By adapter and function. */
  readonly functions: readonly (readonly FunctionActivity[])[];
  /** By adapter of a personality. */
  readonly personalities: readonly PersonalityActivity[];
}

/** Options for the display of a report. */
export interface StatusView {
  /** Shows counters of functions per second instead of their values. */
  readonly perSecond?: boolean;
  /** The only function to show, in full; all functions when absent. */
  readonly number?: number;
  /** Columns of the terminal. */
  readonly columns?: number;
  /** The terminal shows colours. */
  readonly colour?: boolean;
}

/** An adapter with its sockets. */
type ServedReport = StatusReport['adapters'][number];

const NS_PER_US = 1000;
const TABLE_COLUMNS = 132;
const LEGEND = `${BAD} needs a look: docs/DEBUGGING.md, Counters`;

/** The report as lines of text. */
export function renderStatus(report: StatusReport, rates: ActivityRates, view: StatusView = {}): string {
  const { adapters, personalities, switches, links } = report;
  const isOne = adapters.length + personalities.length <= 1;
  const lines = [
    line(`vuhca ${report.pid}`, [`up ${duration(report.uptimeNs)}`, ...perSecond(rates)]),
    ...describePump(report.pump),
    ...(report.stepping === undefined ? [] : [line('steps', [describeStepping(report.stepping)])]),
    ...adapters.flatMap((adapter, index) => [
      ...(isOne ? [] : ['', line('adapter', [adapter.name])]),
      ...describeAdapter(adapter, rates.functions[index], view),
    ]),
    ...personalities.flatMap((device, index) => [
      ...(isOne ? [] : ['', line('adapter', [`${device.name}, ${device.personality}`])]),
      ...describePersonality(device, rates.personalities[index], view.perSecond ?? false),
    ]),
    ...(isOne ? [] : ['']),
    ...switches.map(describeSwitch),
    ...links.map(describeLink),
    ...(report.recording === undefined
      ? []
      : [line('recording', [`${bytes(report.recording.bytes)} in ${report.recording.path}`])]),
  ];
  const text = lines.join('\n');
  const legend = text.includes(BAD) ? [LEGEND] : [];
  const screen = `${[text, ...legend].join('\n')}\n`;
  return view.colour ? colour(screen) : screen;
}

/** Empty for a pump that has only polled as long as usual. */
function describePump({ spinNs, isCrowded, fixedSpinUs, longSpins }: StatusReport['pump']): string[] {
  const { found, missed } = longSpins;
  if (fixedSpinUs === undefined && found + missed === 0) return [];
  const now = spinNs > 0 && !isCrowded ? `polls for ${(spinNs / NS_PER_US).toFixed(0)} us` : 'does not poll';
  const why = fixedSpinUs === undefined ? `longer polls: ${found} found a request` : `--spin=${fixedSpinUs || 'off'}`;
  return [line('pump', [now, why, ...(fixedSpinUs === undefined ? [`${missed} did not`] : [])])];
}

function describeStepping({ going, steps, condition, reached }: NonNullable<StatusReport['stepping']>): string {
  if (going === 'still')
    return `stands still after ${steps}${reached ? `, ${condition}` : ''}: \`vuhca step\` moves it`;
  return going === 'runs' ? 'runs' : `runs until ${condition}`;
}

function describeAdapter(
  adapter: ServedReport,
  rates: readonly FunctionActivity[],
  { perSecond: isRate = false, number, columns = TABLE_COLUMNS }: StatusView,
): string[] {
  const { functions, sockets } = adapter;
  const one = number ?? (functions.length === 1 ? 0 : undefined);
  const described =
    isRate || one === undefined
      ? [describeFunctions(adapter, isRate ? rates : functions.map(activityOf), { number, columns, isRate })]
      : [...describeGuest(sockets[one]), ...describeFunction(functions[one])];
  return [...described, ...describeBuffers(adapter), ...adapter.ports.map(describePort), describeDrops(adapter.drops)];
}

function describeFunction(unit: FunctionReport): string[] {
  const { collect, commands, queuePairs, completionQueues, eventQueues } = unit;
  const state = `${unit.enabled ? 'enabled' : 'not enabled'}, bus master ${unit.busMaster ? 'on' : 'off'}`;
  return [
    line(`function ${unit.number}`, [state, ...describeResets(unit.resets)]),
    line('collect', [
      `${collect.vcbsInUse} of ${collect.vcbs} VCBs in use`,
      `${collect.pcbs} PCBs given`,
      `${collect.kicks} kicks`,
      `${collect.cancels} cancels`,
      ...(collect.choked > 0 ? [`${collect.choked} choked`] : []),
    ]),
    ...collect.levels.map((_, level) => describeLevel(unit, level)),
    describeCredits(unit.lanes),
    ...describeDoorbells(unit.doorbells),
    line('commands', [
      `${commands.collected} collected`,
      `${commands.fetched} fetched`,
      `${commands.stale} stale`,
      `${unit.lanes.launches} launched`,
      `${unit.lanes.waiting} waiting`,
      ...(unit.inPipeline > 0 ? [`${unit.inPipeline} in the pipeline`] : []),
      ...(commands.levelMismatches > 0 ? [`${commands.levelMismatches} by a VCB of another level`] : []),
    ]),
    line('objects', [
      `${unit.protectionDomains} PDs`,
      `${unit.memoryRegions} MRs`,
      `QPs: ${states(queuePairs)}`,
      `${unit.managementCommands} management commands`,
      bad(unit.managementRefused, 'refused'),
    ]),
    line('CQs', queues(completionQueues)),
    line('EQs', [...queues(eventQueues), `${unit.vectorsSent} vectors sent`, `${unit.vectorsPending} pending`]),
    line('DMA', [`${bytes(unit.dmaBytesRead)} read`, `${bytes(unit.dmaBytesWritten)} written`]),
    ...describeFaults(unit.faults),
  ];
}

function describeLevel({ collect, lanes, doorbells }: FunctionReport, level: number): string {
  const { inUse, available, refusals } = collect.levels[level];
  const { lanes: open, own, waiting } = lanes.levels[level];
  return line(`level ${level}`, [
    `${inUse} of ${inUse + available} PCBs`,
    `${refusals} refused`,
    `${open} ${own > 0 ? 'own' : 'shared'} lanes`,
    `${waiting} queued`,
    `${doorbells.listed[level]} SQs listed`,
  ]);
}

/**
 * Credits that the function's commands hold: of lanes of its own, if it has any, and shared ones.
 */
function describeCredits({ execution, completion }: FunctionReport['lanes']): string {
  const shared = `shared in use: ${execution.sharedUsed} execution, ${completion.sharedUsed} completion`;
  if (execution.private + completion.private === 0) return line('credits', ['no lanes of its own', shared]);
  const words = ({ privateUsed, private: own }: typeof execution): string => `${privateUsed} of ${own}`;
  return line('credits', [`own in use: ${words(execution)} execution`, `${words(completion)} completion`, shared]);
}

/** Doorbells by origin, and the paths of those that overflowed. */
function describeDoorbells({
  explicit,
  implicit,
  idle,
  overflow,
  sweeps,
  stalled,
  bus,
}: FunctionReport['doorbells']): string[] {
  return [
    line('doorbells', [
      `${explicit} explicit`,
      `${implicit} implicit`,
      `${idle} idle`,
      ...(stalled ? [`${BAD}STALLED`] : []),
      ...(bus.held > 0 ? [bad(bus.held, 'collect writes held')] : []),
    ]),
    line('overflow', [
      `${overflow.depth} doorbells`,
      `${overflow.spilled} spilled`,
      `${overflow.drained} drained`,
      bad(overflow.lost, 'lost'),
      `${sweeps} sweeps`,
    ]),
  ];
}

function describeBuffers({ collectBuffers, schedulerBuffers, lanes, pipeline }: AdapterReport): string[] {
  const { total, free, shared, sharedInUse } = collectBuffers;
  return [
    line('PCBs', [
      `${total - free} of ${total} in use`,
      `${sharedInUse} of ${shared} shared by all`,
      `scheduler: ${schedulerBuffers.total - schedulerBuffers.free} of ${schedulerBuffers.total}`,
    ]),
    line('lanes', [
      `${lanes.waiting} waiting`,
      `${lanes.launches} launched`,
      `credits ${lanes.execution.used}/${lanes.execution.total} execution`,
      `${lanes.completion.used}/${lanes.completion.total} completion`,
    ]),
    ...describePipeline(pipeline),
  ];
}

/** Read latency, and the units that wait for reads; empty while reads take no time. */
function describePipeline(pipeline: AdapterReport['pipeline']) {
  const { latencyNs, pipelineNs, contexts, contextsUsed, commands, packets } = pipeline;
  if (latencyNs + pipelineNs + commands + packets === 0) return [];
  return [
    line('pipeline', [
      `${commands} commands`,
      `reads take ${latencyNs} ns`,
      `${contextsUsed} of ${contexts} DMA contexts`,
      ...(packets > 0 ? [`${packets} packets wait for receive entries`] : []),
      ...(pipelineNs > 0 ? [`commands ${pipelineNs} ns`] : []),
    ]),
  ];
}

function describeSwitch(relay: StatusReport['switches'][number]): string {
  const { name, lid, ports, plugged, active, received, sent, drops } = relay;
  return line(`switch ${shorten(name, 5)}`, [
    `LID ${lid}`,
    `${active < plugged ? BAD : ''}${active} of ${plugged} plugged ports active`,
    ...(plugged < ports ? [`${ports - plugged} unplugged`] : []),
    `${received} received`,
    `${sent} sent`,
    ...Object.entries(drops).map(([cause, count]) => bad(count, cause)),
  ]);
}

export function describeLink({ ends, kind, up, sent, received, lost, trouble }: StatusReport['links'][number]): string {
  const state = line('link', [
    `${shorten(ends.join(' - '), 30)}`,
    up ? `${kind} up` : `${BAD}${kind}${kind === 'cut' ? '' : ' down'}`,
    `${sent} there`,
    `${received} back`,
    bad(lost, 'lost'),
  ]);
  return trouble === undefined ? state : `${state}\n${paragraph('', trouble)}`;
}

/** Requests are messages of QEMU: accesses of the guest and changes of its memory. */
function perSecond({ requests, commands, packets }: ActivityRates): string[] {
  return [
    `${requests.toFixed(0)} QEMU requests/s`,
    `${commands.toFixed(0)} commands/s`,
    `${packets.toFixed(0)} packets/s`,
  ];
}
