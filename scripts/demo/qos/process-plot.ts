// SPDX-License-Identifier: Apache-2.0
/**
 * The plot of `npm run demo -- qos --processes`: bytes per second of each process, and PCBs of each
 * QoS level, over time, with a column for each phase. The title states their shares. Called by
 * processes.ts.
 */
import { type Panel, renderPlot } from '../../plot/render.ts';
import { tellApart } from '../../plot/series.ts';
import { drawPhaseRow } from './phase-row.ts';
import {
  countContested,
  judgeProcesses,
  type MeasuredPhase,
  type ProcessSample,
  summarisePhase,
  TENANTS,
  WEIGHTS,
} from './process-samples.ts';

const COLUMN_WIDTH = 170;
const NS_PER_S = 1e9;
const BYTES_PER_MIB = 2 ** 20;
/** A rate is measured over this time: single batches would hide it. */
const WINDOW_NS = 0.5e9;
const LEVEL_NAMES = ['level 0', 'level 1'] as const;

/** A point of a line. */
interface Row {
  readonly phase: string;
  readonly line: string;
  readonly seconds: number;
  readonly value: number;
}

/** The plot as SVG. */
export function drawProcesses(phases: readonly MeasuredPhase[], messageBytes: number): Promise<string> {
  return renderPlot({
    title: describeFinding(phases),
    subtitle: [
      `Two processes of one guest keep RDMA WRITEs of ${messageBytes / 1024} KiB under way through collect pages of their own.`,
      `The lane of level 1 has weight ${WEIGHTS[1]}, that of level 0 weight ${WEIGHTS[0]}. Rates are over half a second.`,
    ],
    spec: {
      vconcat: [
        drawRow('MiB per second', TENANTS, phases, (phase) => readRates(phase, messageBytes), true),
        drawRow('PCBs in use', LEVEL_NAMES, phases, readBuffers, false),
      ],
      resolve: { scale: { color: 'independent', strokeDash: 'independent' } },
      spacing: 24,
    },
  });
}

/** One sentence without a full stop: the shares, or the claim that does not hold. */
export function describeFinding(phases: readonly MeasuredPhase[]): string {
  const failed = judgeProcesses(phases).find(({ outcome }) => outcome !== 'holds');
  if (failed?.outcome === 'broken') return `Not so: ${failed.claim}`;
  if (failed !== undefined) return `Not shown: ${failed.claim}`;
  const shareOf = (isEqual: boolean): string => {
    const shares = phases
      .filter(({ levels: [first, second] }) => (first === second) === isEqual)
      .map((phase) => summarisePhase(phase).tenants[phase.levels[1] > phase.levels[0] ? 1 : 0].share);
    const mean = shares.reduce((total, share) => total + share, 0) / shares.length;
    return `${(100 * mean).toFixed(0)} %`;
  };
  return `A process at level 1 has ${shareOf(false)} of the adapter beside one at level 0, and ${shareOf(true)} beside its equal`;
}

function drawRow(
  title: string,
  lines: readonly string[],
  phases: readonly MeasuredPhase[],
  read: (phase: MeasuredPhase) => readonly Row[],
  isFirst: boolean,
): Panel {
  const { color, strokeDash } = tellApart('line', lines, 'lines');
  return drawPhaseRow({
    values: phases.flatMap(read),
    phases,
    width: COLUMN_WIDTH,
    isFirst,
    isLast: !isFirst,
    title,
    format: ',.0f',
    scale: { zero: true },
    lines: { color, strokeDash },
  });
}

/** No points while a process had no commands in flight. */
function readRates({ name, samples }: MeasuredPhase, messageBytes: number): Row[] {
  const rows: Row[] = [];
  let from = 0;
  for (const [at, { timeNs }] of samples.entries()) {
    while (timeNs - samples[from + 1]?.timeNs >= WINDOW_NS) from++;
    const perMessage = (messageBytes / BYTES_PER_MIB) * NS_PER_S;
    const counts = sumContested(samples.slice(from, at + 1));
    if (timeNs - samples[from].timeNs < WINDOW_NS || counts === undefined) continue;
    for (const [tenant, count] of counts.entries())
      rows.push({
        phase: name,
        line: TENANTS[tenant],
        seconds: (timeNs - samples[0].timeNs) / NS_PER_S,
        value: (count * perMessage) / (timeNs - samples[from].timeNs),
      });
  }
  return rows;
}

/** WRITEs of each process over some samples; undefined when that is not known of all of them. */
function sumContested(samples: readonly ProcessSample[]): readonly number[] | undefined {
  const total = TENANTS.map(() => 0);
  for (let at = 1; at < samples.length; at++) {
    const counts = countContested(samples[at - 1], samples[at]);
    if (counts === undefined) return undefined;
    for (const [tenant, count] of counts.entries()) total[tenant] += count;
  }
  return total;
}

function readBuffers({ name, samples }: MeasuredPhase): Row[] {
  return samples.flatMap(({ timeNs, levels }) =>
    levels.map(({ pcbsInUse }, level) => ({
      phase: name,
      line: LEVEL_NAMES[level],
      seconds: (timeNs - samples[0].timeNs) / NS_PER_S,
      value: pcbsInUse,
    })),
  );
}
