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

/** Throws UsageError when several adapters are to be recorded. */
export function deviceOf({ functions, adapters, debug }: TestArguments, recordPath: string | undefined): DeviceStart {
  if (adapters > 1 && recordPath !== undefined)
    throw new UsageError('option --record cannot be given with --adapters: a recording holds one adapter');
  const words = [...(debug === true ? ['--inspect=127.0.0.1:9229'] : []), '--log-level=warn'];
  const recorded = recordPath === undefined ? [] : [`--record=${recordPath}`];
  if (adapters === 1) return { arguments: [`--functions=${functions}`, ...recorded, ...words] };
  return { topology: ringOf(adapters, functions), arguments: words };
}

export function guestOf({ memory, cpus, append, debug }: TestArguments, kernel: TestKernel): GuestOptions {
  return {
    kernel: kernel.imagePath,
    memoryMiB: memory,
    cpus,
    ...(append === undefined ? {} : { append }),
    ...(debug === true ? { gdb: 'tcp::1234', paused: true, patient: true } : {}),
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
