// SPDX-License-Identifier: Apache-2.0
/**
 * Notices that a node does not answer, soon and without an alarm on a busy machine: a period counts
 * when it brought nothing from the node, although a question went to it, and the processes that the
 * answer takes did not wait for a processor (Linux /proc/PID/task/TID/schedstat) for much of it.
 * node-shell.ts has one for each connection.
 */
import { readdirSync, readFileSync } from 'node:fs';

export interface AnswerWatchOptions {
  /** At least one question is asked in each. */
  readonly periodMs: number;
  /** How long the processes of the node have waited for a processor so far. */
  readonly readWaitedMs: () => number;
  /** Called when it has fallen silent, and when it is heard again. */
  readonly tell: (isSilent: boolean) => void;
}

/** Silent periods in a row. */
const PERIODS = 2;
/** The part of a period that processes may wait for a processor. */
const WAITED_PART = 0.5;
const NS_PER_MS = 1e6;

export class AnswerWatch {
  readonly #options: AnswerWatchOptions;
  #isHeard = false;
  #silentPeriods = 0;
  #waitedMs: number;

  constructor(options: AnswerWatchOptions) {
    this.#options = options;
    this.#waitedMs = options.readWaitedMs();
  }

  /** Something came from the node. */
  hear(): void {
    this.#isHeard = true;
    if (this.#silentPeriods >= PERIODS) this.#options.tell(false);
    this.#silentPeriods = 0;
  }

  /** A period has ended, and all that came in it was heard. */
  check(): void {
    const { periodMs, readWaitedMs, tell } = this.#options;
    const before = this.#waitedMs;
    this.#waitedMs = readWaitedMs();
    const wasStarved = this.#waitedMs - before > periodMs * WAITED_PART;
    if (!this.#isHeard && !wasStarved && ++this.#silentPeriods === PERIODS) tell(true);
    this.#isHeard = false;
  }
}

/** How long all threads of these processes have waited for a processor, together. */
export function readWaitedMs(pids: readonly number[]): number {
  let waitedNs = 0;
  for (const pid of pids) {
    try {
      for (const task of readdirSync(`/proc/${pid}/task`))
        waitedNs += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[1]);
    } catch {
      // A thread, or the process, has ended.
    }
  }
  return waitedNs / NS_PER_MS;
}
