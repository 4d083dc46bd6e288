// SPDX-License-Identifier: Apache-2.0
/**
 * The one look of all plots, as configuration of Vega-Lite: fonts, axes, legends, lines. Called by
 * render.ts.
 */
import type { Config } from 'vega-lite';
import { COLOURS, FONT, SERIES } from '../picture/colours.ts';

const PADDING = 20;

export const THEME: Config = {
  background: COLOURS.background,
  font: FONT,
  padding: PADDING,
  view: { stroke: null },
  title: {
    anchor: 'start',
    frame: 'bounds',
    color: COLOURS.title,
    fontSize: 17,
    fontWeight: 600,
    lineHeight: 22,
    subtitleColor: COLOURS.muted,
    subtitleFontSize: 12.5,
    subtitleLineHeight: 17,
    subtitlePadding: 6,
    offset: 18,
  },
  axis: {
    domainColor: COLOURS.axis,
    gridColor: COLOURS.grid,
    tickColor: COLOURS.axis,
    tickSize: 4,
    labelColor: COLOURS.muted,
    labelFontSize: 11.5,
    labelPadding: 5,
    titleColor: COLOURS.text,
    titleFontSize: 12,
    titleFontWeight: 500,
    titlePadding: 10,
  },
  header: {
    labelColor: COLOURS.text,
    labelFontSize: 12.5,
    labelFontWeight: 600,
    titleColor: COLOURS.text,
  },
  legend: {
    orient: 'top',
    direction: 'horizontal',
    labelColor: COLOURS.text,
    labelFontSize: 12,
    labelLimit: 0,
    columns: 3,
    rowPadding: 6,
    symbolStrokeWidth: 2,
    symbolSize: 120,
    symbolBaseStrokeColor: COLOURS.muted,
    columnPadding: 22,
    offset: 12,
    titleColor: COLOURS.muted,
    titleFontSize: 12,
    titleFontWeight: 400,
    titleOrient: 'left',
  },
  range: { category: SERIES.map(({ colour }) => colour), symbol: SERIES.map(({ shape }) => shape) },
  line: { strokeWidth: 2, strokeCap: 'round', strokeJoin: 'round' },
  point: { size: 45, filled: true, opacity: 1 },
  rule: { strokeWidth: 1.5 },
  text: { color: COLOURS.text, fontSize: 11.5 },
};
