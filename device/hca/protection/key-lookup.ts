// SPDX-License-Identifier: Apache-2.0
/**
 * Keys and memory regions as the data path sees them (IBTA 10.6): a key leads to a region, and the
 * region moves bytes from and to guest memory. `KeyCheck` and `MemoryRegion` implement both for the
 * adapter's own front end; a personality brings its own (docs/verbs/PERSONALITIES.md).
 * Scatter/gather lists, responder, atomic unit and requests on keys call them. No call allocates.
 */
import type { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { WordBlock } from '../../host.ts';
import type { Dma } from '../function/dma.ts';
import type { FaultSubject } from '../function/fault-log.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { KeyHolder } from './key-holder.ts';
import type { PageFaults } from './page-faults.ts';
import type { ProtectionDomain } from './protection-domain.ts';

/** A memory region that a key check has found. It is valid until the next check. */
export interface RegionPort {
  readonly owner: UnderlyingFunction;
  /**
   * True when a range that was checked can be read now. Only a region whose pages software makes
   * present on demand returns false, and leaves a miss in `KeyLookup.pageFaults`.
   */
  isPresent(address: number, lengthBytes: number): boolean;
  /**
   * Copies from guest memory a range that was checked, from the virtual address on that `dma` is
   * set to. `subject` is the object at work, for the fault record. Returns false after a fault,
   * which has been reported, and after a miss of a page.
   */
  read(dma: Dma, subject: FaultSubject, lengthBytes: number, target: WordBlock, targetOffset: number): boolean;
  /** Copies into guest memory; arguments and result as for `read`. */
  write(dma: Dma, subject: FaultSubject, lengthBytes: number, source: WordBlock, sourceOffset: number): boolean;
  /**
   * As `write`, for the 8 bytes of `source`: one store if the guest address is a multiple of 8, so
   * that no reader finds half of it.
   */
  store(dma: Dma, subject: FaultSubject, source: WordBlock): boolean;
}

/** A region that a fast registration fills (IBTA 10.6.3.2), with the fields of `MemoryRegion`. */
export interface FastRegion extends RegionPort {
  kind: number;
  access: number;
  startAddress: number;
  length: number;
  pageShift: number;
  pages: Float64Array;
  keyByte: number;
  valid: boolean;
  readonly maxPages: number;
}

/** The fields of a bind request. */
export interface BindRequest {
  windowKey: number;
  regionKey: number;
  address: number;
  lengthBytes: number;
  access: number;
  keyByte: number;
}

/**
 * Checks keys. Access rights are `AccessFlag` values; none of them means local read. A refusal
 * stores its cause in `fault` and reports nothing.
 */
export interface KeyLookup {
  /** Cause of the last refusal; NONE after a check that found a region. */
  readonly fault: FaultKind;
  /** Start of the range that is checked next. */
  readonly address: number;
  /** Takes the misses of on-demand regions. */
  readonly pageFaults: PageFaults;
  /** Sets `address`: `keys.at(address).check(...)`; see `AddressRegister`. */
  at(address: number): this;
  /**
   * Returns the region of an L_Key when `pd` may access `lengthBytes` bytes from `address` on with
   * all rights in `access`; otherwise undefined. `key` may be a signed or an unsigned dword.
   */
  check(
    owner: UnderlyingFunction,
    pd: ProtectionDomain,
    key: number,
    lengthBytes: number,
    access: number,
  ): RegionPort | undefined;
  /**
   * The same for an R_Key that came in a packet for `qp`, with the PD that `qp` has now unless `pd`
   * is given. The caller checks the rights of the QP itself.
   */
  checkRemote(
    qp: KeyHolder,
    rkey: number,
    lengthBytes: number,
    access: number,
    pd?: ProtectionDomain,
  ): RegionPort | undefined;
  /**
   * The same for all bytes of the R_Key, as a FLUSH of a whole region needs it. Sets `address` to
   * the first one.
   */
  checkWhole(qp: KeyHolder, rkey: number, access: number): RegionPort | undefined;
  /** Invalidates a key for `qp` (IBTA 10.6.5). Returns false when `qp` may not. */
  invalidate(qp: KeyHolder, key: number): boolean;
  /** Binds or unbinds a memory window (IBTA 10.6.7.2). Returns NONE or the cause of a refusal. */
  bind(qp: KeyHolder, request: Readonly<BindRequest>): FaultKind;
  /**
   * Returns the region that a fast registration of `qp` fills under `key`; otherwise undefined. A
   * front end without fast registration refuses each with KEY_INVALID.
   */
  findRegistrable(qp: KeyHolder, key: number): FastRegion | undefined;
  /**
   * Executes request `sequence` of `qp`, which changes a key and has the form of a personality: the
   * front end reads it again. Returns NONE or the cause of a refusal. A front end without such
   * requests lacks the method.
   */
  perform?(qp: KeyHolder, sequence: number): FaultKind;
}
