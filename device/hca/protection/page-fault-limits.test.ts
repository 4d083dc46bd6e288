// SPDX-License-Identifier: Apache-2.0
/**
 * The bounds of unanswered page faults: so many in a domain, so many in a function. Waits beyond
 * are deferred, and each of them ends when software answers, in whatever order.
 */
import t from 'tap';
import { Random } from '../../random.ts';
import { seedsOf } from '../../rig/fixtures/seeds.ts';
import { PagePart } from '../function/timeline-values.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { KeyHolder } from './key-holder.ts';
import {
  FAULTS_PER_DOMAIN,
  FAULTS_PER_FUNCTION,
  type FaultingRegion,
  PageFaults,
  type PageWaiter,
} from './page-faults.ts';
import type { ProtectionDomain } from './protection-domain.ts';

const PAGE = 4096;

/** A region of its own domain in a function that takes all events. */
function makeRegion(number: number, owner: UnderlyingFunction): FaultingRegion {
  const pd = { number, owner } as ProtectionDomain;
  return { number, owner, pd, key: number, faults: new Map(), pageOf: (address) => Math.floor(address / PAGE) };
}

function makeOwner(number: number): UnderlyingFunction {
  const counters = { pageFaults: 0, pageFaultsShared: 0, pageFaultsDeferred: 0, pageFaultsRefused: 0 };
  return { number, counters, postPageFault: () => true } as unknown as UnderlyingFunction;
}

t.test('faults stay within the bounds, and every wait ends', async (t) => {
  for (const seed of seedsOf(10, 100)) {
    const random = new Random(seed);
    const faults = new PageFaults();
    const owners = [makeOwner(0), makeOwner(1)] as const;
    // Of the first function many more than it may have; the other one is not disturbed.
    const regions = Array.from({ length: 60 }, (_, index) => makeRegion(index, owners[index < 55 ? 0 : 1]));
    let waiting = 0;
    const begin = (holder: KeyHolder, region: FaultingRegion, page: number, misses: number): void => {
      const waiter: PageWaiter = {
        part: PagePart.REQUEST,
        resume: () => {
          waiting--;
          // The page may be absent still, or again.
          if (misses > 0) begin(holder, region, page, misses - 1);
        },
        refuse: () => void waiting--,
      };
      waiting++;
      faults.miss(region, page * PAGE, 1, false);
      faults.take();
      faults.wait(holder, waiter, 0);
    };
    regions.forEach((region, index) => {
      for (let page = 0; page < 40; page++) {
        const holder = { number: 100 * index + page, owner: region.owner } as KeyHolder;
        begin(holder, region, page, random.below(3));
      }
    });
    t.equal(faults.count(owners[0]).outstanding, FAULTS_PER_FUNCTION, `seed ${seed}`);
    t.equal(faults.count(owners[1]).outstanding, 5 * FAULTS_PER_DOMAIN, `seed ${seed}`);
    for (let turn = 0; waiting > 0; turn++) {
      const open = regions.filter((region) => region.faults.size > 0);
      const region = open[random.below(open.length)];
      if (region === undefined) return t.fail(`${waiting} waits end never after ${turn} answers, seed ${seed}`);
      const [page] = region.faults.keys();
      faults.answer(region, page as number, 1, random.below(4) === 0);
      const { outstanding } = faults.count(owners[0]);
      if (outstanding > FAULTS_PER_FUNCTION) return t.fail(`${outstanding} faults, seed ${seed}`);
      for (const { faults: own } of regions) if (own.size > FAULTS_PER_DOMAIN) return t.fail(`seed ${seed}`);
    }
    t.same(
      owners.map((owner) => faults.count(owner)),
      [0, 1].map(() => ({ outstanding: 0, waiting: 0 })),
      `seed ${seed}`,
    );
  }
});
