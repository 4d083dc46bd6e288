// SPDX-License-Identifier: Apache-2.0
/**
 * The picture of the way of a command through an adapter (docs/ARCHITECTURE.md, The way of a
 * command), made from one state of it. An adapter of a personality has the units that its report
 * has. Pure; `InsideView` draws it.
 */
import type { ViewRow, ViewState } from '../../cli/view/view-protocol.ts';
import { citations } from './citations.ts';
import { describeCollect } from './collect.ts';
import { describeContexts } from './contexts.ts';
import { describeDoorbells, describeScheduler } from './doorbells.ts';
import { describeCompletions, describeEvents, type QueueSums } from './events.ts';
import { describeLanes } from './lanes.ts';
import {
  badFacts,
  type Flow,
  type FunctionReport,
  type PersonalityReport,
  type Picture,
  type Shown,
  sumOf,
  type Unit,
} from './picture.ts';
import { describePorts, describeTransport, wordsOf } from './transport.ts';

/** The views of `vuhca show` from which the picture of each kind of adapter is made. */
export const INSIDE_VIEWS = {
  adapter: ['vcbs', 'pcbs', 'lists', 'lanes', 'commands', 'completions', 'connections', 'events', 'contexts', 'blocks'],
  personality: ['lanes', 'commands', 'completions', 'connections', 'events'],
} as const;

/** The picture; undefined for a state without an adapter. `chosen`: only this function. */
export function describeInside(state: ViewState, chosen?: number): Picture | undefined {
  if (state.adapter !== undefined) return describeAdapter(state, state.adapter, chosen);
  return state.personality === undefined ? undefined : describePersonality(state, state.personality);
}

function describeAdapter(state: ViewState, report: NonNullable<ViewState['adapter']>, chosen?: number): Picture {
  const allRows = (view: string): readonly ViewRow[] => state.views?.[view] ?? [];
  const shown: Shown = {
    timeNs: state.timeNs,
    report,
    chosen,
    functions: report.functions.filter(({ number }) => chosen === undefined || number === chosen),
    allRows,
    rows: (view) => allRows(view).filter((row) => chosen === undefined || row.function === chosen),
  };
  const sums = sumQueues(shown.functions);
  return {
    timeNs: state.timeNs,
    units: [
      describeCollect(shown),
      describeLanes(report.lanes, shown.rows('lanes'), chosen),
      describeTransport(report.drops, shown.rows('commands'), shown.rows('connections'), report.pipeline),
      describePorts(report.ports),
      describeDoorbells(shown),
      describeScheduler(shown),
      describeCompletions(sums, shown.rows('completions')),
      describeEvents(sums, shown.rows('events'), state.timeNs),
      describeContexts(shown),
    ],
    flows: adapterFlows(shown, sums),
  };
}

function sumQueues(functions: readonly FunctionReport[]): QueueSums {
  const add = (name: 'completionQueues' | 'eventQueues') => ({
    count: sumOf(functions, (one) => one[name].count),
    posted: sumOf(functions, (one) => one[name].posted),
    errors: sumOf(functions, (one) => one[name].errors),
  });
  const queuePairs: Record<string, number> = {};
  for (const one of functions)
    for (const [state, count] of Object.entries(one.queuePairs)) queuePairs[state] = (queuePairs[state] ?? 0) + count;
  return {
    completions: add('completionQueues'),
    events: add('eventQueues'),
    queuePairs,
    vectorsSent: sumOf(functions, ({ vectorsSent }) => vectorsSent),
    vectorsPending: sumOf(functions, ({ vectorsPending }) => vectorsPending),
  };
}

function adapterFlows({ functions, report }: Shown, sums: QueueSums): Flow[] {
  const sum = (count: (one: FunctionReport) => number): number => sumOf(functions, count);
  return [
    { from: 'collect', to: 'lanes', name: 'collected', count: sum(({ commands }) => commands.collected) },
    { from: 'collect', to: 'doorbells', name: 'implicit', count: sum(({ doorbells }) => doorbells.implicit) },
    { from: 'doorbells', to: 'scheduler', name: 'linked', count: sum(({ doorbells }) => doorbells.queuesLinked) },
    { from: 'scheduler', to: 'lanes', name: 'fetched', count: sum(({ commands }) => commands.fetched) },
    { from: 'lanes', to: 'transport', name: 'launched', count: sum(({ lanes }) => lanes.launches) },
    { from: 'transport', to: 'ports', name: 'packets', count: sumOf(report.ports, (port) => port.transmitPackets) },
    { from: 'transport', to: 'completions', name: 'CQEs', count: sums.completions.posted },
  ];
}

function describePersonality({ timeNs, views }: ViewState, report: PersonalityReport): Picture {
  const rows = (view: string): readonly ViewRow[] => views?.[view] ?? [];
  const sums = {
    completions: report.completionQueues,
    events: report.eventQueues,
    queuePairs: report.queuePairs,
    vectorsSent: report.vectorsSent,
    vectorsPending: report.vectorsPending,
  };
  return {
    timeNs,
    units: [
      describeDriver(report),
      describeLanes(report.lanes, rows('lanes'), undefined),
      describeTransport(report.drops, rows('commands'), rows('connections')),
      describePorts(report.ports),
      describeCompletions(sums, rows('completions')),
      describeEvents(sums, rows('events'), timeNs),
    ],
    flows: [
      { from: 'driver', to: 'lanes', name: 'requests', count: report.lanes.launches },
      { from: 'lanes', to: 'transport', name: 'launched', count: report.lanes.launches },
      { from: 'transport', to: 'ports', name: 'packets', count: sumOf(report.ports, (port) => port.transmitPackets) },
      { from: 'transport', to: 'completions', name: 'CQEs', count: sums.completions.posted },
    ],
  };
}

/** State of the driver of a personality, in place of buffers and doorbells. */
function describeDriver(report: PersonalityReport): Unit {
  const { personality, functionOf, state, commands, objects, sendBuffersBusy, strayDoorbells, eventsLost } = report;
  return {
    id: 'driver',
    title: `Driver of ${personality}`,
    source: citations.driver,
    facts: [
      { name: 'HCA', value: state, isBad: state === 'failed' },
      ...(functionOf === undefined ? [] : [{ name: 'second function of', value: functionOf }]),
      { name: 'commands', value: commands.executed },
      { name: 'refused', value: commands.refused },
      { name: 'send buffers busy', value: sendBuffersBusy },
      ...Object.entries(objects).map(([name, value]) => ({ name: wordsOf(name), value })),
      ...badFacts({ 'stray doorbells': strayDoorbells, 'events lost': eventsLost }),
    ],
    meters: [],
    grids: [],
    tables: [],
  };
}
