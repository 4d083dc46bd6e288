// SPDX-License-Identifier: Apache-2.0
/**
 * The plot of `npm run demo -- interrupts`: interrupts, processor time and latency over the load, a
 * line for each way of event delivery (IPCOM000126453D). Its title says how many interrupts are
 * saved at the heaviest load that both ways serve alike. Called by main.ts.
 */
import { chooseSides, LABEL_DISTANCE, type LabelSide } from '../../plot/label-sides.ts';
import { drawLabels } from '../../plot/labels.ts';
import { type Panel, renderPlot } from '../../plot/render.ts';
import { tellApart } from '../../plot/series.ts';
import {
  compareWays,
  FULL,
  type InterruptFigure,
  type InterruptSample,
  PLAIN,
  summarize,
  times,
  WAYS,
  type Way,
  wayNames,
} from './report.ts';

const WIDTH = 660;
const HEIGHT = 220;
/** The ways with a line: interrupts, then polls that are further and further apart. */
const DRAWN: readonly Way[] = ['each', 'merged', 'bytes', 'apart2', 'apart8'];
const DECADES = [1, 10, 100, 1e3, 1e4, 1e5, 1e6];

/** A value of a figure as a panel draws it. */
interface Row {
  readonly way: string;
  readonly load: number;
  readonly value: number;
  /** The drawn value and the ends of its bar: on a logarithmic axis not 0. */
  readonly drawn: number;
  readonly least: number;
  readonly most: number;
  /** Where its label stands. Only the two ways of the headline have any: five cannot be read. */
  readonly side: LabelSide | null;
}

/** A quantity over the load. */
interface Quantity {
  readonly title: string;
  readonly format: string;
  readonly axis: object;
  readonly scale: 'log' | 'linear';
  /** The ends of the axis. */
  readonly domain: (figures: readonly InterruptFigure[]) => readonly [number, number];
  /** Its value in a figure, the least of the rounds and the most. */
  readonly read: (figure: InterruptFigure) => readonly [value: number, least: number, most: number];
}

const INTERRUPTS: Quantity = {
  title: 'interrupts per million completions',
  format: '.3~s',
  axis: { format: '~s', values: DECADES },
  scale: 'log',
  domain: () => [1, 1e6],
  read: ({ interruptsPerMillion }) => [interruptsPerMillion, interruptsPerMillion, interruptsPerMillion],
};

const PROCESSORS: Quantity = {
  title: 'CPU of the guest, % of one processor',
  format: '.0f',
  axis: { tickCount: 5 },
  scale: 'linear',
  domain: (figures) => [0, 20 * Math.ceil(5 * Math.max(...figures.map(({ mostBusy }) => mostBusy)))],
  read: ({ busyProcessors, leastBusy, mostBusy }) => [100 * busyProcessors, 100 * leastBusy, 100 * mostBusy],
};

const LATENCY: Quantity = {
  title: 'from posting to handling, us',
  format: '.3~s',
  axis: { format: '~s', values: DECADES },
  scale: 'log',
  domain: () => [10, 1e5],
  read: ({ waitUs }) => [waitUs, waitUs, waitUs],
};

/** The plot as SVG. */
export function drawFigures(samples: readonly InterruptSample[]): Promise<string> {
  const figures = summarize(samples);
  const drawn = figures.filter(({ way }) => DRAWN.includes(way));
  const sets = [INTERRUPTS, PROCESSORS, LATENCY];
  return renderPlot({
    title: describeSaving(samples),
    subtitle: [
      ...describeCost(samples, figures),
      ...describeParts(figures),
      'Points: medians over the rounds; bars: least and most. The last point of each line is at saturation.',
    ],
    spec: {
      vconcat: sets.map((quantity, index) => drawPanel(quantity, drawn, index === sets.length - 1)),
      spacing: 26,
    },
  });
}

/** The finding: the number of interrupts saved. */
function describeSaving(samples: readonly InterruptSample[]): string {
  const rate = findHeaviest(samples);
  const saved = 1 - (compareWays(samples, rate, FULL, PLAIN)?.interrupts ?? 1);
  if (!(saved > 0)) return `Timers and summary bytes save no interrupts ${atLoad(rate)}`;
  return `Timers and summary bytes save ${Math.floor(1000 * saved) / 10} % of the interrupts ${atLoad(rate)}`;
}

/** Cost or gain of polling in processor time, in latency and in throughput. */
function describeCost(samples: readonly InterruptSample[], figures: readonly InterruptFigure[]): string[] {
  const rate = findHeaviest(samples);
  const ratios = compareWays(samples, rate, FULL, PLAIN);
  const [plain, full] = [PLAIN, FULL].map((way) => figures.find((one) => one.rate === rate && one.way === way));
  if (ratios === undefined || plain === undefined || full === undefined) return [];
  const { busy, leastBusy, mostBusy } = ratios;
  const range = `${leastBusy.toPrecision(2)} to ${mostBusy.toPrecision(2)}`;
  const saturated = compareWays(samples, 0, FULL, PLAIN);
  return [
    `CPU time of a completion ${atLoad(rate)}: ${times(busy)} of that with ${wayNames[PLAIN]} (rounds: ${range}).`,
    `Latency ${atLoad(rate)}: ${full.waitUs.toFixed(0)} us instead of ${plain.waitUs.toFixed(0)} us.`,
    ...(saturated === undefined ? [] : [`Throughput at saturation: ${times(saturated.throughput)}.`]),
  ];
}

/** Effect of each part, when the parts were measured separately. */
function describeParts(figures: readonly InterruptFigure[]): readonly string[] {
  const ways = waysOf(figures);
  if (ways.length <= 2) return [];
  const rate = findHeaviest(figures);
  const parts = ways.map((way) => {
    const found = figures.find((figure) => figure.way === way && figure.rate === rate);
    return `${wayNames[way]} ${(found?.interruptsPerMillion ?? 0).toFixed(0)}`;
  });
  return [`Interrupts per million completions ${atLoad(rate)}: ${parts.join(', ')}.`];
}

/** The heaviest paced load; if there is none, saturation, where the ways serve different loads. */
function findHeaviest(measured: readonly { readonly rate: number }[]): number {
  return Math.max(...measured.map(({ rate }) => rate));
}

function atLoad(rate: number): string {
  return rate === 0 ? 'at saturation' : `at ${rate} completions per second`;
}

function waysOf(figures: readonly InterruptFigure[]): readonly Way[] {
  return WAYS.filter((way) => figures.some((figure) => figure.way === way));
}

function toRows(quantity: Quantity, figures: readonly InterruptFigure[]): Row[] {
  const rates = [...new Set(figures.map(({ rate }) => rate))];
  return rates.flatMap((rate) =>
    toRowsOfLoad(
      quantity,
      figures.filter((one) => one.rate === rate),
      figures,
    ),
  );
}

/** The figures of one load, whose points are above each other. `all` decides the axis. */
function toRowsOfLoad(
  { scale, domain, read }: Quantity,
  figures: readonly InterruptFigure[],
  all: readonly InterruptFigure[],
): Row[] {
  const [least, most] = domain(all);
  const along = scale === 'log' ? Math.log : (value: number): number => value;
  const draw = (value: number): number => Math.max(least, value);
  const pixel = (value: number): number => (HEIGHT * (along(most) - along(draw(value)))) / (along(most) - along(least));
  const highest = Math.max(...figures.filter(isLabelled).map((figure) => read(figure)[0]));
  const sides = chooseSides(
    figures.map((figure) => {
      const [value, low, high] = read(figure);
      // Of two equal ones the second finds the place taken.
      const wanted = !isLabelled(figure) ? undefined : value === highest || value <= least ? 'above' : 'below';
      return { y: pixel(value), top: pixel(high), bottom: pixel(low), wanted };
    }),
  );
  return figures.map((figure, index) => {
    const [value, low, high] = read(figure);
    return {
      way: wayNames[figure.way],
      load: figure.completionsPerSecond,
      value,
      drawn: draw(value),
      least: draw(low),
      most: draw(high),
      side: sides[index] ?? null,
    };
  });
}

function isLabelled({ way }: InterruptFigure): boolean {
  return way === FULL || way === PLAIN;
}

/** A line for each way, with a bar and a label at each point. */
function drawPanel(quantity: Quantity, figures: readonly InterruptFigure[], isLast: boolean): Panel {
  const { title, format, axis, scale, domain } = quantity;
  const series = tellApart(
    'way',
    waysOf(figures).map((way) => wayNames[way]),
    'points',
  );
  const label = (side: LabelSide): Panel[] =>
    drawLabels({
      transform: [{ filter: { field: 'side', equal: side } }],
      mark: { dy: side === 'above' ? -LABEL_DISTANCE : LABEL_DISTANCE },
      encoding: {
        y: { field: side === 'above' ? 'most' : 'least', type: 'quantitative' },
        text: { field: 'value', format },
      },
    });
  return {
    width: WIDTH,
    height: HEIGHT,
    data: { values: toRows(quantity, figures) },
    encoding: {
      x: {
        field: 'load',
        type: 'quantitative',
        title: isLast ? 'completions per second' : null,
        scale: { type: 'log', nice: false, padding: 30 },
        // Labels of points may stand below the axis.
        axis: { grid: false, format: '~s', values: DECADES, labelPadding: 20 },
      },
      y: {
        ...{ field: 'drawn', type: 'quantitative', title },
        scale: { type: scale, domain: domain(figures), nice: false },
        axis: { domain: false, ...axis },
      },
      color: series.color,
    },
    layer: [
      { mark: 'rule', encoding: { y: { field: 'least', type: 'quantitative' }, y2: { field: 'most' } } },
      { mark: 'line', encoding: { strokeDash: series.strokeDash } },
      { mark: 'point', encoding: { shape: series.shape } },
      ...label('above'),
      ...label('below'),
    ],
  } as Panel;
}
