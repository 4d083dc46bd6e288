// SPDX-License-Identifier: Apache-2.0
/**
 * How often a pass lets the fabric run: once, and again while nodes have more to do, or after it
 * has found a tail by itself.
 */
import t from 'tap';
import type { AdapterPort } from '../../host.ts';
import { makePassHook } from './pass-hook.ts';
import { WallClock } from './wall-clock.ts';

const RUN_NS = 400;

/** A fabric whose runs take time, and which finds tails in some of them. */
function makeFabric(runNs = RUN_NS) {
  const state = { nowNs: 0, runs: 0, pollUntilNs: 0, finds: new Set<number>(), moreUntil: 0, runNs };
  const run = (): boolean => {
    state.nowNs += state.runNs;
    if (state.finds.has(state.runs++)) state.pollUntilNs = state.nowNs + 200_000;
    return state.runs < state.moreUntil;
  };
  const port = {
    run,
    get pollUntilNs() {
      return state.pollUntilNs;
    },
  } as unknown as AdapterPort;
  const hook = makePassHook(port, new WallClock(() => state.nowNs), undefined);
  const runsOfPass = (): number => {
    const before = state.runs;
    hook.pass();
    return state.runs - before;
  };
  return Object.assign(state, { runsOfPass, hook });
}

t.test('a pass that finds no tail lets the fabric run once', async (t) => {
  const fabric = makeFabric();
  t.equal(fabric.runsOfPass(), 1);
  fabric.finds.add(1);
  fabric.runsOfPass();
  t.equal(fabric.runsOfPass(), 1, 'the window of an earlier find is no find');
});

t.test('a pass that finds one looks again before the pump asks for requests', async (t) => {
  const fabric = makeFabric();
  fabric.finds.add(0);
  t.equal(fabric.runsOfPass(), 16);
  for (let run = 16; run < 1000; run++) fabric.finds.add(run);
  t.equal(fabric.runsOfPass(), 16, 'and no more often when each run finds one');
});

t.test('a request waits for 50 us at most', async (t) => {
  const fabric = makeFabric(20_000);
  fabric.finds.add(0);
  t.equal(fabric.runsOfPass(), 3);
});

t.test('a fabric that has more to do goes on, and gives way to requests after 50 us', async (t) => {
  const fabric = makeFabric();
  fabric.moreUntil = 5;
  t.equal(fabric.runsOfPass(), 5, 'a packet that crosses nodes, each in a run of its own');
  t.equal(fabric.runsOfPass(), 1);
  fabric.moreUntil = Number.POSITIVE_INFINITY;
  t.equal(fabric.runsOfPass(), 50_000 / RUN_NS);
  t.ok(fabric.hook.pass(), 'the pump goes on with it');
  fabric.runNs = 50_000;
  t.equal(fabric.runsOfPass(), 1, 'a run that has taken so long was the last one');
});
