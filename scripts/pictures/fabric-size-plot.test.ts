// SPDX-License-Identifier: Apache-2.0
/** The plot of fabrics by size: its title is computed from the figures, and each has a label. */
import t from 'tap';
import type { FabricFigure } from '../bench/fabric-figure.ts';
import { findCollisions } from '../picture/testing/read-svg.ts';
import { readTexts, readTitle } from '../plot/testing/read-marks.ts';
import { drawFabricSizes } from './fabric-size-plot.ts';

function figure(levels: number, adapters: number, firstSeconds: number): FabricFigure {
  const rest = { switches: 1, links: 1, requests: 1 };
  return { levels, adapters, firstSeconds, laterSeconds: firstSeconds / 4, mebibytes: adapters / 3, ...rest };
}

t.test('two kinds of trees', async (t) => {
  const svg = await drawFabricSizes([figure(2, 64, 0.5), figure(2, 256, 2), figure(3, 64, 1), figure(3, 256, 12)]);
  t.equal(
    readTitle(svg),
    'The first sweep takes 4 times as long for 4 times as many adapters on two levels, 12 times as long for 4 times as many adapters on three levels',
  );
  const texts = readTexts(svg);
  for (const text of ['0.5', '12', '0.13', 'two levels', 'three levels']) t.ok(texts.includes(text), text);
  t.same(findCollisions(svg), []);
});
