// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca status --qp`: reads the queue pairs of a running adapter over its control socket
 * and prints them as a screen or as JSON, once or again and again.
 */
import { ControlClient } from '../../device/main/control-client.ts';
import { ControlError, findOnlyControlPath } from '../../device/main/control-path.ts';
import type { QueuePairList, QueuePairReport } from '../../device/main/queue-pair-report.ts';
import { renderQueuePair, renderQueuePairs } from './queue-pair-screen.ts';
import type { StatusArguments } from './status-command.ts';
import { CLEAR_SCREEN, namesOf, readStatus } from './status-sample.ts';

/** The queue pairs of one adapter. */
export interface AdapterQueuePairs {
  readonly name: string;
  readonly queuePairs: readonly QueuePairReport[];
}

/** Shows the queue pairs that `given` asks for. */
export async function showQueuePairs(given: StatusArguments): Promise<void> {
  const { control, json = false, watch } = given;
  const client = await ControlClient.connect(control ?? (await findOnlyControlPath()));
  try {
    for (let isFirst = true; isFirst || watch !== undefined; isFirst = false) {
      if (!isFirst && watch !== undefined) await new Promise((done) => setTimeout(done, watch * 1000));
      const adapters = await readQueuePairs(client, given);
      const text = json ? `${JSON.stringify({ adapters })}\n` : renderAdapters(adapters, given.qp);
      process.stdout.write(watch === undefined || json ? text : `${CLEAR_SCREEN}${text}`);
    }
  } finally {
    client.close();
  }
}

/** Reads them in parts; throws ControlError for a number that no queue pair has. */
export async function readQueuePairs(
  client: ControlClient,
  { qp, function: number }: Pick<StatusArguments, 'qp' | 'function'>,
): Promise<AdapterQueuePairs[]> {
  const found: AdapterQueuePairs[] = [];
  for (const name of namesOf(await readStatus(client))) {
    const all = await readAll(client, name);
    const queuePairs = all.filter(
      (one) => (number === undefined || one.function === number) && (typeof qp !== 'number' || one.number === qp),
    );
    found.push({ name, queuePairs });
  }
  if (typeof qp === 'number' && found.every(({ queuePairs }) => queuePairs.length === 0))
    throw new ControlError(`there is no QP ${qp}${number === undefined ? '' : ` of function ${number}`}`);
  return found;
}

async function readAll(client: ControlClient, adapter: string): Promise<QueuePairReport[]> {
  const all: QueuePairReport[] = [];
  for (let first: number | undefined = 0; first !== undefined; ) {
    const { queuePairs, next } = (await client.request('queue-pairs', { adapter, first })) as QueuePairList;
    all.push(...queuePairs);
    first = next;
  }
  return all;
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
