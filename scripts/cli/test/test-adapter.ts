// SPDX-License-Identifier: Apache-2.0
/**
 * The adapters and the guest of a test, from the values of the command line. Pure. Called by
 * test-action.ts.
 */
import type { DeviceStart } from '../../../guest-tests/harness/device-process.ts';
import type { GuestOptions } from '../../../qemu/guest-options.ts';
import { UsageError } from '../usage-error.ts';
import type { TestArguments } from './test-command.ts';
import type { TestKernel } from './test-modules.ts';

const MEMORY_MIB = 512;
/** A stock driver takes much memory for its contexts, Debian's user space for its files. */
const DEMANDING_MIB = 1024;

/** Throws UsageError for options that cannot be given together. */
export function deviceOf(given: TestArguments, recordPath: string | undefined): DeviceStart {
  const { functions, adapters, debug, personality } = given;
  if (personality !== 'vuhca' && (functions > 1 || adapters > 1))
    throw new UsageError(`--functions and --adapters cannot be given with --personality ${personality}`);
  if (adapters > 1 && recordPath !== undefined)
    throw new UsageError('option --record cannot be given with --adapters: a recording holds one adapter');
  const words = [...(debug === undefined ? [] : [`--inspect=127.0.0.1:${debug.inspector}`]), '--log-level=warn'];
  const recorded = recordPath === undefined ? [] : [`--record=${recordPath}`];
  if (personality !== 'vuhca')
    return { arguments: [`--personality=${personality}`, '--fabric=switch', ...recorded, ...words] };
  if (adapters === 1) return { arguments: [`--functions=${functions}`, ...recorded, ...words] };
  return { topology: ringOf(adapters, functions), arguments: words };
}

export function guestOf(given: TestArguments, kernel: TestKernel): GuestOptions {
  const { cpus, append, debug, personality } = given;
  const memory = given.memory ?? (personality === 'vuhca' ? MEMORY_MIB : DEMANDING_MIB);
  return {
    kernel: kernel.imagePath,
    memoryMiB: memory,
    cpus,
    ...(append === undefined ? {} : { append }),
    ...(debug === undefined ? {} : { gdb: `tcp::${debug.gdb}`, paused: true, patient: true }),
  };
}

/** Port 2 of each adapter is linked to port 1 of the next one. */
export function ringOf(adapters: number, functions: number): object {
  const names = Array.from({ length: adapters }, (_, number) => `hca${number}`);
  return {
    adapters: Object.fromEntries(
      names.map((name) => [name, { sockets: Array.from({ length: functions }, (_, number) => `${name}.${number}`) }]),
    ),
    links: names.map((name, number) => ({ ports: [`${name}:2`, `${names[(number + 1) % adapters]}:1`] })),
  };
}
