// SPDX-License-Identifier: Apache-2.0
/**
 * The ordering model (DESIGN.md section 3): stands between an adapter and its hosts and lets what the adapter writes become visible as late, as torn and as disordered
 * as the mode allows, and always in the end. It keeps what PCIe promises: a validity word comes after its body, an interrupt after every write before it, and whatever
 * makes a completion (a register read, a read of memory by the adapter) pushes all writes ahead of it. Recorders go inside it: a recording holds what the adapter did.
 */
import { COMPLETION_ENTRY_SIZE } from '../../../protocol/layout/gen/completion-entry.gen.ts';
import type { AdapterPort, FunctionPort, HostPort, ResetKind, ResourceAnswer } from '../../host.ts';
import { Random } from '../../random.ts';
import type { OrderingDefect, OrderingOptions } from './ordering-options.ts';
import { PostedWrites } from './posted-writes.ts';

/** A host that can say beforehand whether a write will be taken. */
export interface OrderableHost extends HostPort {
  isWritable(address: number, lengthBytes: number): boolean;
}

/** How often a vector's message finds writes before it until it pushes them: it never waits for ever behind new ones. */
const REFUSALS_MAX = 16;
/** Sizes of a single store. */
const STORE_BYTES: ReadonlySet<number> = new Set([1, 2, 4, 8]);

/** One model: wraps the hosts of all functions, in the order of the functions, then the adapter. With `strict` both stay as they are. */
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

  /** One turn of every function's writes. The adapter's `run` is one, too. */
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
    // A store that software polls on stays one store. Memory that is gone by now takes nothing.
    const write = (address: number, bytes: Uint8Array): void => {
      const { length } = bytes;
      if (STORE_BYTES.has(length) && address % length === 0) host.publish(address, bytes, 0, length, length);
      else host.writeMemory(address, bytes, 0, length);
    };
    this.writes = new PostedWrites(write, random, mode === 'adversarial');
  }

  readMemory(address: number, lengthBytes: number, target: Uint8Array, targetOffset: number): boolean {
    this.writes.flush();
    return this.#host.readMemory(address, lengthBytes, target, targetOffset);
  }

  writeMemory(address: number, source: Uint8Array, sourceOffset: number, lengthBytes: number): boolean {
    if (!this.#host.isWritable(address, lengthBytes)) return false;
    this.writes.post(address, source, sourceOffset, lengthBytes);
    return true;
  }

  publish(address: number, entry: Uint8Array, entryOffset: number, lengthBytes: number, validBytes: number): boolean {
    if (!this.#host.isWritable(address, lengthBytes)) return false;
    const bodyBytes = lengthBytes - validBytes;
    const body = (): void => {
      if (bodyBytes > 0) this.writes.post(address, entry, entryOffset, bodyBytes);
    };
    const reversed = this.#defect === 'validity-first' && lengthBytes === COMPLETION_ENTRY_SIZE;
    if (!reversed) body();
    this.writes.post(address + bodyBytes, entry, entryOffset + bodyBytes, validBytes);
    if (reversed) body();
    return true;
  }

  /** Its completion comes back behind the writes before it, as that of a read does. */
  compareAndSwap(address: number, expected: number, desired: number): number | undefined {
    this.writes.flush();
    return this.#host.compareAndSwap(address, expected, desired);
  }

  /** A message that has writes before it is refused: the adapter keeps it pending and tries again. */
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
      // Whoever waits for these writes must come again, and so must the interrupts behind them.
      more = true;
      writes.land();
    }
    return more;
  }
}

/** What ends a function's access to memory comes after the writes it issued before. */
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
