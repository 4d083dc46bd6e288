// SPDX-License-Identifier: Apache-2.0
/**
 * A row of panels of a plot over phases: lines over time, with a column for each phase, which share
 * one axis of time. Called by phase-plot.ts and process-plot.ts.
 */
import type { Panel } from '../../plot/render.ts';

const HEIGHT = 150;

export interface PhaseRow {
  /** Points with `phase`, `seconds`, `value` and the fields that `lines` names. */
  readonly values: readonly object[];
  readonly phases: readonly { readonly name: string }[];
  /** Width of a column, in pixels. */
  readonly width: number;
  /** The first row has the names of the phases, the last one the axis of time. */
  readonly isFirst: boolean;
  readonly isLast: boolean;
  readonly title: string;
  /** Format of the values, and their scale unless it is the default. */
  readonly format: string;
  readonly scale?: object;
  /** Channels (Vega-Lite) that tell the lines from each other. */
  readonly lines: { readonly color: object; readonly strokeDash: object };
  /** The shape (Vega-Lite) of the points that are `marked`; none without it. */
  readonly shape?: object;
}

export function drawPhaseRow(row: PhaseRow): Panel {
  const { values, phases, width, isFirst, isLast, title, format, scale, lines, shape } = row;
  const { color, strokeDash } = lines;
  return {
    data: { values },
    facet: {
      column: {
        field: 'phase',
        type: 'nominal',
        sort: phases.map(({ name }) => name),
        title: null,
        header: isFirst ? {} : null,
      },
    },
    spacing: 14,
    spec: {
      width,
      height: HEIGHT,
      layer: [
        { mark: 'line', encoding: { strokeDash } },
        ...(shape === undefined
          ? []
          : [{ transform: [{ filter: { field: 'marked', equal: true } }], mark: 'point', encoding: { shape } }]),
      ],
      encoding: {
        x: {
          field: 'seconds',
          type: 'quantitative',
          title: isLast ? 'seconds' : null,
          axis: { grid: false, tickCount: 4, format: '.0f', ...(isLast ? {} : { labels: false }) },
          scale: { nice: false },
        },
        y: {
          field: 'value',
          type: 'quantitative',
          title,
          ...(scale === undefined ? {} : { scale }),
          axis: { domain: false, tickCount: 4, format },
        },
        color,
      },
    },
  } as unknown as Panel;
}
