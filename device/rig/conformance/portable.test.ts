// SPDX-License-Identifier: Apache-2.0
/** Runs the portable cases (`portable-suite.ts`) in process. */
import t from 'tap';
import { InProcessAccess } from '../machine/access.ts';
import { InProcessMachine } from '../machine/machine.ts';
import { portableCases, runPortableCase } from './portable-suite.ts';

// One machine for all cases: no case may leave state to the next.
const access = new InProcessAccess(new InProcessMachine());
for (const portable of portableCases) {
  t.test(portable.name, async (t) => {
    runPortableCase(portable, access);
    t.pass('nothing was wrong');
  });
}
