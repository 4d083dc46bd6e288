// SPDX-License-Identifier: Apache-2.0
/**
 * The plot of `npm run bench -- fabric`: the cost of sweeps of the subnet manager and the memory of
 * a fabric, over its adapters, with a line for the trees of each number of levels. Its title states
 * the growth of the time. Called by pictures.ts.
 */
import type { FabricFigure } from '../bench/fabric-figure.ts';
import { LABEL_DISTANCE } from '../plot/label-sides.ts';
import { drawLabels } from '../plot/labels.ts';
import { type Panel, renderPlot } from '../plot/render.ts';
import { tellApart } from '../plot/series.ts';

const WIDTH = 620;
const HEIGHT = 170;

/** A quantity over the number of adapters, on logarithmic axes. */
interface Quantity {
  readonly title: string;
  readonly read: (figure: FabricFigure) => number;
}

const QUANTITIES: readonly Quantity[] = [
  { title: 'first sweep, s of processor time', read: ({ firstSeconds }) => firstSeconds },
  { title: 'sweep without news, s', read: ({ laterSeconds }) => laterSeconds },
  { title: 'memory, MiB', read: ({ mebibytes }) => mebibytes },
];

/** The plot as SVG. */
export function drawFabricSizes(figures: readonly FabricFigure[]): Promise<string> {
  return renderPlot({
    title: describeGrowth(figures),
    subtitle: ['Fat trees in one process, without guests: switches, and adapters that have only their agents.'],
    spec: {
      vconcat: QUANTITIES.map((quantity, index) => drawPanel(quantity, figures, index === QUANTITIES.length - 1)),
      spacing: 26,
    },
  });
}

/** The finding: how the time of the first sweep grows from the smallest tree to the largest. */
function describeGrowth(figures: readonly FabricFigure[]): string {
  const parts = [...new Set(figures.map(({ levels }) => levels))].map((levels) => {
    const sorted = figures.filter((one) => one.levels === levels).sort((a, b) => a.adapters - b.adapters);
    const [least, most] = [sorted[0], sorted.at(-1)] as [FabricFigure, FabricFigure];
    const ratio = most.firstSeconds / least.firstSeconds;
    return `${ratio.toFixed(0)} times as long for ${most.adapters / least.adapters} times as many adapters on ${nameLevels(levels)}`;
  });
  return `The first sweep takes ${parts.join(', ')}`;
}

function nameLevels(levels: number): string {
  return levels === 2 ? 'two levels' : 'three levels';
}

/** A line for each number of levels; of two points above each other the upper label is above. */
function drawPanel({ title, read }: Quantity, figures: readonly FabricFigure[], isLast: boolean): Panel {
  const rows = figures.map((figure) => {
    const rival = figures.find(({ adapters, levels }) => adapters === figure.adapters && levels !== figure.levels);
    const isUpper =
      rival === undefined ||
      read(figure) > read(rival) ||
      (read(figure) === read(rival) && figure.levels > rival.levels);
    return {
      tree: nameLevels(figure.levels),
      adapters: figure.adapters,
      value: read(figure),
      side: isUpper ? 'above' : 'below',
    };
  });
  const series = tellApart('tree', ['two levels', 'three levels'], 'points');
  const label = (side: 'above' | 'below'): Panel[] =>
    drawLabels({
      transform: [{ filter: { field: 'side', equal: side } }],
      mark: { dy: side === 'above' ? -LABEL_DISTANCE : LABEL_DISTANCE },
      encoding: { text: { field: 'value', format: '.2~r' } },
    });
  return {
    width: WIDTH,
    height: HEIGHT,
    data: { values: rows },
    encoding: {
      x: {
        ...{ field: 'adapters', type: 'quantitative', title: isLast ? 'adapters' : null },
        scale: { type: 'log', base: 2, nice: false, padding: 30 },
        axis: {
          grid: false,
          format: 'd',
          values: [...new Set(rows.map(({ adapters }) => adapters))],
          labelPadding: 20,
        },
      },
      y: {
        ...{ field: 'value', type: 'quantitative', title },
        scale: { type: 'log', nice: true, padding: 22 },
        axis: { domain: false, format: '~s', tickCount: 4 },
      },
      color: series.color,
    },
    layer: [
      { mark: 'line', encoding: { strokeDash: series.strokeDash } },
      { mark: 'point', encoding: { shape: series.shape } },
      ...label('above'),
      ...label('below'),
    ],
  } as Panel;
}
