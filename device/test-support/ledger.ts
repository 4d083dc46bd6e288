// SPDX-License-Identifier: Apache-2.0
/**
 * Ties a test to statements of the InfiniBand Architecture Specification: the test says which it shows, in a comment of its TAP output, and
 * `npm run check:ledger` (scripts/ledger/main.ts) collects them with the outcome of the test into docs/COMPLIANCE.md.
 */

/** What the comment begins with. */
export const LEDGER_MARK = 'ledger:';

/** The part of a test that is needed here. */
interface Commenting {
  comment(text: string): void;
}

/** This test shows `statement`, our wording of what `section` of volume 1 asks for. */
export function ledger(t: Commenting, section: string, statement: string): void {
  t.comment(`${LEDGER_MARK} ${section} | ${statement}`);
}
