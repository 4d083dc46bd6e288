// SPDX-License-Identifier: Apache-2.0
/**
 * Two adapters under the same doorbells (US 9,069,485 par. 96-97): `without` has no overflow buffer
 * and stops forever, `with` has one and executes every command. As `npm run demo -- deadlock`.
 */
import { DoorbellFlood } from '../../../device/rig/fixtures/doorbell-flood.ts';
import { InProcessAccess } from '../../../device/rig/machine/access.ts';
import type { RecordedFabric } from '../../../device/rig/machine/fabric-machine.ts';
import { OverflowPolicy } from '../../../protocol/layout/gen/values.gen.ts';
import { counted, planAdapter, planAlone, type Scene, type SceneStop, type Seen } from '../scene.ts';

const QUEUE_PAIRS = 20;
const ENTRIES = 8;
/** Time of a read of guest memory, and time between two doorbells. */
const READ_NS = 2000;
const PACE_NS = 50;
/** Long enough for every timer of the adapter. */
const LATER_NS = 1e9;

const options = { doorbellEntries: ENTRIES, dmaLatencyNs: READ_NS };

function play({ machine }: RecordedFabric): void {
  const floods = [OverflowPolicy.OFF, OverflowPolicy.NEWEST].map((policy, index) => {
    const ringLog2 = policy === OverflowPolicy.OFF ? 0 : 6;
    const access = () => new InProcessAccess(machine, index);
    return new DoorbellFlood({ machine, access, queuePairs: QUEUE_PAIRS, policy, ringLog2 });
  });
  const { clock, random } = machine;
  const order = Array.from({ length: QUEUE_PAIRS }, (_, place) => place);
  random.shuffle(order);
  for (const place of order) {
    const commands = random.between(1, 4);
    for (const flood of floods) {
      const qp = flood.qps[place];
      const first = qp.sendTail;
      for (let posted = 0; posted < commands; posted++) flood.post(qp, 'slot');
      qp.ring(first, 'register');
    }
    machine.runUntilIdle();
    clock.advance(PACE_NS);
    machine.runUntilIdle();
  }
  const endNs = clock.now() + LATER_NS;
  while (clock.alarmNs < endNs) {
    clock.jumpToAlarm();
    machine.runUntilIdle();
  }
  clock.advance(endNs - clock.now());
  machine.runUntilIdle();
  const wrong = floods[1].findWrong();
  if (wrong !== undefined) throw new Error(wrong);
}

/** The doorbells of an adapter, and the commands that it has read from send queues. */
function look(seen: Seen, name: 'without' | 'with') {
  const [port] = seen.adapter(name).functions;
  const { doorbells, underlying } = port;
  const { buffer, inbound, overflow, stalled } = doorbells;
  const { doorbellsSpilled, doorbellsDrained, commandsFetched, doorbellsExplicit } = underlying.counters;
  return {
    used: buffer.used,
    entries: buffer.entries,
    reads: inbound.reads,
    posted: inbound.posted,
    depth: overflow.pending,
    stalled,
    rung: doorbellsExplicit,
    spilled: doorbellsSpilled,
    drained: doorbellsDrained,
    fetched: commandsFetched,
  };
}

const stops: readonly SceneStop[] = [
  {
    title: 'A doorbell takes an entry',
    adapter: 'without',
    part: 'doorbells',
    when: (seen) => look(seen, 'without').used === 1,
    says: (seen) => {
      const { entries } = look(seen, 'without');
      return [
        `A doorbell says that a send queue has a command; it waits in one of the ${entries} entries of the scheduler buffer.`,
        `The entry is free again when a read of the descriptor of its queue has come back, which takes ${READ_NS} ns here; a doorbell comes every ${PACE_NS} ns.`,
      ];
    },
    source: 'US 9,069,485 par. 67, 71-73',
  },
  {
    title: 'The scheduler buffer is full',
    adapter: 'without',
    part: 'doorbells',
    when: (seen) => look(seen, 'without').used === ENTRIES,
    says: (seen) => {
      const { used, entries, reads } = look(seen, 'without');
      return [
        `All ${entries} entries are taken (${used}), and ${counted(reads, 'read')} are on their way.`,
        'The next doorbell has to wait on the bus until an entry is free.',
      ];
    },
    source: 'US 9,069,485 par. 67',
  },
  {
    title: 'With an overflow buffer: a doorbell is spilled',
    adapter: 'with',
    part: 'doorbells',
    when: (seen) => look(seen, 'with').depth > 0,
    says: (seen) => {
      const { depth, used, entries } = look(seen, 'with');
      return [
        `The twin had the same doorbells, and ${used} of its ${entries} entries are taken. It sees that a deadlock threatens.`,
        `So it writes queue pair and sequence number of the new doorbell to the overflow buffer in guest memory, which now holds ${depth}, and discards the doorbell.`,
        'The bus stays free for the completions of its reads.',
      ];
    },
    source: 'US 9,069,485 par. 86-88',
  },
  {
    title: 'Without: nothing moves any more',
    adapter: 'without',
    part: 'doorbells',
    when: (seen) => look(seen, 'without').stalled,
    says: (seen) => {
      const { used, reads, posted } = look(seen, 'without');
      return [
        `The completions of ${counted(reads, 'read')} come behind ${counted(posted, 'doorbell')} that found no entry, and the bus keeps their order.`,
        `The ${used} entries wait for these completions, and the completions wait for an entry: a deadlock.`,
      ];
    },
    source: 'US 9,069,485 par. 74',
  },
  {
    title: 'With: doorbells come back',
    adapter: 'with',
    part: 'doorbells',
    when: (seen) => look(seen, 'with').drained > 0,
    says: (seen) => {
      const { depth, spilled, drained } = look(seen, 'with');
      return [
        `Completions have freed entries, so the adapter reads doorbells back: ${drained} of ${spilled} so far, and ${depth} are still in the overflow buffer.`,
        'Each cost two crossings of the bus; software had nothing to do with it.',
      ];
    },
    source: 'US 9,069,485 par. 89, 93-95',
  },
  {
    title: 'With: the overflow buffer is empty',
    adapter: 'with',
    part: 'doorbells',
    when: (seen) => {
      const { depth, spilled, drained } = look(seen, 'with');
      return spilled > 0 && depth === 0 && drained === spilled;
    },
    says: (seen) => {
      const { spilled, rung } = look(seen, 'with');
      return [
        `All ${spilled} spilled doorbells, of ${rung} that were rung, are back in the scheduler.`,
        'Their queues are linked one after the other, and their commands are read.',
      ];
    },
    source: 'US 9,069,485 par. 93-95',
  },
  {
    title: 'A second later',
    adapter: 'without',
    part: 'doorbells',
    when: (seen) => seen.isLast,
    says: (seen) => {
      const stuck = look(seen, 'without');
      const { fetched } = look(seen, 'with');
      return [
        `The adapter without an overflow buffer has read ${stuck.fetched} commands, and still holds ${stuck.used} doorbells; no time will help it.`,
        `Its twin has read ${fetched} commands, and every one is complete.`,
      ];
    },
    source: 'US 9,069,485 par. 96-97',
  },
];

export const doorbellOverflow: Scene = {
  name: 'doorbell-overflow',
  seed: 14,
  budget: 2,
  plan: planAlone(planAdapter('without', 0, options), planAdapter('with', 1, options)),
  play,
  makeStops: () => stops,
};
