// SPDX-License-Identifier: Apache-2.0
/**
 * Replays a recording (docs/ARCHITECTURE.md, The seam): builds the adapter from the options in the
 * header, repeats the calls of its hosts, answers its own calls from the records and compares them
 * byte for byte. The first difference is reported with position, time and both values. It needs no
 * guest, QEMU or FFI, so a session can be debugged. Used by `vuhca replay`, tests and digests.
 */
import type { AdapterFactory } from '../adapter/adapter.ts';
import type { AdapterPort, FunctionPort } from '../host.ts';
import { buildFabric } from '../topology/build-fabric.ts';
import { EndOfRecording, RecordReader } from './record-reader.ts';
import { resetKinds } from './recording.ts';
import {
  decodeHeader,
  isFabricPlan,
  joinChunks,
  type RecordingHeader,
  RecordKind,
  recordKindName,
} from './recording-format.ts';
import { type Divergence, ReplayedOutputs } from './replayed-outputs.ts';

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
]);

/** One replay of one recording. */
export class Replay {
  readonly header: RecordingHeader;
  readonly adapter: AdapterPort;
  /** Called before each call into the adapter, for breakpoints. */
  onStep: (step: ReplayStep) => void = () => {};
  readonly #reader: RecordReader;
  readonly #outputs: ReplayedOutputs;
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
    const { clock, hosts } = this.#outputs;
    const { plan } = this.header;
    this.adapter = isFabricPlan(plan) ? buildFabric(plan, clock, hosts).fabric : build(plan, clock, hosts);
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
      if (!(error instanceof EndOfRecording)) throw error;
      outputs.end();
    }
    if (outputs.ended) this.#truncated = true;
    return !outputs.stopped;
  }

  /** The result so far. */
  get result(): ReplayResult {
    const { records, timeNs, divergence } = this.#outputs;
    return { steps: this.#steps, records, timeNs, truncated: this.#truncated, divergence };
  }

  #call(position: number, kind: number): void {
    const isRun = kind === RecordKind.RUN;
    if (!calls.has(kind)) {
      this.#outputs.diverge(position, recordKindName(kind), 'nothing: the adapter returned without that');
      return;
    }
    const functionIndex = isRun ? 0 : this.#reader.varint();
    const { timeNs } = this.#outputs;
    const step = { index: this.#steps, position, timeNs, name: recordKindName(kind), functionIndex };
    this.#outputs.during = `step ${step.index}: ${step.name}`;
    const port = this.adapter.functions[functionIndex];
    if (port === undefined) throw new Error(`The recording is damaged: there is no function ${functionIndex}.`);
    this.#dispatch(kind, port, step);
    if (!this.#outputs.stopped) this.#steps++;
  }

  #dispatch(kind: number, port: FunctionPort, step: ReplayStep): void {
    const reader = this.#reader;
    const field = reader.varint();
    if (kind === RecordKind.RUN) {
      this.onStep(step);
      this.#outputs.checkRunResult(this.adapter.run(field));
    } else if (kind === RecordKind.READ_REGISTER) {
      const sizeBytes = reader.varint();
      this.onStep(step);
      const low = port.readRegister(field, sizeBytes);
      this.#outputs.checkReadResult(field, low, port.readHigh);
    } else if (kind === RecordKind.RESET) {
      this.onStep(step);
      port.reset(resetKinds[field] ?? 'device');
    } else if (kind === RecordKind.BUS_MASTER) {
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

  #readBytes(lengthBytes: number): Uint8Array {
    const bytes = new Uint8Array(lengthBytes);
    this.#reader.copyTo(this.#reader.skip(lengthBytes), lengthBytes, bytes, 0);
    return bytes;
  }

  #write(kind: number, port: FunctionPort, offset: number, step: ReplayStep): void {
    const sizeBytes = this.#reader.varint();
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
    else if (kind === RecordKind.MEMORY_UNMAPPED) port.memoryUnmapped(address, lengthBytes);
    else throw new Error(`The recording is damaged: record of unknown kind ${kind} at ${step.position}.`);
  }
}
