// SPDX-License-Identifier: Apache-2.0
/**
 * The tables of mlx5 against the interface headers of Debian's other kernels: these may lack a
 * field, but none has moved, except for those listed here.
 */
import t from 'tap';
import { compareWithHeader, readInterfaceHeader } from './testing/mlx5-header.ts';

// Headers may have to be fetched.
t.setTimeout(0);

/** Later drivers use a bit and a part more; both read as 0 by the older one. */
const grown: Readonly<Record<string, readonly string[]>> = {
  bookworm: [
    'query-qp-out: 464 bytes, in the header 272',
    'mkc.logPageSize: bits 474 to 479, in the header 475 to 479',
  ],
  backports: [],
};

for (const [kernel, expected] of Object.entries(grown))
  t.test(`no field lies elsewhere in the header of ${kernel}`, async (t) => {
    const differences = compareWithHeader(await readInterfaceHeader(kernel));
    const moved = differences.filter((sentence) => !sentence.endsWith('the header has no such field'));
    t.same(moved, expected);
    t.comment(`${differences.length} fields are not in this header`);
  });
