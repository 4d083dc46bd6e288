// SPDX-License-Identifier: Apache-2.0
/**
 * The seeded runs that `scripts/simulations/digests.ts` makes digests of: the simulations of
 * `device/rig`, each a few seeds.
 */

import { Random } from '../../../device/random.ts';
import { runChaos } from '../../../device/rig/chaos/run.ts';
import { DoorbellFlood } from '../../../device/rig/fixtures/doorbell-flood.ts';
import { PacketFuzz } from '../../../device/rig/fuzz/packet-fuzz.ts';
import { AdapterLoad } from '../../../device/rig/qos/adapter-load.ts';
import { Isolation } from '../../../device/rig/qos/isolation.ts';
import { plantedBugs } from '../../../device/rig/sanitize/planted-bugs.ts';
import { runSanitize } from '../../../device/rig/sanitize/run.ts';
import { LinkCheck, OverflowPolicy } from '../../../protocol/layout/gen/values.gen.ts';
import { manage } from './management.ts';

const LOAD_STEPS = 800;
const ISOLATION_ROUNDS = 30;
const ACTS_PER_ROUND = 200;
const FLOOD_BURSTS = 30;
const FUZZ_PACKETS = 20_000;

/**
 * One family of seeded subjects: how many for each of `--seeds`, and one run, which returns what
 * else belongs to the digest.
 */
export interface Family {
  readonly name: string;
  readonly share: number;
  readonly traces?: boolean;
  run(seed: number): unknown;
}

export const families: readonly Family[] = [
  { name: 'chaos', share: 8, run: chaos },
  { name: 'chaos-traced', share: 2, traces: true, run: chaos },
  { name: 'world', share: 0.5, run: adapterLoad },
  { name: 'world-traced', share: 0.1, traces: true, run: adapterLoad },
  { name: 'isolation', share: 0.2, run: isolation },
  { name: 'sanitize', share: 1, run: (seed) => sanitize(seed) },
  ...plantedBugs.map((bug) => ({
    name: `sanitize-${bug.name}`,
    share: 0.1,
    run: (seed: number) => sanitize(seed, bug),
  })),
  { name: 'management', share: 0.5, run: manage },
  { name: 'flood', share: 1, run: flood },
  { name: 'flood-traced', share: 0.2, traces: true, run: flood },
  { name: 'fuzz', share: 0.2, run: fuzz },
];

function chaos(seed: number): unknown {
  const { plan, trace, error } = runChaos(seed);
  return [plan, trace.digest, error];
}

function adapterLoad(seed: number): unknown {
  const load = new AdapterLoad(seed);
  load.run(LOAD_STEPS);
  load.drain();
  return load.summary;
}

function isolation(seed: number): unknown {
  const attacked = new Isolation(seed);
  for (let round = 0; round < ISOLATION_ROUNDS; round++) attacked.round(ACTS_PER_ROUND);
  return attacked.attacker.faults;
}

function sanitize(seed: number, bug?: (typeof plantedBugs)[number]): unknown {
  const { plan, trace, error } = runSanitize(seed, bug);
  return [plan, trace.digest, error];
}

function flood(seed: number): unknown {
  const random = new Random(seed);
  const doorbells = new DoorbellFlood({
    seed,
    policy: random.pick(Object.values(OverflowPolicy)),
    linkCheck: random.pick(Object.values(LinkCheck)),
    ringLog2: random.pick([3, 6, 10]),
    adaptive: random.oneIn(2),
    budget: random.pick([1, 5, 64]),
  });
  const wrong = Array.from({ length: FLOOD_BURSTS }, () => {
    doorbells.burst();
    return doorbells.findWrong();
  });
  return [wrong, doorbells.total, doorbells.fixture.allFaults()];
}

function fuzz(seed: number): unknown {
  const packets = new PacketFuzz(seed);
  packets.run(FUZZ_PACKETS);
  return packets.outcomes;
}
