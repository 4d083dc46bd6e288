// SPDX-License-Identifier: Apache-2.0
/** Numbers of domains: each is taken once, and comes back only when no object uses it. */
import t from 'tap';
import { Random } from '../../../random.ts';
import { Numbers } from './numbers.ts';

t.test('the lowest free number is taken, and none when all are in use', (t) => {
  const numbers = new Numbers(5, 3);
  t.same([numbers.allocate(), numbers.allocate(), numbers.allocate(), numbers.allocate()], [5, 6, 7, undefined]);
  t.same([numbers.has(4), numbers.has(5), numbers.has(7), numbers.has(8)], [false, true, true, false]);
  t.same([numbers.free(6), numbers.free(6), numbers.free(4), numbers.free(8)], [true, false, false, false]);
  t.same([numbers.allocate(), numbers.allocate()], [6, undefined]);
  numbers.reset();
  t.same([numbers.size, numbers.allocate()], [0, 5]);
  t.end();
});

t.test('a number that objects use is not given back', (t) => {
  const numbers = new Numbers(1, 2);
  t.notOk(numbers.use(1), 'a free number has no users');
  t.equal(numbers.usersOf(1), 0);
  numbers.allocate();
  t.ok(numbers.use(1) && numbers.use(1));
  numbers.release(1);
  t.same([numbers.usersOf(1), numbers.free(1)], [1, false]);
  numbers.release(1);
  numbers.release(1);
  t.same([numbers.usersOf(1), numbers.free(1)], [0, true]);
  numbers.release(1);
  t.notOk(numbers.has(1), 'nobody can take a number by giving it back');
  t.end();
});

for (let seed = 1; seed <= 4; seed++) {
  t.test(`any order of calls, seed ${seed}`, (t) => {
    const random = new Random(seed);
    const [first, count] = [random.below(4), 1 + random.below(12)];
    const numbers = new Numbers(first, count);
    const model = new Map<number, number>();
    for (let step = 0; step < 2000; step++) {
      const number = first - 1 + random.below(count + 2);
      const users = model.get(number);
      switch (random.below(4)) {
        case 0: {
          let lowest: number | undefined;
          for (let each = first; each < first + count && lowest === undefined; each++)
            if (!model.has(each)) lowest = each;
          if (lowest !== undefined) model.set(lowest, 0);
          if (numbers.allocate() !== lowest) t.fail(`seed ${seed}, step ${step}: allocate`);
          break;
        }
        case 1:
          if (users === 0) model.delete(number);
          if (numbers.free(number) !== (users === 0)) t.fail(`seed ${seed}, step ${step}: free ${number}`);
          break;
        case 2:
          if (users !== undefined) model.set(number, users + 1);
          if (numbers.use(number) !== (users !== undefined)) t.fail(`seed ${seed}, step ${step}: use ${number}`);
          break;
        default:
          if (users !== undefined && users > 0) model.set(number, users - 1);
          numbers.release(number);
      }
      if (numbers.usersOf(number) !== (model.get(number) ?? 0) || numbers.has(number) !== model.has(number))
        t.fail(`seed ${seed}, step ${step}: ${number}`);
    }
    t.equal(numbers.size, model.size);
    t.end();
  });
}
