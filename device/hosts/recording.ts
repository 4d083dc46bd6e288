// SPDX-License-Identifier: Apache-2.0
/**
 * Records all calls across the seam (docs/ARCHITECTURE.md, The seam) by wrappers around hosts,
 * clock and adapter; the adapter is unchanged. The bytes go to a sink in chunks; its owner writes
 * the file. Used by `InProcessMachine` and the process; `replay.ts` reads recordings.
 */

import type {
  AdapterClock,
  AdapterPort,
  BusAddress,
  FunctionPort,
  HostPort,
  LinkPort,
  ResetKind,
  ResourceAnswer,
} from '../host.ts';
import { fitsVarint, type RecordingSink, RecordWriter } from './record-writer.ts';
import { RecordingLinkPort } from './recorded-link.ts';
import { encodeHeader, type RecordedPlan, RecordKind } from './recording-format.ts';

/** Reset kinds, indexed by their number in a record. */
export const resetKinds: readonly ResetKind[] = ['device', 'function', 'lost', 'software'];

/** One recording and the wrappers that write into it. */
export class Recorder {
  readonly #writer: RecordWriter;

  /** Writes the header at once. `chunkBytes`: bytes gathered before the sink is called. */
  constructor(plan: RecordedPlan, functionCount: number, sink: RecordingSink, chunkBytes?: number) {
    this.#writer = new RecordWriter(sink, chunkBytes);
    sink(encodeHeader(plan, functionCount));
  }

  wrapHost(host: HostPort, functionIndex: number): HostPort {
    return new RecordingHost(this.#writer, host, functionIndex);
  }

  wrapClock(clock: AdapterClock): AdapterClock {
    return new RecordingClock(this.#writer, clock);
  }

  wrapAdapter(adapter: AdapterPort): AdapterPort {
    return new RecordingAdapterPort(this.#writer, adapter);
  }

  /** Passes the gathered bytes to the sink, for instance when the adapter is idle. */
  flush(): void {
    this.#writer.flush();
  }
}

/** Records the calls of an adapter to a host. */
export class RecordingHost implements HostPort {
  readonly #writer: RecordWriter;
  readonly #host: HostPort;
  readonly #index: number;

  constructor(writer: RecordWriter, host: HostPort, functionIndex: number) {
    this.#writer = writer;
    this.#host = host;
    this.#index = functionIndex;
  }

  readMemory(at: BusAddress, lengthBytes: number, target: Uint8Array, targetOffset: number): boolean {
    const ok = this.#host.readMemory(at, lengthBytes, target, targetOffset);
    this.#openRange(RecordKind.READ_MEMORY, at, lengthBytes);
    this.#writer.byte(ok ? 1 : 0);
    if (ok) this.#writer.bytes(target, targetOffset, lengthBytes);
    return ok;
  }

  writeMemory(at: BusAddress, source: Uint8Array, sourceOffset: number, lengthBytes: number): boolean {
    const ok = this.#host.writeMemory(at, source, sourceOffset, lengthBytes);
    this.#openRange(RecordKind.WRITE_MEMORY, at, lengthBytes);
    this.#writer.byte(ok ? 1 : 0);
    this.#writer.bytes(source, sourceOffset, lengthBytes);
    return ok;
  }

  publish(at: BusAddress, entry: Uint8Array, entryOffset: number, lengthBytes: number, validBytes: number): boolean {
    const ok = this.#host.publish(at, entry, entryOffset, lengthBytes, validBytes);
    this.#openRange(RecordKind.PUBLISH, at, lengthBytes);
    this.#writer.varint(validBytes);
    this.#writer.byte(ok ? 1 : 0);
    this.#writer.bytes(entry, entryOffset, lengthBytes);
    return ok;
  }

  compareAndSwap(at: BusAddress, expected: number, desired: number): number | undefined {
    const found = this.#host.compareAndSwap(at, expected, desired);
    this.#writer.open(RecordKind.COMPARE_SWAP);
    this.#writer.varint(this.#index);
    this.#writer.varint(at.value);
    this.#writer.dword(expected);
    this.#writer.dword(desired);
    this.#writer.byte(found === undefined ? 0 : 1);
    if (found !== undefined) this.#writer.dword(found);
    return found;
  }

  raiseVector(vector: number): boolean {
    const ok = this.#host.raiseVector(vector);
    this.#writer.open(RecordKind.RAISE_VECTOR);
    this.#writer.varint(this.#index);
    this.#writer.varint(vector);
    this.#writer.byte(ok ? 1 : 0);
    return ok;
  }

  #openRange(kind: number, at: BusAddress, lengthBytes: number): void {
    this.#writer.open(kind);
    this.#writer.varint(this.#index);
    this.#writer.varint(at.value);
    this.#writer.varint(lengthBytes);
  }
}

/** Records the calls of an adapter to its clock. */
export class RecordingClock implements AdapterClock {
  readonly #writer: RecordWriter;
  readonly #clock: AdapterClock;
  #lastNs = Number.NaN;

  constructor(writer: RecordWriter, clock: AdapterClock) {
    this.#writer = writer;
    this.#clock = clock;
  }

  now(): number {
    const nowNs = this.#clock.now();
    const passedNs = nowNs - this.#lastNs;
    if (fitsVarint(passedNs)) {
      this.#writer.open(RecordKind.NOW);
      this.#writer.varint(passedNs);
    } else {
      this.#writer.open(RecordKind.NOW_EXACT);
      this.#writer.double(nowNs);
    }
    this.#lastNs = nowNs;
    return nowNs;
  }

  setAlarm(atNs: number): void {
    this.#clock.setAlarm(atNs);
    this.#writer.open(RecordKind.SET_ALARM);
    this.#writer.double(atNs);
  }
}

/** Records the calls to an adapter. */
export class RecordingAdapterPort implements AdapterPort {
  readonly functions: readonly FunctionPort[];
  readonly linkPorts: readonly LinkPort[];
  readonly #writer: RecordWriter;
  readonly #adapter: AdapterPort;

  constructor(writer: RecordWriter, adapter: AdapterPort) {
    this.#writer = writer;
    this.#adapter = adapter;
    this.functions = adapter.functions.map((port, index) => new RecordingFunctionPort(writer, port, index));
    this.linkPorts = (adapter.linkPorts ?? []).map((link, index) => new RecordingLinkPort(writer, link, index));
  }

  run(budget: number): boolean {
    this.#writer.open(RecordKind.RUN);
    this.#writer.varint(budget);
    const more = this.#adapter.run(budget);
    this.#writer.open(RecordKind.RUN_RESULT);
    this.#writer.byte(more ? 1 : 0);
    return more;
  }

  get pollUntilNs(): number {
    return this.#adapter.pollUntilNs ?? 0;
  }

  rest(): boolean {
    this.#writer.open(RecordKind.REST);
    this.#writer.varint(0);
    const more = this.#adapter.rest?.() === true;
    this.#writer.open(RecordKind.RUN_RESULT);
    this.#writer.byte(more ? 1 : 0);
    return more;
  }

  changeLink(words: Uint8Array): void {
    this.#writer.open(RecordKind.CHANGE_LINK);
    this.#writer.varint(words.byteLength);
    this.#writer.bytes(words, 0, words.byteLength);
    this.#adapter.changeLink?.(words);
  }
}

/** Records the calls to a function. */
class RecordingFunctionPort implements FunctionPort {
  readonly #writer: RecordWriter;
  readonly #port: FunctionPort;
  readonly #index: number;

  constructor(writer: RecordWriter, port: FunctionPort, functionIndex: number) {
    this.#writer = writer;
    this.#port = port;
    this.#index = functionIndex;
  }

  get readHigh(): number {
    return this.#port.readHigh;
  }

  get takesAccess(): boolean {
    return this.#port.takesAccess;
  }

  readRegister(offset: number, sizeBytes: number): number {
    this.#open(RecordKind.READ_REGISTER, offset);
    this.#writer.varint(sizeBytes);
    const low = this.#port.readRegister(offset, sizeBytes);
    this.#writer.open(RecordKind.READ_RESULT);
    this.#writer.dword(low);
    this.#writer.dword(this.#port.readHigh);
    return low;
  }

  writeRegister(offset: number, sizeBytes: number, low: number, high: number): void {
    this.#write(RecordKind.WRITE_REGISTER, offset, sizeBytes, low, high);
    this.#port.writeRegister(offset, sizeBytes, low, high);
  }

  writeCollect(offset: number, sizeBytes: number, low: number, high: number): void {
    this.#write(RecordKind.WRITE_COLLECT, offset, sizeBytes, low, high);
    this.#port.writeCollect(offset, sizeBytes, low, high);
  }

  writePio(offset: number, sizeBytes: number, low: number, high: number): void {
    this.#write(RecordKind.WRITE_PIO, offset, sizeBytes, low, high);
    this.#port.writePio(offset, sizeBytes, low, high);
  }

  reset(kind: ResetKind): void {
    this.#open(RecordKind.RESET, resetKinds.indexOf(kind));
    this.#port.reset(kind);
  }

  setBusMaster(on: boolean): void {
    this.#open(RecordKind.BUS_MASTER, on ? 1 : 0);
    this.#port.setBusMaster(on);
  }

  memoryMapped(address: number, lengthBytes: number): void {
    this.#open(RecordKind.MEMORY_MAPPED, address);
    this.#writer.varint(lengthBytes);
    this.#port.memoryMapped(address, lengthBytes);
  }

  memoryUnmapped(address: number, lengthBytes: number): void {
    this.#open(RecordKind.MEMORY_UNMAPPED, address);
    this.#writer.varint(lengthBytes);
    this.#port.memoryUnmapped(address, lengthBytes);
  }

  requestResources(changes: Uint8Array): ResourceAnswer {
    this.#open(RecordKind.REQUEST_RESOURCES, changes.byteLength);
    this.#writer.bytes(changes, 0, changes.byteLength);
    const answer = this.#port.requestResources(changes);
    this.#writer.open(RecordKind.REQUEST_RESULT);
    this.#writer.varint(answer.status);
    this.#writer.varint(answer.index);
    this.#writer.varint(answer.offset);
    this.#writer.dword(answer.limit);
    return answer;
  }

  requestTrace(queuePair: number, attributes: Uint8Array): number {
    this.#open(RecordKind.REQUEST_TRACE, queuePair);
    this.#writer.varint(attributes.byteLength);
    this.#writer.bytes(attributes, 0, attributes.byteLength);
    const status = this.#port.requestTrace(queuePair, attributes);
    this.#writer.open(RecordKind.TRACE_RESULT);
    this.#writer.varint(status);
    return status;
  }

  plantFault(words: Uint8Array): void {
    this.#open(RecordKind.PLANT_FAULT, words.byteLength);
    this.#writer.bytes(words, 0, words.byteLength);
    this.#port.plantFault(words);
  }

  /** Starts a record of a call to the function: its number, and one more field. */
  #open(kind: number, field: number): void {
    this.#writer.open(kind);
    this.#writer.varint(this.#index);
    this.#writer.varint(field);
  }

  #write(kind: number, offset: number, sizeBytes: number, low: number, high: number): void {
    this.#open(kind, offset);
    this.#writer.varint(sizeBytes);
    this.#writer.dword(low);
    if (sizeBytes === 8) this.#writer.dword(high);
  }
}
