// SPDX-License-Identifier: Apache-2.0
/**
 * The plot of `npm run demo:interrupts`: interrupts, processor time and latency over the load, a
 * line for each way of event delivery (IPCOM000126453D). Its title says how many interrupts are
 * saved at the heaviest load that both ways serve alike. Called by main.ts.
 */
import { drawLabels } from '../../plot/labels.ts';
import { type Panel, renderPlot } from '../../plot/render.ts';
import { FULL, type InterruptFigure, PLAIN, WAYS, wayNames } from './report.ts';

const WIDTH = 660;
const HEIGHT = 220;
const DECADES = [1, 10, 100, 1e3, 1e4, 1e5, 1e6];
const LABEL_DISTANCE = 13;

/** A value of a figure as a panel draws it. */
interface Row {
  readonly way: string;
  readonly load: number;
  readonly value: number;
  /** The drawn value and the ends of its bar: on a logarithmic axis not 0. */
  readonly drawn: number;
  readonly least: number;
  readonly most: number;
  /** Whether the label is above the point. */
  readonly above: boolean;
  /** Only the two ways of the headline have labels: five in one place cannot be read. */
  readonly labelled: boolean;
}

/** A quantity over the load. */
interface Quantity {
  readonly title: string;
  readonly format: string;
  readonly axis: object;
  readonly scale: object;
  /** Its value in a figure, the least of the rounds and the most. */
  readonly read: (figure: InterruptFigure) => readonly [value: number, least: number, most: number];
  /** The least value that can be drawn. */
  readonly floor: number;
}

const INTERRUPTS: Quantity = {
  title: 'interrupts per million completions',
  format: '.3~s',
  axis: { format: '~s', values: DECADES },
  scale: { type: 'log', domain: [1, 1e6] },
  read: ({ interruptsPerMillion }) => [interruptsPerMillion, interruptsPerMillion, interruptsPerMillion],
  floor: 1,
};

const PROCESSORS: Quantity = {
  title: 'CPU of the guest, % of one processor',
  format: '.0f',
  axis: { tickCount: 5 },
  scale: {},
  read: ({ busyProcessors, leastBusy, mostBusy }) => [100 * busyProcessors, 100 * leastBusy, 100 * mostBusy],
  floor: 0,
};

const LATENCY: Quantity = {
  title: 'from posting to handling, us',
  format: '.3~s',
  axis: { format: '~s', values: DECADES },
  scale: { type: 'log', domain: [10, 1e5] },
  read: ({ waitUs }) => [waitUs, waitUs, waitUs],
  floor: 10,
};

/** The plot as SVG. */
export function drawFigures(figures: readonly InterruptFigure[]): Promise<string> {
  const sets = [INTERRUPTS, PROCESSORS, LATENCY];
  return renderPlot({
    title: describeSaving(figures),
    subtitle: [
      describeProcessors(figures),
      describeCost(figures),
      ...describeParts(figures),
      'Points: medians over the rounds; bars: least and most. The last point of each line is at saturation.',
    ],
    spec: {
      vconcat: sets.map((quantity, index) => drawPanel(quantity, figures, index === sets.length - 1)),
      spacing: 26,
    },
  });
}

/** The finding: how many interrupts are saved. */
export function describeSaving(figures: readonly InterruptFigure[]): string {
  const { load, each, adaptive } = findHeaviest(figures);
  const saved = 1 - adaptive.interruptsPerMillion / each.interruptsPerMillion;
  if (!(saved > 0)) return `Timers and summary bytes save no interrupts ${load}`;
  return `Timers and summary bytes save ${Math.floor(1000 * saved) / 10} % of the interrupts ${load}`;
}

function describeProcessors(figures: readonly InterruptFigure[]): string {
  const { load, each, adaptive } = findHeaviest(figures);
  const percent = ({ busyProcessors }: InterruptFigure): string => (100 * busyProcessors).toFixed(0);
  return `CPU time of the guest ${load}: ${percent(adaptive)} % of one processor instead of ${percent(each)} %.`;
}

/** What polling costs, or gains, in latency and in throughput. */
function describeCost(figures: readonly InterruptFigure[]): string {
  const { load, each, adaptive } = findHeaviest(figures);
  const us = ({ waitUs }: InterruptFigure): string => waitUs.toFixed(0);
  const latency = `Latency ${load}: ${us(adaptive)} us instead of ${us(each)} us.`;
  const [busiest, polled] = [PLAIN, FULL].map((wanted) =>
    figures.find(({ rate, way }) => rate === 0 && way === wanted),
  );
  if (busiest === undefined || polled === undefined) return latency;
  const ratio = polled.completionsPerSecond / busiest.completionsPerSecond;
  return `${latency} Throughput at saturation: ${ratio.toFixed(2)} times that with interrupts.`;
}

/** What each part adds, when the parts were measured apart. */
function describeParts(figures: readonly InterruptFigure[]): readonly string[] {
  const ways = WAYS.filter((way) => figures.some((figure) => figure.way === way));
  if (ways.length <= 2) return [];
  const { load, each: plain } = findHeaviest(figures);
  const parts = ways.map((way) => {
    const found = figures.find((figure) => figure.way === way && figure.rate === plain.rate);
    return `${wayNames[way]} ${(found?.interruptsPerMillion ?? 0).toFixed(0)}`;
  });
  return [`Interrupts per million completions ${load}: ${parts.join(', ')}.`];
}

/**
 * Both ways at the heaviest paced load; at saturation, where they do not serve the same load, if
 * there is no other.
 */
function findHeaviest(figures: readonly InterruptFigure[]) {
  const heaviest = Math.max(...figures.map(({ rate }) => rate));
  const [each, adaptive] = [PLAIN, FULL].map(
    (way) => figures.find((figure) => figure.rate === heaviest && figure.way === way) as InterruptFigure,
  );
  return { each, adaptive, load: heaviest === 0 ? 'at saturation' : `at ${heaviest} completions per second` };
}

function toRows({ read, floor }: Quantity, figures: readonly InterruptFigure[]): Row[] {
  return figures.map((figure) => {
    const [value, least, most] = read(figure);
    const compared = figure.way === FULL ? PLAIN : FULL;
    const other = figures.find(({ rate, way }) => rate === figure.rate && way === compared);
    const [otherValue] = other === undefined ? [floor] : read(other);
    const isUpper = value > otherValue || (value === otherValue && figure.way !== FULL);
    const draw = (number: number): number => Math.max(floor, number);
    return {
      way: wayNames[figure.way],
      load: figure.completionsPerSecond,
      value,
      drawn: draw(value),
      least: draw(least),
      most: draw(most),
      // Below a point on the axis is the label of the load.
      above: isUpper || value <= floor,
      labelled: figure.way === FULL || figure.way === PLAIN,
    };
  });
}

/** A line for each way, with a bar and a label at each point. */
function drawPanel(quantity: Quantity, figures: readonly InterruptFigure[], isLast: boolean): Panel {
  const { title, format, axis, scale } = quantity;
  const label = (above: boolean): Panel[] =>
    drawLabels({
      transform: [{ filter: { field: 'labelled', equal: true } }, { filter: { field: 'above', equal: above } }],
      mark: { dy: above ? -LABEL_DISTANCE : LABEL_DISTANCE },
      encoding: { y: { field: above ? 'most' : 'least', type: 'quantitative' }, text: { field: 'value', format } },
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
        axis: { grid: false, format: '~s', values: DECADES },
      },
      y: { field: 'drawn', type: 'quantitative', title, scale, axis: { domain: false, ...axis } },
      color: {
        field: 'way',
        type: 'nominal',
        scale: { domain: WAYS.filter((way) => figures.some((one) => one.way === way)).map((way) => wayNames[way]) },
        legend: { title: null },
      },
    },
    layer: [
      { mark: 'rule', encoding: { y: { field: 'least', type: 'quantitative' }, y2: { field: 'most' } } },
      { mark: 'line' },
      { mark: 'point' },
      ...label(true),
      ...label(false),
    ],
  } as Panel;
}
