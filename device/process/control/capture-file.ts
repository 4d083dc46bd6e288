// SPDX-License-Identifier: Apache-2.0
/**
 * A capture of a live adapter: observes its ports and writes their packets into a file that
 * Wireshark reads (`protocol/infiniband/erf.ts`). Packets are copied into one of two buffers; a
 * full buffer is written in the background, so the adapter never waits for a disk. When the disk is
 * too slow, packets are left out of the capture and counted. An error and the limit of size end it;
 * the file then holds whole packets.
 */

import {
  CaptureDirection,
  erfInterface,
  erfRecordBytes,
  writeErfFileHeader,
  writeErfRecord,
} from '../../../protocol/infiniband/erf.ts';
import { findWholeRecords, PCAP_FILE_HEADER_SIZE } from '../../../protocol/infiniband/pcap.ts';
import { viewOf } from '../../../protocol/layout/view.ts';
import { errnoWords } from '../../../protocol/system/errno-words.mjs';
import type { LinkEnd, PacketObserver } from '../../fabric/port/link.ts';
import { Refusal } from '../../hca/adapter/refusal.ts';
import { FILE_LIMIT_BYTES } from '../../hosts/file-limits.ts';
import { BackgroundFile } from './background-file.ts';

/** File and selection of a capture. */
export interface CaptureOptions {
  readonly path: string;
  /** Only this port; both when absent. */
  readonly port?: number;
  /** Only packets that the ports send, or receive; both when absent. */
  readonly direction?: 'sent' | 'received';
  /** The capture ends after this number of packets. */
  readonly count?: number;
  /** The capture ends before its file would become longer; `FILE_LIMIT_BYTES` when absent. */
  readonly limitBytes?: number;
}

/** State of a capture, running or ended. */
export interface CaptureProgress {
  readonly path: string;
  readonly active: boolean;
  /** All packets are written and the file is closed. */
  readonly closed: boolean;
  /** Packets in the file, or on their way to it. */
  readonly packets: number;
  /** Packets left out because the file could not be written fast enough. */
  readonly lost: number;
  readonly bytes: number;
  /** Why it ended before it was asked to, with what the file has; one sentence. */
  readonly early: string | undefined;
  /** The file took no more. */
  readonly failed: boolean;
}

const BUFFER_BYTES = 1 << 20;
const FLUSH_MS = 100;
const NS_PER_MS = 1e6;

/** One capture: runs from construction until `stop` or its packet count. */
export class CaptureFile {
  readonly #options: CaptureOptions;
  readonly #ports: readonly LinkEnd[];
  readonly #numberOf: (port: LinkEnd) => number;
  readonly #nowNs: () => number;
  readonly #file: BackgroundFile;
  readonly #limitBytes: number;
  readonly #onEarlyEnd: (sentence: string) => void;
  readonly #views = new Map<Uint8Array, DataView>();
  readonly #timer: NodeJS.Timeout;
  #filling = newBuffer();
  #spare: Buffer | undefined = newBuffer();
  #used = 0;
  /** Packets in the filling buffer, and in buffers that the file has whole. */
  #fillingPackets = 0;
  #keptPackets = 0;
  /** Bytes of all packets that were taken. */
  #taken = 0;
  /** Packets in the buffer that is being written. */
  #writtenPackets = 0;
  #active = true;
  #closed = false;
  #lost = 0;
  #bytes = 0;
  /** Why it ended early. */
  #why: string | undefined;
  /** The file takes nothing more. */
  #failed = false;
  #ended: () => void = () => {};
  /** Resolves when the capture has ended and the file is closed. */
  readonly whenEnded: Promise<void>;

  /**
   * Begins at once. `nowNs`: wall-clock time, ns since 1970. `onEarlyEnd` is called once, with one
   * sentence, when it ends before it is asked to and before its packet count. `numberOf`: the
   * numbers of ports in the file, where those that the ports have are not enough. Throws a Refusal
   * when the file cannot be opened or another capture runs.
   */
  constructor(
    options: CaptureOptions,
    ports: readonly LinkEnd[],
    nowNs: () => number,
    onEarlyEnd: (sentence: string) => void = () => {},
    numberOf: (port: LinkEnd) => number = ({ number }) => number,
  ) {
    if (ports.some((port) => port.observer !== undefined)) throw new Refusal('a capture is running already');
    this.#options = options;
    this.#ports = ports.filter((port) => options.port === undefined || numberOf(port) === options.port);
    this.#numberOf = numberOf;
    this.#nowNs = nowNs;
    this.whenEnded = new Promise((resolve) => {
      this.#ended = resolve;
    });
    this.#limitBytes = options.limitBytes ?? FILE_LIMIT_BYTES;
    this.#onEarlyEnd = onEarlyEnd;
    this.#file = openFile(options.path);
    this.#used = writeErfFileHeader(this.#viewOf(this.#filling), 0);
    this.#taken = this.#used;
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
      packets: this.#packets(),
      lost: this.#lost,
      bytes: this.#bytes,
      failed: this.#failed,
      early: this.#why && `the capture ${path} ends with ${this.#packets()} packets: it ${this.#why}`,
    };
  }

  /** Stops observing and writes the rest. Resolves when the file is closed. May be called twice. */
  stop(): Promise<void> {
    if (!this.#active) return this.whenEnded;
    this.#active = false;
    clearInterval(this.#timer);
    for (const port of this.#ports) port.observer = undefined;
    this.#file.hurry();
    this.#flush();
    return this.whenEnded;
  }

  #packets(): number {
    return this.#keptPackets + (this.#failed ? 0 : this.#fillingPackets + this.#writtenPackets);
  }

  readonly #observe: PacketObserver = (port, outgoing, bytes, offset, lengthBytes) => {
    const { direction, count } = this.#options;
    if (direction !== undefined && (direction === 'sent') !== outgoing) return;
    const recordBytes = erfRecordBytes(lengthBytes);
    if (this.#taken + recordBytes > this.#limitBytes) return this.#endEarly('has reached its limit of size');
    if (this.#used + recordBytes > BUFFER_BYTES) this.#flush();
    if (this.#used + recordBytes > BUFFER_BYTES) {
      this.#lost++;
      return;
    }
    const tap = erfInterface(this.#numberOf(port), outgoing ? CaptureDirection.SENT : CaptureDirection.RECEIVED);
    const target = this.#viewOf(this.#filling);
    this.#used += writeErfRecord(target, this.#used, this.#nowNs(), tap, 0, this.#viewOf(bytes), offset, lengthBytes);
    this.#taken += recordBytes;
    this.#fillingPackets++;
    if (this.#packets() === count) void this.stop();
  };

  /** Writes the filled buffer in the background, unless a write is under way. */
  #flush(): void {
    const full = this.#filling;
    if (this.#spare === undefined) return;
    if (this.#used === 0 || this.#failed) return this.#finishIfStopped();
    const lengthBytes = this.#used;
    this.#filling = this.#spare;
    this.#writtenPackets = this.#fillingPackets;
    this.#spare = undefined;
    this.#used = 0;
    this.#fillingPackets = 0;
    this.#file.write(full, 0, lengthBytes, (end, code) => this.#written(full, end, code));
  }

  #written(buffer: Buffer, end: number, code: string | undefined): void {
    const start = this.#bytes === 0 ? PCAP_FILE_HEADER_SIZE : 0;
    const whole = findWholeRecords(this.#viewOf(buffer), start, end);
    // A part of a packet is of no use without the rest.
    if (end >= start) this.#bytes += whole.end;
    this.#keptPackets += whole.count;
    this.#writtenPackets = 0;
    this.#spare = buffer;
    if (code !== undefined) {
      this.#failed = true;
      this.#endEarly(`cannot be written any more ${errnoWords(code)}`);
    }
    if (!this.#active) this.#flush();
  }

  /** Ends it, and says why when it is closed. */
  #endEarly(why: string): void {
    this.#why = why;
    void this.stop();
  }

  #finishIfStopped(): void {
    if (this.#active) return;
    this.#file.close(this.#bytes);
    this.#spare = undefined;
    this.#closed = true;
    const { early } = this.progress;
    if (early !== undefined) this.#onEarlyEnd(early);
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

function openFile(path: string): BackgroundFile {
  try {
    return new BackgroundFile(path);
  } catch (error) {
    throw new Refusal(`the capture ${path} cannot be written ${errnoWords(error)}`);
  }
}
