// SPDX-License-Identifier: Apache-2.0
import t from 'tap';
import { InProcessAccess } from '../hosts/in-process/access.ts';
import { InProcessMachine } from '../hosts/in-process/machine.ts';
import { portableCases, runPortableCase } from './portable-suite.ts';

// One machine for all: a case must leave nothing to the next.
const access = new InProcessAccess(new InProcessMachine());
for (const portable of portableCases) {
  t.test(portable.name, async (t) => {
    runPortableCase(portable, access);
    t.pass('nothing was wrong');
  });
}
