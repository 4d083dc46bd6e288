// SPDX-License-Identifier: Apache-2.0
/**
 * Attributes of a memory key, as CREATE_MKEY and requests that change keys give them: rights, size
 * of its list, and what a key must have so that it may give access. Virtual addresses are folded
 * into exact Numbers, as those of packets are (device/hca/protection/virtual-address.ts).
 */
import { joinDwords } from '../../../../protocol/layout/dwords.ts';
import {
  decodeMkc,
  encodeMkc,
  getMkcStartAddrHigh,
  getMkcStartAddrLow,
  type Mkc,
  newMkc,
  setMkcStartAddrHigh,
} from '../../../../protocol/mlx5/gen/mkc.gen.ts';
import { KeyAccessMode } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { foldHigh } from '../../../hca/protection/virtual-address.ts';
import { KeyRight } from '../../shared/key-rights.ts';
import { LOG_LEAST_PAGE } from './page-list.ts';

/** Unit of lists and of their lengths. */
export const OCTOWORD_BYTES = 16;
/** QPN of a key that any QP may use. */
export const ANY_QP = 0xffffff;
/** The largest page of a list, as 2^n: requests have 5 bits for it. */
const LOG_LARGEST_PAGE = 31;

/** Lists have whole units of 64 bytes: drivers fill the last one up. */
const LIST_OCTOWORDS = 4;
const PAGES_PER_OCTOWORD = 2;

export interface KeyAttributes extends Mkc {
  /** High dword of the virtual address as software gave it; `startAddr` has it folded. */
  startHigh: number;
}

export function newAttributes(): KeyAttributes {
  // A spread would cost microseconds.
  return Object.assign(newMkc(), { startHigh: 0 });
}

export function readAttributes(view: DataView, at: number, into: KeyAttributes): KeyAttributes {
  decodeMkc(view, at, into);
  into.startHigh = getMkcStartAddrHigh(view, at);
  into.startAddr = joinDwords(getMkcStartAddrLow(view, at), foldHigh(into.startHigh));
  return into;
}

export function writeAttributes(view: DataView, at: number, from: Readonly<KeyAttributes>): void {
  encodeMkc(view, at, from);
  setMkcStartAddrHigh(view, at, from.startHigh);
}

/** Rights that a key needs on those which it names, so that it can grant `rights`. */
export function rightsBeneath(rights: number): number {
  const reads = rights & (KeyRight.LOCAL_READ | KeyRight.REMOTE_READ | KeyRight.ATOMIC) ? KeyRight.LOCAL_READ : 0;
  return reads | (rights & ~(KeyRight.LOCAL_READ | KeyRight.REMOTE_READ) ? KeyRight.LOCAL_WRITE : 0);
}

export function rightsOf({ lr, lw, rr, rw, a }: Readonly<Mkc>): number {
  return (
    lr * KeyRight.LOCAL_READ +
    lw * KeyRight.LOCAL_WRITE +
    rr * KeyRight.REMOTE_READ +
    rw * KeyRight.REMOTE_WRITE +
    a * KeyRight.ATOMIC
  );
}

/** True when the list of a key names other keys. */
export function isIndirect({ accessMode10 }: Readonly<Mkc>): boolean {
  return accessMode10 === KeyAccessMode.KEYS || accessMode10 === KeyAccessMode.FIXED_KEYS;
}

/** Octowords of the longest list that the key can have. */
export function listRoom({ accessMode10, translationsOctwordSize }: Readonly<Mkc>): number {
  if (accessMode10 === KeyAccessMode.PHYSICAL) return 0;
  return Math.ceil(translationsOctwordSize / LIST_OCTOWORDS) * LIST_OCTOWORDS;
}

/**
 * True when a key with a list of `octowords` may give access: its addresses are exact, its pages
 * have a size that lists have, and there is a page for every byte.
 */
export function isUsable(attributes: Readonly<KeyAttributes>, octowords: number): boolean {
  const { accessMode10: mode, startAddr, len, length64, logPageSize } = attributes;
  if (length64 === 0 && startAddr + len > Number.MAX_SAFE_INTEGER) return false;
  if (mode === KeyAccessMode.PHYSICAL) return true;
  // A list of any length covers less than all addresses; one of fixed pieces may have gaps.
  if (mode === KeyAccessMode.KEYS) return length64 === 0;
  if (logPageSize < LOG_LEAST_PAGE || logPageSize > LOG_LARGEST_PAGE) return false;
  if (length64 === 1) return mode === KeyAccessMode.FIXED_KEYS;
  const pageBytes = 2 ** logPageSize;
  const pages = Math.ceil(((startAddr % pageBytes) + len) / pageBytes);
  return pages <= (mode === KeyAccessMode.PAGES ? octowords * PAGES_PER_OCTOWORD : octowords);
}
