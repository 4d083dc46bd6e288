// SPDX-License-Identifier: Apache-2.0
/**
 * Replays a recording (docs/ARCHITECTURE.md, The seam): builds the adapter from the options in the
 * header, repeats the calls of its hosts, answers its own calls from the records and compares them
 * byte for byte. The first difference is reported with position, time and both values. It needs no
 * guest, QEMU or FFI, so a session can be debugged. Used by `vuhca replay`, tests and digests.
 */
import type { AdapterFactory } from '../hca/adapter/adapter.ts';
import type { AdapterPort, FunctionPort, LinkStream } from '../host.ts';
import { type BuiltFabric, buildFabric } from '../topology/build-fabric.ts';
import { findFabricError } from '../topology/fabric-errors.ts';
import { EndOfRecording, RecordReader } from './record-reader.ts';
import { resetKinds } from './recording.ts';
import {
  decodeHeader,
  isFabricPlan,
  joinChunks,
  RecordingDamage,
  type RecordingHeader,
  RecordKind,
  recordKindName,
} from './recording-format.ts';
import { type Divergence, ReplayedOutputs, type WriteObserver } from './replayed-outputs.ts';

export type { Divergence };

/** The result of a replay. */
export interface ReplayResult {
  /** Calls into the adapter that were replayed completely. */
  readonly steps: number;
  /** Records read. */
  readonly records: number;
  readonly timeNs: number;
  /** The end of the recording is missing; all before it was replayed. */
  readonly truncated: boolean;
  readonly divergence: Divergence | undefined;
}

/** A call into the adapter that is about to be made. */
export interface ReplayStep {
  readonly index: number;
  readonly position: number;
  readonly timeNs: number;
  /** Name of the call: `write register`, `run`. */
  readonly name: string;
  readonly functionIndex: number;
}

/** Kinds of the records of calls into the adapter. */
const calls: ReadonlySet<number> = new Set([
  RecordKind.READ_REGISTER,
  RecordKind.WRITE_REGISTER,
  RecordKind.WRITE_COLLECT,
  RecordKind.WRITE_PIO,
  RecordKind.RESET,
  RecordKind.BUS_MASTER,
  RecordKind.MEMORY_MAPPED,
  RecordKind.MEMORY_UNMAPPED,
  RecordKind.RUN,
  RecordKind.REQUEST_RESOURCES,
  RecordKind.REQUEST_TRACE,
  RecordKind.PLANT_FAULT,
  RecordKind.CHANGE_LINK,
  RecordKind.REST,
]);
/** Those of the whole adapter: their records name no function. */
const callsOfAll: ReadonlySet<number> = new Set([RecordKind.RUN, RecordKind.CHANGE_LINK, RecordKind.REST]);
/** Those of a link to another process, which their records name. */
const callsOfLinks: ReadonlySet<number> = new Set([
  RecordKind.LINK_CONNECT,
  RecordKind.LINK_RECEIVE,
  RecordKind.LINK_DRAINED,
  RecordKind.LINK_DISCONNECT,
]);

/** One replay of one recording. */
export class Replay {
  readonly header: RecordingHeader;
  readonly adapter: AdapterPort;
  /** The nodes of a recording of a fabric. */
  readonly built: BuiltFabric | undefined;
  /** Called before each call into the adapter, for breakpoints. */
  onStep: (step: ReplayStep) => void = () => {};
  /** Called for what the adapter writes to the memory of a function, which a replay has not. */
  set onWrite(observer: WriteObserver) {
    this.#outputs.onWrite = observer;
  }

  readonly #reader: RecordReader;
  readonly #outputs: ReplayedOutputs;
  /** The connection of each link to another process. */
  readonly #streams: readonly LinkStream[];
  #truncated: boolean;
  #steps = 0;

  /**
   * `build` makes the adapter of a recording of one adapter. Throws if the recording is damaged or
   * of another version.
   */
  constructor(recording: Uint8Array, build: AdapterFactory) {
    this.header = decodeHeader(recording);
    const { records, truncated } = joinChunks(recording, this.header.lengthBytes);
    this.#truncated = truncated;
    this.#reader = new RecordReader(records);
    this.#outputs = new ReplayedOutputs(this.#reader, this.header.functionCount);
    this.#outputs.during = 'the construction of the adapter';
    const made = this.#build(build);
    this.built = 'fabric' in made ? made : undefined;
    this.adapter = 'fabric' in made ? made.fabric : made;
    this.#streams = (this.adapter.linkPorts ?? []).map((_, index) => this.#outputs.makeStream(index));
  }

  /** Builds what the header describes. Its CRC may be right, and its content still wrong. */
  #build(build: AdapterFactory): AdapterPort | BuiltFabric {
    const { clock, hosts } = this.#outputs;
    const { plan } = this.header;
    try {
      if (!isFabricPlan(plan)) return build(plan, clock, hosts);
      const error = findFabricError(plan);
      if (error !== undefined) throw new RangeError(error);
      return buildFabric(plan, clock, hosts);
    } catch (error) {
      throw new RecordingDamage(`The recording is of no adapter that can be built: ${(error as Error).message}.`);
    }
  }

  /** Replays up to the end or to the first difference. */
  run(): ReplayResult {
    while (this.step());
    return this.result;
  }

  /** Makes one call into the adapter; false if there is none left, or after a difference. */
  step(): boolean {
    const outputs = this.#outputs;
    if (outputs.stopped || this.#reader.atEnd) return false;
    const start = this.#reader.position;
    try {
      this.#call(start, outputs.openRecord());
    } catch (error) {
      if (error instanceof RecordingDamage) throw error;
      if (error instanceof EndOfRecording) outputs.end();
      else outputs.threw(error);
    }
    if (outputs.ended) this.#truncated = true;
    return !outputs.stopped;
  }

  /** The result so far. */
  get result(): ReplayResult {
    const { records, timeNs, divergence } = this.#outputs;
    return { steps: this.#steps, records, timeNs, truncated: this.#truncated, divergence };
  }

  /** Adapter time of the last record that has one. */
  get timeNs(): number {
    return this.#outputs.timeNs;
  }

  /** Complete calls into the adapter so far. */
  get steps(): number {
    return this.#steps;
  }

  /** The part of all records that has been read, from 0 to 1. */
  get progress(): number {
    return this.#reader.progress;
  }

  /** Name of the call that comes next; undefined at the end and after a difference. */
  get nextCall(): string | undefined {
    return this.#outputs.stopped || this.#reader.atEnd ? undefined : recordKindName(this.#reader.peek());
  }

  #call(position: number, kind: number): void {
    const isOfLink = callsOfLinks.has(kind);
    const isOfFunction = !isOfLink && !callsOfAll.has(kind);
    if (!isOfLink && !calls.has(kind)) {
      this.#outputs.diverge(position, recordKindName(kind), 'nothing: the adapter returned without that');
      return;
    }
    const functionIndex = isOfFunction ? this.#reader.varint() : 0;
    const { timeNs } = this.#outputs;
    const step = { index: this.#steps, position, timeNs, name: recordKindName(kind), functionIndex };
    this.#outputs.during = `step ${step.index}: ${step.name}`;
    const port = this.adapter.functions[functionIndex];
    if (port === undefined) this.#damaged(step, `there is no function ${functionIndex}`);
    if (isOfLink) this.#callLink(kind, step);
    else this.#dispatch(kind, port, step);
    if (!this.#outputs.stopped) this.#steps++;
  }

  #dispatch(kind: number, port: FunctionPort, step: ReplayStep): void {
    const reader = this.#reader;
    const field = reader.varint();
    if (kind === RecordKind.RUN) {
      this.onStep(step);
      this.#outputs.checkRunResult(this.adapter.run(field));
    } else if (kind === RecordKind.REST) {
      this.onStep(step);
      this.#outputs.checkRunResult(this.adapter.rest?.() === true);
    } else if (kind === RecordKind.CHANGE_LINK) {
      const words = this.#readBytes(field);
      this.onStep(step);
      this.#changeLink(words, step);
    } else if (kind === RecordKind.READ_REGISTER) {
      const sizeBytes = this.#readSize(step);
      this.onStep(step);
      const low = port.readRegister(field, sizeBytes);
      this.#outputs.checkReadResult(field, low, port.readHigh);
    } else if (kind === RecordKind.RESET) {
      const reset = resetKinds[field];
      if (reset === undefined) this.#damaged(step, `there is no reset ${field}`);
      this.onStep(step);
      port.reset(reset);
    } else if (kind === RecordKind.BUS_MASTER) {
      if (field > 1) this.#damaged(step, `it is ${field}; it must be 0 or 1`);
      this.onStep(step);
      port.setBusMaster(field === 1);
    } else if (kind === RecordKind.REQUEST_RESOURCES) {
      const changes = this.#readBytes(field);
      this.onStep(step);
      this.#outputs.checkRequestResult(port.requestResources(changes));
    } else if (kind === RecordKind.REQUEST_TRACE) {
      const attributes = this.#readBytes(reader.varint());
      this.onStep(step);
      this.#outputs.checkTraceResult(port.requestTrace(field, attributes));
    } else if (kind === RecordKind.PLANT_FAULT) {
      const words = this.#readBytes(field);
      this.onStep(step);
      port.plantFault(words);
    } else if (kind <= RecordKind.WRITE_PIO) {
      this.#write(kind, port, field, step);
    } else {
      this.#remap(kind, port, field, step);
    }
  }

  #callLink(kind: number, step: ReplayStep): void {
    const index = this.#reader.varint();
    const link = this.adapter.linkPorts?.[index];
    const stream = this.#streams[index];
    if (link === undefined || stream === undefined) this.#damaged(step, `there is no link ${index}`);
    const bytes = kind === RecordKind.LINK_RECEIVE ? this.#readBytes(this.#reader.varint()) : undefined;
    this.onStep(step);
    if (bytes !== undefined) link.receive(stream, bytes);
    else if (kind === RecordKind.LINK_CONNECT) link.connect(stream);
    else if (kind === RecordKind.LINK_DRAINED) link.drained(stream);
    else link.disconnect(stream);
  }

  #changeLink(words: Uint8Array, step: ReplayStep): void {
    try {
      this.adapter.changeLink?.(words);
    } catch (error) {
      if (error instanceof RangeError) this.#damaged(step, error.message);
      throw error;
    }
  }

  #readBytes(lengthBytes: number): Uint8Array {
    // The recording may be shorter than that, and memory as well.
    const start = this.#reader.skip(lengthBytes);
    const bytes = new Uint8Array(lengthBytes);
    this.#reader.copyTo(start, lengthBytes, bytes, 0);
    return bytes;
  }

  /** Size of an access. */
  #readSize(step: ReplayStep): number {
    const sizeBytes = this.#reader.varint();
    if (![1, 2, 4, 8].includes(sizeBytes)) this.#damaged(step, `its size is ${sizeBytes}; it must be 1, 2, 4 or 8`);
    return sizeBytes;
  }

  #damaged({ index, name, position }: ReplayStep, what: string): never {
    throw new RecordingDamage(
      `The recording is damaged: step ${index}, ${name}, at byte ${position} of its records: ${what}.`,
    );
  }

  #write(kind: number, port: FunctionPort, offset: number, step: ReplayStep): void {
    const sizeBytes = this.#readSize(step);
    const low = this.#reader.dword();
    const high = sizeBytes === 8 ? this.#reader.dword() : 0;
    this.onStep(step);
    if (kind === RecordKind.WRITE_REGISTER) port.writeRegister(offset, sizeBytes, low, high);
    else if (kind === RecordKind.WRITE_COLLECT) port.writeCollect(offset, sizeBytes, low, high);
    else port.writePio(offset, sizeBytes, low, high);
  }

  #remap(kind: number, port: FunctionPort, address: number, step: ReplayStep): void {
    const lengthBytes = this.#reader.varint();
    this.onStep(step);
    if (kind === RecordKind.MEMORY_MAPPED) port.memoryMapped(address, lengthBytes);
    else port.memoryUnmapped(address, lengthBytes);
  }
}
