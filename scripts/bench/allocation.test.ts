// SPDX-License-Identifier: Apache-2.0
/**
 * No message of 64 bytes allocates, wherever guest memory lies, compiled as a live process is.
 * allocation.long.ts inlines less.
 */
import t from 'tap';
import { checkAllocation } from './check-allocation.ts';

// A few seconds of processor time; the machine may be busy.
t.setTimeout(0);

t.test('compiled as in a live process', (t) => checkAllocation(t, []));
