// SPDX-License-Identifier: Apache-2.0
/**
 * A plain model of memory keys: it follows lists byte by byte, and keeps only attributes and lists.
 * Random load (key-load.ts) asks it for the answer that the device should have given.
 */
import { KeyAccessMode, KeyAttribute } from '../../../protocol/mlx5/gen/values.gen.ts';
import { ANY_QP, type KeyAttributes } from '../../personality/mlx5/memory/key-attributes.ts';
import type { KeyChange, KeyElements, KeyPiece } from './driver/key-fixture.ts';

/** Rights by the field that grants them. */
export type Right = 'lr' | 'lw' | 'rr' | 'rw' | 'a';

interface ModelKey {
  attributes: KeyAttributes;
  /** By the number of the element; elements that were never written are missing. */
  list: (number | KeyPiece | undefined)[];
}

const PAGES_PER_OCTOWORD = 2;
const MAX_DEPTH = 4;
const changed: readonly [KeyAttribute, readonly (keyof KeyAttributes)[]][] = [
  [KeyAttribute.LENGTH, ['len', 'length64']],
  [KeyAttribute.PAGE_SIZE, ['logPageSize']],
  [KeyAttribute.START_ADDRESS, ['startAddr', 'startHigh']],
  [KeyAttribute.PD, ['pd']],
  [KeyAttribute.REMOTE_INVALIDATION, ['enRinval']],
  [KeyAttribute.LOW_BYTE, ['mkey70']],
  [KeyAttribute.QPN, ['qpn']],
  [KeyAttribute.LOCAL_READ, ['lr']],
  [KeyAttribute.LOCAL_WRITE, ['lw']],
  [KeyAttribute.REMOTE_READ, ['rr']],
  [KeyAttribute.REMOTE_WRITE, ['rw']],
  [KeyAttribute.ATOMIC, ['a']],
  [KeyAttribute.FREE, ['free']],
];

export class KeyModel {
  /** By index. */
  readonly keys = new Map<number, ModelKey>();
  readonly #domains: ReadonlySet<number>;

  constructor(domains: ReadonlySet<number>) {
    this.#domains = domains;
  }

  /** True when a key with these attributes and this list may be created. */
  mayCreate(attributes: KeyAttributes, elements: KeyElements): boolean {
    const octowords = octowordsOf(attributes, elements);
    if (octowords > roomOf(attributes) || !this.#domains.has(attributes.pd)) return false;
    return attributes.free === 1 || isCovered(attributes, octowords);
  }

  create(index: number, attributes: KeyAttributes, elements: KeyElements): void {
    this.keys.set(index, { attributes, list: filled(attributes, elements) });
  }

  /** Executes a request of a QP; returns false, and changes nothing, when it is refused. */
  change(change: KeyChange, given: KeyAttributes, qpn: number, pd: number): boolean {
    const key = this.keys.get(change.key >>> 8);
    if (key === undefined || !mayChange(key.attributes, change, qpn, pd)) return false;
    const next = { ...key.attributes };
    const { mask = [], list = [], offset = 0 } = change;
    for (const [bit, fields] of changed) if (mask.includes(bit)) for (const field of fields) next[field] = given[field];
    const octowords = octowordsOf(next, list);
    if (!this.#domains.has(next.pd) || (list.length > 0 && offset + octowords > roomOf(next))) return false;
    if (next.free === 0 && !isCovered(next, roomOf(next))) return false;
    if (offset === 0 && next.free === 0 && next.accessMode10 === KeyAccessMode.KEYS && !this.#mayName(next, list))
      return false;
    const first = offset * (next.accessMode10 === KeyAccessMode.PAGES ? PAGES_PER_OCTOWORD : 1);
    if (list.length > 0) for (const [at, element] of filled(next, list).entries()) key.list[first + at] = element;
    key.attributes = next;
    return true;
  }

  invalidate(number: number, qpn: number, pd: number): boolean {
    const key = this.#find(number);
    if (key === undefined) return false;
    const { umrEn, enRinval, qpn: owner, pd: domain, free } = key.attributes;
    if (umrEn + enRinval < 2 || free === 1 || domain !== pd || (owner !== ANY_QP && owner !== qpn)) return false;
    key.attributes = { ...key.attributes, free: 1 };
    return true;
  }

  /** True when the access is allowed; `qpn` is ANY_QP for an access of the QP itself. */
  allows(number: number, pd: number, qpn: number, address: number, length: number, rights: readonly Right[]): boolean {
    return this.#allows(number, pd, qpn, address, length, rights, 0);
  }

  /** Guest address of a byte; undefined when a page or a piece is missing. */
  resolve(number: number, address: number, depth = 0): number | undefined {
    const key = this.#find(number);
    if (key === undefined || depth > MAX_DEPTH) return undefined;
    if (key.attributes.accessMode10 === KeyAccessMode.PHYSICAL) return address;
    const place = placeOf(key, address);
    if (place === undefined) return undefined;
    if (typeof place.element === 'number') return place.element + place.offset;
    return this.resolve(place.element.key, place.element.address + place.offset, depth + 1);
  }

  #find(number: number): ModelKey | undefined {
    const key = this.keys.get(number >>> 8);
    return key?.attributes.mkey70 === (number & 0xff) ? key : undefined;
  }

  #allows(
    number: number,
    pd: number,
    qpn: number,
    address: number,
    length: number,
    rights: readonly Right[],
    depth: number,
  ): boolean {
    const key = this.#find(number);
    if (key === undefined || key.attributes.free === 1 || key.attributes.pd !== pd) return false;
    const { qpn: owner, startAddr, len, length64, accessMode10: mode } = key.attributes;
    if ((owner !== ANY_QP && owner !== qpn) || rights.some((right) => key.attributes[right] === 0)) return false;
    if (address < startAddr || (length64 === 0 && address + length > startAddr + len)) return false;
    if (mode === KeyAccessMode.PHYSICAL || mode === KeyAccessMode.PAGES) return true;
    const beneath = beneathOf(rights);
    for (let done = 0; done < length; ) {
      const place = placeOf(key, address + done);
      if (place === undefined || typeof place.element === 'number' || depth === MAX_DEPTH) return false;
      const bytes = Math.min(length - done, place.left);
      const at = place.element.address + place.offset;
      if (!this.#allows(place.element.key, pd, ANY_QP, at, bytes, beneath, depth + 1)) return false;
      done += bytes;
    }
    return true;
  }

  /** True when the keys of a list allow the rights that the key would grant. */
  #mayName(next: KeyAttributes, list: KeyElements): boolean {
    const granted = (['lr', 'lw', 'rr', 'rw', 'a'] as const).filter((right) => next[right] === 1);
    let left = next.len;
    for (const element of list) {
      const { key, address, bytes } = element as KeyPiece;
      const used = Math.min(bytes, left);
      if (used > 0 && !this.#allows(key, next.pd, ANY_QP, address, used, beneathOf(granted), 0)) return false;
      left -= used;
    }
    return true;
  }
}

/** The place of an address of a key in its list. */
function placeOf({ attributes, list }: ModelKey, address: number) {
  const { accessMode10, logPageSize, startAddr } = attributes;
  if (accessMode10 !== KeyAccessMode.KEYS) {
    const pageBytes = 2 ** logPageSize;
    const element = list[Math.floor(address / pageBytes) - Math.floor(startAddr / pageBytes)];
    const offset = address % pageBytes;
    return element === undefined ? undefined : { element, offset, left: pageBytes - offset };
  }
  let offset = address - startAddr;
  for (const element of list) {
    const bytes = (element as KeyPiece | undefined)?.bytes ?? 0;
    if (offset < bytes) return { element: element as KeyPiece, offset, left: bytes - offset };
    offset -= bytes;
  }
  return undefined;
}

function mayChange(key: KeyAttributes, change: KeyChange, qpn: number, pd: number): boolean {
  const { checks, changesAll = false, registers = true, mask = [] } = change;
  if (key.umrEn === 0) return false;
  const isIndirect = key.accessMode10 === KeyAccessMode.KEYS || key.accessMode10 === KeyAccessMode.FIXED_KEYS;
  if (!changesAll && (key.pd !== pd || mask.includes(KeyAttribute.PD) || !(registers || isIndirect))) return false;
  if (checks === 'free' && key.free === 0) return false;
  if (checks === 'in use' && key.free === 1) return false;
  if (checks === 'qpn' && key.qpn !== qpn) return false;
  const mayDiffer = mask.includes(KeyAttribute.LOW_BYTE) && checks !== 'qpn';
  return mayDiffer || key.mkey70 === (change.key & 0xff);
}

function isCovered({ accessMode10: mode, startAddr, len, length64, logPageSize }: KeyAttributes, octowords: number) {
  if (length64 === 0 && startAddr + len >= 2 ** 53) return false;
  if (mode === KeyAccessMode.PHYSICAL) return true;
  if (mode === KeyAccessMode.KEYS) return length64 === 0;
  if (logPageSize < 12 || logPageSize > 31) return false;
  if (length64 === 1) return mode === KeyAccessMode.FIXED_KEYS;
  const elements = mode === KeyAccessMode.PAGES ? octowords * PAGES_PER_OCTOWORD : octowords;
  const pageBytes = 2 ** logPageSize;
  return len === 0 || Math.floor((startAddr + len - 1) / pageBytes) - Math.floor(startAddr / pageBytes) < elements;
}

function beneathOf(rights: readonly Right[]): Right[] {
  const reads = rights.some((right) => right === 'lr' || right === 'rr' || right === 'a');
  const writes = rights.some((right) => right === 'lw' || right === 'rw' || right === 'a');
  return [...(reads ? (['lr'] as const) : []), ...(writes ? (['lw'] as const) : [])];
}

function roomOf({ accessMode10, translationsOctwordSize }: KeyAttributes): number {
  return accessMode10 === KeyAccessMode.PHYSICAL ? 0 : Math.ceil(translationsOctwordSize / 4) * 4;
}

function octowordsOf({ accessMode10 }: KeyAttributes, elements: KeyElements): number {
  const perOctoword = accessMode10 === KeyAccessMode.PAGES ? PAGES_PER_OCTOWORD : 1;
  return Math.ceil(elements.length / perOctoword / 4) * 4;
}

/** The elements as they arrive: in whole units of 64 bytes, padded with zeros. */
function filled(attributes: KeyAttributes, elements: KeyElements): (number | KeyPiece)[] {
  const isOfPages = attributes.accessMode10 === KeyAccessMode.PAGES;
  const count = octowordsOf(attributes, elements) * (isOfPages ? PAGES_PER_OCTOWORD : 1);
  const nothing = isOfPages ? 0 : { key: 0, address: 0, bytes: 0 };
  return Array.from({ length: count }, (_, at) => elements[at] ?? nothing);
}
