// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run demo -- qos`: the patent's worked example of shares (US8484392, figure 11), a control
 * machine and two tenants on three functions of one adapter. Guarantees hold while the others
 * flood, and free resources are used: a table, a plot, a verdict. Ends with 1 when a guarantee does
 * not hold or was not shown. With `--processes` the tenants are processes of one guest.
 */
import { runEntry } from '../../../qemu/setup/tools/errors.ts';
import { runInProcess } from './in-process.ts';
import { checkOutput, parseOptions } from './options.ts';
import { runProcesses } from './processes.ts';
import { runThreeGuests } from './three-guests.ts';

await runEntry(async () => {
  const options = parseOptions(process.argv.slice(2));
  checkOutput(options.output);
  if (options.inProcess) return runInProcess(options);
  const run = options.processes ? runProcesses : runThreeGuests;
  if (!(await run(options))) process.exitCode = 1;
});
