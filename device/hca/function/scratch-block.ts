// SPDX-License-Identifier: Apache-2.0
/**
 * Work space for a record or an entry on its way from or to guest memory: words, because they move
 * fastest, seen as bytes and by the accessors of the layout as well. Units share one for all their
 * queues, so that a processor has it in its cache.
 */
import type { WordBlock } from '../../host.ts';

export class ScratchBlock implements WordBlock {
  readonly words: Int32Array;
  readonly bytes: Uint8Array;
  readonly view: DataView;

  /** `sizeBytes`: a multiple of 4. */
  constructor(sizeBytes: number) {
    this.words = new Int32Array(sizeBytes / Int32Array.BYTES_PER_ELEMENT);
    this.bytes = new Uint8Array(this.words.buffer);
    this.view = new DataView(this.words.buffer);
  }

  /** Writes zeros; for a short block a loop is faster than `fill`. */
  clear(): void {
    const { words } = this;
    for (let index = 0; index < words.length; index++) words[index] = 0;
  }
}
