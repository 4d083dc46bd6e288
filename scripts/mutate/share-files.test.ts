// SPDX-License-Identifier: Apache-2.0
/** The shards of a run over areas have each file once. */
import t from 'tap';
import { areas, sourcesOf } from './areas.ts';
import { shareFiles } from './share-files.ts';

t.test('each file of all areas belongs to one shard', async (t) => {
  const name = (area: { readonly name: string }, path: string): string => `${area.name} ${path}`;
  const whole = areas.flatMap((area) => sourcesOf(area).map((path) => name(area, path))).sort();
  for (const count of [1, 4, 9]) {
    const shards = Array.from({ length: count }, (_, index) => shareFiles(areas, { number: index + 1, count }));
    const joined = shards.flatMap(({ own }) => own.map(({ area, path }) => name(area, path))).sort();
    t.same(joined, whole, `${count} shards`);
    t.ok(shards.every(({ all }) => all === whole.length));
  }
});
