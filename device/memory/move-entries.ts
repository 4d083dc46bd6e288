// SPDX-License-Identifier: Apache-2.0
/**
 * Copies the entries that a ring in guest memory holds to a ring of another size, where their
 * running numbers go on (IBTA 11.2.3.3, 11.2.8.3). Completion queues and shared receive queues that
 * are resized call it.
 */
import { PAGE_BYTES } from '../../protocol/layout/gen/constants.gen.ts';
import type { Dma } from '../function/dma.ts';
import type { FaultSubject } from '../function/fault-log.ts';
import type { QueueMemory } from './queue-memory.ts';

/** Slots of a power of two, of which entry `n` takes that of `n` modulo `entries`. */
export interface EntryRing {
  readonly memory: QueueMemory;
  readonly entries: number;
}

/**
 * Copies the `count` entries from number `first` on. Returns false, with a counted fault of
 * `subject`, when a ring cannot be read or written.
 */
export function moveEntries(
  dma: Dma,
  subject: FaultSubject,
  from: EntryRing,
  to: EntryRing,
  { strideBytes, first, count }: { readonly strideBytes: number; readonly first: number; readonly count: number },
): boolean {
  const chunk = new Uint8Array(PAGE_BYTES);
  const most = PAGE_BYTES / strideBytes;
  for (let moved = 0; moved < count; ) {
    const at = first + moved;
    // A run ends at a multiple of a page's entries and at the end of each ring: it is contiguous in
    // both.
    const run = Math.min(
      most - (at % most),
      from.entries - (at % from.entries),
      to.entries - (at % to.entries),
      count - moved,
    );
    const bytes = run * strideBytes;
    if (!from.memory.at(dma, (at % from.entries) * strideBytes).read(subject, bytes, chunk, 0)) return false;
    if (!to.memory.at(dma, (at % to.entries) * strideBytes).write(subject, chunk, 0, bytes)) return false;
    moved += run;
  }
  return true;
}
