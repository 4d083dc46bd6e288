// SPDX-License-Identifier: Apache-2.0
/**
 * One send context (US 2015/0378953 abstract and claim 1; docs/DOCUMENTS.md decision 9): packets
 * are filled out of order and leave as they become whole, and their credits return in runs from the
 * oldest block, for each of the reasons of the credit word.
 */
import type { SendContext } from '../../../device/hca/pio/send-context.ts';
import type { SendStore } from '../../../device/rig/driver/send-context.ts';
import { SendContextFixture } from '../../../device/rig/fixtures/send-context-fixture.ts';
import type { RecordedFabric } from '../../../device/rig/machine/fabric-machine.ts';
import type { InProcessMachine } from '../../../device/rig/machine/machine.ts';
import { SEND_BLOCK_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { SEND_CONTROL_SIZE } from '../../../protocol/layout/gen/send-control.gen.ts';
import { counted, planAdapter, planAlone, type Scene, type SceneStop, type Seen } from '../scene.ts';

const BLOCKS = 16;
const THRESHOLD = 4;
/** Blocks of the three packets that are filled in the opposite order. */
const SIZES = [3, 2, 1] as const;
const FIRST_RUN = 6;
/** LRH, BTH and DETH. */
const HEADER_BYTES = 28;
const LOAD_PACKETS = 60;

function play({ machine }: RecordedFabric): void {
  const fixture = new SendContextFixture({ blocks: BLOCKS, threshold: THRESHOLD }, { machine });
  const { context } = fixture;
  const { random } = machine;
  const compose = (blocks: number): Uint8Array => {
    fixture.postReceive();
    return fixture.packet(random.bytes(blocks * SEND_BLOCK_BYTES - SEND_CONTROL_SIZE - HEADER_BYTES));
  };
  const allocate = (blocks: number, control = {}): SendStore[] => {
    const stores = context.allocate(compose(blocks), control);
    if (stores === undefined) throw new Error('the send context has no credits left');
    return stores;
  };
  const write = (stores: readonly SendStore[]): void => {
    for (const store of stores) context.write(store);
    machine.runUntilIdle();
  };
  const [first, second, third] = SIZES.map((blocks) => allocate(blocks));
  write(first.slice(0, -1));
  write(third);
  write(second);
  write(first.slice(-1));
  context.refresh();
  for (let packet = 0; packet <= THRESHOLD; packet++) write(allocate(1));
  context.refresh();
  write(allocate(2));
  write(allocate(1, { creditReturn: 1 }));
  context.refresh();
  write(allocate(1));
  context.force();
  context.refresh();
  sendLoad(machine, context, compose);
  fixture.settle();
}

/** Sends packets of random sizes as far as credits allow; waits for credits by interrupt. */
function sendLoad(
  machine: InProcessMachine,
  context: SendContextFixture['context'],
  compose: (blocks: number) => Uint8Array,
): void {
  for (let packet = 0; packet < LOAD_PACKETS; packet++) {
    const stores = context.allocate(compose(machine.random.between(1, 4)));
    if (stores === undefined) {
      context.wantCredits(() => {});
      machine.runUntilIdle();
      context.refresh();
      continue;
    }
    machine.random.shuffle(stores);
    for (const store of stores) context.write(store);
    if (machine.random.oneIn(2)) machine.runUntilIdle();
  }
}

function look(seen: Seen): SendContext | undefined {
  let found: SendContext | undefined;
  seen.adapter('a').sendContexts.forEach((context) => {
    found = context;
  });
  return found;
}

function has(seen: Seen, condition: (context: SendContext) => boolean): boolean {
  const context = look(seen);
  return context !== undefined && condition(context);
}

function stop(
  title: string,
  source: string,
  when: (context: SendContext, seen: Seen) => boolean,
  says: (context: SendContext) => readonly string[],
): SceneStop {
  return {
    title,
    adapter: 'a',
    part: 'contexts',
    when: (seen) => has(seen, (context) => when(context, seen)),
    says: (seen) => says(look(seen) as SendContext),
    source,
  };
}

const ABSTRACT = 'US 2015/0378953 abstract';
const CLAIM = 'US 2015/0378953 claim 1';
const DECISION = 'docs/DOCUMENTS.md decision 9';

const stops: readonly SceneStop[] = [
  stop(
    'A younger packet leaves first',
    CLAIM,
    ({ packetsSent }) => packetsSent === 1,
    ({ blocks, freeCounter }) => [
      `Software has ${blocks.count} blocks of 64 bytes. It gave ${SIZES.join(', ')} of them to three packets, and filled the third before the second; the first lacks its last 8 bytes.`,
      'The third is whole, so it leaves: packets need not leave in the order of their blocks.',
      `Its block is free, but older ones are not: ${freeCounter} credits can return.`,
    ],
  ),
  stop(
    'The oldest packet still holds all credits',
    CLAIM,
    ({ packetsSent }) => packetsSent === 2,
    ({ packetsSent, freeCounter, creditReturns }) => [
      `${packetsSent} packets have left, and still ${freeCounter} credits can return: software allocates blocks as from a ring, so it can use them only in order.`,
      `The adapter has written ${counted(creditReturns, 'credit word')}: one now would say nothing new.`,
    ],
  ),
  stop(
    'One word returns the whole run',
    `${ABSTRACT}; ${DECISION}`,
    ({ creditReturns }) => creditReturns === 1,
    ({ freeCounter, threshold, creditReturns }) => [
      `The first packet got its last bytes and left. The run of free blocks from the oldest on is now ${freeCounter} long, more than the threshold of ${threshold}.`,
      `${creditReturns} store of 8 bytes returns them all, as a count that only rises: a word that software misses costs nothing.`,
    ],
  ),
  stop(
    'Below the threshold nothing is written',
    ABSTRACT,
    ({ unreturned, threshold, freeCounter }) => freeCounter > FIRST_RUN && unreturned === threshold,
    ({ unreturned, threshold, creditReturns }) => [
      `${unreturned} packets of one block have left one after the other. Their ${unreturned} credits do not exceed the threshold of ${threshold}.`,
      `Still only ${counted(creditReturns, 'credit word')} was written: each one saved is a crossing of the bus saved.`,
    ],
  ),
  stop(
    'The threshold is exceeded',
    ABSTRACT,
    ({ creditReturns }) => creditReturns === 2,
    ({ freeCounter, creditReturns }) => [
      `One more block is free, so word ${creditReturns} goes out, with the count ${freeCounter} and the threshold as its reason.`,
      'So software is never without more than the threshold of credits that are free already.',
    ],
  ),
  stop(
    'A packet asks for its credits',
    DECISION,
    ({ creditReturns }) => creditReturns === 3,
    ({ freeCounter, creditReturns }) => [
      `The control word of this packet asks for a credit return. It is part of the run, so word ${creditReturns} goes out at once, and takes the packet before it along: ${freeCounter} blocks in all.`,
      'Software asks so for the last packet of a burst, behind which none would exceed the threshold.',
    ],
  ),
  stop(
    'Software forces a return',
    DECISION,
    ({ creditReturns }) => creditReturns === 4,
    ({ freeCounter, creditReturns }) => [
      `A control bit of the context forces word ${creditReturns}, although only one block was unreturned: ${freeCounter} in all.`,
      'Software does it before it waits for credits, because the last one may have become free before it listened.',
    ],
  ),
  stop(
    'A load of packets',
    ABSTRACT,
    (_, seen) => seen.isLast,
    ({ packetsSent, freeCounter, creditReturns, unreturned }) => [
      `${packetsSent} packets of 1 to 4 blocks have left, each filled in random order: ${freeCounter} blocks.`,
      `${creditReturns} credit words were enough for them, and ${unreturned} credits wait for the next.`,
    ],
  ),
];

export const creditReturns: Scene = {
  name: 'credit-returns',
  seed: 5,
  budget: 2,
  plan: planAlone(planAdapter('a', 0)),
  play,
  makeStops: () => stops,
};
