// SPDX-License-Identifier: Apache-2.0
/**
 * Key check: the only code that looks up L_Keys and R_Keys, and that binds, registers and
 * invalidates them for work requests (IBTA 10.6.2 to 10.6.7; US 8,484,392 par. 118). Requester,
 * responder and management call it. A refusal stores its cause in `fault`.
 */
import { KEY_BYTE_MASK, KEY_NUMBER_SHIFT } from '../../../protocol/infiniband/memory-keys.ts';
import { AccessFlag, FaultKind, MrKind, MwKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { ObjectTable } from '../function/object-table.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { KeyHolder } from './key-holder.ts';
import type { BindRequest, KeyLookup } from './key-lookup.ts';
import { FLUSH_RIGHTS, type MemoryRegion, REMOTE_CHANGES } from './memory-region.ts';
import { isWindowKey, type MemoryWindow } from './memory-window.ts';
import { PageFaults } from './page-faults.ts';
import type { ProtectionDomain } from './protection-domain.ts';

const REMOTE_RIGHTS = REMOTE_CHANGES | AccessFlag.REMOTE_READ | FLUSH_RIGHTS;

/** Checks keys against the regions and windows of all functions; each call names the function. */
export class KeyCheck implements KeyLookup {
  fault: FaultKind = FaultKind.NONE;
  /** Start of the range that is checked next; set by `at`. */
  address = Number.NaN;
  readonly pageFaults = new PageFaults();
  readonly #regions: ObjectTable<MemoryRegion>;
  readonly #windows: ObjectTable<MemoryWindow>;

  constructor(regions: ObjectTable<MemoryRegion>, windows: ObjectTable<MemoryWindow>) {
    this.#regions = regions;
    this.#windows = windows;
  }

  /**
   * Sets the start of the range that is checked next: `keys.at(address).check(...)`; see
   * `AddressRegister`.
   */
  at(address: number): this {
    this.address = address;
    return this;
  }

  /**
   * Returns the region of an L_Key when `pd` may access `lengthBytes` bytes from `address` on with
   * all rights in `access`; otherwise undefined, with `fault` set.
   */
  check(
    owner: UnderlyingFunction,
    pd: ProtectionDomain,
    key: number,
    lengthBytes: number,
    access: number,
  ): MemoryRegion | undefined {
    const region = this.#find(owner, key);
    if (region === undefined || !region.valid) return this.#refuse(FaultKind.KEY_INVALID);
    if (region.pd !== pd) return this.#refuse(FaultKind.KEY_PD);
    if ((region.access & access) !== access) return this.#refuse(FaultKind.KEY_ACCESS);
    const start = region.access & AccessFlag.ZERO_BASED ? 0 : region.startAddress;
    const { address } = this;
    if (address < start || address + lengthBytes > start + region.length) return this.#refuse(FaultKind.KEY_BOUNDS);
    this.fault = FaultKind.NONE;
    return region;
  }

  /**
   * Returns the region of an R_Key, of a region or a window, that came in a packet for `qp`;
   * otherwise undefined, with `fault` set. The caller checks the rights of the QP itself.
   */
  checkRemote(
    qp: KeyHolder,
    rkey: number,
    lengthBytes: number,
    access: number,
    pd: ProtectionDomain = qp.pd,
  ): MemoryRegion | undefined {
    if (!isWindowKey(rkey)) return this.check(qp.owner, pd, rkey, lengthBytes, access);
    const window = this.#findWindow(qp.owner, rkey);
    if (window?.region === undefined) return this.#refuse(FaultKind.KEY_INVALID);
    const permitted = window.kind === MwKind.TYPE_2 ? window.holder === qp : window.pd === pd;
    if (!permitted) return this.#refuse(FaultKind.KEY_PD);
    if ((window.access & access) !== access) return this.#refuse(FaultKind.KEY_ACCESS);
    const { address } = this;
    if (address < window.startAddress || address + lengthBytes > window.startAddress + window.length)
      return this.#refuse(FaultKind.KEY_BOUNDS);
    this.fault = FaultKind.NONE;
    return window.region;
  }

  /** See `KeyLookup`. */
  checkWhole(qp: KeyHolder, rkey: number, access: number): MemoryRegion | undefined {
    return this.at(this.#startOf(qp.owner, rkey)).checkRemote(qp, rkey, 0, access);
  }

  /**
   * Invalidates the key of a FAST region or of a type 2 window (IBTA 10.6.5). Returns false when
   * `qp` may not invalidate it.
   */
  invalidate(qp: KeyHolder, key: number): boolean {
    return isWindowKey(key) ? this.#invalidateWindow(qp, key) : this.#invalidateRegion(qp, key);
  }

  /**
   * Binds a window; a request of zero bytes unbinds a type 1 window (IBTA 10.6.7.2). Returns NONE
   * or the cause of a refusal.
   */
  bind(qp: KeyHolder, request: Readonly<BindRequest>): FaultKind {
    const { address, lengthBytes, access } = request;
    const window = isWindowKey(request.windowKey) ? this.#findWindow(qp.owner, request.windowKey) : undefined;
    if (window === undefined) return FaultKind.KEY_INVALID;
    if (window.pd !== qp.pd) return FaultKind.KEY_PD;
    if (window.kind === MwKind.TYPE_2 && window.region !== undefined) return FaultKind.KEY_STATE;
    if (lengthBytes === 0) {
      if (window.kind === MwKind.TYPE_2) return FaultKind.KEY_BOUNDS;
      window.unbind();
      window.keyByte = request.keyByte;
      return FaultKind.NONE;
    }
    const flushes = access & FLUSH_RIGHTS;
    const needed = AccessFlag.WINDOW_BIND | flushes | (access & REMOTE_CHANGES ? AccessFlag.LOCAL_WRITE : 0);
    const region = this.at(address).check(qp.owner, qp.pd, request.regionKey, lengthBytes, needed);
    if (region === undefined) return this.fault;
    if ((access & ~REMOTE_RIGHTS) !== 0 || (region.access & AccessFlag.ZERO_BASED) !== 0) return FaultKind.KEY_ACCESS;
    window.bind(region, qp, address, lengthBytes, access, request.keyByte);
    return FaultKind.NONE;
  }

  /**
   * Returns the FAST region that `qp` may now register under `key`, whose low byte is new;
   * otherwise undefined, with `fault` set.
   */
  findRegistrable(qp: KeyHolder, key: number): MemoryRegion | undefined {
    const region = isWindowKey(key) ? undefined : this.#regions.get(key >>> KEY_NUMBER_SHIFT);
    if (region === undefined || region.owner !== qp.owner || region.kind !== MrKind.FAST)
      return this.#refuse(FaultKind.KEY_INVALID);
    if (region.pd !== qp.pd) return this.#refuse(FaultKind.KEY_PD);
    return region.valid ? this.#refuse(FaultKind.KEY_STATE) : region;
  }

  /** First address of an R_Key; 0 when there is no such key. */
  #startOf(owner: UnderlyingFunction, rkey: number): number {
    if (isWindowKey(rkey)) return this.#findWindow(owner, rkey)?.startAddress ?? 0;
    const region = this.#find(owner, rkey);
    return region === undefined || region.access & AccessFlag.ZERO_BASED ? 0 : region.startAddress;
  }

  #find(owner: UnderlyingFunction, key: number): MemoryRegion | undefined {
    const region = this.#regions.get(key >>> KEY_NUMBER_SHIFT);
    return region !== undefined && region.owner === owner && region.keyByte === (key & KEY_BYTE_MASK)
      ? region
      : undefined;
  }

  #findWindow(owner: UnderlyingFunction, key: number): MemoryWindow | undefined {
    const window = this.#windows.get(key >>> KEY_NUMBER_SHIFT);
    return window !== undefined && window.owner === owner && window.keyByte === (key & KEY_BYTE_MASK)
      ? window
      : undefined;
  }

  #invalidateRegion(qp: KeyHolder, key: number): boolean {
    const region = this.#find(qp.owner, key);
    if (region === undefined || region.kind !== MrKind.FAST || region.pd !== qp.pd) return false;
    if (!region.valid || region.windows > 0) return false;
    region.valid = false;
    return true;
  }

  #invalidateWindow(qp: KeyHolder, key: number): boolean {
    const window = this.#findWindow(qp.owner, key);
    if (window === undefined || window.kind !== MwKind.TYPE_2 || window.holder !== qp) return false;
    window.unbind();
    return true;
  }

  #refuse(fault: FaultKind): undefined {
    this.fault = fault;
    return undefined;
  }
}
