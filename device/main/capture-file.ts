// SPDX-License-Identifier: Apache-2.0
/**
 * A capture of a live adapter: observes its ports and writes their packets into a file that
 * Wireshark reads (`protocol/infiniband/erf.ts`). Packets are copied into one of two buffers; a
 * full buffer is written in the background, so the adapter never waits for a disk. When the disk is
 * too slow, packets are left out of the capture and counted.
 */

import { closeSync, openSync, write } from 'node:fs';
import {
  CaptureDirection,
  erfInterface,
  erfRecordBytes,
  writeErfFileHeader,
  writeErfRecord,
} from '../../protocol/infiniband/erf.ts';
import { viewOf } from '../../protocol/layout/view.ts';
import type { LinkEnd, PacketObserver } from '../port/link.ts';

/** File and selection of a capture. */
export interface CaptureOptions {
  readonly path: string;
  /** Only this port; both when absent. */
  readonly port?: number;
  /** Only packets that the ports send, or receive; both when absent. */
  readonly direction?: 'sent' | 'received';
  /** The capture ends after this number of packets. */
  readonly count?: number;
}

/** State of a capture, running or ended. */
export interface CaptureProgress {
  readonly path: string;
  readonly active: boolean;
  /** All packets are written and the file is closed. */
  readonly closed: boolean;
  readonly packets: number;
  /** Packets left out because the file could not be written fast enough. */
  readonly lost: number;
  readonly bytes: number;
  readonly error: string | undefined;
}

const BUFFER_BYTES = 1 << 20;
const FLUSH_MS = 100;
const NS_PER_MS = 1e6;

/** One capture: runs from construction until `stop` or its packet count. */
export class CaptureFile {
  readonly #options: CaptureOptions;
  readonly #ports: readonly LinkEnd[];
  readonly #nowNs: () => number;
  readonly #fd: number;
  readonly #views = new Map<Uint8Array, DataView>();
  readonly #timer: NodeJS.Timeout;
  #filling = newBuffer();
  #spare: Buffer | undefined = newBuffer();
  #used = 0;
  #active = true;
  #closed = false;
  #packets = 0;
  #lost = 0;
  #bytes = 0;
  #error: string | undefined;
  #ended: () => void = () => {};
  /** Resolves when the capture has ended and the file is closed. */
  readonly whenEnded: Promise<void>;

  /**
   * Begins at once. `nowNs`: wall-clock time, ns since 1970. Throws an Error with one sentence when
   * the file cannot be opened or another capture runs.
   */
  constructor(options: CaptureOptions, ports: readonly LinkEnd[], nowNs: () => number) {
    if (ports.some((port) => port.observer !== undefined)) throw new Error('a capture is running already');
    this.#options = options;
    this.#ports = ports.filter((port) => options.port === undefined || port.number === options.port);
    this.#nowNs = nowNs;
    this.whenEnded = new Promise((resolve) => {
      this.#ended = resolve;
    });
    this.#fd = openFile(options.path);
    this.#used = writeErfFileHeader(this.#viewOf(this.#filling), 0);
    for (const port of this.#ports) port.observer = this.#observe;
    this.#timer = setInterval(() => this.#flush(), FLUSH_MS);
    this.#timer.unref();
  }

  get progress(): CaptureProgress {
    const { path } = this.#options;
    return {
      path,
      active: this.#active,
      closed: this.#closed,
      packets: this.#packets,
      lost: this.#lost,
      bytes: this.#bytes,
      error: this.#error,
    };
  }

  /** Stops observing and writes the rest. Resolves when the file is closed. May be called twice. */
  stop(): Promise<void> {
    if (!this.#active) return this.whenEnded;
    this.#active = false;
    clearInterval(this.#timer);
    for (const port of this.#ports) port.observer = undefined;
    this.#flush();
    return this.whenEnded;
  }

  readonly #observe: PacketObserver = (port, outgoing, bytes, offset, lengthBytes) => {
    const { direction, count } = this.#options;
    if (direction !== undefined && (direction === 'sent') !== outgoing) return;
    const recordBytes = erfRecordBytes(lengthBytes);
    if (this.#used + recordBytes > BUFFER_BYTES) this.#flush();
    if (this.#used + recordBytes > BUFFER_BYTES) {
      this.#lost++;
      return;
    }
    const tap = erfInterface(port.number, outgoing ? CaptureDirection.SENT : CaptureDirection.RECEIVED);
    const target = this.#viewOf(this.#filling);
    this.#used += writeErfRecord(target, this.#used, this.#nowNs(), tap, 0, this.#viewOf(bytes), offset, lengthBytes);
    this.#packets++;
    if (this.#packets === count) void this.stop();
  };

  /** Writes the filled buffer in the background, unless a write is under way. */
  #flush(): void {
    const full = this.#filling;
    if (this.#spare === undefined) return;
    if (this.#used === 0 || this.#error !== undefined) return this.#finishIfStopped();
    const lengthBytes = this.#used;
    this.#filling = this.#spare;
    this.#spare = undefined;
    this.#used = 0;
    this.#write(full, 0, lengthBytes);
  }

  #write(buffer: Buffer, start: number, end: number): void {
    write(this.#fd, buffer, start, end - start, null, (error, written) => {
      if (error === null) {
        this.#bytes += written;
        if (start + written < end) return this.#write(buffer, start + written, end);
      } else {
        this.#error = `the capture ${this.#options.path} cannot be written (${error.code})`;
      }
      this.#spare = buffer;
      if (this.#error !== undefined && this.#active) void this.stop();
      else if (!this.#active) this.#flush();
    });
  }

  #finishIfStopped(): void {
    if (this.#active) return;
    closeSync(this.#fd);
    this.#spare = undefined;
    this.#closed = true;
    this.#ended();
  }

  #viewOf(bytes: Uint8Array): DataView {
    let view = this.#views.get(bytes);
    if (view === undefined) {
      view = viewOf(bytes);
      this.#views.set(bytes, view);
    }
    return view;
  }
}

/** Wall-clock time in ns that follows a monotonic clock in ns. */
export function makeWallTime(nowNs: () => number): () => number {
  const startNs = Date.now() * NS_PER_MS - nowNs();
  return () => startNs + nowNs();
}

function newBuffer(): Buffer {
  return Buffer.alloc(BUFFER_BYTES);
}

function openFile(path: string): number {
  try {
    return openSync(path, 'w');
  } catch (error) {
    throw new Error(`the capture ${path} cannot be written (${(error as NodeJS.ErrnoException).code})`);
  }
}
