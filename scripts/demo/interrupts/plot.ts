// SPDX-License-Identifier: Apache-2.0
/** The plot of `npm run demo:interrupts`: interrupts and processor time over the load, a line for each way of being told of events. Pure; called by main.ts. */
import { type InterruptFigure, nameLoad } from './report.ts';

const WIDTH = 760;
const HEIGHT = 260;
const LEFT = 90;
const RIGHT = 50;
const TOP = 80;
const GAP = 90;
/** Labels keep clear of the line: those of the upper one stand above its points. */
const LABEL_UP = -9;
const LABEL_DOWN = 18;
/** Labels are read across lines. */
const HALO = 'paint-order="stroke" stroke="white" stroke-width="3"';
const COLOURS = { false: '#c0392b', true: '#1f6fb2' } as const;

/** A height between 0 (the axis) and 1. */
interface Scale {
  place(value: number): number;
  readonly ticks: readonly number[];
}

interface Panel {
  readonly title: string;
  readonly value: (figure: InterruptFigure) => number;
  readonly format: (value: number) => string;
  readonly scale: Scale;
}

/** Two panels over the load that came. */
export function drawFigures(figures: readonly InterruptFigure[]): string {
  const panels: Panel[] = [
    {
      title: 'Interrupts per million completions',
      value: ({ interruptsPerMillion }) => interruptsPerMillion,
      format: (value) => value.toFixed(0),
      scale: logarithmic(1e6),
    },
    {
      title: 'CPU of the guest, % of one processor (medians; bars: least and most)',
      value: ({ busyProcessors }) => 100 * busyProcessors,
      format: (value) => value.toFixed(0),
      scale: linear(100 * Math.max(...figures.map(({ mostBusy }) => mostBusy))),
    },
  ];
  const height = TOP + panels.length * (HEIGHT + GAP);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="12">`,
    '<rect width="100%" height="100%" fill="white"/>',
    text(LEFT, 24, 'an interrupt per event', `font-size="14" fill="${COLOURS.false}"`),
    text(LEFT + 200, 24, 'timers and summary bytes', `font-size="14" fill="${COLOURS.true}"`),
    ...panels.flatMap((panel, index) => drawPanel(panel, figures, TOP + index * (HEIGHT + GAP))),
    '</svg>\n',
  ].join('\n');
}

function drawPanel(panel: Panel, figures: readonly InterruptFigure[], top: number): string[] {
  const { scale, title } = panel;
  const toX = loadScale(figures);
  const toY = (value: number): number => top + HEIGHT * (1 - scale.place(value));
  const grid = scale.ticks.flatMap((tick) => [
    `<path d="M${LEFT} ${toY(tick).toFixed(1)}H${WIDTH - RIGHT}" stroke="#ddd"/>`,
    text(LEFT - 8, toY(tick) + 4, String(tick), 'text-anchor="end" fill="#444"'),
  ]);
  const loads = figures
    .filter(({ adaptive }) => !adaptive)
    .map((figure) => text(toX(figure), top + HEIGHT + 18, nameLoad(figure.rate), 'text-anchor="middle" fill="#444"'));
  return [
    text(LEFT, top - 24, title, 'font-size="13"'),
    ...grid,
    `<path d="M${LEFT} ${top}V${top + HEIGHT}H${WIDTH - RIGHT}" fill="none" stroke="#444"/>`,
    ...loads,
    text((LEFT + WIDTH - RIGHT) / 2, top + HEIGHT + 38, 'completions per second', 'text-anchor="middle" fill="#444"'),
    ...[false, true].flatMap((adaptive) => drawLine(panel, figures, adaptive, toX, toY)),
  ];
}

function drawLine(
  { value, format, scale }: Panel,
  figures: readonly InterruptFigure[],
  adaptive: boolean,
  toX: (figure: InterruptFigure) => number,
  toY: (value: number) => number,
): string[] {
  const colour = COLOURS[`${adaptive}`];
  const bottom = toY(scale.ticks[0]);
  const points = figures.filter((figure) => figure.adaptive === adaptive);
  const path = points.map((figure) => `${toX(figure).toFixed(1)},${toY(value(figure)).toFixed(1)}`).join(' ');
  const marks = points.flatMap((figure) => {
    const [x, y] = [toX(figure), toY(value(figure))];
    const other = figures.find(({ rate, adaptive: way }) => rate === figure.rate && way !== adaptive);
    const isUpper =
      other === undefined || value(figure) > value(other) || (value(figure) === value(other) && !adaptive);
    // Below a point near the axis stands the load.
    const shift = isUpper || y + LABEL_DOWN > bottom ? LABEL_UP : LABEL_DOWN;
    const ends = [figure.leastBusy, figure.mostBusy].map((end) => toY(value({ ...figure, busyProcessors: end })));
    return [
      `<path d="M${x.toFixed(1)} ${ends[0].toFixed(1)}V${ends[1].toFixed(1)}" stroke="${colour}"/>`,
      `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="3.5" fill="${colour}"/>`,
      text(x, y + shift, format(value(figure)), `${HALO} text-anchor="middle" fill="${colour}"`),
    ];
  });
  return [`<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>`, ...marks];
}

/** Logarithmic, from the lightest load to the heaviest. */
function loadScale(figures: readonly InterruptFigure[]): (figure: InterruptFigure) => number {
  const place = ({ completionsPerSecond }: InterruptFigure): number => Math.log10(completionsPerSecond);
  const [low, high] = [Math.min(...figures.map(place)), Math.max(...figures.map(place))];
  // Room on both sides, so that labels of the first and last points stay inside.
  const margin = 30;
  const width = WIDTH - LEFT - RIGHT - 2 * margin;
  return (figure) => LEFT + margin + ((place(figure) - low) / (high - low || 1)) * width;
}

/** From 1 to `most`, a power of ten; what is less lies on the axis. */
function logarithmic(most: number): Scale {
  const decades = Math.log10(most);
  const ticks = Array.from({ length: decades + 1 }, (_, exponent) => 10 ** exponent);
  return { place: (value) => Math.log10(Math.max(value, 1)) / decades, ticks };
}

/** From 0 to a round number that is not less than `most`. */
function linear(most: number): Scale {
  const step = most > 100 ? 50 : most > 50 ? 20 : 10;
  const count = Math.max(1, Math.ceil(most / step));
  const ticks = Array.from({ length: count + 1 }, (_, index) => index * step);
  return { place: (value) => value / (count * step), ticks };
}

function text(x: number, y: number, words: string, attributes: string): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${attributes}>${words}</text>`;
}
