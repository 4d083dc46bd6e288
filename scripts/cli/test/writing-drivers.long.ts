// SPDX-License-Identifier: Apache-2.0
/** The commands of writing-drivers.test.ts that need another kernel. */
process.env.VUHCA_LONG = '1';

await import('./writing-drivers.test.ts');
