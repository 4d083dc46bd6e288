// SPDX-License-Identifier: Apache-2.0
/**
 * The plot of `npm run demo -- qos` with guests: each guest of the worked example (US8484392,
 * figure 11) over time, with a column for each phase. Rows: its part of the service, its PCBs, its
 * refusals. The title says whether the guaranteed shares hold. Called by three-guests.ts.
 */
import { GUESTS } from '../../../device/rig/qos/worked-example.ts';
import { guaranteedShare, isShareMet } from '../../../guest-tests/shares/judge.ts';
import type { PhaseResult } from '../../../guest-tests/shares/samples.ts';
import { type Sample, sum, summarise } from '../../../guest-tests/shares/samples.ts';
import { type Panel, renderPlot } from '../../plot/render.ts';
import { tellApart } from '../../plot/series.ts';
import { drawPhaseRow } from './phase-row.ts';
import { describeShares, type GuestShare } from './share-finding.ts';

const COLUMN_WIDTH = 150;
const NS_PER_S = 1e9;
/** A share is measured over this time: single batches would hide it. */
const SHARE_WINDOW_NS = 0.5e9;
const NAMES = GUESTS.map(({ name }) => name);
/** Points on a line that show its guest by a shape. */
const MARKS = 6;
const MEASURED = 'measured';
const GUARANTEED = 'guaranteed';
const FLOODING = 'level 0, which floods';
const WITHIN = 'level 1, within its guarantee';

/** A point of a line; `kind` decides the dashes of the line. */
interface Row {
  readonly phase: string;
  readonly guest: string;
  readonly kind: string;
  readonly seconds: number;
  readonly value: number;
  /** Whether a point with the shape of the guest stands here. */
  readonly marked: boolean;
}

/** A quantity over time. */
interface Quantity {
  readonly title: string;
  readonly format: string;
  readonly kinds: readonly string[];
  /** The points of the lines of an active guest in a phase; times as in the samples. */
  readonly read: (phase: PhaseResult, number: number) => readonly { timeNs: number; kind: string; value: number }[];
}

const QUANTITIES: readonly Quantity[] = [
  {
    title: 'part of all commands',
    format: '.0%',
    kinds: [MEASURED, GUARANTEED],
    read: (phase, number) => [
      ...readShares(phase, number),
      ...drawLevel(phase, GUARANTEED, guaranteedShare(phase, number)),
    ],
  },
  {
    title: 'PCBs in use',
    format: '.0f',
    kinds: [MEASURED, GUARANTEED],
    read: (phase, number) => [
      ...phase.samples.map(({ timeNs, functions }) => ({
        timeNs,
        kind: MEASURED,
        value: sum(functions[number].levels.map(({ pcbsInUse }) => pcbsInUse)),
      })),
      ...drawLevel(phase, GUARANTEED, GUESTS[number].pcbs),
    ],
  },
  {
    title: 'PCBs refused so far',
    format: ',.0f',
    kinds: [FLOODING, WITHIN],
    read: (phase, number) => [...readRefusals(phase, number, 0, FLOODING), ...readRefusals(phase, number, 1, WITHIN)],
  },
];

/** The plot as SVG. */
export function drawPhases(phases: readonly PhaseResult[]): Promise<string> {
  return renderPlot({
    title: describeShares(phases.flatMap(readGuestShares)),
    subtitle: [
      describeRefusals(phases),
      'Parts of all commands are over half a second. A guest that asks for fewer PCBs than it is guaranteed uses fewer.',
    ],
    spec: {
      vconcat: QUANTITIES.map((quantity, index) => drawRow(quantity, phases, index)),
      resolve: { scale: { strokeDash: 'independent' } },
      spacing: 24,
    },
  });
}

function readGuestShares(phase: PhaseResult): GuestShare[] {
  return GUESTS.map(({ name }, number) => ({
    guest: name,
    phase: phase.name,
    share: phase.functions[number].share,
    guaranteed: guaranteedShare(phase, number),
    isMet: isShareMet(phase, number),
  }));
}

function describeRefusals(phases: readonly PhaseResult[]): string {
  const [flooding, within] = [0, 1].map((level) =>
    sum(phases.flatMap(({ functions }) => functions.map(({ levels }) => levels[level].refused))),
  );
  return `Refused a PCB: ${within} commands of level 1, which stays within its guarantee; ${flooding} of level 0, which floods.`;
}

/** A quantity as a row of panels, one for each phase. */
function drawRow({ title, format, kinds, read }: Quantity, phases: readonly PhaseResult[], index: number): Panel {
  const rows = phases.flatMap((phase) =>
    NAMES.flatMap((guest, number): Row[] => {
      if (!phase.active[number]) return [];
      const startNs = phase.samples[0].timeNs;
      return read(phase, number).map(({ timeNs, kind, value }, at, { length }) => {
        const marked = kind !== GUARANTEED && at % Math.ceil(length / MARKS) === 0;
        return { phase: phase.name, guest, kind, seconds: (timeNs - startNs) / NS_PER_S, value, marked };
      });
    }),
  );
  const { color, shape } = tellApart('guest', NAMES, 'points');
  return drawPhaseRow({
    values: rows,
    phases,
    width: COLUMN_WIDTH,
    isFirst: index === 0,
    isLast: index === QUANTITIES.length - 1,
    title,
    format,
    shape,
    lines: {
      color,
      strokeDash: {
        field: 'kind',
        type: 'nominal',
        scale: {
          domain: [...kinds],
          range: [
            [1, 0],
            [5, 4],
          ],
        },
        legend: { title: null, symbolSize: 700 },
      },
    },
  });
}

/** A level line over a phase. */
function drawLevel({ samples }: PhaseResult, kind: string, value: number) {
  return [samples[0], samples[samples.length - 1]].map(({ timeNs }) => ({ timeNs, kind, value }));
}

/** No points while an active guest had no waiting commands. */
function readShares({ samples, active }: PhaseResult, number: number) {
  const shares: { timeNs: number; kind: string; value: number }[] = [];
  let from = 0;
  for (const [at, { timeNs }] of samples.entries()) {
    while (timeNs - samples[from + 1]?.timeNs >= SHARE_WINDOW_NS) from++;
    if (timeNs - samples[from].timeNs < SHARE_WINDOW_NS) continue;
    const { functions, contested } = summarise(samples.slice(from, at + 1), active);
    if (contested > 0) shares.push({ timeNs, kind: MEASURED, value: functions[number].share });
  }
  return shares;
}

function readRefusals({ samples }: PhaseResult, number: number, level: number, kind: string) {
  const count = ({ functions }: Sample): number => functions[number].levels[level].refusals;
  return samples.map((sample) => ({ timeNs: sample.timeNs, kind, value: count(sample) - count(samples[0]) }));
}
