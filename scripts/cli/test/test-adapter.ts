// SPDX-License-Identifier: Apache-2.0
/**
 * The adapters and the guest of a test, from the values of the command line. Pure. Called by
 * test-action.ts.
 */
import type { DeviceStart } from '../../../guest-tests/harness/device-process.ts';
import type { GuestOptions } from '../../../qemu/guest-options.ts';
import { readFaults } from '../options/adapter-arguments.ts';
import { checkFunctionCount } from '../options/personality.ts';
import { UsageError } from '../options/usage-error.ts';
import type { TestArguments } from './test-command.ts';
import type { TestKernel } from './test-modules.ts';

const MEMORY_MIB = 512;
/** A stock driver takes much memory for its contexts, Debian's user space for its files. */
const DEMANDING_MIB = 1024;

/** Throws UsageError for options that cannot be given together. */
export function deviceOf(given: TestArguments, recordPath: string | undefined): DeviceStart {
  const { functions, adapters, debug, personality } = given;
  if (personality !== 'vuhca') checkFunctionCount(personality, functions);
  if (personality !== 'vuhca' && adapters > 1)
    throw new UsageError(`option --adapters cannot be given with --personality ${personality}`);
  const { writeCombining, dmaLatency } = given;
  const foreign = writeCombining !== undefined ? '--write-combining' : dmaLatency > 0 ? '--dma-latency' : undefined;
  if (personality !== 'vuhca' && foreign !== undefined)
    throw new UsageError(`option ${foreign} cannot be given with --personality ${personality}`);
  if (adapters > 1 && recordPath !== undefined)
    throw new UsageError('option --record cannot be given with --adapters: a recording holds one adapter');
  const words = [
    ...(debug === undefined ? [] : [`--inspect=127.0.0.1:${debug.inspector}`]),
    ...(given.spin === 'auto' ? [] : [`--spin=${given.spin}`]),
    '--log-level=warn',
  ];
  const disturbed = [
    ...(given.ordering === 'strict' ? [] : [`--ordering=${given.ordering}`]),
    ...(given.fault === undefined || adapters > 1 ? [] : [`--fault=${given.fault}`]),
  ];
  const own = [
    ...disturbed,
    ...(given.writeCombining === undefined ? [] : [`--write-combining=${given.writeCombining}`]),
    ...(given.dmaLatency === 0 ? [] : [`--dma-latency=${given.dmaLatency}`]),
  ];
  const checked = given.orderCheck ? ['--order-check'] : [];
  const recorded = recordPath === undefined ? [] : [`--record=${recordPath}`];
  if (personality !== 'vuhca')
    return {
      arguments: [
        `--personality=${personality}`,
        ...(functions === 1 ? [] : [`--functions=${functions}`]),
        ...(given.fault === undefined ? ['--fabric=switch'] : []),
        ...own,
        ...checked,
        ...recorded,
        ...words,
      ],
    };
  if (adapters === 1) return { arguments: [`--functions=${functions}`, ...own, ...checked, ...recorded, ...words] };
  return { topology: ringOf(given), arguments: [...disturbed, ...words] };
}

export function guestOf(given: TestArguments, kernel: TestKernel): GuestOptions {
  const { cpus, append, debug, personality } = given;
  const memory = given.memory ?? (personality === 'vuhca' ? MEMORY_MIB : DEMANDING_MIB);
  return {
    kernel: kernel.imagePath,
    memoryMiB: memory,
    cpus,
    ...(given.orderCheck ? { waitsForStores: true } : {}),
    ...(append === undefined ? {} : { append }),
    ...(debug === undefined ? {} : { gdb: `tcp::${debug.gdb}`, paused: true, patient: true }),
  };
}

/** Adapters with the options that are given. Port 2 of each is linked to port 1 of the next one. */
export function ringOf(given: TestArguments): object {
  const { adapters, functions, writeCombining, dmaLatency, orderCheck, fault } = given;
  const options = {
    ...(writeCombining === undefined ? {} : { writeCombining: { seed: writeCombining } }),
    ...(dmaLatency === 0 ? {} : { dmaLatencyNs: dmaLatency }),
    ...(orderCheck ? { orderCheck } : {}),
  };
  const { kind: _, ...link } = fault === undefined ? { kind: 'cable' } : readFaults(fault);
  const names = Array.from({ length: adapters }, (_, number) => `hca${number}`);
  return {
    adapters: Object.fromEntries(
      names.map((name) => [
        name,
        { sockets: Array.from({ length: functions }, (_, number) => `${name}.${number}`), ...options },
      ]),
    ),
    links: names.map((name, number) => ({ ports: [`${name}:2`, `${names[(number + 1) % adapters]}:1`], ...link })),
  };
}
