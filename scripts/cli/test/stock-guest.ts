// SPDX-License-Identifier: Apache-2.0
/**
 * The guest of `vuhca test --personality`: Debian's user space with the stock drivers, in which the
 * script of a job runs. It may ask the host for faults of the device and counts of its objects.
 * Called by test-action.ts.
 */
import { asStock, type GuestJob } from '../../../guest-tests/harness/guest-image.ts';
import { requestProgram } from '../../../guest-tests/harness/host-requests.ts';
import { ENTER_WITH_CASE, provideDistributionParts } from '../../../qemu/distribution-guest.ts';
import type { GuestDisk } from '../../../qemu/guest-options.ts';
import { resolveGuestKernel } from '../../../qemu/setup/kernel-choice.ts';
import { UsageError } from '../options/usage-error.ts';
import type { TestArguments } from './test-command.ts';
import { makeJob, type PlannedJob } from './test-job.ts';
import type { TestKernel } from './test-modules.ts';

const REQUEST_PROGRAM = '/usr/bin/adapter';

/** A job in Debian's user space, which is on the disk. */
export interface StockJob {
  readonly job: GuestJob;
  readonly disk: GuestDisk;
}

/** Throws UsageError for a kernel whose modules are not Debian's. */
export async function makeStockJob(planned: PlannedJob, kernel: TestKernel, given: TestArguments): Promise<StockJob> {
  const { stock } = await resolveGuestKernel(given.kernel, given.headers);
  if (stock === undefined) throw new UsageError('option --personality needs the stock driver: name a kernel of Debian');
  const { script, files } = planned;
  const job = await makeJob({ ...planned, files: [] }, kernel);
  const parts = await provideDistributionParts(stock, {
    files: [requestProgram(REQUEST_PROGRAM), ...files],
    caseText: job.script?.text ?? '',
  });
  const first = parts.modules.map(asStock);
  const entered = script === undefined ? {} : { script: { name: script.name, text: ENTER_WITH_CASE } };
  return {
    job: { ...job, modules: [...first, ...(job.modules ?? [])], files: parts.files, ...entered },
    disk: parts.disk,
  };
}
