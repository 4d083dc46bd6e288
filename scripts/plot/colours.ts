// SPDX-License-Identifier: Apache-2.0
/**
 * The colours of all plots, for a light and a dark page. Plots are drawn with the light ones as
 * attributes, so a viewer without CSS shows a light plot; a style sheet inside the SVG replaces
 * each by its dark one when the reader prefers that. Called by theme.ts, render.ts and the plots.
 */

/** A colour on a light page and on a dark one. No two roles may have the same light colour. */
interface Colour {
  readonly light: string;
  readonly dark: string;
}

const ROLES = {
  background: { light: '#ffffff', dark: '#11151c' },
  title: { light: '#161d27', dark: '#f0f3f7' },
  text: { light: '#2f3a48', dark: '#d3dae3' },
  muted: { light: '#5b6776', dark: '#9ca9b8' },
  axis: { light: '#aab4c0', dark: '#566272' },
  grid: { light: '#e4e8ed', dark: '#252d38' },
  /** Series, in their order; distinguishable with any colour vision, on either page. */
  first: { light: '#1f67b8', dark: '#74aef5' },
  second: { light: '#c75300', dark: '#f7a456' },
  third: { light: '#0b7d63', dark: '#4ccda9' },
} as const satisfies Record<string, Colour>;

/** The light colour of a role, as plots name it. */
export const COLOURS = Object.fromEntries(Object.entries(ROLES).map(([role, { light }]) => [role, light])) as Readonly<
  Record<keyof typeof ROLES, string>
>;

/** Colours of series, in the order in which a plot names them. */
export const SERIES: readonly string[] = [COLOURS.first, COLOURS.second, COLOURS.third];

/** The style sheet that makes the plot dark when the reader prefers that. */
export function darkStyle(): string {
  const rules = Object.values(ROLES).flatMap(({ light, dark }) =>
    ['fill', 'stroke'].map((attribute) => `[${attribute}="${light}"]{${attribute}:${dark}}`),
  );
  return `@media (prefers-color-scheme:dark){${rules.join('')}}`;
}
