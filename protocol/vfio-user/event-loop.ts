// SPDX-License-Identifier: Apache-2.0
// The two places where the pump meets libuv. `UvLoop` is what libuv itself waits for: while the pump waits in its own
// epoll it includes libuv's descriptor and ends at libuv's next timer, so timers, signals, sockets and the inspector are
// not kept waiting. `LoopWatch` lets libuv wait for one descriptor: koffi.node.poll is undocumented, passes (status,
// events), sets O_NONBLOCK, and closes itself when the handle is collected. Here one handle watches one epoll descriptor
// of our own for the life of the pump, so none of its traps about changing descriptors can be met.

import { isMainThread } from 'node:worker_threads';
import koffi, { type node } from 'koffi';

/** What libuv waits for. Not available in worker threads, nor in a Node that hides libuv's symbols. */
export interface UvLoop {
  /** Readable when libuv has something to do. */
  readonly fd: number;
  /** Milliseconds until libuv's next timer, 0 when something else is due, -1 for never. */
  timeoutMs(): number;
}

export function findUvLoop(): UvLoop | undefined {
  if (!isMainThread) return undefined;
  try {
    const process = koffi.load(null);
    const loop = process.func('uint64_t uv_default_loop()')() as number;
    const fd = process.func('int uv_backend_fd(uint64_t loop)')(loop) as number;
    const timeout = process.func('int uv_backend_timeout(uint64_t loop)');
    return { fd, timeoutMs: () => timeout(loop) as number };
  } catch {
    return undefined;
  }
}

export class LoopWatch {
  readonly #handle: node.PollHandle;
  readonly #onReadable: () => void;
  #watching = true;

  constructor(fd: number, onReadable: () => void) {
    this.#onReadable = onReadable;
    this.#handle = koffi.node.poll(fd, { readable: true }, this.#called);
  }

  /** Lets libuv call `onReadable`, and keeps the process alive meanwhile. */
  start(): void {
    if (this.#watching) return;
    this.#watching = true;
    this.#handle.start({ readable: true }, this.#called);
  }

  stop(): void {
    if (!this.#watching) return;
    this.#watching = false;
    this.#handle.stop();
  }

  close(): void {
    this.#watching = false;
    this.#handle.close();
  }

  readonly #called = (): void => {
    if (this.#watching) this.#onReadable();
  };
}
