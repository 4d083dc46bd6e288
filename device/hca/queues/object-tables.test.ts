// SPDX-License-Identifier: Apache-2.0
/** Numbers that no object gets: QP0, QP1, and the QPN of multicast (IBTA 3.9.3, 10.5.2). */
import t from 'tap';
import { MULTICAST_QPN } from '../../../protocol/infiniband/addresses.ts';
import { ObjectTable } from '../function/object-table.ts';
import { capacities, ObjectTables } from './object-tables.ts';

interface Numbered {
  readonly number: number;
  readonly owner: { readonly number: number };
}

t.test('no queue pair gets a number that packets use otherwise', async (t) => {
  const owner = { number: 0 };
  const { quota } = new ObjectTables(1).queuePairs;
  t.equal(quota, capacities.queuePairs);
  const table = new ObjectTable<Numbered>(quota, 2, 1);
  let [lowest, highest] = [MULTICAST_QPN, 0];
  let last: Numbered | undefined;
  for (let count = 0; count < quota; count++) {
    last = table.add(owner, (number) => ({ number, owner }));
    const number = last?.number ?? -1;
    lowest = Math.min(lowest, number);
    highest = Math.max(highest, number);
  }
  t.equal(
    table.add(owner, (number) => ({ number, owner })),
    undefined,
    'the table is full',
  );
  // The highest index goes through all generations.
  for (let generation = 0; generation < 256; generation++) {
    table.remove(last as Numbered);
    last = table.add(owner, (number) => ({ number, owner }));
    highest = Math.max(highest, last?.number ?? 0);
  }
  t.same([lowest, highest < MULTICAST_QPN], [2, true]);
});

t.test('an object is found by its whole number only', async (t) => {
  const owners = [{ number: 0 }, { number: 1 }];
  const table = new ObjectTable<Numbered>(16, 2, 2);
  const make = (owner: Numbered['owner']): Numbered => table.add(owner, (number) => ({ number, owner })) as Numbered;
  const kept = owners.flatMap((owner) => [make(owner), make(owner), make(owner)]);
  for (let round = 0; round < 300; round++) {
    const [gone] = kept.splice((7 * round) % kept.length, 1);
    table.remove(gone);
    t.equal(table.get(gone.number), undefined, `round ${round}: it is gone`);
    const next = make(gone.owner);
    kept.push(next);
    for (const object of kept) t.equal(table.get(object.number), object, `round ${round}: number ${object.number}`);
    for (const other of [1 << 16, 1 << 24, 2 ** 31, 2 ** 32, 2 ** 48, -(2 ** 24), -(2 ** 32), 0.5])
      t.equal(table.get(next.number + other), undefined, `round ${round}: ${next.number} and ${other}`);
  }
  // Reserved, never given, behind the last one.
  for (const number of [-1, 0, 1, 9, 17, 18, 0xffff]) t.equal(table.get(number), undefined, `${number}`);
});
