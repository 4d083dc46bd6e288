// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run demo:qos`: the patent's worked example of shares (US8484392, figure 11), a control
 * machine and two tenants on three functions of one adapter. Guarantees hold while the others
 * flood, and free resources are used: a table, a plot, a verdict. Ends with 1 when a guarantee does
 * not hold or was not shown.
 */
import { runEntry } from '../../../qemu/setup/errors.ts';
import { runInProcess } from './in-process.ts';
import { checkOutput, parseOptions } from './options.ts';
import { runThreeGuests } from './three-guests.ts';

await runEntry(async () => {
  const { inProcess, seconds, output } = parseOptions(process.argv.slice(2));
  checkOutput(output);
  if (inProcess) await runInProcess(output);
  else if (!(await runThreeGuests(seconds, output))) process.exitCode = 1;
});
