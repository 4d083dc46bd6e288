// SPDX-License-Identifier: Apache-2.0
/** The breakpoints of breakpoint.test.ts, held for a minute. */
process.env.VUHCA_BREAKPOINT_SECONDS = '60';

await import('./breakpoint.test.ts');
