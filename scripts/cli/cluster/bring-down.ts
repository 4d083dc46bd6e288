// SPDX-License-Identifier: Apache-2.0
/**
 * Ends a cluster, and waits until its supervisor has gone with all that it owned; one that does not
 * answer is killed, and the kernel ends the rest with it. Called by cluster-action.ts and up.ts.
 */
import { readFileSync, rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { SetupError } from '../../../qemu/setup/tools/errors.ts';
import { converse } from '../cluster-client/cluster-client.ts';
import type { ClusterPlace } from '../cluster-client/cluster-place.ts';
import { isRunning } from '../session/running.ts';

/** The supervisor gives guests and the adapter process a minute. */
const ANSWER_BOUND_MS = 180_000;
const POLL_MS = 10;

/** Ends the cluster. Throws SetupError when none runs, or when it had to be killed. */
export async function bringDown(place: ClusterPlace): Promise<void> {
  // A cluster that has nothing left to end removes its folder at once.
  const pid = readPid(place);
  const { result } = await converse(place, { command: 'down' });
  const bound = new AbortController();
  const isLate = delay(ANSWER_BOUND_MS, true, { signal: bound.signal }).catch(() => false);
  // A connection that ends without an answer is an end as well.
  const late = await Promise.race([result.then(() => false).catch(() => false), isLate]);
  bound.abort();
  if (pid !== undefined) {
    if (late) process.kill(pid, 'SIGKILL');
    while (isRunning(pid)) await delay(POLL_MS);
  }
  rmSync(place.folder, { recursive: true, force: true });
  if (late) throw new SetupError(`cluster ${place.name} did not answer, and was killed: nothing of it is left`);
}

/** The supervisor; undefined when there is none. */
function readPid({ pidPath }: ClusterPlace): number | undefined {
  try {
    return Number(readFileSync(pidPath, 'utf8'));
  } catch {
    return undefined;
  }
}
