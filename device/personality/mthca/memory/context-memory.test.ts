// SPDX-License-Identifier: Apache-2.0
/**
 * Context memory against a model of single pages: whole chunks and parts of them are mapped and
 * removed in any order.
 */
import t from 'tap';
import { Random } from '../../../random.ts';
import { seedsOf } from '../../../rig/fixtures/seeds.ts';
import { ContextMemory, NOT_MAPPED } from './context-memory.ts';

const PAGE = 4096;
const PAGES = 3000;

t.test('random mappings are those of a page by page model', async (t) => {
  for (const seed of seedsOf(20, 200)) {
    const random = new Random(seed);
    const memory = new ContextMemory();
    memory.setSize(PAGES * PAGE);
    const model = new Array<number>(PAGES).fill(NOT_MAPPED);
    let most = 0;
    for (let turn = 0; turn < 40; turn++) {
      const first = random.below(PAGES);
      const count = 1 + random.below(Math.min(PAGES - first, 2 ** random.below(12)));
      if (random.below(3) > 0) {
        const guest = PAGE * random.below(2 ** 24);
        memory.map(first * PAGE, guest, count);
        for (let page = 0; page < count; page++) model[first + page] = guest + page * PAGE;
      } else {
        // Drivers may name pages behind the end.
        const named = count + random.below(2) * PAGES;
        memory.unmap(first * PAGE, named);
        model.fill(NOT_MAPPED, first, first + named);
      }
      const wrong = model.findIndex((guest, page) => memory.resolve(page * PAGE) !== guest);
      if (wrong >= 0) t.fail(`page ${wrong} after turn ${turn}, seed ${seed}`);
      const mapped = model.filter((guest) => guest !== NOT_MAPPED).length;
      most = Math.max(most, mapped);
      if (memory.mappedPages !== mapped) t.fail(`${memory.mappedPages} of ${mapped} pages, turn ${turn}, seed ${seed}`);
    }
    t.ok(most > 0, `seed ${seed}`);
  }
});
