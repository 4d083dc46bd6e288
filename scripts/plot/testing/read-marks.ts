// SPDX-License-Identifier: Apache-2.0
/**
 * Reads the data marks of a plot: Vega writes the values of each mark into its `aria-label`. Called
 * by the tests of plots, which compare marks, not pixels, with the data.
 */

/** A bar, a point, a line, a rule or a label of a plot. */
export interface PlotMark {
  /** Vega's name: `bar`, `point`, `line mark`, `rule mark`, `text mark`. */
  readonly kind: string;
  /** Its values, by the title of each axis or the name of each field. */
  readonly shows: Readonly<Record<string, string>>;
  /** The whole element. */
  readonly element: string;
}

/** The marks that show data, in the order in which they are drawn. */
export function readMarks(svg: string): PlotMark[] {
  const marks = svg.matchAll(/<\w+ aria-label="([^"]*)" role="graphics-symbol" aria-roledescription="([^"]*)"[^>]*>/g);
  return [...marks].map(([element, label, kind]) => ({
    kind,
    shows: Object.fromEntries(label.split('; ').map((part) => part.split(': '))),
    element,
  }));
}

/** The text of the title, its lines joined. */
export function readTitle(svg: string): string | undefined {
  return /<title>([^<]*)<\/title>/.exec(svg)?.[1];
}

/** All text elements of a plot. */
export function readTexts(svg: string): string[] {
  return [...svg.matchAll(/<(?:text|tspan)[^>]*>([^<]+)</g)].map(([, text]) => text.replaceAll('\u00a0', ' '));
}
