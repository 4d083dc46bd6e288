// SPDX-License-Identifier: Apache-2.0
/**
 * Findings of the option `orderCheck` in sentences (docs/HAZARDS.md, "What a doorbell announces"):
 * as warnings in the log of a live process, and for the screens of `vuhca`.
 */

import { Adapter } from '../../hca/adapter/adapter.ts';
import type { AnnouncedKind, LateStore } from '../../hca/function/announced-memory.ts';
import type { AnyAdapter } from '../../topology/node-kinds.ts';

const names: Readonly<Record<AnnouncedKind, (report: LateStore) => string>> = {
  tail: ({ object, index }) => `the tail of queue pair ${object} behind command ${index}`,
  command: ({ object, index }) => `command ${index} of queue pair ${object}`,
  'address handle': ({ object, index }) => `the address handle of command ${index} of queue pair ${object}`,
  response: () => 'the place of a response',
  mailbox: () => 'the input mailbox of a command',
  'work request': ({ object, index }) => `work request ${index} of queue pair ${object}`,
};

/** One sentence. */
export function describeLateStore(report: LateStore): string {
  const { kind, address, offset, differing, seen } = report;
  const bytes = differing === 1 ? `byte ${offset}` : `${differing} bytes from byte ${offset} on`;
  const when = seen === 'fetch' ? 'when the adapter read it' : 'at a later access';
  return `${names[kind](report)} at 0x${address.toString(16)} was stored after the access that announced it (${bytes}, seen ${when})`;
}

/** Has each report written by `warn`. */
export function warnOfLateStores(cores: readonly AnyAdapter[], warn: (sentence: string) => void): void {
  for (const core of cores) {
    const functions = core instanceof Adapter ? core.functions : [core];
    for (const { underlying } of functions)
      if (underlying.announced !== undefined)
        underlying.announced.onReport = (report) => warn(describeLateStore(report));
  }
}
