// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca setup`: provides a thing by name and prints its paths, one a line, on standard
 * output; progress goes to standard error. With `--sizes` and `--remove` it shows the cache.
 */
import { REMAINS, type ThingName } from '../../setup/thing-names.ts';
import { provideThing } from '../../setup/things.ts';
import type { CliCommand } from '../options/cli-command.ts';
import { UsageError } from '../options/usage-error.ts';
import { removeFromCache, showSizes } from './cache-action.ts';
import type { CacheKind, SetupArguments } from './setup-command.ts';

export async function performSetup(command: CliCommand): Promise<number> {
  const [thing, folders] = command.processedArgs as [CacheKind, string[]];
  const given = command.opts<SetupArguments>();
  const objection = findObjection(thing, folders, given);
  if (objection !== undefined) throw new UsageError(objection);
  const selection = { kind: thing, kernel: given.kernel, unusedDays: given.unused };
  if (given.sizes === true) process.stdout.write(showSizes(selection));
  else if (given.remove === true) process.stdout.write(await removeFromCache(selection));
  else {
    const paths = await provideThing(thing as ThingName, { ...given, folders });
    for (const path of paths) process.stdout.write(`${path}\n`);
  }
  return 0;
}

/** What is wrong with the arguments; undefined when nothing is. */
function findObjection(thing: CacheKind, folders: readonly string[], given: SetupArguments): string | undefined {
  const isCache = given.sizes === true || given.remove === true;
  if (given.sizes === true && given.remove === true) return 'give --sizes or --remove, not both';
  if (!isCache && given.unused !== undefined) return '--unused belongs to --sizes and --remove';
  if (isCache) {
    const other = (['kernels', 'headers', 'refresh'] as const).find((name) => given[name] !== undefined);
    if (other !== undefined) return `--${other} cannot be given with --sizes and --remove`;
    return folders.length > 0 ? `${folders[0]} is one argument too many` : undefined;
  }
  if (REMAINS.some((name) => name === thing))
    return `${thing} is nothing to provide; it belongs to --sizes and --remove`;
  if (given.kernels === true && given.kernel !== undefined) return 'give --kernel or --kernels, not both';
  if (given.kernels === true && thing !== 'all' && thing !== 'modules') return '--kernels belongs to all and modules';
  if (thing !== 'modules' && folders.length > 0) return `${folders[0]} is one argument too many`;
  if (thing === 'modules' && folders.length === 0)
    return 'the folder of the modules is missing: vuhca setup modules FOLDER...';
  return undefined;
}
