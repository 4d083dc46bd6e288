// SPDX-License-Identifier: Apache-2.0
/**
 * A Unix stream socket that passes file descriptors, which Node's own sockets cannot, and the other
 * descriptors of a vfio-user client: eventfds and shared memory. All calls block, up to a time
 * limit. Tests and benchmarks use them to talk to a device in another process.
 */
import { readSync, writeSync } from 'node:fs';
import koffi from 'koffi';
import { errnoText } from '../errors.ts';
import { allocateNative, closeFd, lastErrno, type NativeBlock, viewNative } from '../native.ts';

const libc = koffi.load(null);
const socket = libc.func('int socket(int domain, int type, int protocol)');
const connect = libc.func('int connect(int fd, const uint8_t *address, uint32_t length)');
const sendmsg = libc.func('int64_t sendmsg(int fd, uint64_t message, int flags)');
const recvmsg = libc.func('int64_t recvmsg(int fd, uint64_t message, int flags)');
const poll = libc.func('int poll(uint64_t fds, uint64_t count, int timeout_ms)');
const shutdown = libc.func('int shutdown(int fd, int how)');
const eventfd = libc.func('int eventfd(uint32_t initial, int flags)');
const memfdCreate = libc.func('int memfd_create(const char *name, uint32_t flags)');
const ftruncate = libc.func('int ftruncate(int fd, int64_t length)');
const mmap = libc.func(
  'int64_t mmap(uint64_t address, size_t length, int protection, int flags, int fd, int64_t offset)',
);
const pipe = libc.func('int pipe(_Out_ int *fds)');

const AF_UNIX = 1;
const STREAM_CLOEXEC = 1 | 0o2000000;
const SOL_SOCKET = 1;
const SCM_RIGHTS = 1;
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;
const MSG_CMSG_CLOEXEC = 0x40000000;
const POLLIN = 1;
const PROT_READ_WRITE = 3;
const MAP_SHARED = 1;
const MSGHDR_BYTES = 56;
const IOVEC_BYTES = 16;
const CMSG_HEADER_BYTES = 16;
const MAX_FDS = 253;
const RECEIVE_BYTES = 64 * 1024;

/** Thrown when a native call of the client fails. */
export class ClientError extends Error {
  override name = 'ClientError';
}

function fail(what: string): never {
  throw new ClientError(`${what} failed: ${errnoText(lastErrno())}`);
}

/** Waits until `fd` is readable; false after `timeoutMs`. */
function waitReadable(fd: number, timeoutMs: number): boolean {
  pollBlock ??= allocateNative(8);
  pollBlock.view.setInt32(0, fd, true);
  pollBlock.view.setInt16(4, POLLIN, true);
  return (poll(pollBlock.address, 1, timeoutMs) as number) > 0;
}
let pollBlock: NativeBlock | undefined;

export class UnixSocket {
  readonly fd: number;
  readonly #message = allocateNative(MSGHDR_BYTES + IOVEC_BYTES + CMSG_HEADER_BYTES + 4 * MAX_FDS + 4);
  readonly #input = allocateNative(RECEIVE_BYTES);
  #output = allocateNative(4096);

  /** Connects to the server at `path`. */
  constructor(path: string) {
    this.fd = socket(AF_UNIX, STREAM_CLOEXEC, 0) as number;
    const address = new Uint8Array(110);
    new DataView(address.buffer).setUint16(0, AF_UNIX, true);
    address.set(Buffer.from(path), 2);
    if (connect(this.fd, address, address.length) === 0) return;
    const reason = errnoText(lastErrno());
    closeFd(this.fd);
    throw new ClientError(`connect to ${path} failed: ${reason}`);
  }

  /** Sends all of `bytes`, with `fds` attached to the first byte. */
  send(bytes: Uint8Array, fds: readonly number[] = []): void {
    const sent = this.#send(bytes, fds, 0);
    if (sent < bytes.length) this.send(bytes.subarray(sent));
  }

  /** Sends as many bytes as the socket has room for; returns their number. */
  sendSome(bytes: Uint8Array): number {
    return this.#send(bytes, [], MSG_DONTWAIT, true);
  }

  /** Receives up to `maxBytes`; no bytes at the end of the stream. Throws after `timeoutMs`. */
  receive(maxBytes: number, timeoutMs: number): { bytes: Uint8Array; fds: number[] } {
    if (!waitReadable(this.fd, timeoutMs)) throw new ClientError(`no reply within ${timeoutMs} ms`);
    const message = this.#fillMessage(this.#input.address, Math.min(maxBytes, RECEIVE_BYTES), MAX_FDS);
    const count = Number(recvmsg(this.fd, message, MSG_CMSG_CLOEXEC));
    if (count < 0) fail('recvmsg');
    return { bytes: this.#input.bytes.slice(0, count), fds: this.#receivedFds() };
  }

  /** Closes the sending direction; replies can still be received. */
  endSending(): void {
    shutdown(this.fd, 1);
  }

  close(): void {
    closeFd(this.fd);
    this.#message.free();
    this.#input.free();
    this.#output.free();
  }

  #send(bytes: Uint8Array, fds: readonly number[], flags: number, mayBeFull = false): number {
    if (this.#output.bytes.length < bytes.length) {
      this.#output.free();
      this.#output = allocateNative(bytes.length);
    }
    this.#output.bytes.set(bytes);
    const message = this.#fillMessage(this.#output.address, bytes.length, fds.length);
    const { view } = this.#message;
    const control = MSGHDR_BYTES + IOVEC_BYTES;
    if (fds.length > 0) {
      view.setBigUint64(control, BigInt(CMSG_HEADER_BYTES + 4 * fds.length), true);
      view.setInt32(control + 8, SOL_SOCKET, true);
      view.setInt32(control + 12, SCM_RIGHTS, true);
      fds.forEach((fd, i) => {
        view.setInt32(control + CMSG_HEADER_BYTES + 4 * i, fd, true);
      });
    }
    const sent = Number(sendmsg(this.fd, message, flags | MSG_NOSIGNAL));
    if (sent >= 0) return sent;
    if (mayBeFull && lastErrno() === koffi.os.errno.EAGAIN) return 0;
    return fail('sendmsg');
  }

  #fillMessage(data: number, lengthBytes: number, fdCount: number): number {
    const { view, address } = this.#message;
    view.setBigUint64(0, 0n, true);
    view.setUint32(8, 0, true);
    view.setBigUint64(16, BigInt(address + MSGHDR_BYTES), true);
    view.setBigUint64(24, 1n, true);
    view.setBigUint64(32, BigInt(fdCount > 0 ? address + MSGHDR_BYTES + IOVEC_BYTES : 0), true);
    view.setBigUint64(40, BigInt(fdCount > 0 ? CMSG_HEADER_BYTES + 8 * Math.ceil(fdCount / 2) : 0), true);
    view.setUint32(48, 0, true);
    view.setBigUint64(MSGHDR_BYTES, BigInt(data), true);
    view.setBigUint64(MSGHDR_BYTES + 8, BigInt(lengthBytes), true);
    return address;
  }

  #receivedFds(): number[] {
    const { view } = this.#message;
    if (view.getBigUint64(40, true) === 0n) return [];
    const control = MSGHDR_BYTES + IOVEC_BYTES;
    const count = (Number(view.getBigUint64(control, true)) - CMSG_HEADER_BYTES) / 4;
    return Array.from({ length: count }, (_, i) => view.getInt32(control + CMSG_HEADER_BYTES + 4 * i, true));
  }
}

/** An eventfd; a client supplies one for each interrupt vector. */
export class EventFd {
  readonly fd: number;

  /** `blocking` omits EFD_NONBLOCK, as a careless or hostile client may do. */
  constructor(options: { blocking?: boolean } = {}) {
    this.fd = eventfd(0, 0o2000000 | (options.blocking ? 0 : 0o4000)) as number;
    if (this.fd < 0) fail('eventfd');
  }

  /** Waits for events; returns their number since the last call, or 0 after `timeoutMs`. */
  wait(timeoutMs: number): number {
    if (!waitReadable(this.fd, timeoutMs)) return 0;
    const counter = new BigUint64Array(1);
    readSync(this.fd, new Uint8Array(counter.buffer));
    return Number(counter[0]);
  }

  /** Adds `count` to the counter. */
  add(count: bigint): void {
    writeSync(this.fd, new Uint8Array(BigUint64Array.of(count).buffer));
  }

  close(): void {
    closeFd(this.fd);
  }
}

/** Memory to share with a device: a memfd, accessed through the file or mapped. */
export class SharedMemory {
  readonly fd: number;
  readonly sizeBytes: number;

  constructor(sizeBytes: number) {
    this.fd = memfdCreate('guest-memory', 1) as number;
    if (this.fd < 0) fail('memfd_create');
    this.sizeBytes = sizeBytes;
    this.truncate(sizeBytes);
  }

  /** Changes the size of the file, even while a process has it mapped. */
  truncate(sizeBytes: number): void {
    if (ftruncate(this.fd, sizeBytes) !== 0) fail('ftruncate');
  }

  read(offset: number, lengthBytes: number): Uint8Array {
    const bytes = new Uint8Array(lengthBytes);
    readSync(this.fd, bytes, 0, lengthBytes, offset);
    return bytes;
  }

  write(offset: number, bytes: Uint8Array): void {
    writeSync(this.fd, bytes, 0, bytes.length, offset);
  }

  /** Maps the whole file. The mapping is never removed, so it is valid even after `close`. */
  map(): ArrayBuffer {
    const address = Number(mmap(0, this.sizeBytes, PROT_READ_WRITE, MAP_SHARED, this.fd, 0));
    if (address === -1) fail('mmap');
    return viewNative(address, this.sizeBytes);
  }

  close(): void {
    closeFd(this.fd);
  }
}

/** Both ends of a pipe: descriptors that are neither eventfds nor memory. */
export function makePipe(): [readEnd: number, writeEnd: number] {
  const fds = [0, 0];
  if (pipe(fds) !== 0) fail('pipe');
  return fds as [number, number];
}
