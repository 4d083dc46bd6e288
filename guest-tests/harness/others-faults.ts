// SPDX-License-Identifier: Apache-2.0
/**
 * Faults of QEMU and of Linux that occur now and then, and show nothing about adapter or driver: a
 * run that they end is repeated, with a message. Called by tests in which an adapter dies or
 * Debian's driver is removed, and by foreign suites.
 */
import type { Test } from 'tap';
import type { GuestRun } from './guest-run.ts';
import type { GuestFault } from './guest-session.ts';

/**
 * QEMU 11.1 aborts when its server vanishes in the middle of a message: it sets two errors in one
 * place.
 */
const ABORT = 'error_setv: Assertion';
/**
 * agent_send_response of Linux's ib_core takes an agent without a reference while
 * ib_agent_port_close frees it (docs/verbs/PERSONALITIES.md, "What the drivers do"): a datagram of
 * the subnet manager came while a driver was removed.
 */
const AGENT_RACE = { complaint: 'refcount_t: addition on 0', trace: 'agent_send_response' };

/**
 * Warning about the flags of work queues of Linux (kernel/workqueue.c), which no adapter can cause.
 * Seen once, in a guest with Debian's drivers for disks over RDMA.
 */
const WORK_QUEUE_RULE = /\bcheck_flush_dependency\b/;

/** Whether the fault is that of a stock driver of Linux, which shows nothing about the adapter. */
export function breaksWorkQueueRule({ kind, text }: Pick<GuestFault, 'kind' | 'text'>): boolean {
  return kind === 'kernel' && WORK_QUEUE_RULE.test(text);
}

export function hasQemuAborted(run: GuestRun): boolean {
  return run.faults.some(({ text }) => text.includes(ABORT));
}

/** Whether the first complaint of the guest's kernel is that of a removal beside a datagram. */
export function hasAgentRace(run: GuestRun): boolean {
  const first = run.faults.find(({ kind }) => kind === 'kernel');
  return (
    first?.text.includes(AGENT_RACE.complaint) === true &&
    run.kernelLog().some((line) => line.includes(AGENT_RACE.trace))
  );
}

/** The fault of others in the run, as a sentence; undefined if none is known. */
function othersFault(run: GuestRun): string | undefined {
  if (hasQemuAborted(run)) return 'QEMU aborted by itself';
  return hasAgentRace(run) ? "Linux's ib_core used an agent that it had freed" : undefined;
}

/** Runs until no fault of others spoils the run, at most `attempts` times. Returns the last run. */
export async function runPastOthersFaults(
  t: Test,
  attempts: number,
  runOnce: () => Promise<GuestRun>,
): Promise<GuestRun> {
  let run = await runOnce();
  for (let attempt = 1; attempt < attempts; attempt++) {
    const fault = othersFault(run);
    if (fault === undefined) break;
    t.comment(`${fault}; the test runs again`);
    run = await runOnce();
  }
  return run;
}
