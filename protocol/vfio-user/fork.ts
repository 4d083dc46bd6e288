// SPDX-License-Identifier: Apache-2.0
/**
 * fork(2) for a Node process of one thread: its copy continues at the same line with all JavaScript
 * state, and shares the memory until one of the two writes. The process runs with FORK_FLAGS, so
 * that V8 waits for no other thread. A copy must neither return to the event loop nor use the
 * thread pool, neither of which works in it; it ends by `endProcess`. `vuhca view` keeps the states
 * of a replay in this way.
 */
import koffi from 'koffi';

const libc = koffi.load(null);
const fork: () => number = libc.func('int fork()');
const exit: (status: number) => void = libc.func('void _exit(int status)');
const madvise: (address: number, length: number, advice: number) => number = libc.func(
  'int madvise(uint64_t address, uint64_t length, int advice)',
);
const waitpid: (pid: number, status: Int32Array, options: number) => number = libc.func(
  'int waitpid(int pid, int *status, int options)',
);

/**
 * Options of Node for a process that forks. A small young generation leaves little garbage in a
 * copy.
 */
export const FORK_FLAGS: readonly string[] = ['--single-threaded', '--max-semi-space-size=2'];

/** madvise(2): copies inherit these pages, too. */
const MADV_DOFORK = 11;
const PAGE_BYTES = 4096;
/** End of user space, above every heap. */
const USER_END = 0x7fff_ffff_f000;
/** As in shells: a process that signal N ends has status 128 + N. */
const SIGNAL_STATUS = 128;

/**
 * Copies this process. Returns 0 in the copy, the number of the copy in this process, and -1 when
 * there is no memory or no process left.
 *
 * Node builds V8 such that a fork leaves the JavaScript heap out (MADV_DONTFORK), because it forks
 * only to execute another program. One call undoes that for all pages. It stops with EINVAL at the
 * pages of the kernel, which lie above all others.
 */
export function forkProcess(): number {
  madvise(PAGE_BYTES, USER_END - PAGE_BYTES, MADV_DOFORK);
  return fork();
}

/** Ends this copy at once: nothing that waits for the end of the process runs. */
export function endProcess(status: number): never {
  exit(status);
  throw new Error('_exit has returned');
}

/** Waits until the copy has ended. Returns its exit status, 128 and more after a signal. */
export function waitForProcess(pid: number): number {
  const status = new Int32Array(1);
  while (waitpid(pid, status, 0) < 0) {
    // A signal ends the wait early.
    if (koffi.errno() !== koffi.os.errno.EINTR) return -1;
  }
  const [word] = status;
  const signal = word & 0x7f;
  return signal === 0 ? (word >> 8) & 0xff : SIGNAL_STATUS + signal;
}
