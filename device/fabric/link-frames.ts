// SPDX-License-Identifier: Apache-2.0
/**
 * Cuts the stream of a socket link into frames. The bytes come from outside and may be anything: a frame that cannot be is refused before a byte of it is
 * kept, and no more than one frame is ever held.
 */
import { getLinkFrameLengthBytes, LINK_FRAME_SIZE } from '../../protocol/infiniband/gen/link-frame.gen.ts';
import { PACKET_SLOT_BYTES } from '../port/packet-ring.ts';

export class LinkFrameReader {
  /** The frame being read: head, then body. */
  readonly head = new DataView(new ArrayBuffer(LINK_FRAME_SIZE));
  readonly body = new Uint8Array(PACKET_SLOT_BYTES);
  readonly bodyView = new DataView(this.body.buffer);
  readonly #headBytes = new Uint8Array(this.head.buffer);
  #headCount = 0;
  #bodyCount = 0;

  /** Forgets a frame half read. */
  reset(): void {
    this.#headCount = 0;
    this.#bodyCount = 0;
  }

  /**
   * Calls `take` for every frame that becomes whole, with the length of its body, until it returns false. False when that happened, or when a frame is
   * longer than any can be; the stream is then of no use any more.
   */
  push(chunk: Uint8Array, take: (lengthBytes: number) => boolean): boolean {
    let at = 0;
    while (at < chunk.length) {
      if (this.#headCount < LINK_FRAME_SIZE) {
        this.#headBytes[this.#headCount++] = chunk[at++];
        if (this.#headCount < LINK_FRAME_SIZE) continue;
      }
      const length = getLinkFrameLengthBytes(this.head, 0);
      if (length > PACKET_SLOT_BYTES) return false;
      const count = Math.min(length - this.#bodyCount, chunk.length - at);
      this.body.set(chunk.subarray(at, at + count), this.#bodyCount);
      this.#bodyCount += count;
      at += count;
      if (this.#bodyCount < length) continue;
      this.reset();
      if (!take(length)) return false;
    }
    return true;
  }
}
