// SPDX-License-Identifier: Apache-2.0
/**
 * The host in a live process: one vfio-user socket, by which QEMU attaches a guest to one function
 * of the adapter. It turns accesses of the client into calls on the function, and calls of the
 * adapter into guest memory accesses and interrupts (docs/ARCHITECTURE.md, The seam).
 */

import { performance } from 'node:perf_hooks';
import {
  type Libvfio,
  type LogTarget,
  msix,
  PROTECTION,
  pciExpress,
  powerManagement,
  type RegionHandler,
  type ResetKind as VfioResetKind,
  VfioUserContext,
} from '../../../protocol/vfio-user/index.ts';
import type { BusAddress, FunctionPort, ResetKind } from '../../host.ts';
import type { OrderableHost } from '../../hosts/ordering/ordering-model.ts';
import { BLOCKED_MAX_MS, BusPatience } from './bus-patience.ts';
import type { PciIdentity } from './pci-identity.ts';

const DWORD_BYTES = 4;
const REGISTER_BAR = 0;

const UNSHARED_MEMORY =
  'guest memory is not shared, so every DMA will fail: start QEMU with ' +
  '-object memory-backend-memfd,id=ram,size=SIZE,share=on -machine memory-backend=ram';

const BLOCKED_BUS =
  `a posted write has blocked the bus for ${BLOCKED_MAX_MS} ms, so the accesses behind it pass it from now on, as ` +
  'with --bus open, until it is taken';

const resetKinds: Readonly<Record<VfioResetKind, ResetKind>> = {
  device: 'device',
  'lost-connection': 'lost',
  'function-level': 'function',
};

/** Options of a live host. */
interface VfioUserHostOptions {
  readonly library: Libvfio;
  readonly socketPath: string;
  /** Identity that the guest sees in PCI configuration space. */
  readonly identity: PciIdentity;
  readonly log: LogTarget;
  /** The function threw in an access, which was answered with ones; `where` names the place. */
  readonly failed: (where: string, error: unknown) => void;
}

/** The host of one function. */
export class VfioUserHost implements OrderableHost {
  readonly context: VfioUserContext;
  /** Accesses of the guest, since the process started. */
  readonly counters = { registerReads: 0, registerWrites: 0, collectWrites: 0, pioWrites: 0 };
  /** A guest is attached. */
  attached = false;
  /** Called when a guest attaches or leaves. */
  onAttachedChange: ((attached: boolean) => void) | undefined = undefined;
  #function: FunctionPort | undefined = undefined;
  #memoryWarned = false;
  readonly #patience: BusPatience;

  /**
   * Opens the socket; `connect` must follow before the pump runs. Throws VfioUserError when the
   * socket is not available.
   */
  constructor(options: VfioUserHostOptions) {
    const { identity, log } = options;
    this.#patience = new BusPatience(
      () => log.warn({ socket: this.context.socketPath }, BLOCKED_BUS),
      () => performance.now(),
    );
    this.context = new VfioUserContext(options.library, {
      socketPath: options.socketPath,
      log,
      ids: identity.ids,
      bars: [
        { index: REGISTER_BAR, ...identity.registerBar, wide: true, handler: this.#registerBar() },
        ...identity.writeBars.map((bar) => ({
          index: bar.index,
          sizeBytes: bar.sizeBytes,
          wide: true,
          prefetchable: true,
          handler: bar.kind === 'collect' ? this.#collectBar() : this.#pioBar(),
        })),
      ],
      capabilities: [
        powerManagement(),
        pciExpress({ functionLevelReset: true }),
        msix({ ...identity.msix, tableBar: REGISTER_BAR, pbaBar: REGISTER_BAR }),
      ],
      callbacks: {
        // The library also resets a context that it destroys before `connect`.
        reset: (kind) => this.#function?.reset(resetKinds[kind]),
        busMaster: (enabled) => {
          if (enabled) this.#checkMemory(log);
          this.#port().setBusMaster(enabled);
        },
        // While the bus is blocked, requests wait in the socket, and other functions go on.
        takesRequest: () => this.#patience.takes(this.#function?.takesAccess !== false),
        dmaRegister: (region) => this.#port().memoryMapped(region.address, region.sizeBytes),
        dmaUnregister: (region) => this.#port().memoryUnmapped(region.address, region.sizeBytes),
        attached: () => this.#setAttached(true),
        detached: () => this.#setAttached(false),
        failed: (where, error) => options.failed(`${where} of ${options.socketPath}`, error),
      },
    });
  }

  /** Stores of the guest. */
  get stores(): number {
    const { registerWrites, collectWrites, pioWrites } = this.counters;
    return registerWrites + collectWrites + pioWrites;
  }

  /** Times that accesses began to pass a bus that stayed blocked. */
  get blockedTooLong(): number {
    return this.#patience.passed;
  }

  /** Sets the function that the host serves: the adapter is built after its hosts. */
  connect(port: FunctionPort): void {
    this.#function = port;
  }

  isInPlace({ value: address }: BusAddress, lengthBytes: number): boolean {
    return this.context.memory.at(address).isInPlace(lengthBytes);
  }

  viewMemory({ value: address }: BusAddress, lengthBytes: number): Uint8Array | undefined {
    return this.context.memory.at(address).view(lengthBytes);
  }

  readMemory({ value: address }: BusAddress, lengthBytes: number, target: Uint8Array, targetOffset: number): boolean {
    return this.context.memory.at(address).read(target, targetOffset, lengthBytes);
  }

  readWords({ value: address }: BusAddress, lengthBytes: number, target: Int32Array, targetOffset: number): boolean {
    return this.context.memory.at(address).readWords(target, targetOffset, lengthBytes);
  }

  writeWords({ value: address }: BusAddress, source: Int32Array, sourceOffset: number, lengthBytes: number): boolean {
    return this.context.memory.at(address).writeWords(source, sourceOffset, lengthBytes);
  }

  isWritable({ value: address }: BusAddress, lengthBytes: number): boolean {
    return this.context.memory.at(address).covers(lengthBytes, true);
  }

  writeMemory({ value: address }: BusAddress, source: Uint8Array, sourceOffset: number, lengthBytes: number): boolean {
    return this.context.memory.at(address).write(source, sourceOffset, lengthBytes);
  }

  publish(
    { value: address }: BusAddress,
    entry: Uint8Array,
    entryOffset: number,
    lengthBytes: number,
    validBytes: number,
  ): boolean {
    const { memory } = this.context;
    const bodyBytes = lengthBytes - validBytes;
    // No part of an entry may become visible whose validity word cannot follow.
    if (!memory.at(address).covers(lengthBytes, true)) return false;
    memory.at(address).write(entry, entryOffset, bodyBytes);
    const at = entryOffset + bodyBytes;
    if (validBytes === DWORD_BYTES) return memory.at(address + bodyBytes).writeU32(loadDword(entry, at));
    if (validBytes === 2 * DWORD_BYTES)
      return memory.at(address + bodyBytes).writeU64(loadDword(entry, at), loadDword(entry, at + DWORD_BYTES));
    return memory.at(address + bodyBytes).write(entry, at, validBytes);
  }

  publishWords(at: BusAddress, entry: Int32Array, lengthBytes: number): boolean {
    return (
      this.context.memory.at(at.value).publishWords(entry, lengthBytes) ||
      this.publish(at, new Uint8Array(entry.buffer, entry.byteOffset, lengthBytes), 0, lengthBytes, DWORD_BYTES)
    );
  }

  compareAndSwap({ value: address }: BusAddress, expected: number, desired: number): number | undefined {
    const { memory } = this.context;
    const found = memory.at(address).compareExchangeU32(expected, desired);
    return found < 0 ? undefined : found | 0;
  }

  raiseVector(vector: number): boolean {
    return this.context.interrupts.trigger(vector);
  }

  #port(): FunctionPort {
    if (this.#function === undefined) throw new Error('the host is not connected to a function');
    return this.#function;
  }

  #collectBar(): RegionHandler {
    return writeOnlyBar((offset, size, low, high) => {
      this.counters.collectWrites++;
      this.#port().writeCollect(offset, size, low, high);
    });
  }

  #pioBar(): RegionHandler {
    return writeOnlyBar((offset, size, low, high) => {
      this.counters.pioWrites++;
      this.#port().writePio(offset, size, low, high);
    });
  }

  #registerBar(): RegionHandler {
    return {
      read: (offset, sizeBytes, data) => {
        const port = this.#port();
        this.counters.registerReads++;
        data.setUint32(0, port.readRegister(offset, sizeBytes), true);
        if (sizeBytes === 8) data.setUint32(DWORD_BYTES, port.readHigh, true);
      },
      write: (offset, sizeBytes, data) => {
        this.counters.registerWrites++;
        this.#port().writeRegister(offset, sizeBytes, lowOf(data, sizeBytes), highOf(data, sizeBytes));
      },
    };
  }

  /**
   * A driver enables bus mastering: warns once when no guest memory is shared, because then no
   * access can succeed.
   */
  #checkMemory(log: LogTarget): void {
    const reachable = this.context.memory.regions.some(
      ({ hostAddress, protection }) => hostAddress !== 0 && (protection & PROTECTION.write) !== 0,
    );
    if (reachable || this.#memoryWarned) return;
    this.#memoryWarned = true;
    log.warn({ socket: this.context.socketPath }, UNSHARED_MEMORY);
  }

  #setAttached(attached: boolean): void {
    this.attached = attached;
    this.onAttachedChange?.(attached);
  }
}

/** A BAR for collect buffers or PIO memory: it takes writes; reads return zeros. */
function writeOnlyBar(write: (offset: number, size: number, low: number, high: number) => void): RegionHandler {
  return {
    read: () => {},
    write: (offset, sizeBytes, data) => write(offset, sizeBytes, lowOf(data, sizeBytes), highOf(data, sizeBytes)),
  };
}

/** Dwords are signed: V8 may allocate an unsigned one as a heap number. */
function lowOf(data: DataView, sizeBytes: number): number {
  if (sizeBytes >= DWORD_BYTES) return data.getInt32(0, true);
  return sizeBytes === 2 ? data.getUint16(0, true) : data.getUint8(0);
}

function highOf(data: DataView, sizeBytes: number): number {
  return sizeBytes === 8 ? data.getInt32(DWORD_BYTES, true) : 0;
}

/** Signed, as above. */
function loadDword(bytes: Uint8Array, at: number): number {
  return bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24);
}
