// SPDX-License-Identifier: Apache-2.0
// The two places where the pump meets libuv. `loopFd` is the descriptor libuv itself waits on: while the pump waits in
// its own epoll it includes that one, so timers, signals, sockets and the inspector are not kept waiting.
// `LoopWatch` lets libuv wait for one descriptor. koffi.node.poll is undocumented: it passes (status, events), sets
// O_NONBLOCK, and closes itself when the handle is collected. Here one handle watches one epoll descriptor of our own for
// the life of the pump, so none of its traps about changing descriptors can be met.

import { isMainThread } from 'node:worker_threads';
import koffi, { type node } from 'koffi';

/** libuv's own epoll descriptor, or -1 where it cannot be had (worker threads, a Node without exported symbols). */
export function loopFd(): number {
  if (!isMainThread) return -1;
  try {
    const node = koffi.load(null);
    const loop = node.func('void *uv_default_loop()')();
    return node.func('int uv_backend_fd(void *loop)')(loop) as number;
  } catch {
    return -1;
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
