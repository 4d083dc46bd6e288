// SPDX-License-Identifier: Apache-2.0
/**
 * Counts the bytes of heap that a message allocates once its code is compiled. V8 does not count
 * allocations, but the used heap grows by each of them until a collection. A warm-up of fixed
 * length would be too short on one machine and too long on another, so rounds are run until several
 * in a row allocate next to nothing; what is allocated for each message shows in every round.
 * Called by allocation-worker.ts, and by the tests of links, switches and packets.
 */
import { getHeapStatistics } from 'node:v8';
import { median } from './statistics.ts';

/**
 * Bytes per message that a round may allocate. The smallest object has 16, so at most one message
 * in 16 may allocate one: reading the heap statistics, and what happens once in many messages, stay
 * below that.
 */
export const ALLOCATION_BOUND = 1;
/** So many rounds in a row must stay below the bound. */
const QUIET_ROUNDS = 8;
/** Compilation is over long before that: it depends on how often code runs. */
const MOST_ROUNDS = 300;

export interface AllocationCount {
  /** So many rounds in a row as are needed stayed below the bound. */
  readonly settled: boolean;
  /** Median of the last rounds. */
  readonly bytesPerMessage: number;
  readonly rounds: number;
}

/**
 * `sendRound` sends `messages` messages. `bound` is the number of bytes per message that a round
 * may allocate. Where V8 compiles in other threads (without `--single-threaded`), the number of
 * rounds depends on how busy the machine is.
 */
export function countAllocation(sendRound: () => void, messages: number, bound = ALLOCATION_BOUND): AllocationCount {
  const last: number[] = [];
  let quiet = 0;
  let rounds = 0;
  while (quiet < QUIET_ROUNDS && rounds < MOST_ROUNDS) {
    const before = getHeapStatistics().used_heap_size;
    sendRound();
    const bytes = (getHeapStatistics().used_heap_size - before) / messages;
    rounds++;
    // The heap of a round that shrank was collected.
    quiet = bytes >= 0 && bytes < bound ? quiet + 1 : 0;
    if (bytes >= 0) last.push(bytes);
    if (last.length > QUIET_ROUNDS) last.shift();
  }
  return { settled: quiet === QUIET_ROUNDS, bytesPerMessage: median(last), rounds };
}
