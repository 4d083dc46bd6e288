// SPDX-License-Identifier: Apache-2.0
/**
 * The pump's interface to libuv. `UvLoop` has the descriptor and timers on which libuv itself
 * waits: while the pump waits in its own epoll, it also waits for libuv's descriptor and ends at
 * libuv's next timer, so that timers, signals, sockets and the inspector keep running. `LoopWatch`
 * makes libuv wait for one descriptor by koffi.node.poll. That function is undocumented: it passes
 * (status, events), sets O_NONBLOCK, and closes itself when its handle is garbage collected. One
 * handle therefore watches one epoll descriptor for the life of the pump.
 */
import { isMainThread } from 'node:worker_threads';
import koffi, { type node } from 'koffi';
import { errnoText, VfioUserError } from './errors.ts';
import { allocateNative, closeFd, lastErrno } from './native.ts';

/**
 * Descriptor and timers of libuv. Not available in worker threads, or if Node hides the symbols.
 */
export interface UvLoop {
  /** Readable when libuv has work. */
  readonly fd: number;
  /** Milliseconds until libuv's next timer; 0 if other work is due, -1 for never. */
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

/**
 * Throws `error` outside of the running callback, as an uncaught exception: koffi drops what its
 * callbacks throw, and the process would go on silently.
 */
export function throwUncaught(error: unknown): void {
  setImmediate(() => {
    throw error;
  });
}

export class LoopWatch {
  readonly #handle: node.PollHandle;
  readonly #onReadable: () => void;
  #watching = true;

  constructor(fd: number, onReadable: () => void) {
    this.#onReadable = onReadable;
    this.#handle = koffi.node.poll(fd, { readable: true }, this.#called);
  }

  /** Enables the callback. While it is enabled, the process stays alive. */
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
    if (!this.#watching) return;
    try {
      this.#onReadable();
    } catch (error) {
      throwUncaught(error);
    }
  };
}

const libc = koffi.load(null);
const eventfd = libc.func('int eventfd(unsigned int count, int flags)');
const writeFd = libc.func('int64_t write(int fd, uint64_t bytes, size_t count)');
const readFd = libc.func('int64_t read(int fd, uint64_t bytes, size_t count)');

const EFD_CLOEXEC_NONBLOCK = 0o2004000;
const COUNTER_BYTES = 8;

/**
 * Calls back after libuv has served its timers and descriptors, as setImmediate does. A pending
 * setImmediate, however, makes `timeoutMs` 0 in every turn; this does not.
 */
export class LoopTurn {
  readonly #fd: number = eventfd(0, EFD_CLOEXEC_NONBLOCK);
  readonly #counter = allocateNative(COUNTER_BYTES);
  readonly #watch: LoopWatch;
  #queued = false;

  constructor(onTurn: () => void) {
    if (this.#fd < 0) throw new VfioUserError(`eventfd failed: ${errnoText(lastErrno())}`);
    this.#watch = new LoopWatch(this.#fd, () => {
      readFd(this.#fd, this.#counter.address, COUNTER_BYTES);
      this.#queued = false;
      onTurn();
    });
    this.stop();
  }

  /** Enables turns. While they are enabled, the process stays alive. */
  start(): void {
    this.#watch.start();
  }

  stop(): void {
    this.#watch.stop();
  }

  /** Requests one turn. */
  queue(): void {
    if (this.#queued) return;
    this.#queued = true;
    this.#counter.bytes[0] = 1;
    writeFd(this.#fd, this.#counter.address, COUNTER_BYTES);
  }

  close(): void {
    this.#watch.close();
    closeFd(this.#fd);
  }
}
