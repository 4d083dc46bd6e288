// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca explain`: the meaning of an error by its number or name, or the stories of
 * failed queue pairs of a running adapter.
 */
import { ControlClient } from '../../device/main/control-client.ts';
import { ControlError, findOnlyControlPath } from '../../device/main/control-path.ts';
import type { CliCommand } from './cli-command.ts';
import type { ExplainArguments } from './explain-command.ts';
import { explainQueuePair, explainWords, type NamedQueuePair } from './explain-text.ts';
import { readQueuePairs } from './queue-pair-sample.ts';
import { UsageError } from './usage-error.ts';

export async function performExplain(command: CliCommand): Promise<number> {
  const [status, vendorError] = command.processedArgs as [string | undefined, string | undefined];
  const given = command.opts<ExplainArguments>();
  if (status !== undefined && Object.keys(given).length > 0)
    throw new UsageError(`say a status or a queue pair, not both: ${status} needs no running adapter`);
  const text = status === undefined ? await explainRunning(given) : explainWords(status, vendorError);
  process.stdout.write(text);
  return 0;
}

async function explainRunning({ control, qp: number, process: pid }: ExplainArguments): Promise<string> {
  const client = await ControlClient.connect(control ?? (await findOnlyControlPath()));
  const adapters = await readQueuePairs(client, {}).finally(() => client.close());
  const all = adapters.flatMap(({ name, queuePairs }) =>
    queuePairs.map((qp): NamedQueuePair => ({ adapter: name, qp })),
  );
  const asked = all.filter(
    ({ qp }) => (number === undefined || qp.number === number) && (pid === undefined || qp.process === pid),
  );
  if (number !== undefined && asked.length === 0) throw new ControlError(`there is no QP ${number}`);
  const shown = number === undefined ? asked.filter(({ qp }) => qp.failure !== undefined) : asked;
  if (shown.length === 0) return 'no QP has failed; those that were destroyed or went to INIT again are not kept\n';
  return shown.map((one) => explainQueuePair(one, all)).join('\n');
}
