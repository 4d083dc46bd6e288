// SPDX-License-Identifier: Apache-2.0
/** How far a host's memory may lag behind what the adapter has written (DESIGN.md section 3), and how a person asks for it. */

/** `strict`: a write is visible at once. `pcie`: late and in pieces, but in order. `adversarial`: besides, whatever relaxed ordering allows. */
export type OrderingMode = 'strict' | 'pcie' | 'adversarial';

/** A defect of the device that no rule of PCIe allows, for tests of what software then sees; `validity-first` is of CQEs and EQEs. */
export type OrderingDefect = 'interrupt-first' | 'validity-first';

export interface OrderingOptions {
  readonly mode: OrderingMode;
  /** Seeds when and in which pieces writes become visible. */
  readonly seed?: number;
  readonly defect?: OrderingDefect;
}

export const strictOrdering: OrderingOptions = { mode: 'strict' };

/** What `parseOrdering` takes. */
export const ORDERING_SYNTAX = 'strict, pcie or adversarial:SEED';

/** Reads `strict`, `pcie` or `adversarial:SEED`; undefined when it is none of them. */
export function parseOrdering(text: string): OrderingOptions | undefined {
  if (text === 'strict' || text === 'pcie') return { mode: text };
  const [, digits] = /^adversarial:(\d{1,10})$/.exec(text) ?? [];
  const seed = Number(digits);
  return seed < 2 ** 32 ? { mode: 'adversarial', seed } : undefined;
}
