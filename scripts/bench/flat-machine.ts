// SPDX-License-Identifier: Apache-2.0
/**
 * An adapter on a host that costs almost nothing: flat memory, no log, no checks. Called by
 * benchmarks of the adapter itself.
 */
import { Adapter } from '../../device/hca/adapter/adapter.ts';
import { type AdapterOptions, defaultAdapterOptions } from '../../device/hca/adapter/options.ts';
import type { AdapterPort, BusAddress, HostPort } from '../../device/host.ts';
import { raiseInliningBudget } from '../../device/process/host/inlining-budget.ts';
import type { HardwareAccess } from '../../device/rig/driver/hardware-access.ts';
import { joinBySwitches } from '../../device/rig/fixtures/switch-row.ts';
import { SimulatedClock } from '../../device/rig/machine/simulated-clock.ts';
import { ViewCache } from '../../protocol/vfio-user/view-cache.ts';
import { copyWords } from '../../protocol/vfio-user/window-copy.ts';

const RUN_BUDGET = 1024;
/** No time is a small integer, as in a process that has run for some seconds. */
const START_NS = 2 ** 33;
/** No object of the driver has address 0. */
const RESERVED_BYTES = 0x1000;
/** Up to this many bytes a loop is faster than a temporary view. */
const LOOP_BYTES = 128;

/** Contiguous guest memory. Short copies move words, as those of the vfio-user host do. */
class FlatHost implements HostPort {
  readonly bytes: Uint8Array;
  readonly #words: Int32Array;
  readonly #base: number;
  readonly #views: ViewCache;
  vectors = 0;

  constructor(sizeBytes: number, base: number) {
    this.#base = base;
    this.bytes = new Uint8Array(sizeBytes);
    this.#words = new Int32Array(this.bytes.buffer);
    this.#views = new ViewCache(this.bytes);
  }

  readMemory(at: BusAddress, lengthBytes: number, target: Uint8Array, targetOffset: number): boolean {
    const address = at.value - this.#base;
    if (!(address >= 0 && address + lengthBytes <= this.bytes.length)) return false;
    if (isShort(address, lengthBytes)) loadWords(target, targetOffset, this.#words, address, lengthBytes);
    else target.set(this.bytes.subarray(address, address + lengthBytes), targetOffset);
    return true;
  }

  writeMemory(at: BusAddress, source: Uint8Array, sourceOffset: number, lengthBytes: number): boolean {
    const address = at.value - this.#base;
    if (!(address >= 0 && address + lengthBytes <= this.bytes.length)) return false;
    if (isShort(address, lengthBytes)) storeWords(this.#words, address, source, sourceOffset, lengthBytes);
    else if (lengthBytes === source.length) this.bytes.set(source, address);
    else this.bytes.set(source.subarray(sourceOffset, sourceOffset + lengthBytes), address);
    return true;
  }

  isInPlace(at: BusAddress, lengthBytes: number): boolean {
    const address = at.value - this.#base;
    return address >= 0 && address + lengthBytes <= this.bytes.length;
  }

  viewMemory(at: BusAddress, lengthBytes: number): Uint8Array | undefined {
    const address = at.value - this.#base;
    return this.isInPlace(at, lengthBytes) ? this.#views.view(address, lengthBytes) : undefined;
  }

  readWords(at: BusAddress, lengthBytes: number, target: Int32Array, targetOffset: number): boolean {
    const address = at.value - this.#base;
    if (!(address >= 0 && address + lengthBytes <= this.bytes.length)) return false;
    copyWords(this.#words, address >>> 2, target, targetOffset >>> 2, lengthBytes >>> 2);
    return true;
  }

  writeWords(at: BusAddress, source: Int32Array, sourceOffset: number, lengthBytes: number): boolean {
    const address = at.value - this.#base;
    if (!(address >= 0 && address + lengthBytes <= this.bytes.length)) return false;
    copyWords(source, sourceOffset >>> 2, this.#words, address >>> 2, lengthBytes >>> 2);
    return true;
  }

  publish(at: BusAddress, entry: Uint8Array, entryOffset: number, lengthBytes: number): boolean {
    return this.writeMemory(at, entry, entryOffset, lengthBytes);
  }

  publishWords(at: BusAddress, entry: Int32Array, lengthBytes: number): boolean {
    return this.writeWords(at, entry, 0, lengthBytes);
  }

  compareAndSwap(at: BusAddress, expected: number, desired: number): number | undefined {
    const address = at.value - this.#base;
    if (!(address >= 0 && address + 4 <= this.bytes.length)) return undefined;
    const view = new DataView(this.bytes.buffer, address, 4);
    const found = view.getInt32(0, true);
    if (found === (expected | 0)) view.setInt32(0, desired, true);
    return found;
  }

  raiseVector(): boolean {
    this.vectors++;
    return true;
  }
}

export class FlatMachine implements HardwareAccess {
  readonly adapter: Adapter;
  readonly clock = new SimulatedClock(START_NS);
  /** Guest address of the first byte of `memory`. */
  readonly memoryBase: number;
  readonly memoryAddress: number;
  readonly memoryBytes: number;
  readonly #node: AdapterPort;
  readonly #host: FlatHost;
  readonly #buffer: ArrayBufferLike;

  /** `hops`: switches in a row between the ports of the adapter, which are cabled otherwise. */
  constructor(sizeBytes: number, options: Partial<AdapterOptions> = {}, memoryBase = 0, hops = 0) {
    raiseInliningBudget();
    this.#host = new FlatHost(sizeBytes, memoryBase);
    this.memoryBase = memoryBase;
    this.memoryAddress = memoryBase + RESERVED_BYTES;
    this.memoryBytes = sizeBytes - RESERVED_BYTES;
    this.#buffer = this.#host.bytes.buffer;
    // Further functions are idle.
    const idle = Array.from({ length: (options.functionCount ?? 1) - 1 }, () => new FlatHost(0, 0));
    const own: Partial<AdapterOptions> = hops === 0 ? {} : { portLink: { kind: 'none' } };
    this.adapter = new Adapter({ ...defaultAdapterOptions, ...options, ...own }, this.clock, [this.#host, ...idle]);
    this.#node = hops === 0 ? this.adapter : joinBySwitches(this.adapter, this.clock, hops);
    this.adapter.functions[0].setBusMaster(true);
  }

  get readHigh(): number {
    return this.adapter.functions[0].readHigh;
  }

  readRegister(offset: number, sizeBytes: number): number {
    return this.adapter.functions[0].readRegister(offset, sizeBytes);
  }

  writeRegister(offset: number, sizeBytes: number, low: number, high: number): void {
    this.adapter.functions[0].writeRegister(offset, sizeBytes, low, high);
  }

  writeCollect(offset: number, sizeBytes: number, low: number, high: number): void {
    this.adapter.functions[0].writeCollect(offset, sizeBytes, low, high);
  }

  writePio(offset: number, sizeBytes: number, low: number, high: number): void {
    this.adapter.functions[0].writePio(offset, sizeBytes, low, high);
  }

  view(address: number, lengthBytes: number): DataView {
    return new DataView(this.#buffer, address - this.memoryBase, lengthBytes);
  }

  /** All of guest memory. */
  get memory(): Uint8Array {
    return this.#host.bytes;
  }

  settle(): void {
    while (this.#node.run(RUN_BUDGET));
  }

  waitFor(condition: () => boolean, what: string): void {
    while (!condition()) {
      if (this.#node.run(RUN_BUDGET)) continue;
      if (!condition() && !this.clock.jumpToAlarm()) throw new Error(`idle without ${what}`);
    }
  }
}

function isShort(address: number, lengthBytes: number): boolean {
  return lengthBytes <= LOOP_BYTES && ((address | lengthBytes) & 3) === 0;
}

function loadWords(target: Uint8Array, at: number, words: Int32Array, address: number, count: number): void {
  for (let index = 0; index < count; index += 4) {
    const word = words[(address + index) >>> 2];
    target[at + index] = word;
    target[at + index + 1] = word >>> 8;
    target[at + index + 2] = word >>> 16;
    target[at + index + 3] = word >>> 24;
  }
}

function storeWords(words: Int32Array, address: number, source: Uint8Array, from: number, count: number): void {
  for (let index = 0; index < count; index += 4) {
    const at = from + index;
    words[(address + index) >>> 2] =
      source[at] | (source[at + 1] << 8) | (source[at + 2] << 16) | (source[at + 3] << 24);
  }
}
