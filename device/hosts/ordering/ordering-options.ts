// SPDX-License-Identifier: Apache-2.0
/** The modes of the ordering model (docs/HAZARDS.md) and their syntax on the command line. */

/**
 * `strict`: a write is visible at once. `pcie`: late and in pieces, in order. `adversarial`: also
 * reordered, as relaxed ordering allows.
 */
type OrderingMode = 'strict' | 'pcie' | 'adversarial';

/**
 * A defect that PCIe does not allow, for tests of its effect on software: an interrupt before the
 * writes, or the validity word of a CQE or EQE before its body.
 */
export type OrderingDefect = 'interrupt-first' | 'validity-first';

/** Options of a model. */
export interface OrderingOptions {
  readonly mode: OrderingMode;
  /** Seed of the times and pieces of writes. */
  readonly seed?: number;
  readonly defect?: OrderingDefect;
}

/** The default: no model. */
export const strictOrdering: OrderingOptions = { mode: 'strict' };

/** The syntax of `parseOrdering`. */
export const ORDERING_SYNTAX = 'strict, pcie or adversarial:SEED';

/** Parses `strict`, `pcie` or `adversarial:SEED`; undefined for any other text. */
export function parseOrdering(text: string): OrderingOptions | undefined {
  if (text === 'strict' || text === 'pcie') return { mode: text };
  const [, digits] = /^adversarial:(\d{1,10})$/.exec(text) ?? [];
  const seed = Number(digits);
  return seed < 2 ** 32 ? { mode: 'adversarial', seed } : undefined;
}
