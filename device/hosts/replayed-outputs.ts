// SPDX-License-Identifier: Apache-2.0
/**
 * The hosts and the clock of a replay: each call of the adapter is compared with the next record
 * and answered from it. After the first difference, or at the end of the recording, calls fail and
 * are not compared. Used by `replay.ts`.
 */
import type { AdapterClock, HostPort, LinkStream, ResourceAnswer } from '../host.ts';
import { EndOfRecording, type RecordReader } from './record-reader.ts';
import { RecordKind, recordKindName } from './recording-format.ts';

/** The first difference between a replay and its recording. */
export interface Divergence {
  /** Byte offset of the record in the stream of records. */
  readonly position: number;
  /** Number of records before it. */
  readonly record: number;
  /** Simulated time of the adapter, ns. */
  readonly timeNs: number;
  /** The call into the adapter at the time, e.g. `step 17: run`. */
  readonly during: string;
  readonly expected: string;
  readonly actual: string;
}

/** Takes what the adapter writes. It keeps no reference to `source`. */
export type WriteObserver = (
  functionIndex: number,
  address: number,
  source: Uint8Array,
  offset: number,
  lengthBytes: number,
) => void;

/** The checks of the adapter's outputs. */
export class ReplayedOutputs {
  readonly hosts: HostPort[];
  readonly clock: AdapterClock;
  /** The present call, for reports. */
  during = '';
  timeNs = 0;
  records = 0;
  divergence: Divergence | undefined;
  onWrite: WriteObserver | undefined;
  /** The recording ended inside a call. */
  ended = false;
  readonly #reader: RecordReader;
  #position = 0;

  constructor(reader: RecordReader, functionCount: number) {
    this.#reader = reader;
    this.hosts = Array.from({ length: functionCount }, (_, index) => this.#host(index));
    this.clock = { now: () => this.#guard(() => this.#now(), this.timeNs), setAlarm: (atNs) => this.#alarm(atNs) };
  }

  get stopped(): boolean {
    return this.ended || this.divergence !== undefined;
  }

  end(): void {
    this.ended = true;
  }

  /** Starts the next record and returns its kind. */
  openRecord(): number {
    this.#position = this.#reader.position;
    const kind = this.#reader.byte();
    this.records++;
    return kind;
  }

  /** Keeps the first difference. */
  diverge(position: number, expected: string, actual: string): void {
    if (this.stopped) return;
    const { records, timeNs, during } = this;
    this.divergence = { position, record: records, timeNs, during, expected, actual };
  }

  /** The adapter threw. A session that failed so ends there, in its recording as well. */
  threw(error: unknown): void {
    const { name, message, stack = '' } = error instanceof Error ? error : new Error(String(error));
    const place = /^\s*(at .*)$/m.exec(stack)?.[1] ?? '';
    const recorded = this.#reader.atEnd ? 'nothing: the recording ends there' : 'no exception';
    this.diverge(this.#position, recorded, `${name}: ${message} ${place}`.replaceAll(/\s+/g, ' ').trim());
  }

  checkRunResult(more: boolean): void {
    if (this.stopped) return;
    if (!this.#expect(RecordKind.RUN_RESULT, 'the end of run')) return;
    this.#compare('more work', this.#reader.byte(), more ? 1 : 0);
  }

  checkReadResult(offset: number, low: number, high: number): void {
    if (this.stopped) return;
    if (!this.#expect(RecordKind.READ_RESULT, 'the end of read register')) return;
    const where = `register 0x${offset.toString(16)}`;
    const expectedLow = this.#reader.dword();
    const expectedHigh = this.#reader.dword();
    this.#compare(where, expectedLow, low >>> 0);
    this.#compare(`${where}, high dword`, expectedHigh, high >>> 0);
  }

  checkRequestResult({ status, index, offset, limit }: ResourceAnswer): void {
    if (this.stopped) return;
    if (!this.#expect(RecordKind.REQUEST_RESULT, 'the end of request resources')) return;
    this.#compare('status', this.#reader.varint(), status);
    this.#compare('index', this.#reader.varint(), index);
    this.#compare('offset', this.#reader.varint(), offset);
    this.#compare('limit', this.#reader.dword(), limit >>> 0);
  }

  checkTraceResult(status: number): void {
    if (this.stopped) return;
    if (!this.#expect(RecordKind.TRACE_RESULT, 'the end of request trace')) return;
    this.#compare('status', this.#reader.varint(), status);
  }

  /** The connection of a link to another process. */
  makeStream(index: number): LinkStream {
    return {
      write: (bytes) =>
        this.#guard(() => {
          if (!this.#expect(RecordKind.LINK_WRITE, `link write, ${bytes.length} bytes`)) return false;
          this.#compare('link', this.#reader.varint(), index);
          this.#compare('length of link write', this.#reader.varint(), bytes.length);
          return !this.stopped && this.#checkBytes(0, bytes, 0, bytes.length);
        }, false),
      close: () =>
        this.#guard(() => {
          if (this.#expect(RecordKind.LINK_CLOSE, 'link close')) this.#compare('link', this.#reader.varint(), index);
        }, undefined),
    };
  }

  #host(index: number): HostPort {
    return {
      readMemory: ({ value: address }, lengthBytes, target, targetOffset) =>
        this.#guard(() => {
          if (!this.#expectRange(RecordKind.READ_MEMORY, index, address, lengthBytes)) return false;
          if (this.#reader.byte() === 0) return false;
          this.#reader.copyTo(this.#reader.skip(lengthBytes), lengthBytes, target, targetOffset);
          return true;
        }, false),
      writeMemory: ({ value: address }, source, sourceOffset, lengthBytes) =>
        this.#guard(() => {
          if (!this.#expectRange(RecordKind.WRITE_MEMORY, index, address, lengthBytes)) return false;
          this.onWrite?.(index, address, source, sourceOffset, lengthBytes);
          return this.#checkBytes(address, source, sourceOffset, lengthBytes);
        }, false),
      publish: ({ value: address }, entry, entryOffset, lengthBytes, validBytes) =>
        this.#guard(() => {
          if (!this.#expectRange(RecordKind.PUBLISH, index, address, lengthBytes)) return false;
          this.#compare('validity bytes', this.#reader.varint(), validBytes);
          return this.#checkBytes(address, entry, entryOffset, lengthBytes);
        }, false),
      compareAndSwap: ({ value: address }, expected, desired) =>
        this.#guard(() => this.#compareAndSwap(index, address, expected, desired), undefined),
      raiseVector: (vector) =>
        this.#guard(() => {
          if (!this.#expect(RecordKind.RAISE_VECTOR, `raise vector ${vector}`)) return false;
          this.#compare('function', this.#reader.varint(), index);
          this.#compare('vector', this.#reader.varint(), vector);
          return this.#reader.byte() === 1;
        }, false),
    };
  }

  #compareAndSwap(index: number, address: number, expected: number, desired: number): number | undefined {
    if (!this.#expect(RecordKind.COMPARE_SWAP, `compare and swap at 0x${address.toString(16)}`)) return undefined;
    this.#compare('function', this.#reader.varint(), index);
    this.#compare('address', this.#reader.varint(), address);
    this.#compare('expected value', this.#reader.dword(), expected >>> 0);
    this.#compare('desired value', this.#reader.dword(), desired >>> 0);
    return this.#reader.byte() === 1 ? this.#reader.dword() | 0 : undefined;
  }

  #now(): number {
    const position = this.#reader.position;
    const kind = this.openRecord();
    if (kind === RecordKind.NOW) this.timeNs += this.#reader.varint();
    else if (kind === RecordKind.NOW_EXACT) this.timeNs = this.#reader.double();
    else this.diverge(position, recordKindName(kind), 'now');
    return this.timeNs;
  }

  #alarm(atNs: number): void {
    this.#guard(() => {
      if (!this.#expect(RecordKind.SET_ALARM, `set alarm ${atNs}`)) return;
      const expected = this.#reader.double();
      if (!Object.is(expected, atNs)) this.diverge(this.#position, `alarm at ${expected} ns`, `alarm at ${atNs} ns`);
    }, undefined);
  }

  /** Runs a check. Returns `otherwise` if the replay has stopped, or the recording ends in it. */
  #guard<T>(check: () => T, otherwise: T): T {
    if (this.stopped) return otherwise;
    try {
      const answer = check();
      return this.divergence === undefined ? answer : otherwise;
    } catch (error) {
      if (!(error instanceof EndOfRecording)) throw error;
      this.ended = true;
      return otherwise;
    }
  }

  #expect(kind: number, actual: string): boolean {
    if (this.#reader.atEnd) {
      this.ended = true;
      return false;
    }
    const position = this.#reader.position;
    const recorded = this.openRecord();
    if (recorded === kind) return true;
    this.diverge(position, recordKindName(recorded), actual);
    return false;
  }

  #expectRange(kind: number, index: number, address: number, lengthBytes: number): boolean {
    const name = recordKindName(kind);
    if (!this.#expect(kind, `${name} at 0x${address.toString(16)}, ${lengthBytes} bytes`)) return false;
    this.#compare(`function of ${name}`, this.#reader.varint(), index);
    this.#compare(`address of ${name}`, this.#reader.varint(), address);
    this.#compare(`length of ${name}`, this.#reader.varint(), lengthBytes);
    return !this.stopped;
  }

  /** Reads the recorded answer and compares the bytes; returns the answer. */
  #checkBytes(address: number, actual: Uint8Array, offset: number, lengthBytes: number): boolean {
    const answer = this.#reader.byte() === 1;
    const start = this.#reader.skip(lengthBytes);
    const index = this.#reader.findDifference(start, lengthBytes, actual, offset);
    if (index < 0) return answer;
    const where = `byte 0x${(address + index).toString(16)} (${index} of ${lengthBytes})`;
    this.#compare(where, this.#reader.byteAt(start + index), actual[offset + index] as number);
    return answer;
  }

  #compare(what: string, expected: number, actual: number): void {
    if (expected === actual) return;
    this.diverge(this.#position, `${what}: 0x${expected.toString(16)}`, `${what}: 0x${actual.toString(16)}`);
  }
}
