// SPDX-License-Identifier: Apache-2.0
/** Sides of labels: the preferred one, the other one, none; random points with seeds. */
import t from 'tap';
import { Random } from '../../device/random.ts';
import { chooseSides, LABEL_DISTANCE, type LabelledPoint } from './label-sides.ts';

const point = (y: number, wanted?: 'above' | 'below'): LabelledPoint => ({ y, top: y, bottom: y, wanted });

t.test('the wanted side, unless a point or a label is there', async (t) => {
  t.same(chooseSides([point(100, 'above'), point(200, 'below'), point(150)]), ['above', 'below', undefined]);
  t.same(chooseSides([point(100, 'above'), point(88)]), ['below', undefined], 'a point stands above');
  t.same(chooseSides([point(100, 'above'), point(88), point(112)])[0], undefined, 'and one below');
  t.same(chooseSides([point(100, 'above'), point(101, 'above')]), ['above', 'below'], 'a label stands above');
  t.same(chooseSides([{ ...point(100, 'above'), top: 70 }, point(87)])[0], 'above', 'at the end of the bar');
});

t.test('no label hides a point or another label', async (t) => {
  for (let seed = 1; seed <= 200; seed++) {
    const random = new Random(seed);
    const points = Array.from({ length: 5 }, (_, index) =>
      point(random.below(120), index < 3 ? (['above', 'below'] as const)[random.below(2)] : undefined),
    );
    const middles = chooseSides(points).flatMap((side, index) =>
      side === undefined ? [] : [points[index].y + (side === 'above' ? -LABEL_DISTANCE : LABEL_DISTANCE)],
    );
    const isHidden = points.some(({ y }) => middles.some((middle) => Math.abs(middle - y) < 10));
    const isCrowded = middles.some((one, at) => middles.slice(at + 1).some((other) => Math.abs(one - other) < 15));
    if (isHidden || isCrowded) t.fail(`seed ${seed}: ${points.map(({ y }) => y)} with labels at ${middles}`);
  }
});
