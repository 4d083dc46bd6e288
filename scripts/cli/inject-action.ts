// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca inject`: has a running device of the personality mthca plant a fault, and prints
 * what it says.
 */
import { ControlClient } from '../../device/main/control-client.ts';
import { findOnlyControlPath } from '../../device/main/control-path.ts';
import type { CliCommand } from './cli-command.ts';
import type { InjectArguments } from './inject-command.ts';

export async function performInject(command: CliCommand): Promise<number> {
  const [words] = command.processedArgs as [string[]];
  const { control, adapter } = command.opts<InjectArguments>();
  const client = await ControlClient.connect(control ?? (await findOnlyControlPath()));
  try {
    const { text } = (await client.request('inject', { words, adapter })) as { text: string };
    process.stdout.write(`${text}\n`);
  } finally {
    client.close();
  }
  return 0;
}
