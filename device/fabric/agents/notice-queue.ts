// SPDX-License-Identifier: Apache-2.0
/**
 * Notices that wait for a manager that polls (IBTA 13.4.8.1, 14.2.5.1): Get(Notice) shows the
 * oldest one and how many there are, Set(Notice) with its toggle removes it. There is one queue for
 * each end of paths, and one notice of each cause, so a queue never overflows. `Traps` fills them;
 * `subnet-management-agent.ts` reads them.
 */
import { setNoticeCount, setNoticeToggle } from '../../../protocol/infiniband/mad/gen/notice.gen.ts';
import { ATTRIBUTE_BYTES, ATTRIBUTE_OFFSET } from '../../../protocol/infiniband/mad/mad-headers.ts';

export class NoticeQueue {
  readonly #notices: Uint8Array[] = [];
  #toggle = 0;

  /** `notice` is the datagram that holds it; what it says later is what is read then. */
  add(notice: Uint8Array): void {
    if (!this.#notices.includes(notice)) this.#notices.push(notice);
  }

  has(notice: Uint8Array): boolean {
    return this.#notices.includes(notice);
  }

  /** A manager knows the notice. */
  remove(notice: Uint8Array): void {
    const index = this.#notices.indexOf(notice);
    if (index < 0) return;
    this.#notices.splice(index, 1);
    // The oldest notice is another one now.
    if (index === 0) this.#toggle ^= 1;
  }

  /** Writes the oldest notice; zeros when there is none. */
  write(bytes: Uint8Array, view: DataView): void {
    const [notice] = this.#notices;
    bytes.fill(0, ATTRIBUTE_OFFSET, ATTRIBUTE_OFFSET + ATTRIBUTE_BYTES);
    if (notice !== undefined)
      bytes.set(notice.subarray(ATTRIBUTE_OFFSET, ATTRIBUTE_OFFSET + ATTRIBUTE_BYTES), ATTRIBUTE_OFFSET);
    setNoticeToggle(view, ATTRIBUTE_OFFSET, this.#toggle);
    setNoticeCount(view, ATTRIBUTE_OFFSET, this.#notices.length);
  }

  /** Removes the oldest notice if `toggle` is its toggle. */
  clear(toggle: number): void {
    const [notice] = this.#notices;
    if (notice !== undefined && toggle === this.#toggle) this.remove(notice);
  }
}

/** The queues of a node, by end of paths. */
export class NoticeQueues {
  readonly #queues = new Map<number, NoticeQueue>();

  /** `portNumber`: 0 for a switch. */
  of(portNumber: number): NoticeQueue {
    const known = this.#queues.get(portNumber);
    if (known !== undefined) return known;
    const made = new NoticeQueue();
    this.#queues.set(portNumber, made);
    return made;
  }
}
