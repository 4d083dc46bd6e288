// SPDX-License-Identifier: Apache-2.0
/**
 * Conditions are found where a walk over all states finds them, forwards and backwards, from every
 * step and over every division of the recording into parts; texts that are no conditions are
 * refused.
 */
import t from 'tap';
import { listQueuePairs } from '../../../device/process/reports/queue-pair-report.ts';
import { Random } from '../../../device/random.ts';
import { EventfulSession } from '../../../device/rig/fixtures/eventful-session.ts';
import { searchPart } from './recorded-search.ts';
import { RecordedSession } from './recorded-session.ts';
import type { ViewState } from './view-protocol.ts';

const SEEDS = [21, 22];
const TURNS = 32;
const SEARCHES = 2;

/** Values that a walk reads from one state, from reports only. */
interface Sample {
  readonly state: ViewState;
  readonly queuePair: string | undefined;
}

interface Case {
  readonly condition: string;
  /** The condition becomes true between two states. */
  begins(before: Sample, after: Sample): boolean;
}

const { of, above } = {
  of: ({ state }: Sample) => (state.adapter as NonNullable<ViewState['adapter']>).functions,
  above: (read: (sample: Sample) => number, limit: number) => (before: Sample, after: Sample) =>
    read(after) > limit && read(before) <= limit,
};
const rises = (read: (sample: Sample) => number) => (before: Sample, after: Sample) => read(after) > read(before);
const total = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0);
const faults = (sample: Sample): number => total(of(sample).flatMap((one) => Object.values(one.faults.counts)));
const overflow = (sample: Sample): number => total(of(sample).map((one) => one.doorbells.overflow.depth));
const spilled = (sample: Sample): number => total(of(sample).map((one) => one.doorbells.overflow.spilled));
const sent = (sample: Sample): number => total(of(sample).map((one) => one.vectorsSent));
const lost = ({ state }: Sample): number => total((state.links ?? []).map((link) => link.lost));
const down = ({ state }: Sample): number =>
  total(state.fabric.nodes.flatMap(({ ports }) => ports.map(({ link }) => Number(link?.state === 'DOWN'))));

function casesOf(qpn: number): readonly Case[] {
  return [
    { condition: 'fault', begins: rises(faults) },
    { condition: 'Overflow  not empty', begins: above(overflow, 0) },
    { condition: `qp ${qpn} leaves RTS`, begins: (one, next) => one.queuePair === 'RTS' && next.queuePair !== 'RTS' },
    { condition: `QP ${qpn} enters rtr`, begins: (one, next) => one.queuePair !== 'RTR' && next.queuePair === 'RTR' },
    { condition: 'interrupt', begins: rises(sent) },
    { condition: 'packet lost', begins: rises(lost) },
    { condition: 'message lost at a', begins: rises(lost) },
    { condition: 'link down', begins: rises(down) },
    { condition: 'counter doorbellsSpilled > 3', begins: above(spilled, 3) },
    { condition: 'counter sweeps > 1000000', begins: () => false },
  ];
}

/** The steps at which each condition becomes true. */
function walk(recording: Uint8Array, qpn: number, cases: readonly Case[]): readonly number[][] {
  const session = new RecordedSession(recording);
  const take = (): Sample => ({
    state: session.describe({ adapter: 'a' }),
    queuePair: listQueuePairs(session.adapters[0].core, qpn).queuePairs.find((one) => one.number === qpn)?.state,
  });
  const found: number[][] = cases.map(() => []);
  let before = take();
  while (session.advance()) {
    const after = take();
    cases.forEach(({ begins }, index) => {
      if (begins(before, after)) found[index].push(session.step - 1);
    });
    before = after;
  }
  return found;
}

t.test('conditions are found where a walk over all states finds them', async (t) => {
  const seen = new Set<string>();
  for (const seed of SEEDS) {
    const live = new EventfulSession(seed);
    for (let turn = 0; turn < TURNS; turn++) live.play();
    const recording = live.takeRecording();
    const cases = casesOf(live.qpn);
    const all = walk(recording, live.qpn, cases);
    const random = new Random(seed);
    const whole = new RecordedSession(recording);
    whole.advanceTo(Number.POSITIVE_INFINITY);
    cases.forEach(({ condition }, index) => {
      const steps = all[index];
      if (steps.length > 0) seen.add(condition.replace(/\d+/, 'N'));
      for (let search = 0; search < SEARCHES; search++) {
        const from = search === 0 ? 0 : random.below(whole.step);
        const to = search === 0 ? whole.step : from + random.below(whole.step - from);
        const within = steps.filter((step) => step >= from && step < to);
        const where = `seed ${seed}: ${condition}, steps ${from} to ${to}`;
        for (const backward of [false, true]) {
          const found = searchPart(new RecordedSession(recording), { condition, from, to, backward });
          t.equal(found.step, backward ? within.at(-1) : within[0], `${where}, backward ${backward}`);
        }
      }
    });
  }
  t.same(seen.size, casesOf(0).length - 1, `happened: ${[...seen].join(', ')}`);
});

t.test('a found step has the time after it', async (t) => {
  const live = new EventfulSession(3);
  for (let turn = 0; turn < TURNS; turn++) live.play();
  const recording = live.takeRecording();
  const search = { condition: 'interrupt', from: 0, to: Number.POSITIVE_INFINITY, backward: false };
  const { step = 0, timeNs } = searchPart(new RecordedSession(recording), search);
  const session = new RecordedSession(recording);
  session.advanceTo(step + 1);
  t.equal(timeNs, session.describe({}).timeNs);
});

t.test('what is no condition is refused', async (t) => {
  const live = new EventfulSession(1);
  const search = (condition: string) => () =>
    searchPart(new RecordedSession(live.takeRecording()), { condition, from: 0, to: 10, backward: false });
  t.throws(search('moon'), { name: 'ViewRefusal', message: /is not understood; there are `fault`/ });
  t.throws(search('fault at b'), { name: 'ViewRefusal', message: /there is no adapter b; there are a$/ });
});
