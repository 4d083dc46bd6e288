// SPDX-License-Identifier: Apache-2.0
/**
 * Linux epoll for the pump: many descriptors, one wait with a timeout in nanoseconds, no allocation
 * per wait. Each descriptor has a slot number, which its events carry.
 */
import koffi from 'koffi';
import { errnoText, VfioUserError } from './errors.ts';
import { allocateNative, closeFd, errno, lastErrno } from './native.ts';

const libc = koffi.load(null);
const epollCreate = libc.func('int epoll_create1(int flags)');
const epollControl = libc.func('int epoll_ctl(int epfd, int op, int fd, uint64_t event)');
const epollWait = libc.func('int epoll_wait(int epfd, uint64_t events, int max, int timeout_ms)');
const epollPwait2 = libc.func('int epoll_pwait2(int epfd, uint64_t events, int max, uint64_t timeout, uint64_t mask)');

const EPOLL_CLOEXEC = 0o2000000;
const OP_ADD = 1;
const OP_DELETE = 2;
const OP_MODIFY = 3;
const MAX_EVENTS = 64;
/** struct epoll_event is packed on x86-64 only. */
const EVENT_BYTES = process.arch === 'x64' ? 12 : 16;
const SLOT_OFFSET = process.arch === 'x64' ? 4 : 8;

export class Epoll {
  readonly fd: number;
  /** Slots of the events of the last `wait`. */
  readonly slots = new Uint32Array(MAX_EVENTS);
  readonly #events = allocateNative(EVENT_BYTES * MAX_EVENTS);
  readonly #timeout = allocateNative(16);
  readonly #control = allocateNative(EVENT_BYTES);
  #hasPwait2 = true;

  constructor() {
    this.fd = epollCreate(EPOLL_CLOEXEC) as number;
    if (this.fd < 0) throw new VfioUserError(`epoll_create1 failed: ${errnoText(lastErrno())}`);
  }

  add(fd: number, events: number, slot: number): void {
    this.#set(OP_ADD, fd, events, slot);
  }

  modify(fd: number, events: number, slot: number): void {
    this.#set(OP_MODIFY, fd, events, slot);
  }

  /** Removes a descriptor. The kernel has already removed a closed one, which is no error. */
  delete(fd: number): void {
    epollControl(this.fd, OP_DELETE, fd, this.#control.address);
  }

  /**
   * Waits up to `timeoutNs` and returns the number of valid `slots`. A signal ends the wait early.
   */
  wait(timeoutNs: number): number {
    const count = this.#wait(timeoutNs);
    for (let i = 0; i < count; i++) {
      this.slots[i] = this.#events.view.getUint32(EVENT_BYTES * i + SLOT_OFFSET, true);
    }
    return count;
  }

  close(): void {
    closeFd(this.fd);
  }

  #wait(timeoutNs: number): number {
    const events = this.#events.address;
    if (timeoutNs > 0 && this.#hasPwait2) {
      const seconds = Math.floor(timeoutNs / 1e9);
      this.#timeout.view.setUint32(0, seconds, true);
      this.#timeout.view.setUint32(8, timeoutNs - seconds * 1e9, true);
      const count = epollPwait2(this.fd, events, MAX_EVENTS, this.#timeout.address, 0) as number;
      if (count >= 0) return count;
      this.#hasPwait2 = lastErrno() !== errno.ENOSYS;
      if (this.#hasPwait2) return 0;
    }
    const count = epollWait(this.fd, events, MAX_EVENTS, Math.ceil(timeoutNs / 1e6)) as number;
    return Math.max(0, count);
  }

  #set(op: number, fd: number, events: number, slot: number): void {
    this.#control.view.setUint32(0, events, true);
    this.#control.view.setUint32(SLOT_OFFSET, slot, true);
    if (epollControl(this.fd, op, fd, this.#control.address) === 0) return;
    throw new VfioUserError(`epoll_ctl ${op} of descriptor ${fd} failed: ${errnoText(lastErrno())}`);
  }
}
