// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca setup`: provides a thing by name and prints its paths, one a line, on standard
 * output; progress goes to standard error.
 */
import type { ThingName } from '../setup/thing-names.ts';
import { provideThing } from '../setup/things.ts';
import type { CliCommand } from './cli-command.ts';
import type { SetupArguments } from './setup-command.ts';
import { UsageError } from './usage-error.ts';

export async function performSetup(command: CliCommand): Promise<number> {
  const [thing, folders] = command.processedArgs as [ThingName, string[]];
  const given = command.opts<SetupArguments>();
  if (thing === 'modules' && folders.length === 0)
    throw new UsageError('the folder of the modules is missing: vuhca setup modules FOLDER...');
  if (thing !== 'modules' && folders.length > 0) throw new UsageError(`${folders[0]} is one argument too many`);
  for (const path of await provideThing(thing, { ...given, folders })) process.stdout.write(`${path}\n`);
  return 0;
}
