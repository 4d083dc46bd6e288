// SPDX-License-Identifier: Apache-2.0
/**
 * The arguments and the help of `vuhca setup`, which prepares what other commands need. program.ts
 * loads them when the command is called; setup-action.ts performs it.
 */
import { Argument } from 'commander';
import { THINGS, type ThingName } from '../setup/thing-names.ts';
import type { CliCommand } from './cli-command.ts';
import { UsageError } from './usage-error.ts';

/** The values of the options. */
export interface SetupArguments {
  readonly kernel?: string;
  readonly headers?: string;
  readonly refresh?: boolean;
}

export function defineSetup(command: CliCommand): void {
  command
    .addArgument(new Argument('[THING]', 'What to provide').choices(THINGS).default('all').argParser(readThing))
    .argument('[FOLDER...]', 'With modules: the folders of kernel modules')
    .option(
      '--kernel <VERSION>',
      'For kernel, toolchain, modules: trixie (default), bookworm, backports, 6.1; or a bzImage',
    )
    .option('--headers <FOLDER>', 'The build folder of a kernel that is a bzImage')
    .option('--refresh', 'Looks for newer Debian packages')
    .addNotes(
      'Every command sets up what it needs; this one does it ahead of time, and prints a path a line.',
      'Results are in ~/.cache/vuhca ($XDG_CACHE_HOME/vuhca); nothing is written anywhere else. Debian packages that',
      'the machine lacks are installed with sudo; without it the command to type is printed.',
    )
    .addExample('vuhca setup', 'everything that `vuhca run` needs')
    .addExample('vuhca setup library', 'libvfio-user, for devices of your own (LIBVFIO_USER)')
    .addExample(
      'vuhca setup infiniband-tools',
      "starts Debian's opensm and diagnostics on a fabric; see docs/FABRIC.md",
    )
    .addExample('vuhca setup disk-image', 'as root: a disk with Debian and its boot loader, for `vuhca run --disk`')
    .addExample('vuhca setup debug-kernel', 'a kernel with lockdep, KASAN and checks of DMA, for --kernel')
    .addExample('vuhca setup kernel --kernel 6.1', "Debian 12's kernel")
    .addExample('vuhca setup symbols', "Debian's debug symbols of the kernel, for gdb (1 GB); see docs/DEBUGGING.md")
    .addExample('vuhca setup modules ./my-driver', "compiles a module for the guest's kernel");
}

function readThing(text: string): ThingName {
  const thing = THINGS.find((one) => one === text);
  if (thing === undefined) throw new UsageError(`set-up does not provide ${text}; it provides ${THINGS.join(', ')}`);
  return thing;
}
