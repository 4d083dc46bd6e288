// SPDX-License-Identifier: Apache-2.0
/**
 * Function pointers that a context gives to libvfio-user. The library stores them, so they stay
 * registered as long as the context lives. No exception may reach C, because koffi would return 0
 * and throw out of vfu_run_ctx. Each callback is therefore wrapped: an exception goes to `onError`,
 * and the library receives a default result. `context.ts` and `context-setup.ts` register the
 * callbacks.
 */
import koffi from 'koffi';

const SHAPES = {
  regionAccess: koffi.proto(
    'int64_t vuhca_region_access(uint64_t ctx, uint64_t buf, size_t count, int64_t offset, bool is_write)',
  ),
  dma: koffi.proto('void vuhca_dma(uint64_t ctx, uint64_t info)'),
  reset: koffi.proto('int vuhca_reset(uint64_t ctx, int type)'),
  quiesce: koffi.proto('int vuhca_quiesce(uint64_t ctx)'),
  irqState: koffi.proto('void vuhca_irq_state(uint64_t ctx, uint32_t start, uint32_t count, bool mask)'),
  log: koffi.proto('void vuhca_log(uint64_t ctx, int level, const char *message)'),
};

interface Callbacks {
  regionAccess(ctx: number, buf: number, count: number, offset: number, isWrite: boolean): number;
  dma(ctx: number, info: number): void;
  reset(ctx: number, type: number): number;
  quiesce(ctx: number): number;
  irqState(ctx: number, start: number, count: number, mask: boolean): void;
  log(ctx: number, level: number, message: string): void;
}

export class CallbackSet {
  readonly #pointers: bigint[] = [];
  readonly #onError: (where: string, error: unknown) => void;

  constructor(onError: (where: string, error: unknown) => void) {
    this.#onError = onError;
  }

  /** Registers `callback`; if it throws, the library receives `instead`. */
  add<Shape extends keyof Callbacks>(
    shape: Shape,
    where: string,
    instead: ReturnType<Callbacks[Shape]>,
    callback: Callbacks[Shape],
  ): bigint {
    const call = callback as (...args: unknown[]) => unknown;
    const guarded = (...args: unknown[]) => {
      try {
        return call(...args);
      } catch (error) {
        this.#onError(where, error);
        return instead;
      }
    };
    return this.#register(shape, guarded);
  }

  /**
   * Registers a region callback that catches its own exceptions, which saves an array per access.
   */
  addRegionAccess(callback: Callbacks['regionAccess']): bigint {
    return this.#register('regionAccess', callback);
  }

  /** Unregisters all callbacks. Call it after vfu_destroy_ctx: the library uses them until then. */
  unregisterAll(): void {
    for (const pointer of this.#pointers) koffi.unregister(pointer);
    this.#pointers.length = 0;
  }

  #register(shape: keyof Callbacks, callback: unknown): bigint {
    const pointer = koffi.register(callback as (...args: unknown[]) => unknown, koffi.pointer(SHAPES[shape]));
    this.#pointers.push(pointer);
    return pointer;
  }
}

/** Sets the errno that the library reads when the running callback returns. */
export function setErrno(value: number): void {
  koffi.errno(value);
}
