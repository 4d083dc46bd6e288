// SPDX-License-Identifier: Apache-2.0
/**
 * Traces a guest's queue pairs from the host, as `vuhca trace on` does, while the guest creates and
 * destroys them. Called by traced-recording.test.ts.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { ControlClient } from '../../../device/process/control/control-client.ts';

const LOOK_MS = 20;

/**
 * Switches traces on until the adapter process ends. Returns how many messages were traced, at
 * least.
 */
export async function traceWhileItRuns(controlPath: string): Promise<number> {
  const client = await ControlClient.connect(controlPath);
  let ended = false;
  void client.whenClosed.then(() => {
    ended = true;
  });
  const heads = new Map<number, number>();
  while (!ended) {
    const status = await client.request('trace-status').catch(() => undefined);
    for (const { qp, head } of status?.traces ?? []) heads.set(qp, Math.max(head, heads.get(qp) ?? 0));
    const traced = new Set(status?.traces.map(({ qp }) => qp));
    const list = await client.request('queue-pairs').catch(() => undefined);
    // One that was destroyed meanwhile is refused.
    for (const { number: qp } of list?.queuePairs ?? [])
      if (!traced.has(qp)) await client.request('trace-on', { qp }).catch(() => undefined);
    await Promise.race([client.whenClosed, wait(LOOK_MS)]);
  }
  return [...heads.values()].reduce((sum, head) => sum + head, 0);
}
