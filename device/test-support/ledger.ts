// SPDX-License-Identifier: Apache-2.0
/**
 * Ties a test to a statement of the InfiniBand Architecture Specification: the test writes a
 * comment into its TAP output. `npm run ledger` (scripts/ledger/main.ts) collects the comments and
 * the tests' results in docs/COMPLIANCE.md.
 */

/** Start of the comment. */
export const LEDGER_MARK = 'ledger:';

/** The part of a tap test that is used. */
interface Commenting {
  comment(text: string): void;
}

/** Notes that a test shows `statement`: a requirement of `section` of volume 1, in our words. */
export function ledger(t: Commenting, section: string, statement: string): void {
  t.comment(`${LEDGER_MARK} ${section} | ${statement}`);
}
