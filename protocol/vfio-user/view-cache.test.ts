// SPDX-License-Identifier: Apache-2.0
/** Kept views: each is the requested piece, whatever was requested before. */
import t from 'tap';
import { ViewCache } from './view-cache.ts';

t.test('a view is kept for the next use, and made anew for another piece in its place', (t) => {
  const bytes = Uint8Array.from({ length: 1 << 21 }, (_, index) => index % 251);
  const cache = new ViewCache(bytes);
  const first = cache.view(4096, 4096);
  t.equal(cache.view(4096, 4096), first);
  for (const [start, length] of [
    [4096, 100],
    [4100, 100],
    [4096 + (1 << 20), 100],
    [4096, 4096],
    [0, 1],
    [bytes.length - 1, 1],
  ]) {
    const view = cache.view(start, length);
    t.same([view.byteOffset, view.length], [start, length]);
  }
  t.end();
});
