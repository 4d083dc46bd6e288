// SPDX-License-Identifier: Apache-2.0
/**
 * A synchronous vfio-user client for tests and benchmarks: it performs the accesses of QEMU to a
 * device. The device must run in another process. A request throws `ReplyError` if the device
 * answers with an error, and `ClientError` if no answer comes in time. The client has its own
 * message code (`wire.ts`) and uses none of libvfio-user.
 */
import { closeSync } from 'node:fs';
import { ClientError, EventFd, UnixSocket } from './unix-socket.ts';
import {
  COMMAND,
  concat,
  decodeMessageHeader,
  decodeRegionInfo,
  encodeMessage,
  encodeSetIrqs,
  encodeVersion,
  FLAG,
  HEADER_BYTES,
  type Header,
  IRQ_FLAG,
  pack,
  type RegionInfo,
  type SetIrqs,
  type VersionOptions,
} from './wire.ts';

/** Thrown when the device answers a request with an error. */
export class ReplyError extends Error {
  override name = 'ReplyError';
  readonly errno: number;

  constructor(command: number, errno: number) {
    super(`command ${command} was answered with errno ${errno}`);
    this.errno = errno;
  }
}

export interface Reply {
  readonly header: Header;
  readonly body: Uint8Array;
  readonly fds: number[];
}

export interface DmaMap {
  readonly address: number | bigint;
  readonly sizeBytes: number | bigint;
  readonly fd?: number;
  readonly offset?: number | bigint;
  readonly read?: boolean;
  readonly write?: boolean;
}

export const CONFIG_REGION = 7;
export const MSIX_INDEX = 2;
const UNMAP_ALL = 2;
/** Ends only a wait that would never end. */
const ANSWER_BOUND_MS = 300_000;

export class VfioUserClient {
  readonly socket: UnixSocket;
  /** Longest wait for a reply. */
  timeoutMs: number;
  readonly #vectors = new Map<number, EventFd>();
  #nextId = 1;

  /** Connects and sends nothing; `negotiate` must follow. */
  constructor(path: string, timeoutMs = ANSWER_BOUND_MS) {
    this.socket = new UnixSocket(path);
    this.timeoutMs = timeoutMs;
  }

  /** Connects and negotiates. */
  static connect(path: string, timeoutMs = ANSWER_BOUND_MS): VfioUserClient {
    const client = new VfioUserClient(path, timeoutMs);
    try {
      client.negotiate();
    } catch (error) {
      client.close();
      throw error;
    }
    return client;
  }

  negotiate(options: VersionOptions = {}): { major: number; minor: number; json: string } {
    const { body } = this.request(COMMAND.version, encodeVersion(options));
    const view = new DataView(body.buffer, body.byteOffset);
    const json = Buffer.from(body.subarray(4)).toString().replace(/\0$/, '');
    return { major: view.getUint16(0, true), minor: view.getUint16(2, true), json };
  }

  /** Sends a command and waits for its reply. */
  request(command: number, body: Uint8Array, fds: readonly number[] = []): Reply {
    this.post(command, body, fds, 0);
    return this.receiveReply();
  }

  /** Sends a command without waiting for a reply. Returns its message id. */
  post(command: number, body: Uint8Array, fds: readonly number[] = [], flags: number = FLAG.noReply): number {
    const id = this.#nextId;
    this.#nextId = (id + 1) & 0xffff;
    this.socket.send(encodeMessage(id, command, body, flags), fds);
    return id;
  }

  /** Waits for one message and returns it; throws `ReplyError` for an error reply. */
  receiveReply(): Reply {
    const first = this.#receive(HEADER_BYTES);
    const header = decodeMessageHeader(first.bytes);
    const rest = header.sizeBytes > HEADER_BYTES ? this.#receive(header.sizeBytes - HEADER_BYTES) : undefined;
    if ((header.flags & FLAG.error) !== 0) throw new ReplyError(header.command, header.errno);
    return { header, body: rest?.bytes ?? new Uint8Array(0), fds: [...first.fds, ...(rest?.fds ?? [])] };
  }

  getInfo(): { flags: number; regions: number; irqs: number } {
    const { body } = this.request(COMMAND.getInfo, pack('wwww', 16, 0, 0, 0));
    const view = new DataView(body.buffer, body.byteOffset);
    return { flags: view.getUint32(4, true), regions: view.getUint32(8, true), irqs: view.getUint32(12, true) };
  }

  getRegionInfo(index: number, argsz = 32): RegionInfo & { fds: number[] } {
    const { body, fds } = this.request(COMMAND.getRegionInfo, pack('wwwwqq', argsz, 0, index, 0, 0, 0));
    return { ...decodeRegionInfo(body), fds };
  }

  /** Number of vectors of an interrupt index. */
  getIrqCount(index: number): number {
    const { body } = this.request(COMMAND.getIrqInfo, pack('wwww', 16, 0, index, 0));
    return new DataView(body.buffer, body.byteOffset).getUint32(12, true);
  }

  readRegion(index: number, offset: number | bigint, count: number): Uint8Array {
    return this.request(COMMAND.regionRead, pack('qww', offset, index, count)).body.subarray(16);
  }

  writeRegion(index: number, offset: number | bigint, bytes: Uint8Array): void {
    this.request(COMMAND.regionWrite, concat(pack('qww', offset, index, bytes.length), bytes));
  }

  /** Posted write: the device does not reply. QEMU writes memory BARs this way. */
  postWrite(index: number, offset: number | bigint, bytes: Uint8Array): void {
    this.post(COMMAND.regionWrite, concat(pack('qww', offset, index, bytes.length), bytes));
  }

  read32(index: number, offset: number): number {
    const bytes = this.readRegion(index, offset, 4);
    return new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  }

  write32(index: number, offset: number, value: number): void {
    this.writeRegion(index, offset, pack('w', value >>> 0));
  }

  read16(index: number, offset: number): number {
    const bytes = this.readRegion(index, offset, 2);
    return new DataView(bytes.buffer, bytes.byteOffset).getUint16(0, true);
  }

  write16(index: number, offset: number, value: number): void {
    this.writeRegion(index, offset, pack('h', value));
  }

  /** Offset of a standard PCI capability in configuration space, or 0. */
  findCapability(id: number): number {
    const config = this.readRegion(CONFIG_REGION, 0, 256);
    for (let at = config[0x34]; at !== 0; at = config[at + 1]) {
      if (config[at] === id) return at;
    }
    return 0;
  }

  mapDma(map: DmaMap): void {
    const flags = (map.read === false ? 0 : 1) | (map.write === false ? 0 : 2);
    const body = pack('wwqqq', 32, flags, map.offset ?? 0, map.address, map.sizeBytes);
    this.request(COMMAND.dmaMap, body, map.fd === undefined ? [] : [map.fd]);
  }

  unmapDma(address: number | bigint, sizeBytes: number | bigint): void {
    this.request(COMMAND.dmaUnmap, pack('wwqq', 24, 0, address, sizeBytes));
  }

  unmapAllDma(): void {
    this.request(COMMAND.dmaUnmap, pack('wwqq', 24, UNMAP_ALL, 0, 0));
  }

  setIrqs(options: SetIrqs, fds: readonly number[] = []): void {
    this.request(COMMAND.setIrqs, encodeSetIrqs(options), fds);
  }

  /** Supplies eventfds for the vectors [first, first + count), as when a guest unmasks them. */
  enableMsix(first: number, count = 1): void {
    const events = Array.from({ length: count }, () => new EventFd());
    const flags = IRQ_FLAG.eventfd | IRQ_FLAG.trigger;
    this.setIrqs(
      { index: MSIX_INDEX, start: first, count, flags },
      events.map((event) => event.fd),
    );
    events.forEach((event, i) => {
      this.#vectors.get(first + i)?.close();
      this.#vectors.set(first + i, event);
    });
  }

  /** Removes the eventfds of the vectors. */
  disableMsix(first: number, count = 1): void {
    this.setIrqs({ index: MSIX_INDEX, start: first, count, flags: IRQ_FLAG.eventfd | IRQ_FLAG.trigger });
  }

  /**
   * Times the vector was raised since the last call; waits for the first, up to `timeoutMs`, else
   * 0.
   */
  waitIrq(vector: number, timeoutMs = this.timeoutMs): number {
    return this.#vectors.get(vector)?.wait(timeoutMs) ?? 0;
  }

  resetDevice(): void {
    this.request(COMMAND.reset, new Uint8Array(0));
  }

  /** Starts a function level reset through the PCI Express capability. */
  resetFunction(): void {
    const control = this.findCapability(0x10) + 8;
    this.write16(CONFIG_REGION, control, this.read16(CONFIG_REGION, control) | 0x8000);
  }

  /** True if the device closes the connection within `timeoutMs`. Discards received bytes. */
  waitClosed(timeoutMs = this.timeoutMs): boolean {
    try {
      while (this.socket.receive(65536, timeoutMs).bytes.length > 0);
      return true;
    } catch (error) {
      return !(error as ClientError).message.startsWith('no reply');
    }
  }

  close(): void {
    for (const event of this.#vectors.values()) event.close();
    this.#vectors.clear();
    this.socket.close();
  }

  #receive(lengthBytes: number): { bytes: Uint8Array; fds: number[] } {
    const parts: Uint8Array[] = [];
    const fds: number[] = [];
    for (let got = 0; got < lengthBytes; ) {
      const part = this.socket.receive(lengthBytes - got, this.timeoutMs);
      if (part.bytes.length === 0) throw new ClientError('the device closed the connection');
      parts.push(part.bytes);
      fds.push(...part.fds);
      got += part.bytes.length;
    }
    return { bytes: parts.length === 1 ? parts[0] : concat(...parts), fds };
  }
}

/** Closes the descriptors of a reply. */
export function closeAll(fds: readonly number[]): void {
  for (const fd of fds) closeSync(fd);
}
