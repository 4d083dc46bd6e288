// SPDX-License-Identifier: Apache-2.0
/**
 * Counts what messages of 64 bytes allocate with guest memory below 2 GiB, compiled as in a live
 * process, and prints a JSON list. The last entry allocates an object for each message: it shows
 * that the count works. Called by allocation.test.ts.
 */
import { type AllocationCount, countAllocation } from './allocation-count.ts';
import { LOW_MEMORY } from './in-process.ts';
import { BATCH, MessageLoop } from './message-loop.ts';

export interface NamedCount extends AllocationCount {
  readonly name: string;
}

const ROUND_MESSAGES = 4096;
const counts: NamedCount[] = [];
/** Where V8 must assume that another function looks at it. */
let kept: object | undefined;

const loop = new MessageLoop(LOW_MEMORY);
count('datagram by collect', () => loop.run(ROUND_MESSAGES / BATCH, 'collect'));
count('datagram by doorbell', () => loop.run(ROUND_MESSAGES / BATCH, 'doorbell'));
count('an object for each message', () => {
  for (let message = 0; message < ROUND_MESSAGES; message++) kept = { message };
});
if (kept === undefined) throw new Error('nothing was kept');
process.stdout.write(`${JSON.stringify(counts)}\n`);

function count(name: string, sendRound: () => void): void {
  counts.push({ name, ...countAllocation(sendRound, ROUND_MESSAGES) });
}
