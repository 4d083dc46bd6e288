// SPDX-License-Identifier: Apache-2.0
/** The states of about the last second, for arbitrary times. */
import t from 'tap';
import { Random } from '../../../device/random.ts';
import type { ViewState } from '../../cli/view/view-protocol.ts';
import { addMoment } from './moments.ts';

const at = (timeNs: number): ViewState => ({ timeNs, fabric: { nodes: [] } });
const timesOf = (moments: readonly ViewState[]): number[] => moments.map(({ timeNs }) => timeNs / 1e9);

t.test('one state just older than a second stays', async (t) => {
  let moments: readonly ViewState[] = [];
  for (const time of [0, 0.5, 1, 1.4, 2.1]) moments = addMoment(moments, at(time * 1e9));
  t.same(timesOf(moments), [1, 1.4, 2.1]);
  t.same(timesOf(addMoment(moments, at(9e9))), [2.1, 9], 'after a pause the load is that of the pause');
});

t.test('the same time again replaces, an earlier one begins anew', async (t) => {
  const first = at(1e9);
  const moments = addMoment([at(0.5e9), first], at(1e9));
  t.same(timesOf(moments), [0.5, 1]);
  t.not(moments[1], first);
  t.same(timesOf(addMoment(moments, at(0.7e9))), [0.7]);
});

t.test('at random: in order, bounded, and the window is covered', async (t) => {
  for (let seed = 1; seed <= 10; seed++) {
    const random = new Random(seed);
    let moments: readonly ViewState[] = [];
    let time = 0;
    for (let step = 0; step < 300; step++) {
      time += random.below(seed % 2 === 0 ? 3e6 : 4e8);
      moments = addMoment(moments, at(time));
      const times = moments.map(({ timeNs }) => timeNs);
      if (times.some((one, index) => index > 0 && one <= times[index - 1])) t.fail(`seed ${seed}: ${times}`);
      if (times.at(-1) !== time || times.length > 64) t.fail(`seed ${seed}: ${times.length} states`);
      if (times.filter((one) => time - one >= 1e9).length > 1) t.fail(`seed ${seed}: too old: ${times}`);
    }
  }
});
