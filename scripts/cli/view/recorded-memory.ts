// SPDX-License-Identifier: Apache-2.0
/**
 * The overflow buffers of a replayed adapter. A replay has no guest memory, but the adapter itself
 * has written each doorbell in the buffers (US 9,069,485 par. 28-29), so its writes are kept as
 * long as the ring holds them. `vuhca show overflow` reads it.
 */
import type { Adapter } from '../../../device/hca/adapter/adapter.ts';
import type { OverflowBuffer } from '../../../device/hca/scheduler/overflow-buffer.ts';
import type { HostPort } from '../../../device/host.ts';
import { OVERFLOW_ENTRY_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';

export class RecordedMemory implements Pick<HostPort, 'readMemory'> {
  readonly #overflow: OverflowBuffer;
  /** Entries by their addresses: at most one for each place of the ring, since it was enabled. */
  readonly #entries = new Map<number, Uint8Array>();

  constructor(overflow: OverflowBuffer) {
    this.#overflow = overflow;
  }

  /** The adapter writes to guest memory. */
  note(address: number, source: Uint8Array, offset: number, lengthBytes: number): void {
    if (!this.#overflow.enabled) this.#entries.clear();
    else if (lengthBytes === OVERFLOW_ENTRY_BYTES && this.#overflow.touches(address, lengthBytes))
      this.#entries.set(address, source.slice(offset, offset + lengthBytes));
  }

  readMemory({ value: address }: { readonly value: number }, lengthBytes: number, target: Uint8Array, offset: number) {
    const entry = this.#entries.get(address);
    if (entry === undefined || entry.length !== lengthBytes) return false;
    target.set(entry, offset);
    return true;
  }
}

/** The memories of the functions of an adapter, in their order. */
export function recordMemories({ functions }: Adapter): RecordedMemory[] {
  return functions.map(({ doorbells }) => new RecordedMemory(doorbells.overflow));
}
