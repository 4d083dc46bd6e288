// SPDX-License-Identifier: Apache-2.0
/**
 * No message of 64 bytes allocates when V8 inlines only the smallest functions: every number of
 * 2^31 or more that another call takes or returns is counted then; in a live process that depends
 * on what V8 inlines.
 */
import t from 'tap';
import { checkAllocation } from './check-allocation.ts';

// A few seconds of processor time; the machine may be busy.
t.setTimeout(0);

t.test('nothing inlined but the smallest functions', (t) => checkAllocation(t, ['0']));
