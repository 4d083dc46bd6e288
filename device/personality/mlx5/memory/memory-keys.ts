// SPDX-License-Identifier: Apache-2.0
/**
 * The memory keys of a function. Scatter/gather lists, packets and work requests ask here whether a
 * key allows an access (IBTA 10.6), commands and requests on keys create and change them. Keys may
 * name other keys, to a bounded depth; each of them must allow the access.
 */
import { KEY_BYTE_MASK, KEY_NUMBER_SHIFT } from '../../../../protocol/infiniband/memory-keys.ts';
import { FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import { KeyAccessMode } from '../../../../protocol/mlx5/gen/values.gen.ts';
import type { UnderlyingFunction } from '../../../hca/function/underlying-function.ts';
import type { KeyHolder } from '../../../hca/protection/key-holder.ts';
import type { KeyLookup } from '../../../hca/protection/key-lookup.ts';
import type { ProtectionDomain } from '../../../hca/protection/protection-domain.ts';
import { rightsFor } from '../../shared/key-rights.ts';
import { PlainKeys } from '../../shared/plain-keys.ts';
import {
  ANY_QP,
  type KeyAttributes,
  listRoom,
  newAttributes,
  OCTOWORD_BYTES,
  rightsBeneath,
  rightsOf,
} from './key-attributes.ts';
import type { Cursor } from './key-lists.ts';
import { MemoryKey, type Pieces } from './memory-key.ts';
import { QUEUE_KEY } from './queue-memory.ts';

/** Keys of a function, as 2^n. */
export const LOG_KEYS = 20;
/** Keys below are reserved: drivers end scatter lists with key 0x100. */
export const FIRST_KEY = 16;
/** Bytes that all lists may have together. */
export const LIST_BYTES_MAX = 2 ** 28;
/** Keys that name keys, in a row. */
export const MAX_INDIRECTION = 4;

/** Protection domains by number, and how many objects use each of them. */
export interface Domains {
  has(pd: number): boolean;
  use(pd: number): unknown;
  release(pd: number): void;
}

/** Executes requests of send queues that change keys. */
export interface KeyChanges {
  /** Executes request `sequence` of a QP. Returns NONE or the fault. */
  perform(qp: KeyHolder, sequence: number): FaultKind;
}

export class MemoryKeys extends PlainKeys implements KeyLookup, Pieces {
  contiguousBytes = 0;
  /** Without it no requests change keys. */
  changes: KeyChanges | undefined = undefined;
  /** Bytes of all lists, and how many they may have together. */
  listBytes = 0;
  listBytesMax = LIST_BYTES_MAX;
  /** Index behind that of the last key that there can be. */
  indexEnd = 2 ** LOG_KEYS;
  readonly owner: UnderlyingFunction;
  readonly domains: Domains;
  readonly #keys = new Map<number, MemoryKey>();
  /** Stands for the memory of work queues: bus addresses, which only the device itself names. */
  readonly #queueMemory: MemoryKey;
  /** Indices that were used before, the newest last. */
  readonly #free: number[] = [];
  #next = FIRST_KEY;

  constructor(owner: UnderlyingFunction, domains: Domains) {
    super();
    this.owner = owner;
    this.domains = domains;
    this.#queueMemory = new MemoryKey(owner, this, 0, { ...newAttributes(), accessMode10: KeyAccessMode.PHYSICAL });
  }

  get size(): number {
    return this.#keys.size;
  }

  get(index: number): MemoryKey | undefined {
    return this.#keys.get(index);
  }

  values(): Iterable<MemoryKey> {
    return this.#keys.values();
  }

  /** Makes a key, which keeps `attributes`. Returns undefined when there is none left. */
  create(attributes: KeyAttributes): MemoryKey | undefined {
    const index = this.#free.pop() ?? this.#next;
    if (index === this.indexEnd) return undefined;
    if (index === this.#next) this.#next++;
    const key = new MemoryKey(this.owner, this, index, attributes);
    this.#keys.set(index, key);
    this.domains.use(attributes.pd);
    return key;
  }

  remove(key: MemoryKey): void {
    this.#keys.delete(key.index);
    this.#free.push(key.index);
    this.domains.release(key.attributes.pd);
    this.listBytes -= (key.list?.octowords ?? 0) * OCTOWORD_BYTES;
  }

  reset(): void {
    this.#keys.clear();
    this.#free.length = 0;
    this.#next = FIRST_KEY;
    this.listBytes = 0;
  }

  /** Gives a key other attributes. */
  change(key: MemoryKey, attributes: Readonly<KeyAttributes>): void {
    this.domains.use(attributes.pd);
    this.domains.release(key.attributes.pd);
    Object.assign(key.attributes, attributes);
    key.rights = rightsOf(attributes);
  }

  /** Makes room for a list of `octowords`. Returns false when all lists would be too long. */
  reserve({ list, attributes }: MemoryKey, octowords: number): boolean {
    const had = list?.octowords ?? 0;
    if (octowords <= had) return true;
    const left = had + (this.listBytesMax - this.listBytes) / OCTOWORD_BYTES;
    if (octowords > left) return false;
    // Doubled, because long lists come in parts.
    const room = Math.min(Math.max(octowords, 2 * had), listRoom(attributes), left);
    list?.grow(room);
    this.listBytes += (room - had) * OCTOWORD_BYTES;
    return true;
  }

  /** The key with this number, which may be free. */
  find(number: number): MemoryKey | undefined {
    const key = this.#keys.get(number >>> KEY_NUMBER_SHIFT);
    return key !== undefined && key.attributes.mkey70 === (number & KEY_BYTE_MASK) ? key : undefined;
  }

  check(
    _owner: UnderlyingFunction,
    pd: ProtectionDomain,
    key: number,
    lengthBytes: number,
    access: number,
  ): MemoryKey | undefined {
    // Data in requests are only read; receives come here with the keys that software gave them.
    if (access === 0 && key >>> 0 === QUEUE_KEY) return this.#queueMemory;
    return this.allow(key, pd.number, ANY_QP, lengthBytes, rightsFor(access));
  }

  checkRemote(
    qp: KeyHolder,
    rkey: number,
    lengthBytes: number,
    access: number,
    pd: ProtectionDomain = qp.pd,
  ): MemoryKey | undefined {
    return this.allow(rkey, pd.number, qp.number, lengthBytes, rightsFor(access));
  }

  /** The key, when it and those beneath it allow an access to the range from `address` on. */
  allow(number: number, pd: number, qpn: number, lengthBytes: number, rights: number): MemoryKey | undefined {
    const key = this.find(number);
    if (key === undefined) return this.refuse(FaultKind.KEY_INVALID);
    this.fault = findFault(key, pd, qpn, rights);
    if (this.fault !== FaultKind.NONE) return undefined;
    if (!key.holds(this, lengthBytes)) return this.refuse(FaultKind.KEY_BOUNDS);
    return key.isIndirect && !this.#allowBeneath(key, lengthBytes, rights) ? undefined : key;
  }

  descend(key: MemoryKey, cursor: Cursor, lengthBytes: number, rights: number): MemoryKey | undefined {
    const { pd } = key.attributes;
    let found = key;
    this.contiguousBytes = lengthBytes;
    for (let depth = 0; found.isIndirect; depth++) {
      if (depth === MAX_INDIRECTION) return this.refuse(FaultKind.KEY_INVALID);
      const left = found.enterPiece(cursor);
      if (left === 0) return this.refuse(FaultKind.KEY_BOUNDS);
      this.contiguousBytes = Math.min(this.contiguousBytes, left);
      const beneath = this.find(found.enteredKey);
      if (beneath === undefined) return this.refuse(FaultKind.KEY_INVALID);
      this.fault = findFault(beneath, pd, ANY_QP, rights);
      if (this.fault !== FaultKind.NONE) return undefined;
      if (!beneath.holds(cursor, this.contiguousBytes)) return this.refuse(FaultKind.KEY_BOUNDS);
      found = beneath;
    }
    return found;
  }

  /** A SEND of the other end may free a key that was made so that it can (IBTA 10.6.5). */
  invalidate(qp: KeyHolder, key: number): boolean {
    const found = this.find(key);
    if (found === undefined || found.attributes.enRinval === 0 || found.attributes.umrEn === 0) return false;
    if (findFault(found, qp.pd.number, qp.number, 0) !== FaultKind.NONE) return false;
    found.attributes.free = 1;
    return true;
  }

  /** Requests of drivers bind windows and register memory by it. */
  perform(qp: KeyHolder, sequence: number): FaultKind {
    return this.changes === undefined ? FaultKind.COMMAND_OPCODE : this.changes.perform(qp, sequence);
  }

  #allowBeneath(key: MemoryKey, lengthBytes: number, rights: number): boolean {
    const { address } = this;
    const beneath = rightsBeneath(rights);
    let done = 0;
    while (done < lengthBytes && this.descend(key, this.at(address + done), lengthBytes - done, beneath) !== undefined)
      done += this.contiguousBytes;
    this.at(address);
    return done >= lengthBytes;
  }
}

/** Why a key does not allow an access, whatever the range; NONE if it does. */
function findFault({ attributes, rights }: MemoryKey, pd: number, qpn: number, needed: number): FaultKind {
  if (attributes.free === 1) return FaultKind.KEY_INVALID;
  const isOpen = attributes.qpn === ANY_QP || attributes.qpn === qpn;
  if (attributes.pd !== pd || !isOpen) return FaultKind.KEY_PD;
  return (rights & needed) === needed ? FaultKind.NONE : FaultKind.KEY_ACCESS;
}
