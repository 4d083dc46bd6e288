// SPDX-License-Identifier: Apache-2.0
/**
 * The ordering model (docs/HAZARDS.md): stands between an adapter and its hosts and makes the
 * adapter's writes visible late, in pieces and reordered, as far as the mode allows. It keeps the
 * rules of PCIe: a validity word follows its body, an interrupt follows every earlier write, and a
 * completion (of a register read or of a memory read by the adapter) pushes all writes ahead.
 * Recorders stand inside it, so a recording holds the adapter's calls. Wired by machine and
 * process.
 */
import { COMPLETION_ENTRY_SIZE } from '../../../protocol/layout/gen/completion-entry.gen.ts';
import type {
  AdapterPort,
  BusAddress,
  FunctionPort,
  HostPort,
  LinkPort,
  ResetKind,
  ResourceAnswer,
} from '../../host.ts';
import { Random } from '../../random.ts';
import type { OrderingDefect, OrderingOptions } from './ordering-options.ts';
import { PostedWrites } from './posted-writes.ts';

/** A host that knows before a write whether it will accept it. */
export interface OrderableHost extends HostPort {
  isWritable(at: BusAddress, lengthBytes: number): boolean;
}

/** A vector refused so often pushes the writes before it: new writes must not delay it forever. */
const REFUSALS_MAX = 16;
/** Sizes of a single store. */
const STORE_BYTES: ReadonlySet<number> = new Set([1, 2, 4, 8]);

/** Wraps the hosts of all functions, in their order, then the adapter; `strict` wraps neither. */
export class OrderingModel {
  readonly #options: OrderingOptions;
  readonly #random: Random;
  readonly #hosts: OrderedHost[] = [];

  constructor(options: OrderingOptions) {
    this.#options = options;
    this.#random = new Random(options.seed ?? 0);
  }

  wrapHost(host: OrderableHost): HostPort {
    if (this.#options.mode === 'strict') return host;
    const ordered = new OrderedHost(host, this.#random.fork(), this.#options);
    this.#hosts.push(ordered);
    return ordered;
  }

  wrapAdapter(adapter: AdapterPort): AdapterPort {
    return this.#options.mode === 'strict' ? adapter : new OrderedAdapter(adapter, this.#hosts);
  }

  /** One turn of every function's writes; `run` of the adapter is also one. */
  land(): void {
    for (const host of this.#hosts) host.writes.land();
  }
}

class OrderedHost implements HostPort {
  readonly writes: PostedWrites;
  readonly #host: OrderableHost;
  readonly #defect: OrderingDefect | undefined;
  #refusals = 0;

  constructor(host: OrderableHost, random: Random, { mode, defect }: OrderingOptions) {
    this.#host = host;
    this.#defect = defect;
    // A store that software polls stays one store. Memory unmapped since takes no write.
    const write = (address: number, bytes: Uint8Array): void => {
      const { length } = bytes;
      if (STORE_BYTES.has(length) && address % length === 0) host.publish({ value: address }, bytes, 0, length, length);
      else host.writeMemory({ value: address }, bytes, 0, length);
    };
    this.writes = new PostedWrites(write, random, mode === 'adversarial');
  }

  readMemory(at: BusAddress, lengthBytes: number, target: Uint8Array, targetOffset: number): boolean {
    this.writes.flush();
    return this.#host.readMemory(at, lengthBytes, target, targetOffset);
  }

  writeMemory(at: BusAddress, source: Uint8Array, sourceOffset: number, lengthBytes: number): boolean {
    if (!this.#host.isWritable(at, lengthBytes)) return false;
    this.writes.post(at.value, source, sourceOffset, lengthBytes);
    return true;
  }

  publish(at: BusAddress, entry: Uint8Array, entryOffset: number, lengthBytes: number, validBytes: number): boolean {
    if (!this.#host.isWritable(at, lengthBytes)) return false;
    const bodyBytes = lengthBytes - validBytes;
    const body = (): void => {
      if (bodyBytes > 0) this.writes.post(at.value, entry, entryOffset, bodyBytes);
    };
    const reversed = this.#defect === 'validity-first' && lengthBytes === COMPLETION_ENTRY_SIZE;
    if (!reversed) body();
    this.writes.post(at.value + bodyBytes, entry, entryOffset + bodyBytes, validBytes);
    if (reversed) body();
    return true;
  }

  /** Its completion pushes all earlier writes, like that of a read. */
  compareAndSwap(at: BusAddress, expected: number, desired: number): number | undefined {
    this.writes.flush();
    return this.#host.compareAndSwap(at, expected, desired);
  }

  /** Refused while earlier writes wait: the adapter keeps the vector pending and tries again. */
  raiseVector(vector: number): boolean {
    if (this.writes.count > 0 && this.#defect !== 'interrupt-first') {
      if (this.#refusals++ < REFUSALS_MAX) return false;
      this.writes.flush();
    }
    this.#refusals = 0;
    return this.#host.raiseVector(vector);
  }
}

class OrderedAdapter implements AdapterPort {
  readonly functions: readonly FunctionPort[];
  readonly #adapter: AdapterPort;
  readonly #hosts: readonly OrderedHost[];

  constructor(adapter: AdapterPort, hosts: readonly OrderedHost[]) {
    this.#adapter = adapter;
    this.#hosts = hosts;
    this.functions = adapter.functions.map((port, index) => new OrderedFunction(port, hosts[index].writes));
  }

  run(budget: number): boolean {
    let more = this.#adapter.run(budget);
    for (const { writes } of this.#hosts) {
      if (writes.count === 0) continue;
      // The adapter must run again: software polls for these writes, interrupts wait behind them.
      more = true;
      writes.land();
    }
    return more;
  }

  get pollUntilNs(): number {
    return this.#adapter.pollUntilNs ?? 0;
  }

  rest(): boolean {
    return this.#adapter.rest?.() === true;
  }

  get linkPorts(): readonly LinkPort[] {
    return this.#adapter.linkPorts ?? [];
  }

  changeLink(words: Uint8Array): void {
    this.#adapter.changeLink?.(words);
  }
}

/** Calls that end a function's access to memory first push its earlier writes. */
class OrderedFunction implements FunctionPort {
  readonly #port: FunctionPort;
  readonly #writes: PostedWrites;

  constructor(port: FunctionPort, writes: PostedWrites) {
    this.#port = port;
    this.#writes = writes;
  }

  get readHigh(): number {
    return this.#port.readHigh;
  }

  get takesAccess(): boolean {
    return this.#port.takesAccess;
  }

  readRegister(offset: number, sizeBytes: number): number {
    const low = this.#port.readRegister(offset, sizeBytes);
    this.#writes.flush();
    return low;
  }

  writeRegister(offset: number, sizeBytes: number, low: number, high: number): void {
    this.#port.writeRegister(offset, sizeBytes, low, high);
  }

  writeCollect(offset: number, sizeBytes: number, low: number, high: number): void {
    this.#port.writeCollect(offset, sizeBytes, low, high);
  }

  writePio(offset: number, sizeBytes: number, low: number, high: number): void {
    this.#port.writePio(offset, sizeBytes, low, high);
  }

  requestResources(changes: Uint8Array): ResourceAnswer {
    return this.#port.requestResources(changes);
  }

  requestTrace(queuePair: number, attributes: Uint8Array): number {
    return this.#port.requestTrace(queuePair, attributes);
  }

  plantFault(words: Uint8Array): void {
    this.#port.plantFault(words);
  }

  reset(kind: ResetKind): void {
    this.#writes.flush();
    this.#port.reset(kind);
  }

  setBusMaster(on: boolean): void {
    this.#writes.flush();
    this.#port.setBusMaster(on);
  }

  memoryMapped(address: number, lengthBytes: number): void {
    this.#port.memoryMapped(address, lengthBytes);
  }

  memoryUnmapped(address: number, lengthBytes: number): void {
    this.#writes.flush();
    this.#port.memoryUnmapped(address, lengthBytes);
  }
}
