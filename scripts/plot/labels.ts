// SPDX-License-Identifier: Apache-2.0
/**
 * Text inside a plot: labels over a halo in the colour of the page, which are legible across lines,
 * and titles of panels. Called by the plots.
 */
import { COLOURS } from '../picture/colours.ts';
import type { Panel } from './render.ts';

/** The place and the text of labels; members as in a layer of Vega-Lite. */
export interface LabelOptions {
  readonly mark: { readonly dx?: number; readonly dy?: number; readonly align?: 'left' | 'center' | 'right' };
  readonly transform?: readonly object[];
  readonly encoding: object;
}

/** The layers of a set of labels; they belong above the layers they label. */
export function drawLabels({ mark, transform, encoding }: LabelOptions): Panel[] {
  const halo = { fill: COLOURS.background, stroke: COLOURS.background, strokeWidth: 4, strokeJoin: 'round' };
  const shared = transform === undefined ? { encoding } : { transform, encoding };
  return [
    { ...shared, mark: { type: 'text', aria: false, ...mark, ...halo } } as Panel,
    { ...shared, mark: { type: 'text', ...mark } } as Panel,
  ];
}

/** The title of one panel of several; the plot's own title is the finding. */
export function titlePanel(text: string): object {
  return { text, frame: 'group', color: COLOURS.text, fontSize: 12.5, fontWeight: 600, offset: 6 };
}
