// SPDX-License-Identifier: Apache-2.0
/**
 * Creates the libvfio-user context of a device: socket, regions, interrupts, DMA, and the reset and
 * quiesce callbacks. The constructor of `VfioUserContext` calls it once. A device has MSI-X only,
 * no error interrupt, and no DMA by messages: README.md says why.
 */
import { type CallbackSet, setErrno } from './callbacks.ts';
import type { ConfigSpace } from './config-space.ts';
import {
  ATTACH_NONBLOCKING,
  DEVICE_TYPE_PCI,
  IRQ,
  PCI_TYPE_EXPRESS,
  PROTECTION,
  REGION,
  REGION_FLAG,
  SYSLOG,
  TRANSPORT_SOCKET,
} from './constants.ts';
import type { BarOptions, DeviceCallbacks, DeviceOptions } from './device.ts';
import type { DmaRegionInfo } from './dma-region.ts';
import { errnoText, VfioUserError } from './errors.ts';
import type { GuestMemory } from './guest-memory.ts';
import type { Libvfio, Pointer } from './library.ts';
import type { RateLimitedLog } from './log.ts';
import { allocateNative, errno, lastErrno, memcpy, memset, type NativeBlock } from './native.ts';
import { CAPABILITY, CONFIG_BYTES, MSIX } from './pci-layout.ts';
import { type DeviceState, makeRegionAccess, ONES, type RegionCallback } from './region.ts';
import { claimSocketPath, isDirectoryShared } from './socket-path.ts';

/** Parts of a context that the callbacks of the library use. */
interface ContextParts {
  readonly library: Libvfio;
  readonly options: DeviceOptions;
  readonly config: ConfigSpace;
  readonly memory: GuestMemory;
  readonly callbacks: CallbackSet;
  readonly log: RateLimitedLog;
  readonly state: Readonly<DeviceState>;
  /** The callbacks of the device; none once it is gone. */
  device(): Partial<DeviceCallbacks>;
  reset(type: number): void;
  failed(where: string, error: unknown): void;
}

/**
 * Creates and realizes the context; its socket then accepts connections.
 * @throws {VfioUserError} if path or description are not usable; nothing is left behind.
 */
export function setUpContext(parts: ContextParts): { ctx: Pointer; vectors: number } {
  claimSocketPath(parts.options.socketPath);
  const ctx = create(parts);
  try {
    const vectors = new Setup(parts, ctx).run();
    return { ctx, vectors };
  } catch (error) {
    parts.library.vfu_destroy_ctx(ctx);
    parts.callbacks.unregisterAll();
    throw error;
  }
}

function create({ library, options }: ContextParts): Pointer {
  const { socketPath, socketMode, log } = options;
  const ctx = withMode(socketMode ?? 0o600, () =>
    library.vfu_create_ctx(TRANSPORT_SOCKET, socketPath, ATTACH_NONBLOCKING, 0, DEVICE_TYPE_PCI),
  );
  if (ctx === 0) throw new VfioUserError(`socket ${socketPath} cannot be made: ${errnoText(lastErrno())}`);
  if (isDirectoryShared(socketPath)) {
    log.debug({ socket: socketPath }, 'other users can enter the directory of the socket; mode 0700 keeps them out');
  }
  return ctx;
}

/** New files have this mode from the start. */
function withMode<Result>(mode: number, create: () => Result): Result {
  const umask = process.umask(0o777 & ~mode);
  try {
    return create();
  } finally {
    process.umask(umask);
  }
}

class Setup {
  readonly #parts: ContextParts;
  readonly #ctx: Pointer;
  /** Transfer buffer between library and configuration space; the callbacks keep it alive. */
  readonly #scratch: NativeBlock = allocateNative(CONFIG_BYTES);

  constructor(parts: ContextParts, ctx: Pointer) {
    this.#parts = parts;
    this.#ctx = ctx;
  }

  run(): number {
    const { library, options, config, log, callbacks } = this.#parts;
    const logLine = callbacks.add('log', 'log', undefined, (_ctx, level, message) => log.write(level, message));
    this.#check('vfu_setup_log', library.vfu_setup_log(this.#ctx, logLine, log.syslogLevel));
    this.#check('vfu_pci_init', library.vfu_pci_init(this.#ctx, PCI_TYPE_EXPRESS, 0, 0));
    for (const capability of options.capabilities) config.add(capability);
    for (const bar of options.bars) this.#bar(bar);
    const flags = REGION_FLAG.read | REGION_FLAG.write | REGION_FLAG.alwaysCallback;
    this.#region(REGION.config, CONFIG_BYTES, this.#makeConfigAccess(), flags);
    this.#dma();
    const reset = callbacks.add('reset', 'reset', 0, (_ctx, type) => {
      this.#parts.reset(type);
      return 0;
    });
    this.#check('vfu_setup_device_reset_cb', library.vfu_setup_device_reset_cb(this.#ctx, reset));
    if (options.callbacks.quiesce !== undefined) this.#quiesce();
    const vectors = this.#interrupts();
    this.#check('vfu_realize_ctx', library.vfu_realize_ctx(this.#ctx));
    return vectors;
  }

  #bar(bar: BarOptions): void {
    const { index, sizeBytes, handler } = bar;
    const wide = bar.wide ?? false;
    if (!(index >= 0 && index <= (wide ? 4 : 5)) || !(sizeBytes >= 16) || !Number.isInteger(Math.log2(sizeBytes))) {
      throw new VfioUserError(
        `BAR${index} of ${sizeBytes} bytes: BARs are 0 to 5 (64-bit ones 0 to 4), sizes powers of two from 16`,
      );
    }
    if (!wide && sizeBytes > 2 ** 31) {
      throw new VfioUserError(`BAR${index} of ${sizeBytes} bytes is larger than 2 GiB: it must be 64-bit (wide: true)`);
    }
    this.#parts.config.defineBar(index, sizeBytes, { wide, prefetchable: bar.prefetchable ?? false });
    const failed = (error: unknown): void => this.#parts.failed(`BAR${index}`, error);
    const access = makeRegionAccess(handler, this.#parts.state, failed, this.#written());
    const flags = REGION_FLAG.read | REGION_FLAG.write | REGION_FLAG.memory;
    this.#region(index, sizeBytes, access, flags, bar.mappable);
  }

  /** After a write the device may refuse all requests, even one that was received with it. */
  #written(): (() => void) | undefined {
    const { library, options, device } = this.#parts;
    if (options.callbacks.takesRequest === undefined) return undefined;
    return () => {
      if (device().takesRequest?.() === false) library.vfu_end_run(this.#ctx);
    };
  }

  #region(
    index: number,
    sizeBytes: number,
    access: RegionCallback,
    flags: number,
    mappable?: BarOptions['mappable'],
  ): void {
    const areas = mappable?.areas ?? [];
    areas.forEach((area, i) => {
      this.#scratch.view.setBigUint64(16 * i, BigInt(area.offset), true);
      this.#scratch.view.setBigUint64(16 * i + 8, BigInt(area.sizeBytes), true);
    });
    const pointer = this.#parts.callbacks.addRegionAccess(access);
    const iovecs = areas.length === 0 ? 0 : this.#scratch.address;
    const fd = mappable?.fd ?? -1;
    const offset = mappable?.offset ?? 0;
    const { library } = this.#parts;
    this.#check(
      `vfu_setup_region ${index}`,
      library.vfu_setup_region(this.#ctx, index, sizeBytes, pointer, flags, iovecs, areas.length, fd, offset),
    );
  }

  #makeConfigAccess(): RegionCallback {
    const { address, bytes } = this.#scratch;
    const { config, state, failed } = this.#parts;
    return (_ctx, buf, count, offset, isWrite) => {
      try {
        if (state.gone) {
          if (!isWrite) memset(buf, ONES, count);
        } else if (isWrite) {
          memcpy(address, buf, count);
          config.write(offset, bytes, count);
        } else {
          config.read(offset, bytes, count);
          memcpy(buf, address, count);
        }
      } catch (error) {
        failed('config space', error);
      }
      return count;
    };
  }

  #interrupts(): number {
    const { library, options, callbacks, device } = this.#parts;
    const capability = options.capabilities.find((one) => !one.extended && one.id === CAPABILITY.msix);
    const vectors = capability === undefined ? 0 : msixVectors(capability.bytes);
    // QEMU stops the machine on an error interrupt, and no message reports the end of an INTx.
    for (const index of [IRQ.intx, IRQ.msi, IRQ.error, IRQ.request]) {
      this.#check('vfu_setup_device_nr_irqs', library.vfu_setup_device_nr_irqs(this.#ctx, index, 0));
    }
    this.#check('vfu_setup_device_nr_irqs', library.vfu_setup_device_nr_irqs(this.#ctx, IRQ.msix, vectors));
    const state = callbacks.add('irqState', 'vectors', undefined, (_ctx, first, count, mask) =>
      device().vectors?.(first, count, !mask),
    );
    this.#check('vfu_setup_irq_state_callback', library.vfu_setup_irq_state_callback(this.#ctx, IRQ.msix, state));
    return vectors;
  }

  #dma(): void {
    const { library, callbacks } = this.#parts;
    const register = callbacks.add('dma', 'dmaRegister', undefined, (_ctx, info) => this.#registered(info));
    const unregister = callbacks.add('dma', 'dmaUnregister', undefined, (_ctx, info) => this.#unregistered(info));
    this.#check('vfu_setup_device_dma', library.vfu_setup_device_dma(this.#ctx, register, unregister));
  }

  #registered(info: number): void {
    const { memory, log, device } = this.#parts;
    const region = this.#readDmaInfo(info);
    if (region.address + region.sizeBytes > Number.MAX_SAFE_INTEGER) {
      log.write(SYSLOG.warning, 'DMA region above 2^53 is not accessible', { ...region });
      return;
    }
    if (region.hostAddress === 0) {
      // Normal for a ROM. Guest memory has a descriptor only with share=on in QEMU.
      const level = (region.protection & PROTECTION.write) === 0 ? SYSLOG.debug : SYSLOG.warning;
      log.write(level, 'DMA region without a file descriptor is not accessible', { ...region });
    }
    memory.register(region);
    device().dmaRegister?.(region);
  }

  #unregistered(info: number): void {
    const { memory, device } = this.#parts;
    const region = this.#readDmaInfo(info);
    if (!memory.has(region.address, region.sizeBytes)) return;
    try {
      device().dmaUnregister?.(region);
    } finally {
      memory.unregister(region.address, region.sizeBytes);
    }
  }

  /**
   * Reads a vfu_dma_info_t: iova (base, length), vaddr, mapping (base, length), page size,
   * protection.
   */
  #readDmaInfo(info: number): DmaRegionInfo {
    const { address, view } = this.#scratch;
    memcpy(address, info, 64);
    return {
      address: Number(view.getBigUint64(0, true)),
      sizeBytes: Number(view.getBigUint64(8, true)),
      hostAddress: Number(view.getBigUint64(16, true)),
      protection: view.getUint32(48, true),
    };
  }

  #quiesce(): void {
    const { library, callbacks, options, config, device } = this.#parts;
    const callback = callbacks.add('quiesce', 'quiesce', 0, () => {
      if (device().quiesce?.() ?? true) return 0;
      setErrno(errno.EBUSY);
      return -1;
    });
    library.vfu_setup_device_quiesce_cb(this.#ctx, callback);
    const express = options.capabilities.find((one) => !one.extended && one.id === CAPABILITY.pciExpress);
    if (express === undefined) return;
    // The library quiesces before a function level reset only if it knows the PCI Express
    // capability.
    this.#scratch.bytes.set(express.bytes);
    const offset = config.find(CAPABILITY.pciExpress);
    const added = library.vfu_pci_add_capability(this.#ctx, offset, 0, this.#scratch.address);
    this.#check('vfu_pci_add_capability', added);
  }

  #check(what: string, result: number): void {
    if (result >= 0) return;
    throw new VfioUserError(`${what} failed for ${this.#parts.options.socketPath}: ${errnoText(lastErrno())}`);
  }
}

function msixVectors(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset).getUint16(MSIX.control, true) + 1;
}
