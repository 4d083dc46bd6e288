// SPDX-License-Identifier: Apache-2.0
/**
 * Reads the frames of a socket link from its byte stream. The bytes come from outside and may have
 * any value: an impossible frame is refused before a byte of it is kept, and at most one frame is
 * held.
 */
import { getLinkFrameLengthBytes, LINK_FRAME_SIZE } from '../../../protocol/infiniband/gen/link-frame.gen.ts';
import { PACKET_SLOT_BYTES } from '../port/packet-ring.ts';

/** Joins the bytes of one connection to frames. */
export class LinkFrameReader {
  /** The current frame: head and body. */
  readonly head = new DataView(new ArrayBuffer(LINK_FRAME_SIZE));
  readonly body = new Uint8Array(PACKET_SLOT_BYTES);
  readonly bodyView = new DataView(this.body.buffer);
  readonly #headBytes = new Uint8Array(this.head.buffer);
  #headCount = 0;
  #bodyCount = 0;

  /** Drops an incomplete frame. */
  reset(): void {
    this.#headCount = 0;
    this.#bodyCount = 0;
  }

  /**
   * Calls `take` with the length of the body for every complete frame, until it returns false.
   * Returns false when that happened, or when a frame is too long; the stream is then useless.
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
