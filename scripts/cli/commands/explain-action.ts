// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca explain`: the meaning of an error by its number or name, or the stories of failed
 * queue pairs of a running adapter, including those that were destroyed, and the first fault of
 * each of its functions.
 */
import type { ControlClient } from '../../../device/process/control/control-client.ts';
import { ControlError } from '../../../device/process/control/control-path.ts';
import type { FailedQueuePair } from '../../../device/process/reports/failed-queue-pairs.ts';
import type { CliCommand } from '../options/cli-command.ts';
import { UsageError } from '../options/usage-error.ts';
import { explainWords } from '../screens/explain-text.ts';
import { withAdapter } from '../session/with-adapter.ts';
import type { ExplainArguments } from './explain-command.ts';
import { explainFirstFaults } from './explain-faults.ts';
import { explainQueuePair, isKept, isSameFailure, type NamedQueuePair } from './explain-queue-pair.ts';
import { readQueuePairs } from './queue-pair-sample.ts';

export async function performExplain(command: CliCommand): Promise<number> {
  const [status, vendorError] = command.processedArgs as [string | undefined, string | undefined];
  const given = command.opts<ExplainArguments>();
  if (status !== undefined && Object.keys(given).length > 0)
    throw new UsageError(`say a status or a queue pair, not both: ${status} needs no running adapter`);
  if (status !== undefined) process.stdout.write(explainWords(status, vendorError));
  else process.stdout.write(`${await explainRunning(given)}${await explainFirstFaults(given)}`);
  return 0;
}

async function explainRunning(given: ExplainArguments): Promise<string> {
  const all = await withAdapter(given.control, readWithFailures);
  const shown = chooseFailures(all, given);
  if (given.json) return `${JSON.stringify({ queuePairs: shown.map(({ adapter, qp }) => ({ adapter, ...qp })) })}\n`;
  if (shown.length > 0) return shown.map((one) => explainQueuePair(one, all)).join('\n');
  return given.process === undefined
    ? 'no QP has failed since the adapter began\n'
    : `no QP of process ${given.process} is among those that failed last\n`;
}

/** Kept failures, newest first, then the existing queue pairs. */
export async function readWithFailures(client: ControlClient): Promise<NamedQueuePair[]> {
  const adapters = await readQueuePairs(client, {});
  const kept: NamedQueuePair<FailedQueuePair>[] = [];
  for (const { name: adapter } of adapters) {
    const failed = await client.request('failed-queue-pairs', { adapter });
    kept.push(...failed.map((qp) => ({ adapter, qp })));
  }
  kept.sort((one, other) => one.qp.agoNs - other.qp.agoNs);
  const present = adapters.flatMap(({ name: adapter, queuePairs }) => queuePairs.map((qp) => ({ adapter, qp })));
  return [...kept, ...present];
}

/**
 * The requested failures, newest first: the kept ones, and those of queue pairs that failed before
 * these. A number may also be that of a queue pair that has not failed. Throws a ControlError when
 * there is none with this number.
 */
export function chooseFailures(
  all: readonly NamedQueuePair[],
  { qp: number, process: pid, last }: Pick<ExplainArguments, 'qp' | 'process' | 'last'>,
): readonly NamedQueuePair[] {
  const asked = all.filter(
    ({ qp }) => (number === undefined || qp.number === number) && (pid === undefined || qp.process === pid),
  );
  if (number !== undefined && asked.length === 0)
    throw new ControlError(`there is no QP ${number}, and none of those that failed last had this number`);
  const kept = asked.filter(({ qp }) => isKept(qp));
  const others = asked.filter((one) => !isKept(one.qp) && !kept.some((other) => isSameFailure(one, other)));
  const fine = number === undefined ? [] : others.filter(({ qp }) => qp.failure === undefined);
  const failed = [...kept, ...others.filter(({ qp }) => qp.failure !== undefined)];
  return [...fine, ...failed.slice(0, last)];
}
