// SPDX-License-Identifier: Apache-2.0
/**
 * Two QoS levels of one function (US 8,484,392 par. 50-54, 96-101): level 1 floods, level 0 posts a
 * burst in the middle of the flood and gets its guaranteed collect buffers and credits.
 */
import { AdapterFixture } from '../../../device/rig/fixtures/adapter-fixture.ts';
import { NOP } from '../../../device/rig/fixtures/command-poster.ts';
import type { RecordedFabric } from '../../../device/rig/machine/fabric-machine.ts';
import { ManagementStatus, ResourceKind } from '../../../protocol/layout/gen/values.gen.ts';
import { planAdapter, planAlone, type Scene, type SceneStop, type Seen } from '../scene.ts';

/** As the example of US 8,484,392 par. 54: 10 buffers, split 5 and 3, with 2 left to both. */
const PCBS = 10;
const GUARANTEED = [5, 3] as const;
const SHARED = 2;
const LEVEL_ONE_PAGES = 32;
/** Lane 0 is for level 0 alone, lanes 1 to 3 for level 1. */
const LEVEL_LANES = [0b0001, 0b1110] as const;
const LANES = 0b1111;
const QUIET_LANE = 0;
/** Time that a command spends in the pipeline, during which it holds buffer and credit. */
const PIPELINE_NS = 2000;
const STEP_NS = 100;
const FLOOD = { queuePairs: 12, rounds: 20 } as const;

function play({ machine }: RecordedFabric): void {
  const fixture = new AdapterFixture({ machine, bringUp: { levelOnePages: LEVEL_ONE_PAGES } });
  const lanes = [LANES, LEVEL_LANES[0], LEVEL_LANES[1]].map((amount, index) => ({
    resource: ResourceKind.TVL_MAP,
    target: 0,
    amount,
    ...(index === 0 ? {} : { qosLevel: index - 1 }),
  }));
  if (fixture.driver.resources.request(lanes).status !== ManagementStatus.OK) throw new Error('no lanes');
  const make = (qosLevel: number, count: number) => {
    const sendCq = fixture.createCompletionQueue({ entriesLog2: 9 });
    return Array.from({ length: count }, () => fixture.createQueuePair({ sendCq, qosLevel, sendEntriesLog2: 5 }));
  };
  const quiet = make(0, GUARANTEED[0]);
  const flood = make(1, FLOOD.queuePairs);
  const pass = (): void => {
    machine.step();
    machine.clock.advance(STEP_NS);
  };
  quiet[0].post(NOP);
  machine.runUntil(() => quiet[0].parts.sendCq.ready, 'the first completion');
  for (let round = 0; round < FLOOD.rounds; round++) {
    for (const qp of flood) qp.post(NOP);
    pass();
    if (round === FLOOD.rounds / 2) for (const qp of quiet) qp.post(NOP);
    pass();
  }
  let left = FLOOD.queuePairs * FLOOD.rounds + quiet.length + 1;
  machine.runUntil(() => {
    left -= quiet[0].parts.sendCq.drain().length + flood[0].parts.sendCq.drain().length;
    return left === 0;
  }, 'the end of all commands');
}

/** Buffers and refusals of a level, and the lanes of the function. */
function look(seen: Seen, level: 0 | 1) {
  const adapter = seen.adapter('a');
  const { collect, underlying } = adapter.functions[0];
  const { collectBuffers, lanes } = adapter;
  return {
    inUse: collectBuffers.getInUse(0, level),
    available: collectBuffers.getAvailable(0, level),
    refusals: collect.levelRefusals[level],
    fetched: underlying.counters.commandsFetched,
    waiting: lanes.lanes.reduce((sum, { lengths }) => sum + lengths[level], 0),
    execution: lanes.execution,
    quietLane: lanes.lanes[QUIET_LANE],
    launches: lanes.functionLaunches[0],
  };
}

const common = { adapter: 'a' } as const;

const stops: readonly SceneStop[] = [
  {
    ...common,
    title: 'A command is collected',
    part: 'collect',
    when: (seen) => look(seen, 0).inUse === 1,
    says: (seen) => {
      const { inUse, available } = look(seen, 0);
      return [
        `A store to a page of level 0 binds a physical collect buffer, and the command gathers in it: level 0 holds ${inUse}, and may have ${available} more.`,
        `Of ${PCBS} buffers ${GUARANTEED[0]} are promised to level 0 and ${GUARANTEED[1]} to level 1; both may use the other ${SHARED}.`,
      ];
    },
    source: 'US 8,484,392 par. 54, 95-97',
  },
  {
    ...common,
    title: 'The flood has used its own buffers',
    part: 'collect',
    when: (seen) => look(seen, 1).inUse === GUARANTEED[1],
    says: (seen) => {
      const { inUse, available } = look(seen, 1);
      return [
        `${FLOOD.queuePairs} queue pairs of level 1 post at once. Level 1 holds the ${inUse} buffers that it was promised, and may have ${available} more: the shared ones.`,
        'Its own go first, so that the shared ones remain for whoever needs them most.',
      ];
    },
    source: 'US 8,484,392 par. 53, 96',
  },
  {
    ...common,
    title: 'The flood has the shared ones too',
    part: 'collect',
    when: (seen) => look(seen, 1).inUse === GUARANTEED[1] + SHARED,
    says: (seen) => {
      const { inUse, available } = look(seen, 1);
      const quiet = look(seen, 0);
      return [
        `Level 1 holds ${inUse} buffers, its share and all that is shared: it may have ${available} more.`,
        `${quiet.available} buffers are free, but they are promised to level 0, which uses ${quiet.inUse} of them now.`,
      ];
    },
    source: 'US 8,484,392 par. 11, 53-54',
  },
  {
    ...common,
    title: 'A command without a buffer',
    part: 'collect',
    when: (seen) => look(seen, 1).refusals > 0,
    says: (seen) => {
      const { refusals, inUse } = look(seen, 1);
      return [
        `Level 1 holds ${inUse} buffers, and a further command finds none (refusals: ${refusals}). Its page goes to send-queue mode.`,
        'The adapter keeps queue pair and sequence number as a doorbell and drops the rest: the command is also in the send queue, and software does not notice.',
      ];
    },
    source: 'US 8,484,392 par. 98-101',
  },
  {
    ...common,
    title: 'Level 0 gets what it was promised',
    part: 'collect',
    when: (seen) => look(seen, 0).inUse === GUARANTEED[0],
    says: (seen) => {
      const flood = look(seen, 1);
      const { inUse, refusals } = look(seen, 0);
      return [
        `In the middle of the flood level 0 posts ${inUse} commands at once, and each gets a buffer: ${refusals} refusals, against ${flood.refusals} of level 1.`,
        'A guarantee holds at every moment, because no buffer that is promised and free is ever given to another.',
      ];
    },
    source: 'US 8,484,392 par. 11, 50, 54',
  },
  {
    ...common,
    title: 'A lane waits only for itself',
    part: 'lanes',
    when: (seen) => look(seen, 0).quietLane.launches === GUARANTEED[0] + 1,
    says: (seen) => {
      const { waiting, execution, quietLane } = look(seen, 1);
      return [
        `Lane ${QUIET_LANE} belongs to level 0, and has launched all ${quietLane.launches} of its commands. ${waiting} commands of level 1 still wait in the kick lists of the other lanes.`,
        `A lane launches a command only with both credits: ${execution.used} of ${execution.total} execution credits are in use, but each lane has one of its own, which no flood can take.`,
      ];
    },
    source: 'US 8,484,392 par. 41-47',
  },
  {
    ...common,
    title: 'The flood is over',
    part: 'collect',
    when: (seen) => seen.isLast,
    says: (seen) => {
      const { refusals, fetched, launches } = look(seen, 1);
      return [
        `All ${launches} commands were executed, each once. ${refusals} of level 1 found no buffer. The scheduler has read ${fetched} from send queues: these, and those that were behind them in their queues.`,
        `Level 0 was refused ${look(seen, 0).refusals} times.`,
      ];
    },
    source: 'US 8,484,392 par. 102-107',
  },
];

export const guarantees: Scene = {
  name: 'guarantees',
  seed: 8,
  budget: 8,
  plan: planAlone(
    planAdapter('a', 0, {
      pcbCount: PCBS,
      pcbGuaranteed: GUARANTEED,
      laneCount: 4,
      executionCredits: 6,
      completionCredits: 16,
      pipelineNs: PIPELINE_NS,
    }),
  ),
  play,
  makeStops: () => stops,
};
