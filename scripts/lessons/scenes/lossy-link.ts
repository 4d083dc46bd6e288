// SPDX-License-Identifier: Apache-2.0
/**
 * A reliable connection from adapter `a` to adapter `b` over a link that loses packets of the
 * lesson's choice (IBTA 9.7.5, 9.9.2): a request, the last request, an acknowledgement, a damaged
 * and a doubled packet; then at random.
 */
import { encodeLinkChange } from '../../../device/fabric/link/link-changes.ts';
import type { ScheduledFault } from '../../../device/fabric/link/link-options.ts';
import { requesterOf } from '../../../device/hca/transport/state/connected-states.ts';
import type { RequesterState } from '../../../device/hca/transport/state/requester-state.ts';
import type { RecordedFabric } from '../../../device/rig/machine/fabric-machine.ts';
import type { FabricPlan } from '../../../device/topology/fabric-plan.ts';
import { connectEnds, DriverEnd } from '../driver-end.ts';
import { planAdapter, type Scene, type SceneStop, type Seen } from '../scene.ts';

/** A message has four packets at a path MTU of 256 bytes. */
const MESSAGE_BYTES = 1000;
const PACKETS = 4;
/** The link: a packet of 280 bytes takes 280 ns, and lands 1 µs later. */
const BITS_PER_SECOND = 8e9;
const DELAY_NS = 1000;
const PACKET_NS = 280;
/** 4.096 µs * 2^5. */
const TIMEOUT = 5;
const TIMEOUT_TEXT = `${Math.round(4.096 * 2 ** TIMEOUT)} µs`;
/** Message n begins at n times this time. */
const EVERY_NS = 1_000_000;
const RANDOM_MESSAGES = 30;

/** Faults at the packets that the stops are about. */
const schedule: readonly ScheduledFault[] = [
  { fault: 'drop', direction: 0, atNs: 2 * EVERY_NS + PACKET_NS / 2 },
  { fault: 'drop', direction: 0, atNs: 3 * EVERY_NS + (PACKETS - 2) * PACKET_NS + PACKET_NS / 2 },
  { fault: 'drop', direction: 1, atNs: 4 * EVERY_NS },
  { fault: 'corrupt', direction: 0, atNs: 5 * EVERY_NS + PACKET_NS / 2 },
  { fault: 'duplicate', direction: 0, atNs: 6 * EVERY_NS + PACKET_NS / 2 },
];

const plan: FabricPlan = {
  adapters: [planAdapter('a', 0), planAdapter('b', 1)],
  switches: [],
  links: [
    {
      ports: ['a:1', 'b:1'],
      link: { kind: 'faulty', seed: 1, bitsPerSecond: BITS_PER_SECOND, delayNs: DELAY_NS, schedule },
    },
  ],
  subnet: 'fixed',
};

function play({ machine }: RecordedFabric): void {
  const [a, b] = [0, 1].map((index) => new DriverEnd(machine, index));
  connectEnds(a, b, { pathMtu: 1, timeout: TIMEOUT });
  const { clock, random, adapter } = machine;
  const send = (): void => {
    b.listen(MESSAGE_BYTES);
    a.send(random.bytes(MESSAGE_BYTES));
    machine.runUntil(() => a.hasSent() && b.hasReceived(), 'the end of a message');
  };
  for (let message = 1; message <= schedule.length + 1; message++) {
    clock.advance(message * EVERY_NS - clock.now());
    send();
    machine.runUntilIdle();
  }
  adapter.changeLink?.(encodeLinkChange('a:1', ['set', 'drop=0.05', 'corrupt=0.02', 'duplicate=0.02', 'seed=7']));
  for (let message = 0; message < RANDOM_MESSAGES; message++) send();
  machine.runUntilIdle();
}

function look(seen: Seen) {
  const { naks, timeouts, retries } = seen.adapter('a').engine.connected.completer;
  const { sequenceErrors, duplicates } = seen.adapter('b').engine.connected.responder;
  const damaged = seen.adapter('b').ports[0].counters.physicalErrors;
  const { unackedPsn = 0, nextPsn = 0 } = findRequester(seen, 'a') ?? {};
  return { naks, timeouts, retries, sequenceErrors, duplicates, damaged, unackedPsn, nextPsn };
}

/** The requester of the only connection of an adapter. */
function findRequester(seen: Seen, name: string): RequesterState | undefined {
  let found: RequesterState | undefined;
  seen.adapter(name).tables.queuePairs.forEach((qp) => {
    found ??= requesterOf(qp);
  });
  return found;
}

const storyOf = (adapter: 'a' | 'b') =>
  ({ adapter, part: 'story', queuePair: (seen: Seen) => findRequester(seen, adapter)?.qp.number ?? 0 }) as const;
const ofA = storyOf('a');
const ofB = storyOf('b');

function makeStops(): readonly SceneStop[] {
  let duplicatesBefore = 0;
  return [
    {
      ...ofA,
      title: 'A message without trouble',
      when: (seen) => look(seen).unackedPsn === PACKETS,
      says: (seen) => {
        const { unackedPsn } = look(seen);
        return [
          `A message of ${MESSAGE_BYTES} bytes went out as ${PACKETS} packets, numbered 0 to ${PACKETS - 1}.`,
          `The responder has acknowledged them all: the oldest packet sequence number (PSN) without acknowledgement is ${unackedPsn}. Only now is the message complete.`,
        ];
      },
      source: 'IBTA 9.7.5.1; US 8,484,392 par. 43, 122-124',
    },
    {
      ...ofB,
      title: 'A lost packet is noticed',
      when: (seen) => look(seen).sequenceErrors === 1,
      says: (seen) => {
        const { unackedPsn } = look(seen);
        return [
          `The link lost packet ${PACKETS + 1}. Packet ${PACKETS + 2} arrives, and is not the one that the responder expects.`,
          `It takes nothing of it, and answers with a NAK: PSN sequence error. The requester has acknowledgements up to ${unackedPsn}.`,
        ];
      },
      source: 'IBTA 9.7.5.2',
    },
    {
      ...ofA,
      title: 'The NAK makes it send again',
      when: (seen) => look(seen).naks === 1,
      says: (seen) => {
        const { unackedPsn, nextPsn, retries } = look(seen);
        return [
          `The NAK names the missing packet and acknowledges what came before it, so the requester goes back to PSN ${unackedPsn} and sends up to ${nextPsn - 1} again: retry ${retries}.`,
          'That took a round trip, and no timer.',
        ];
      },
      source: 'IBTA 9.9.2',
    },
    {
      ...ofA,
      title: 'The last packet is lost: a timeout',
      when: (seen) => look(seen).timeouts === 1,
      says: (seen) => {
        const { unackedPsn, nextPsn } = look(seen);
        return [
          `The link lost packet ${nextPsn - 1}, the last of its message. Nothing comes behind it, so the responder cannot know, and sends no NAK.`,
          `After ${TIMEOUT_TEXT} without an acknowledgement the timer of the requester expires. It knows nothing of the packets before, so it sends all from ${unackedPsn} on again.`,
        ];
      },
      source: 'IBTA 9.7.6.1.3',
    },
    {
      ...ofB,
      title: 'A lost acknowledgement',
      when: (seen) => {
        const { timeouts, duplicates } = look(seen);
        if (timeouts < 2) duplicatesBefore = duplicates;
        return timeouts === 2 && duplicates === duplicatesBefore + PACKETS;
      },
      says: (seen) => {
        const { duplicates, timeouts } = look(seen);
        return [
          `This time all packets arrived, and the link lost the acknowledgement. To the requester it looks the same: timeout ${timeouts}, and all ${PACKETS} packets once more.`,
          `The responder knows them by their numbers (duplicates: ${duplicates}). It executes nothing twice, and acknowledges again.`,
        ];
      },
      source: 'IBTA 9.7.5.1; docs/HAZARDS.md, hazard 18',
    },
    {
      ...ofB,
      part: 'ports',
      title: 'A damaged packet',
      when: (seen) => {
        const { damaged, duplicates } = look(seen);
        duplicatesBefore = duplicates;
        return damaged > 0;
      },
      says: (seen) => {
        const { damaged } = look(seen);
        return [
          `The link flipped bits of a packet. Its CRC is wrong, so the port of b counts it (${damaged}) and drops it before anybody looks inside.`,
          'What follows is as for a lost packet: the next one is out of sequence, and a NAK asks for it.',
        ];
      },
      source: 'IBTA 7.8.1, 9.6.1',
    },
    {
      ...ofB,
      title: 'A doubled packet',
      when: (seen) => {
        const { duplicates } = look(seen);
        return duplicates > duplicatesBefore;
      },
      says: (seen) => {
        const { duplicates } = look(seen);
        return [
          `The link delivered a packet twice. The responder has seen its number before (duplicates: ${duplicates}), so the second copy changes no memory and takes no receive buffer.`,
          'It is acknowledged all the same, and the requester ignores what it knows already.',
        ];
      },
      source: 'IBTA 9.7.5.1',
    },
    {
      ...ofA,
      title: 'A link that fails at random',
      when: (seen) => seen.isLast,
      says: (seen) => {
        const { retries, timeouts, naks, nextPsn } = look(seen);
        return [
          `${RANDOM_MESSAGES} further messages went over a link that loses 5 % of all packets, damages 2 % and doubles 2 %. All arrived once and in order: ${nextPsn} packets.`,
          `That took ${retries} retries, after ${naks} NAKs and ${timeouts} timeouts.`,
        ];
      },
      source: 'IBTA 9.7.5.1; IBTA 9.9.2',
    },
  ];
}

export const lossyLink: Scene = { name: 'lossy-link', seed: 6, budget: 8, plan, play, makeStops };
