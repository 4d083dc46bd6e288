// SPDX-License-Identifier: Apache-2.0
/** What `npm run demo:interrupts` measured, as a table for the terminal and a plot. Pure; called by interrupts.ts. */

/** One load served in one way, as the guest counted it. */
export interface InterruptSample {
  /** With timers and summary bytes, polled under load; else one interrupt per event. */
  readonly adaptive: boolean;
  /** Completions per second asked for; 0: as many as go. */
  readonly rate: number;
  readonly elapsedNs: number;
  /** Time that the guest's processors were not idle, summed. */
  readonly busyUs: number;
  readonly completions: number;
  readonly interrupts: number;
  readonly events: number;
  readonly polls: number;
  /** Sum of the times from posting to handling. */
  readonly waitedNs: number;
}

const NS_PER_S = 1e9;
const NS_PER_US = 1000;
const MILLION = 1e6;

/** Completions per second that came. */
export function completionRate({ completions, elapsedNs }: InterruptSample): number {
  return (completions * NS_PER_S) / elapsedNs;
}

/** NaN when nothing completed. */
export function interruptsPerMillion({ interrupts, completions }: InterruptSample): number {
  return (interrupts * MILLION) / completions;
}

/** Processors kept busy: 1 is one of them all the time. */
export function busyProcessors({ busyUs, elapsedNs }: InterruptSample): number {
  return (busyUs * NS_PER_US) / elapsedNs;
}

/** Mean time from posting to handling. */
export function meanWaitUs({ waitedNs, completions }: InterruptSample): number {
  return waitedNs / completions / NS_PER_US;
}

/** A line for each sample. */
export function formatSamples(samples: readonly InterruptSample[]): string {
  const header = ['load/s', 'served by', 'completions/s', 'interrupts/million', 'CPU %', 'CPU us each', 'wait us'];
  const rows = samples.map((sample) => [
    sample.rate === 0 ? 'saturated' : String(sample.rate),
    sample.adaptive ? 'timers and summary bytes' : 'an interrupt per event',
    completionRate(sample).toFixed(0),
    interruptsPerMillion(sample).toFixed(0),
    (100 * busyProcessors(sample)).toFixed(0),
    (sample.busyUs / sample.completions).toFixed(0),
    meanWaitUs(sample).toFixed(0),
  ]);
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column].length)));
  const line = (cells: readonly string[]): string =>
    cells.map((cell, column) => (column === 1 ? cell.padEnd(widths[1]) : cell.padStart(widths[column]))).join('  ');
  return [line(header), ...rows.map(line)].join('\n');
}

const WIDTH = 720;
const PANEL = 260;
const LEFT = 90;
const RIGHT = 30;
const TOP = 60;
const COLOURS = { false: '#c0392b', true: '#1f6fb2' } as const;

interface Panel {
  readonly title: string;
  readonly value: (sample: InterruptSample) => number;
  readonly log: boolean;
}

const PANELS: readonly Panel[] = [
  { title: 'interrupts per million completions', value: interruptsPerMillion, log: true },
  { title: 'busy processors', value: busyProcessors, log: false },
];

/** Two panels over the load that came, one line for each way. */
export function drawSamples(samples: readonly InterruptSample[]): string {
  const height = TOP + PANELS.length * (PANEL + 50);
  const panels = PANELS.map((panel, index) => drawPanel(panel, samples, TOP + index * (PANEL + 50)));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="12">`,
    '<rect width="100%" height="100%" fill="white"/>',
    `<text x="${LEFT}" y="20" fill="${COLOURS.false}">one interrupt per event</text>`,
    `<text x="${LEFT + 200}" y="20" fill="${COLOURS.true}">timers and summary bytes</text>`,
    ...panels,
    '</svg>\n',
  ].join('\n');
}

function drawPanel({ title, value, log }: Panel, samples: readonly InterruptSample[], top: number): string {
  const shown = samples.filter(({ completions }) => completions > 0);
  const scaleY = log ? (sample: InterruptSample) => Math.log10(Math.max(value(sample), 1)) : value;
  const xs = shown.map((sample) => Math.log10(completionRate(sample)));
  const [low, high] = [Math.min(...xs), Math.max(...xs)];
  const most = Math.max(...shown.map(scaleY), Number.EPSILON);
  const toX = (sample: InterruptSample): number =>
    LEFT + ((Math.log10(completionRate(sample)) - low) / (high - low || 1)) * (WIDTH - LEFT - RIGHT);
  const toY = (sample: InterruptSample): number => top + PANEL * (1 - scaleY(sample) / most);
  const parts = [
    `<text x="${LEFT}" y="${top - 12}">${title}, over completions per second (logarithmic)</text>`,
    `<path d="M${LEFT} ${top}V${top + PANEL}H${WIDTH - RIGHT}" fill="none" stroke="#444"/>`,
  ];
  for (const adaptive of [false, true]) {
    const points = shown.filter((sample) => sample.adaptive === adaptive);
    const colour = COLOURS[`${adaptive}`];
    const path = points.map((sample) => `${toX(sample).toFixed(1)},${toY(sample).toFixed(1)}`).join(' ');
    parts.push(`<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>`);
    for (const sample of points) {
      const [x, y] = [toX(sample).toFixed(1), toY(sample).toFixed(1)];
      const label = log ? value(sample).toFixed(0) : value(sample).toFixed(2);
      parts.push(`<circle cx="${x}" cy="${y}" r="3" fill="${colour}"/>`);
      parts.push(
        `<text x="${x}" y="${Number(y) - 6}" fill="${colour}" font-size="10" text-anchor="middle">${label}</text>`,
      );
      if (adaptive)
        parts.push(
          `<text x="${x}" y="${top + PANEL + 16}" text-anchor="middle">${completionRate(sample).toFixed(0)}</text>`,
        );
    }
  }
  return parts.join('\n');
}
