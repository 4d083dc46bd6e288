// SPDX-License-Identifier: Apache-2.0
/**
 * Encodings (Vega-Lite) that distinguish series by colour, by dashes and by the shape of points,
 * any one of which suffices. Called by the plots.
 */
import { SERIES } from '../picture/colours.ts';

/** A channel of Vega-Lite: members of one legend when field and domain are the same. */
interface Channel {
  readonly field: string;
  readonly type: 'nominal';
  readonly scale: { readonly domain: readonly string[]; readonly range: readonly unknown[] };
  readonly legend: object;
}

/** The legend shows points, without an outline, which would be dashed; or lines with dashes. */
const LEGENDS = {
  points: { title: null, symbolSize: 110, symbolStrokeWidth: 0 },
  lines: { title: null, symbolType: 'stroke', symbolSize: 900 },
};

/**
 * Channels for the series of `domain`, which `field` names; `shown`: what the legend shows. Throws
 * RangeError when there are more series than styles.
 */
export function tellApart(
  field: string,
  domain: readonly string[],
  shown: 'points' | 'lines',
): Record<'color' | 'strokeDash' | 'shape', Channel> {
  if (domain.length > SERIES.length)
    throw new RangeError(`plot: ${domain.length} series; ${SERIES.length} have styles`);
  const styles = SERIES.slice(0, domain.length);
  const legend = LEGENDS[shown];
  const channel = (range: readonly unknown[]): Channel => ({
    ...{ field, type: 'nominal', legend },
    scale: { domain, range },
  });
  return {
    color: channel(styles.map(({ colour }) => colour)),
    // No dashes are written as one without a gap.
    strokeDash: channel(styles.map(({ dash }) => (dash.length === 0 ? [1, 0] : dash))),
    shape: channel(styles.map(({ shape }) => shape)),
  };
}
