// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca inject`: has a running device of the personality mthca plant a fault, and prints
 * what it says.
 */
import type { CliCommand } from '../options/cli-command.ts';
import { withAdapter } from '../session/with-adapter.ts';
import type { InjectArguments } from './inject-command.ts';

export async function performInject(command: CliCommand): Promise<number> {
  const [words] = command.processedArgs as [string[]];
  const { control, adapter } = command.opts<InjectArguments>();
  const { text } = await withAdapter(control, (client) => client.request('inject', { words, adapter }));
  process.stdout.write(`${text}\n`);
  return 0;
}
