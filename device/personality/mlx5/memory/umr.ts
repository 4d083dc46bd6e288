// SPDX-License-Identifier: Apache-2.0
/**
 * Requests of send queues that change memory keys: fast registrations, invalidations, binds of
 * windows, and whatever the driver does with keys that it keeps. A request has a control piece, 48
 * bytes that say what changes, 64 bytes of attributes, and a list or a data piece that names one.
 * All of it is checked first; a request that is refused changes nothing. The requester calls it by
 * `MemoryKeys.perform`.
 */
import { KEY_BYTE_MASK, KEY_NUMBER_SHIFT, makeKey } from '../../../../protocol/infiniband/memory-keys.ts';
import { joinDwords } from '../../../../protocol/layout/dwords.ts';
import { FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import { CTRL_SEG_SIZE, getCtrlSegImmediate } from '../../../../protocol/mlx5/gen/ctrl-seg.gen.ts';
import {
  DATA_SEG_SIZE,
  getDataSegAddressHigh,
  getDataSegAddressLow,
  getDataSegByteCount,
  getDataSegInline,
  getDataSegLkey,
} from '../../../../protocol/mlx5/gen/data-seg.gen.ts';
import {
  getKlmAddressHigh,
  getKlmAddressLow,
  getKlmByteCount,
  getKlmMkey,
} from '../../../../protocol/mlx5/gen/klm.gen.ts';
import { MKC_SIZE } from '../../../../protocol/mlx5/gen/mkc.gen.ts';
import {
  getUmrCtrlSegCheckFree,
  getUmrCtrlSegCheckInUse,
  getUmrCtrlSegCheckQpn,
  getUmrCtrlSegInline,
  getUmrCtrlSegMkeyMaskHigh,
  getUmrCtrlSegMkeyMaskLow,
  getUmrCtrlSegTranslationOctowords,
  getUmrCtrlSegTranslationOffset,
  getUmrCtrlSegTranslationOffsetHigh,
  getUmrCtrlSegTranslationOffsetLow,
  UMR_CTRL_SEG_SIZE,
} from '../../../../protocol/mlx5/gen/umr-ctrl-seg.gen.ts';
import { KeyAccessMode, KeyAttribute } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { PAGE_LIST } from '../../../hca/function/fault-log.ts';
import { noteStep, Step } from '../../../hca/function/timeline.ts';
import { KEY_LENGTH_MAX } from '../../../hca/function/timeline-values.ts';
import type { KeyHolder } from '../../../hca/protection/key-holder.ts';
import { foldHigh } from '../../../hca/protection/virtual-address.ts';
import type { WordBlock } from '../../../host.ts';
import { KeyRight } from '../../shared/key-rights.ts';
import {
  ANY_QP,
  isUsable,
  type KeyAttributes,
  listRoom,
  newAttributes,
  OCTOWORD_BYTES,
  readAttributes,
  rightsBeneath,
  rightsOf,
} from './key-attributes.ts';
import type { MemoryKey } from './memory-key.ts';
import type { KeyChanges, MemoryKeys } from './memory-keys.ts';
import { WHOLE_PIECE_BYTES } from './queue-memory.ts';

const CHANGES_AT = CTRL_SEG_SIZE;
const ATTRIBUTES_AT = CHANGES_AT + UMR_CTRL_SEG_SIZE;
const LIST_AT = ATTRIBUTES_AT + MKC_SIZE;
/** Octowords up to the part of an offset that has a field of its own. */
const OFFSET_HIGH = 2 ** 16;
const MASK_DWORD_BITS = 32;

/** Attributes that a bit of the mask names. */
const fields: readonly (readonly [KeyAttribute, keyof KeyAttributes])[] = [
  [KeyAttribute.LENGTH, 'len'],
  [KeyAttribute.LENGTH, 'length64'],
  [KeyAttribute.PAGE_SIZE, 'logPageSize'],
  [KeyAttribute.START_ADDRESS, 'startAddr'],
  [KeyAttribute.START_ADDRESS, 'startHigh'],
  [KeyAttribute.PD, 'pd'],
  [KeyAttribute.REMOTE_INVALIDATION, 'enRinval'],
  [KeyAttribute.LOW_BYTE, 'mkey70'],
  [KeyAttribute.QPN, 'qpn'],
  [KeyAttribute.LOCAL_READ, 'lr'],
  [KeyAttribute.LOCAL_WRITE, 'lw'],
  [KeyAttribute.REMOTE_READ, 'rr'],
  [KeyAttribute.REMOTE_WRITE, 'rw'],
  [KeyAttribute.ATOMIC, 'a'],
  [KeyAttribute.RELAXED_WRITE, 'relaxedOrderingWrite'],
  [KeyAttribute.RELAXED_READ, 'relaxedOrderingRead'],
  [KeyAttribute.FREE, 'free'],
];
/** Bits of the mask that are known; of some of them nothing is kept. */
const knownMask = Object.values(KeyAttribute).reduce((mask, bit) => mask | (1n << BigInt(bit)), 0n);
const unknownLow = Number(~knownMask & 0xffffffffn) | 0;
const unknownHigh = Number((~knownMask >> 32n) & 0xffffffffn) | 0;

/** A request, and what the QP that sent it may change. */
export interface KeyRequest {
  /** The request from its control piece on. */
  readonly view: DataView;
  readonly lengthBytes: number;
  /** The QP serves only such requests of the kernel: it may change the keys of all domains. */
  readonly changesAll: boolean;
  /** The QP may register memory: it may name pages. Processes may not, except by keys. */
  readonly registers: boolean;
}

/** Reads requests that change keys from send queues. */
export interface KeyRequests {
  /**
   * Request `sequence` of a QP, valid until the next one is fetched; undefined when it cannot be
   * read, which has been reported.
   */
  fetch(qp: KeyHolder, sequence: number): KeyRequest | undefined;
}

export class UmrUnit implements KeyChanges {
  readonly #keys: MemoryKeys;
  readonly #requests: KeyRequests;
  readonly #given = newAttributes();
  /** What the key in hand is to become. */
  readonly #next = newAttributes();
  /** The list of the request in hand: in the request, or a copy of what a data piece names. */
  #list: DataView = new DataView(new ArrayBuffer(0));
  #listAt = 0;
  #copy = makeCopy(0);

  constructor(keys: MemoryKeys, requests: KeyRequests) {
    this.#keys = keys;
    this.#requests = requests;
  }

  /** A request that is refused has changed nothing. */
  perform(qp: KeyHolder, sequence: number): FaultKind {
    const request = this.#requests.fetch(qp, sequence);
    return request === undefined ? FaultKind.DMA_READ : this.#execute(qp, sequence, request);
  }

  #execute(qp: KeyHolder, sequence: number, request: KeyRequest): FaultKind {
    const { view, lengthBytes } = request;
    if (lengthBytes < LIST_AT) return FaultKind.COMMAND_LENGTH;
    const number = getCtrlSegImmediate(view, 0);
    const key = this.#keys.get(number >>> KEY_NUMBER_SHIFT);
    if (key === undefined) return FaultKind.KEY_INVALID;
    const refusal = findRefusal(qp, request, key);
    if (refusal !== FaultKind.NONE) return refusal;
    const state = findWrongState(qp, view, key, number & KEY_BYTE_MASK);
    if (state !== FaultKind.NONE) return state;
    const next = this.#merge(view, key);
    if (!this.#keys.domains.has(next.pd)) return FaultKind.KEY_PD;
    if (next.free === 0 && !isUsable(next, listRoom(next))) return FaultKind.KEY_BOUNDS;
    const octowords = getUmrCtrlSegTranslationOctowords(view, CHANGES_AT);
    const list = octowords > 0 ? this.#takeList(qp, request, key, octowords) : FaultKind.NONE;
    if (list !== FaultKind.NONE) return list;
    this.#keys.change(key, next);
    if (octowords > 0) key.list?.write(this.#list, this.#listAt, octowords, offsetOf(view));
    noteChange(qp, sequence, key);
    return FaultKind.NONE;
  }

  /** The attributes that the key shall have. */
  #merge(view: DataView, key: MemoryKey): KeyAttributes {
    const given = readAttributes(view, ATTRIBUTES_AT, this.#given);
    const next = Object.assign(this.#next, key.attributes);
    for (const [bit, field] of fields) if (isMeant(view, bit)) next[field] = given[field];
    return next;
  }

  /** Finds the list, checks it, and makes room for it. */
  #takeList(qp: KeyHolder, request: KeyRequest, key: MemoryKey, octowords: number): FaultKind {
    const { view, lengthBytes } = request;
    const offset = offsetOf(view);
    const bytes = octowords * OCTOWORD_BYTES;
    if (offset + octowords > listRoom(this.#next)) return FaultKind.KEY_BOUNDS;
    if (getUmrCtrlSegInline(view, CHANGES_AT) === 1) {
      if (LIST_AT + bytes > lengthBytes) return FaultKind.COMMAND_LENGTH;
      this.#list = view;
      this.#listAt = LIST_AT;
    } else {
      if (lengthBytes < LIST_AT + DATA_SEG_SIZE) return FaultKind.COMMAND_SGE;
      const fault = this.#readList(qp, request, bytes);
      if (fault !== FaultKind.NONE) return fault;
    }
    const fault = offset === 0 ? this.#checkPieces(octowords) : FaultKind.NONE;
    if (fault !== FaultKind.NONE) return fault;
    return this.#keys.reserve(key, offset + octowords) ? FaultKind.NONE : FaultKind.KEY_BOUNDS;
  }

  /** Copies a list that the data piece of a request names. */
  #readList(qp: KeyHolder, { view, changesAll }: KeyRequest, bytes: number): FaultKind {
    if (getDataSegInline(view, LIST_AT) === 1) return FaultKind.COMMAND_SGE;
    if ((getDataSegByteCount(view, LIST_AT) || WHOLE_PIECE_BYTES) < bytes) return FaultKind.COMMAND_LENGTH;
    const keys = this.#keys;
    const { dma } = keys.owner;
    const address = joinDwords(getDataSegAddressLow(view, LIST_AT), foldHigh(getDataSegAddressHigh(view, LIST_AT)));
    const lkey = getDataSegLkey(view, LIST_AT);
    // A QP that changes the keys of all domains belongs to none.
    const pd = changesAll ? (keys.find(lkey)?.attributes.pd ?? 0) : qp.pd.number;
    const region = keys.at(address).allow(lkey, pd, ANY_QP, bytes, KeyRight.LOCAL_READ);
    if (region === undefined) return keys.fault;
    if (this.#copy.bytes.length < bytes) this.#copy = makeCopy(bytes);
    if (!region.read(dma.at(address), PAGE_LIST, bytes, this.#copy, 0)) return FaultKind.DMA_READ;
    this.#list = this.#copy.view;
    this.#listAt = 0;
    return FaultKind.NONE;
  }

  /**
   * Looks whether the keys that a list names allow what the key will grant, so that a bind fails
   * and no later access (IBTA 10.6.7.2). An access looks again.
   */
  #checkPieces(octowords: number): FaultKind {
    const next = this.#next;
    if (next.free === 1 || next.accessMode10 !== KeyAccessMode.KEYS) return FaultKind.NONE;
    const keys = this.#keys;
    const rights = rightsBeneath(rightsOf(next));
    for (let index = 0, done = 0; index < octowords && done < next.len; index++) {
      const at = this.#listAt + index * OCTOWORD_BYTES;
      const bytes = Math.min(getKlmByteCount(this.#list, at), next.len - done);
      done += bytes;
      const address = joinDwords(getKlmAddressLow(this.#list, at), foldHigh(getKlmAddressHigh(this.#list, at)));
      const isAllowed =
        bytes === 0 || keys.at(address).allow(getKlmMkey(this.#list, at), next.pd, ANY_QP, bytes, rights) !== undefined;
      if (!isAllowed) return keys.fault;
    }
    return FaultKind.NONE;
  }
}

function noteChange(qp: KeyHolder, sequence: number, { index, attributes }: MemoryKey): void {
  const { mkey70, free, len, startAddr, startHigh } = attributes;
  const length = free === 1 ? 0 : Math.min(len, KEY_LENGTH_MAX);
  noteStep(qp, Step.KEY_CHANGED, sequence, makeKey(index, mkey70), length, startAddr >>> 0, startHigh);
}

/** Why the QP may not change the key, or not what the mask says; NONE if it may. */
function findRefusal(qp: KeyHolder, { view, changesAll, registers }: KeyRequest, key: MemoryKey): FaultKind {
  const low = getUmrCtrlSegMkeyMaskLow(view, CHANGES_AT);
  const high = getUmrCtrlSegMkeyMaskHigh(view, CHANGES_AT);
  if ((low & unknownLow) !== 0 || (high & unknownHigh) !== 0) return FaultKind.COMMAND_OPCODE;
  if (key.attributes.umrEn === 0) return FaultKind.KEY_ACCESS;
  if (changesAll) return FaultKind.NONE;
  if (key.attributes.pd !== qp.pd.number || isMeant(view, KeyAttribute.PD)) return FaultKind.KEY_PD;
  // Pages are guest addresses, and rights of a process are those with which its pages are pinned.
  return registers || key.isIndirect ? FaultKind.NONE : FaultKind.KEY_ACCESS;
}

/** Why the key is not in the state that the request asks for; NONE if it is. */
function findWrongState(qp: KeyHolder, view: DataView, { attributes }: MemoryKey, lowByte: number): FaultKind {
  const isFree = attributes.free === 1;
  if (getUmrCtrlSegCheckFree(view, CHANGES_AT) === 1 && !isFree) return FaultKind.KEY_STATE;
  if (getUmrCtrlSegCheckInUse(view, CHANGES_AT) === 1 && isFree) return FaultKind.KEY_STATE;
  const checksQpn = getUmrCtrlSegCheckQpn(view, CHANGES_AT) === 1;
  if (checksQpn && attributes.qpn !== qp.number) return FaultKind.KEY_PD;
  // A request that gives the key another low byte already names it by that.
  const mayDiffer = isMeant(view, KeyAttribute.LOW_BYTE) && !checksQpn;
  return mayDiffer || attributes.mkey70 === lowByte ? FaultKind.NONE : FaultKind.KEY_INVALID;
}

function isMeant(view: DataView, attribute: KeyAttribute): boolean {
  const word =
    attribute < MASK_DWORD_BITS
      ? getUmrCtrlSegMkeyMaskLow(view, CHANGES_AT)
      : getUmrCtrlSegMkeyMaskHigh(view, CHANGES_AT);
  return ((word >>> (attribute % MASK_DWORD_BITS)) & 1) === 1;
}

/** Octowords of the list of the key before those that the request has. */
function offsetOf(view: DataView): number {
  if (getUmrCtrlSegTranslationOffset(view, CHANGES_AT) === 0) return 0;
  const low = getUmrCtrlSegTranslationOffsetLow(view, CHANGES_AT);
  return getUmrCtrlSegTranslationOffsetHigh(view, CHANGES_AT) * OFFSET_HIGH + low;
}

function makeCopy(bytes: number): WordBlock & { readonly view: DataView } {
  const buffer = new ArrayBuffer(bytes);
  return { bytes: new Uint8Array(buffer), words: new Int32Array(buffer), view: new DataView(buffer) };
}
