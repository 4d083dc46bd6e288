// SPDX-License-Identifier: Apache-2.0
/**
 * Memory window: remote rights to a part of a memory region, which work requests grant and withdraw
 * (IBTA 10.6.7). A type 1 window belongs to its PD, a type 2B window to the QP that bound it.
 * `KeyCheck` looks it up and binds it.
 */
import { KEY_NUMBER_SHIFT, makeKey } from '../../../protocol/infiniband/memory-keys.ts';
import { MwKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { KeyHolder } from './key-holder.ts';
import type { MemoryRegion } from './memory-region.ts';
import type { ProtectionDomain } from './protection-domain.ts';

/** Lowest slot of windows in the common key space; regions have the slots below. */
export const FIRST_WINDOW = 0x8000;

/** True when a key names a window. */
export function isWindowKey(key: number): boolean {
  return ((key >>> KEY_NUMBER_SHIFT) & FIRST_WINDOW) !== 0;
}

export class MemoryWindow {
  readonly number: number;
  readonly owner: UnderlyingFunction;
  readonly pd: ProtectionDomain;
  readonly kind: number;
  keyByte = 0;
  access = 0;
  startAddress = 0;
  length = 0;
  /** The region it is bound to; undefined while it gives no access. */
  region: MemoryRegion | undefined = undefined;
  /** The queue pair that bound a type 2 window. */
  holder: KeyHolder | undefined = undefined;

  constructor(number: number, pd: ProtectionDomain, kind: number) {
    this.number = number;
    this.owner = pd.owner;
    this.pd = pd;
    this.kind = kind;
    pd.references++;
  }

  get key(): number {
    return makeKey(this.number, this.keyByte);
  }

  /** Binds the window to a part of `region`, in place of what it was bound to. */
  bind(region: MemoryRegion, qp: KeyHolder, address: number, length: number, access: number, keyByte: number): void {
    this.unbind();
    this.region = region;
    region.windows++;
    if (this.kind === MwKind.TYPE_2) {
      this.holder = qp;
      qp.boundWindows++;
    }
    this.startAddress = address;
    this.length = length;
    this.access = access;
    this.keyByte = keyByte;
  }

  unbind(): void {
    if (this.region !== undefined) this.region.windows--;
    if (this.holder !== undefined) this.holder.boundWindows--;
    this.region = undefined;
    this.holder = undefined;
    this.length = 0;
    this.access = 0;
  }

  /** Returns the references that the constructor took. */
  release(): void {
    this.unbind();
    this.pd.references--;
  }
}
