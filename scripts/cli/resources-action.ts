// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca resources`: shows the shares of a running adapter's resources, or makes a
 * resource request of the host, which has the part of the virtual machine manager of US8484392.
 */
import { ControlClient } from '../../device/main/control-client.ts';
import { findOnlyControlPath } from '../../device/main/control-path.ts';
import type { ResourceReport } from '../../device/main/resource-report.ts';
import { readResourceWords } from '../../device/main/resource-words.ts';
import type { CliCommand } from './cli-command.ts';
import type { ResourcesAction, ResourcesArguments } from './resources-command.ts';
import { renderResources } from './resources-screen.ts';
import { UsageError } from './usage-error.ts';

export async function performResources(command: CliCommand): Promise<number> {
  const [action, words] = command.processedArgs as [ResourcesAction, string[]];
  const { control, json = false } = command.opts<ResourcesArguments>();
  if (action === 'show' && words.length > 0) throw new UsageError(`${words[0]} is one argument too many`);
  if (action === 'set') checkWords(words);
  const client = await ControlClient.connect(control ?? (await findOnlyControlPath()));
  try {
    const request = action === 'set' ? client.request('set-resources', { words }) : client.request('resources');
    const report = (await request) as ResourceReport;
    process.stdout.write(json ? `${JSON.stringify(report)}\n` : renderResources(report));
  } finally {
    client.close();
  }
  return 0;
}

/** Throws UsageError for a request that no adapter would understand. */
function checkWords(words: readonly string[]): void {
  try {
    readResourceWords(words);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
