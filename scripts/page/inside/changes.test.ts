// SPDX-License-Identifier: Apache-2.0
/** Differences between two states of a busy adapter, and rates from its sums. */
import t from 'tap';
import { findChanges, findRates, keyOfCell } from './changes.ts';
import { describeInside } from './inside.ts';
import type { Picture, Unit } from './picture.ts';
import { RateHistory, shortNumber } from './rates.ts';
import { BusyAdapter } from './testing/busy-adapter.ts';

const seed = 11;
const busy = new BusyAdapter({ seed, functions: 2, flowsOfEach: 4 });
const states = Array.from({ length: 8 }, () => busy.next());
/** The same states half a second apart. */
const spread = states.map((state, place) => ({ ...state, timeNs: place * 5e8 }));
const pictures = states.map((state) => describeInside(state) as Picture);

t.test('a state does not differ from itself, nor from one that is not known', async (t) => {
  for (const unit of pictures[0].units)
    for (const before of [unit, undefined]) {
      const { named, cells } = findChanges(unit, before);
      t.same([...named, ...cells], [], `seed ${seed}: ${unit.id}`);
    }
});

t.test('exactly what differs is named', async (t) => {
  for (const [place, after] of pictures.slice(1).entries())
    for (const [index, unit] of after.units.entries()) {
      const before = pictures[place].units[index];
      const { named } = findChanges(unit, before);
      const differing = unit.facts.filter(
        ({ name, value }) => before.facts.find((fact) => fact.name === name)?.value !== value,
      );
      for (const { name } of unit.facts)
        t.equal(
          named.has(name),
          differing.some((fact) => fact.name === name),
          `seed ${seed}: ${unit.id} ${name}`,
        );
    }
});

t.test('a row that goes marks no other row; one that comes is new', async (t) => {
  const unit = pictures.at(-1)?.units.find(({ id }) => id === 'completions') as Unit;
  const [table] = unit.tables;
  const less: Unit = { ...unit, tables: [{ ...table, rows: table.rows.slice(1) }] };
  t.same([...findChanges(less, unit).cells], []);
  const [{ key }] = table.rows;
  t.same(
    [...findChanges(unit, less).cells],
    table.columns.map((column) => keyOfCell(table, key, column)),
  );
});

t.test('flows per second between two states, sums without an earlier one', async (t) => {
  const [before, after] = pictures.slice(-2);
  const launched = ({ flows }: Picture) => flows.find(({ name }) => name === 'launched')?.count ?? 0;
  const rates = findRates(after, before);
  const rate = rates.find(({ name }) => name === 'launched')?.perSecond;
  t.equal(rate, ((launched(after) - launched(before)) * 1e9) / (after.timeNs - before.timeNs));
  t.ok(rates.every(({ perSecond }) => perSecond !== undefined && perSecond >= 0));
  t.ok(findRates(after, undefined).every(({ perSecond }) => perSecond === undefined));
  t.ok(
    findRates(after, after).every(({ perSecond }) => perSecond === undefined),
    'no time has passed',
  );
  const back = findRates(before, { ...after, timeNs: before.timeNs - 1 });
  t.ok(
    back.some(({ perSecond }) => perSecond === undefined),
    'sums that fell give no rate',
  );
});

t.test('rates add up to the sums of the states', async (t) => {
  const history = new RateHistory();
  for (const state of spread) history.add(state);
  for (const laterNs of [0, 1e6]) history.add({ ...spread[7], timeNs: spread[7].timeNs + laterNs });
  const { seconds, series } = history.rates;
  t.same(
    series.map(({ name }) => name),
    ['messages', 'doorbells', 'interrupts'],
  );
  t.equal(seconds.length, spread.length - 1);
  const [first, last] = [spread[0], spread.at(-1)].map((state) => state?.adapter?.lanes.launches ?? 0);
  const steps = seconds.map((end, place) => end - (place === 0 ? spread[0].timeNs / 1e9 : seconds[place - 1]));
  const sum = series[0].perSecond.reduce((all, rate, place) => all + rate * steps[place], 0);
  t.equal(Math.round(sum), last - first, `seed ${seed}`);
});

t.test('a time that goes back, and another adapter, start anew; a minute is kept', async (t) => {
  const history = new RateHistory();
  for (const state of spread) history.add(state);
  history.add(spread[2]);
  t.equal(history.rates.seconds.length, 0);
  history.add(spread[5]);
  t.equal(history.rates.seconds.length, 1);
  history.add({ ...spread[7], adapter: { ...spread[7].adapter, name: 'b' } as never });
  t.equal(history.rates.seconds.length, 0);
  for (const second of [1, 2]) history.add({ ...spread[7], timeNs: second * 1e9 });
  t.equal(history.rates.seconds.length, 1);
  history.add({ ...spread[0], timeNs: 3e9 });
  t.equal(history.rates.seconds.length, 0, 'sums that fell start anew');
  history.add(spread[7]);
  for (let second = 1; second < 100; second++) history.add({ ...spread[7], timeNs: spread[7].timeNs + second * 1e9 });
  t.equal(history.rates.seconds.length, 60);
});

t.test('numbers of charts are short', async (t) => {
  t.same([0, 0.25, 7, 1234, 56_789, 1_234_567].map(shortNumber), ['0', '0.3', '7', '1234', '56.8k', '1.2M']);
});
