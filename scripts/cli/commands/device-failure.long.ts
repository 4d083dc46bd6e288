// SPDX-License-Identifier: Apache-2.0
/** `vuhca device` when something in the process throws: every fault that can be planted. */
import t from 'tap';
import { checkPlanted, plantNames } from '../testing/planted-failures.ts';

t.setTimeout(0);
for (const name of plantNames) t.test(`what throws: ${name}`, (t) => checkPlanted(t, name));
