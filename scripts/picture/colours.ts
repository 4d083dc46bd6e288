// SPDX-License-Identifier: Apache-2.0
/**
 * The colours and the font of all pictures, for a light and a dark page. Pictures are drawn with
 * the light colours as attributes, so a viewer without CSS shows a light picture; a style sheet
 * inside the SVG replaces each by its dark one when the reader prefers that. Called by the graphs
 * of this folder and by scripts/plot.
 */

/** A colour on a light page and on a dark one. No two roles may have the same light colour. */
interface Colour {
  readonly light: string;
  readonly dark: string;
}

/** The roles of colours. */
export const ROLES = {
  background: { light: '#ffffff', dark: '#11151c' },
  title: { light: '#161d27', dark: '#f0f3f7' },
  text: { light: '#2f3a48', dark: '#d3dae3' },
  muted: { light: '#5b6776', dark: '#9ca9b8' },
  axis: { light: '#aab4c0', dark: '#566272' },
  grid: { light: '#e4e8ed', dark: '#252d38' },
  /** Series, in their order; distinguishable with any colour vision, on either page. */
  first: { light: '#053fae', dark: '#696ec9' },
  second: { light: '#9d2500', dark: '#f5c240' },
  third: { light: '#249b68', dark: '#63ce85' },
  fourth: { light: '#794f84', dark: '#9e5274' },
  fifth: { light: '#1d1d1d', dark: '#ebf1fc' },
  /** Boxes of nodes: switches, adapters, adapters of a personality, other processes. */
  relay: { light: '#dfe8f6', dark: '#22304d' },
  host: { light: '#dff2e7', dark: '#1c3a2b' },
  guest: { light: '#f1e6f3', dark: '#3b2436' },
  outside: { light: '#f4f5f7', dark: '#1b212b' },
} as const satisfies Record<string, Colour>;

/** The light colour of a role, as pictures name it. */
export const COLOURS = Object.fromEntries(Object.entries(ROLES).map(([role, { light }]) => [role, light])) as Readonly<
  Record<keyof typeof ROLES, string>
>;

/** A series is told by its colour, its dashes and the shape of its points: any one suffices. */
export interface SeriesStyle {
  readonly colour: string;
  /** Lengths of strokes and gaps; none for a whole line. */
  readonly dash: readonly number[];
  /** A shape of Vega. */
  readonly shape: string;
}

/** The styles of series, in the order in which a plot names them. */
export const SERIES: readonly SeriesStyle[] = [
  { colour: COLOURS.first, dash: [], shape: 'circle' },
  { colour: COLOURS.second, dash: [7, 4], shape: 'square' },
  { colour: COLOURS.third, dash: [2, 4], shape: 'triangle-up' },
  { colour: COLOURS.fourth, dash: [10, 4, 2, 4], shape: 'diamond' },
  { colour: COLOURS.fifth, dash: [14, 3], shape: 'cross' },
];

export const FONT =
  'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", Arial, sans-serif';

/** The style sheet that makes the picture dark when the reader prefers that. */
export function darkStyle(): string {
  const rules = Object.values(ROLES).flatMap(({ light, dark }) =>
    ['fill', 'stroke'].map((attribute) => `[${attribute}="${light}"]{${attribute}:${dark}}`),
  );
  return `@media (prefers-color-scheme:dark){${rules.join('')}}`;
}
