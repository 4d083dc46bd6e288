// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca status --qp`: reads the queue pairs of a running adapter over its control socket
 * and prints them as a screen or as JSON, once or repeatedly.
 */
import type { ControlClient } from '../../../device/process/control/control-client.ts';
import { ControlError } from '../../../device/process/control/control-path.ts';
import type { QueuePairReport } from '../../../device/process/reports/queue-pair-report.ts';
import { renderQueuePair, renderQueuePairs } from '../screens/queue-pair-screen.ts';
import { showScreens, withAdapter } from '../session/with-adapter.ts';
import type { StatusArguments } from './status-command.ts';
import { namesOf, readStatus } from './status-sample.ts';

/** The queue pairs of one adapter. */
export interface AdapterQueuePairs {
  readonly name: string;
  readonly queuePairs: readonly QueuePairReport[];
}

/** Shows the queue pairs that `given` asks for. */
export async function showQueuePairs(given: StatusArguments): Promise<void> {
  await withAdapter(given.control, (client) =>
    showScreens(
      given,
      async () => ({ adapters: await readQueuePairs(client, given) }),
      ({ adapters }) => renderAdapters(adapters, given.qp),
    ),
  );
}

/** Reads them in parts; throws ControlError for a number that no queue pair has. */
export async function readQueuePairs(
  client: ControlClient,
  { qp, function: number }: Pick<StatusArguments, 'qp' | 'function'>,
): Promise<AdapterQueuePairs[]> {
  const found: AdapterQueuePairs[] = [];
  for (const name of namesOf(await readStatus(client))) {
    const parts = await client.requestAll('queue-pairs', { adapter: name });
    const all = parts.flatMap((part) => part.queuePairs);
    const queuePairs = all.filter(
      (one) => (number === undefined || one.function === number) && (typeof qp !== 'number' || one.number === qp),
    );
    found.push({ name, queuePairs });
  }
  if (typeof qp === 'number' && found.every(({ queuePairs }) => queuePairs.length === 0))
    throw new ControlError(`there is no QP ${qp}${number === undefined ? '' : ` of function ${number}`}`);
  return found;
}

function renderAdapters(adapters: readonly AdapterQueuePairs[], qp: StatusArguments['qp']): string {
  const shown = typeof qp === 'number' ? adapters.filter(({ queuePairs }) => queuePairs.length > 0) : adapters;
  return shown
    .map(({ name, queuePairs }) => {
      const title = adapters.length > 1 ? `adapter ${name}\n` : '';
      return title + (typeof qp === 'number' ? queuePairs.map(renderQueuePair).join('') : renderQueuePairs(queuePairs));
    })
    .join('\n');
}
