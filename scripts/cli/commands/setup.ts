// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca setup` provides a target by name and prints its paths, one a line, on standard output;
 * progress goes to standard error. With `--sizes` and `--remove` it shows the cache.
 */
import { Argument } from 'commander';
import { type CacheKind, REMAINS, TARGETS, type TargetName } from '../../setup/targets.ts';
import type { CliCommand } from '../options/cli-command.ts';
import { wholeNumber } from '../options/option-values.ts';
import { UsageError } from '../options/usage-error.ts';

/** The values of the options. */
export interface SetupArguments {
  readonly kernel?: string;
  readonly kernels?: boolean;
  readonly headers?: string;
  readonly refresh?: boolean;
  readonly sizes?: boolean;
  readonly remove?: boolean;
  /** Days. */
  readonly unused?: number;
}

const DAYS_MAX = 36_500;
const KINDS: readonly CacheKind[] = [...TARGETS, ...REMAINS];

export function defineSetup(command: CliCommand): void {
  command
    .addArgument(new Argument('[TARGET]', 'What to provide').choices(KINDS).default('all').argParser(readTarget))
    .argument('[FOLDER...]', 'With modules: the folders of kernel modules')
    .option(
      '--kernel <VERSION>',
      'For all, kernel, toolchain, modules: trixie (default), bookworm, backports, 6.1; or a bzImage',
    )
    .option('--kernels', "With all and modules: for each of Debian's three kernels")
    .option('--headers <FOLDER>', 'The build folder of a kernel that is a bzImage')
    .option('--refresh', 'Looks for newer Debian packages')
    .option('--sizes', 'Shows what lies in the cache, by kind, and how large it is')
    .option('--remove', 'Removes TARGET from the cache; everything by default')
    .addOption(wholeNumber('--unused <DAYS>', 'With --sizes, --remove: what was not used for so long', 1, DAYS_MAX))
    .addNotes(
      'Every command sets up what it needs; this one does it ahead of time, and prints a path a line.',
      'Results are in ~/.cache/vuhca ($XDG_CACHE_HOME/vuhca); nothing is written anywhere else. Debian packages that',
      'the machine lacks are installed with sudo; without it the command to type is printed.',
      '',
      'With --sizes and --remove, TARGET may also be:',
      '  images    file systems of guests, packed for a run',
      "  sets      Debian's user space with the packages of `run --packages`, each set with its names",
      '  programs  small programs of tests and benchmarks',
      "  packages  Debian's package index, answers of apt, downloads",
      '  sources   sources that tsx has translated',
      'What a running command uses stays. So do lock files, and whatever set-up has not made.',
    )
    .addExample('vuhca setup', 'everything that `vuhca run` needs')
    .addExample('vuhca setup --kernels', "the same, and the driver for each of Debian's three kernels")
    .addExample('vuhca setup library', 'libvfio-user, for devices of your own (LIBVFIO_USER)')
    .addExample(
      'vuhca setup infiniband-tools',
      "starts Debian's opensm and diagnostics on a fabric; see docs/FABRIC.md",
    )
    .addExample('vuhca setup disk-image', 'as root: a disk with Debian and its boot loader, for `vuhca run --disk`')
    .addExample('vuhca setup debug-kernel', 'a kernel with lockdep, KASAN and checks of DMA, for --kernel')
    .addExample('vuhca setup kernel --kernel 6.1', "Debian 12's kernel")
    .addExample('vuhca setup symbols', "Debian's debug symbols of the kernel, for gdb (1 GB); see docs/DEBUGGING.md")
    .addExample('vuhca setup modules ./my-driver', "compiles a module for the guest's kernel")
    .addExample('vuhca setup --sizes', 'what lies in the cache')
    .addExample('vuhca setup --remove', 'removes all of it')
    .addExample('vuhca setup --remove --unused 30', 'removes what no command has used for 30 days')
    .addExample('vuhca setup sets --remove --unused 30', 'the same for sets of packages alone')
    .addExample('vuhca setup modules --remove --kernel 6.1', "removes the modules for Debian 12's kernel");
}

function readTarget(text: string): CacheKind {
  const target = KINDS.find((one) => one === text);
  if (target === undefined) throw new UsageError(`set-up does not provide ${text}; it provides ${TARGETS.join(', ')}`);
  return target;
}

export async function performSetup(command: CliCommand): Promise<number> {
  const [target, folders] = command.processedArgs as [CacheKind, string[]];
  const given = command.opts<SetupArguments>();
  const objection = findObjection(target, folders, given);
  if (objection !== undefined) throw new UsageError(objection);
  const selection = { kind: target, kernel: given.kernel, unusedDays: given.unused };
  if (given.sizes === true || given.remove === true) {
    const { removeFromCache, showSizes } = await import('./cache-action.ts');
    process.stdout.write(given.sizes === true ? showSizes(selection) : await removeFromCache(selection));
  } else {
    const { provideTarget } = await import('../../setup/provide-target.ts');
    const paths = await provideTarget(target as TargetName, { ...given, folders });
    for (const path of paths) process.stdout.write(`${path}\n`);
  }
  return 0;
}

/** Describes what is wrong with the arguments; undefined when nothing is. */
function findObjection(target: CacheKind, folders: readonly string[], given: SetupArguments): string | undefined {
  const isCache = given.sizes === true || given.remove === true;
  if (given.sizes === true && given.remove === true) return 'give --sizes or --remove, not both';
  if (!isCache && given.unused !== undefined) return '--unused belongs to --sizes and --remove';
  if (isCache) {
    const other = (['kernels', 'headers', 'refresh'] as const).find((name) => given[name] !== undefined);
    if (other !== undefined) return `--${other} cannot be given with --sizes and --remove`;
    return folders.length > 0 ? `${folders[0]} is one argument too many` : undefined;
  }
  if (REMAINS.some((name) => name === target))
    return `${target} is nothing to provide; it belongs to --sizes and --remove`;
  if (given.kernels === true && given.kernel !== undefined) return 'give --kernel or --kernels, not both';
  if (given.kernels === true && target !== 'all' && target !== 'modules') return '--kernels belongs to all and modules';
  if (target !== 'modules' && folders.length > 0) return `${folders[0]} is one argument too many`;
  if (target === 'modules' && folders.length === 0)
    return 'the folder of the modules is missing: vuhca setup modules FOLDER...';
  return undefined;
}
