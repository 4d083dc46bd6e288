// SPDX-License-Identifier: Apache-2.0
//
// `npm run demo:qos`: the patent's worked example of shares (US8484392, figure 11), a control machine and two tenants on three functions of one adapter. Guarantees hold while the
// others flood, and what is shared is used when it is free: a table, a plot, a verdict. Ends with 1 when a guarantee does not hold or could not be shown to.

import { runEntry } from '../../../qemu/setup/errors.ts';
import { runInProcess } from './in-process.ts';
import { checkOutput, parseOptions, USAGE } from './options.ts';
import { runThreeGuests } from './three-guests.ts';

await runEntry(async () => {
  const { help, inProcess, seconds, output } = parseOptions(process.argv.slice(2));
  if (help) {
    process.stdout.write(USAGE);
    return;
  }
  checkOutput(output);
  if (inProcess) await runInProcess(output);
  else if (!(await runThreeGuests(seconds, output))) process.exitCode = 1;
});
