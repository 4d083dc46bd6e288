// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca resources`: shows the shares of a running adapter's resources, or makes a
 * resource request of the host, which has the part of the virtual machine manager of US8484392.
 */
import { readResourceWords } from '../../../device/process/reports/resource-syntax.ts';
import type { CliCommand } from '../options/cli-command.ts';
import { UsageError } from '../options/usage-error.ts';
import { renderResources } from '../screens/resources-screen.ts';
import { showScreens, withAdapter } from '../session/with-adapter.ts';
import type { ResourcesAction, ResourcesArguments } from './resources-command.ts';

export async function performResources(command: CliCommand): Promise<number> {
  const [action, words] = command.processedArgs as [ResourcesAction, string[]];
  const given = command.opts<ResourcesArguments>();
  if (action === 'show' && words.length > 0) throw new UsageError(`${words[0]} is one argument too many`);
  if (action === 'set') checkWords(words);
  await withAdapter(given.control, async (client) => {
    const request = action === 'set' ? client.request('set-resources', { words }) : client.request('resources');
    await showScreens(given, () => request, renderResources);
  });
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
