// SPDX-License-Identifier: Apache-2.0
/**
 * The plot of `npm run demo -- qos --in-process`: each guest's part of all messages in each phase
 * of the worked example (US8484392, figure 11), with a mark at the part that its lanes guarantee.
 * Called by in-process.ts.
 */
import { GUESTS } from '../../../device/rig/qos/worked-example.ts';
import { COLOURS } from '../../picture/colours.ts';
import { drawLabels, titlePanel } from '../../plot/labels.ts';
import { type Panel, renderPlot } from '../../plot/render.ts';
import { describeShares, type GuestShare } from './share-finding.ts';
import { percent, type Row } from './share-table.ts';

const WIDTH = 560;
const BAR_STEP = 26;
const BAR_HEIGHT = 17;
const LABEL_DISTANCE = 7;
/**
 * Margin below its guarantee that a share may have over simulated time, as in the test of shares.
 */
const TOLERANCE = 0.01;
const NAMES = GUESTS.map(({ name }) => name);
const MARK = 'guaranteed by its lanes';
/** An upright stroke, in a square from -1 to 1. */
const MARK_SHAPE = 'M-0.05,-0.7H0.05V0.7H-0.05Z';

/** The plot as SVG. */
export function drawShares(rows: readonly Row[]): Promise<string> {
  return renderPlot({
    title: describeShares(rows.flatMap(readShares)),
    subtitle: ['Three guests on one adapter over simulated time. A guest that does not flood is left out of a phase.'],
    spec: { vconcat: rows.map((row, index) => drawPhase(row, index === rows.length - 1)), spacing: 12 },
  });
}

/** A bar for each guest that floods. */
function drawPhase(row: Row, isLast: boolean): Panel {
  const axis = { format: '.0%', tickCount: 6, domain: false, ...(isLast ? {} : { labels: false, ticks: false }) };
  const x = { field: 'share', type: 'quantitative', scale: { domain: [0, 1] }, axis };
  return {
    title: titlePanel(row.name),
    data: {
      values: readShares(row)
        .filter(({ guaranteed }) => guaranteed > 0)
        .map(addLabel),
    },
    width: WIDTH,
    height: { step: BAR_STEP },
    encoding: {
      y: { field: 'guest', type: 'nominal', sort: NAMES, title: null, axis: { domain: false, ticks: false } },
    },
    layer: [
      {
        mark: { type: 'bar', height: BAR_HEIGHT, cornerRadiusEnd: 2 },
        encoding: {
          x: { ...x, title: isLast ? 'part of all messages' : null },
          color: { field: 'guest', type: 'nominal', scale: { domain: NAMES }, legend: null },
        },
      },
      {
        mark: { type: 'point', size: 330, fill: COLOURS.title, stroke: COLOURS.title },
        encoding: {
          x: { field: 'guaranteed', type: 'quantitative' },
          shape: { datum: MARK, scale: { domain: [MARK], range: [MARK_SHAPE] }, legend: {} },
        },
      },
      ...drawLabels({
        mark: { dx: LABEL_DISTANCE, align: 'left' },
        encoding: { x: { field: 'labelAt', type: 'quantitative' }, text: { field: 'label', type: 'nominal' } },
      }),
    ],
  } as Panel;
}

/** The label stands behind the bar and behind the mark, whichever is longer. */
function addLabel(share: GuestShare): object {
  return { ...share, label: percent(share.share), labelAt: Math.max(share.share, share.guaranteed) };
}

function readShares({ name, shares }: Row): GuestShare[] {
  return shares.map(({ share, expected }, number) => ({
    guest: NAMES[number],
    phase: name,
    share,
    guaranteed: expected,
    isMet: expected === 0 || expected === 1 ? undefined : share >= expected - TOLERANCE,
  }));
}
