// SPDX-License-Identifier: Apache-2.0
// The function pointers a context gives to the library. libvfio-user stores them, so they are registered for the life of
// the context and unregistered after it. No exception may reach C (koffi would answer 0 and throw out of vfu_run_ctx):
// every callback is wrapped, and what it threw goes to `onError` with the value that stands in for its result.

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

  /** Registers `callback`; when it throws, the library gets `instead`. */
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

  /** Registers a region callback that guards itself: rest arguments would cost an array per access. */
  addRegionAccess(callback: Callbacks['regionAccess']): bigint {
    return this.#register('regionAccess', callback);
  }

  /** Only after vfu_destroy_ctx: the library keeps the pointers until then. */
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

/** Sets the errno the library sees when the running callback returns. */
export function setErrno(value: number): void {
  koffi.errno(value);
}
