// SPDX-License-Identifier: Apache-2.0
/**
 * The phases of the worked example over time, as SVG: shares of service, PCBs in use, refusals;
 * dashed lines are guarantees. Pure; called by three-guests.ts.
 */
import { GUESTS } from '../../../device/simulations/qos/worked-example.ts';
import { guaranteedShare } from '../../../guest-tests/shares/judge.ts';
import type { PhaseResult } from '../../../guest-tests/shares/samples.ts';
import { type Sample, sum, summarise } from '../../../guest-tests/shares/samples.ts';

const COLOURS = ['#4477aa', '#ee6677', '#228833'];
const WIDTH = 900;
const LEFT = 60;
const RIGHT = 20;
const TOP = 70;
const PANEL = 170;
const GAP = 50;
const NS_PER_S = 1e9;
/** A share is that of the commands of so long a time: single batches would hide it. */
const SHARE_WINDOW_NS = 0.5e9;

interface Point {
  readonly timeNs: number;
  readonly value: number;
}

interface Panel {
  readonly title: string;
  /** The solid line of a guest in a phase. */
  readonly line: (phase: PhaseResult, number: number) => readonly Point[];
  /** What is guaranteed to it in the phase. */
  readonly guarantee?: (phase: PhaseResult, number: number) => number;
  /** A second line, dotted. */
  readonly dotted?: (phase: PhaseResult, number: number) => readonly Point[];
}

const PANELS: readonly Panel[] = [
  {
    title: 'part of all commands served (per half second); dashed: guaranteed by the lanes',
    line: sharesOverTime,
    guarantee: guaranteedShare,
  },
  {
    title: 'PCBs in use, both levels, shared ones included; dashed: guaranteed (who asks for fewer uses fewer)',
    line: ({ samples }, number) =>
      points(samples, ({ functions }) => sum(functions[number].levels.map(({ pcbsInUse }) => pcbsInUse))),
    guarantee: (_, number) => GUESTS[number].pcbs,
  },
  {
    title:
      'PCBs refused since the phase began; solid: level 0, which floods; dotted: level 1, which stays within its guarantee',
    line: (phase, number) => refusals(phase, number, 0),
    dotted: (phase, number) => refusals(phase, number, 1),
  },
];

/** Phases side by side, a panel for each quantity, a colour for each guest. */
export function drawPhases(phases: readonly PhaseResult[]): string {
  const height = TOP + PANELS.length * (PANEL + GAP);
  const axis = new Axis(phases);
  const names = GUESTS.map(
    ({ name }, number) =>
      `<text x="${LEFT + number * 90}" y="20" fill="${COLOURS[number]}" font-weight="bold">${name}</text>`,
  );
  const titles = phases.map(({ name }, at) => `<text x="${axis.startOf(at) + 4}" y="42">${name}</text>`);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="12">`,
    '<rect width="100%" height="100%" fill="white"/>',
    ...names,
    ...titles,
    ...PANELS.map((panel, at) => drawPanel(panel, phases, axis, TOP + at * (PANEL + GAP))),
    '</svg>\n',
  ].join('\n');
}

/** Times of phases on one axis, without what lies between them. */
class Axis {
  readonly #offsetsNs: number[] = [];
  readonly #scale: number;

  constructor(phases: readonly PhaseResult[]) {
    let total = 0;
    for (const { samples } of phases) {
      this.#offsetsNs.push(total);
      total += samples[samples.length - 1].timeNs - samples[0].timeNs;
    }
    this.#scale = (WIDTH - LEFT - RIGHT) / Math.max(1, total);
  }

  startOf(phase: number): number {
    return LEFT + this.#offsetsNs[phase] * this.#scale;
  }

  place(phase: number, sinceNs: number): number {
    return this.startOf(phase) + sinceNs * this.#scale;
  }
}

function drawPanel(panel: Panel, phases: readonly PhaseResult[], axis: Axis, top: number): string {
  const guests = (phase: PhaseResult): number[] => GUESTS.map((_, at) => at).filter((at) => phase.active[at]);
  const values = phases.flatMap((phase) =>
    guests(phase).flatMap((at) => [
      panel.guarantee?.(phase, at) ?? 0,
      ...panel.line(phase, at).map(({ value }) => value),
    ]),
  );
  const most = Math.max(...values, Number.EPSILON);
  const toY = (value: number): string => (top + PANEL * (1 - value / most)).toFixed(1);
  const parts = [drawFrame(panel.title, most, top)];
  for (const [at, phase] of phases.entries()) {
    const start = axis.startOf(at);
    const { samples } = phase;
    const lengthNs = samples[samples.length - 1].timeNs - samples[0].timeNs;
    const draw = (line: readonly Point[], colour: string, dash: string): string =>
      `<polyline points="${line.map(({ timeNs, value }) => `${axis.place(at, timeNs - samples[0].timeNs).toFixed(1)},${toY(value)}`).join(' ')}" fill="none" stroke="${colour}" stroke-width="1.6"${dash && ` stroke-dasharray="${dash}"`}/>`;
    parts.push(`<path d="M${start.toFixed(1)} ${top}V${top + PANEL}" stroke="#bbb"/>`);
    parts.push(
      `<text x="${axis.place(at, lengthNs).toFixed(1)}" y="${top + PANEL + 14}" text-anchor="end" fill="#666">${(lengthNs / NS_PER_S).toFixed(0)} s</text>`,
    );
    for (const number of guests(phase)) {
      const colour = COLOURS[number];
      parts.push(draw(panel.line(phase, number), colour, ''));
      if (panel.dotted !== undefined) parts.push(draw(panel.dotted(phase, number), colour, '1.5 4'));
      if (panel.guarantee === undefined) continue;
      const value = panel.guarantee(phase, number);
      const ends = [samples[0], samples[samples.length - 1]].map(({ timeNs }) => ({ timeNs, value }));
      parts.push(draw(ends, colour, '7 4'));
    }
  }
  return parts.join('\n');
}

/** Title, axes, and what their ends mean. */
function drawFrame(title: string, most: number, top: number): string {
  return [
    `<text x="${LEFT}" y="${top - 8}">${title}</text>`,
    `<path d="M${LEFT} ${top}V${top + PANEL}H${WIDTH - RIGHT}" fill="none" stroke="#444"/>`,
    `<text x="${LEFT - 6}" y="${top + 10}" text-anchor="end">${most <= 1 ? most.toFixed(2) : most.toFixed(0)}</text>`,
    `<text x="${LEFT - 6}" y="${top + PANEL}" text-anchor="end">0</text>`,
  ].join('\n');
}

function points(samples: readonly Sample[], value: (sample: Sample) => number): Point[] {
  return samples.map((sample) => ({ timeNs: sample.timeNs, value: value(sample) }));
}

/** Shares over a sliding window, for windows in which all active guests had commands waiting. */
function sharesOverTime({ samples, active }: PhaseResult, number: number): Point[] {
  const shares: Point[] = [];
  let from = 0;
  for (const [at, { timeNs }] of samples.entries()) {
    while (timeNs - samples[from + 1]?.timeNs >= SHARE_WINDOW_NS) from++;
    if (timeNs - samples[from].timeNs < SHARE_WINDOW_NS) continue;
    const { functions, contested } = summarise(samples.slice(from, at + 1), active);
    if (contested > 0) shares.push({ timeNs, value: functions[number].share });
  }
  return shares;
}

function refusals({ samples }: PhaseResult, number: number, level: number): Point[] {
  const count = ({ functions }: Sample): number => functions[number].levels[level].refusals;
  return points(samples, (sample) => count(sample) - count(samples[0]));
}
