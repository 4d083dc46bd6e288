// SPDX-License-Identifier: Apache-2.0
/**
 * Memory keys for tests: a running device, keys that commands create, requests that change them as
 * drivers write them into send queues, and accesses by key as the transport makes them.
 */
import { highDword } from '../../../../protocol/layout/dwords.ts';
import { FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import {
  CREATE_MKEY_IN_MEMORY_KEY_MKEY_ENTRY_OFFSET,
  CREATE_MKEY_IN_SIZE,
  setCreateMkeyInTranslationsOctwordActualSize,
} from '../../../../protocol/mlx5/gen/create-mkey-in.gen.ts';
import { CTRL_SEG_SIZE, setCtrlSegImmediate } from '../../../../protocol/mlx5/gen/ctrl-seg.gen.ts';
import {
  DATA_SEG_SIZE,
  setDataSegAddress,
  setDataSegByteCount,
  setDataSegLkey,
} from '../../../../protocol/mlx5/gen/data-seg.gen.ts';
import { KLM_SIZE, setKlmAddress, setKlmByteCount, setKlmMkey } from '../../../../protocol/mlx5/gen/klm.gen.ts';
import { MKC_SIZE } from '../../../../protocol/mlx5/gen/mkc.gen.ts';
import { MTT_SIZE } from '../../../../protocol/mlx5/gen/mtt.gen.ts';
import {
  setUmrCtrlSegCheckFree,
  setUmrCtrlSegCheckInUse,
  setUmrCtrlSegCheckQpn,
  setUmrCtrlSegInline,
  setUmrCtrlSegMkeyMaskHigh,
  setUmrCtrlSegMkeyMaskLow,
  setUmrCtrlSegTranslationOctowords,
  setUmrCtrlSegTranslationOffset,
  setUmrCtrlSegTranslationOffsetHigh,
  setUmrCtrlSegTranslationOffsetLow,
  UMR_CTRL_SEG_SIZE,
} from '../../../../protocol/mlx5/gen/umr-ctrl-seg.gen.ts';
import { CommandOpcode, KeyAccessMode, SendOpcode } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { PAGE_LIST } from '../../../hca/function/fault-log.ts';
import type { KeyHolder } from '../../../hca/protection/key-holder.ts';
import {
  ANY_QP,
  type KeyAttributes,
  newAttributes,
  OCTOWORD_BYTES,
  writeAttributes,
} from '../../../personality/mlx5/memory/key-attributes.ts';
import type { MemoryKey } from '../../../personality/mlx5/memory/memory-key.ts';
import type { MemoryKeys } from '../../../personality/mlx5/memory/memory-keys.ts';
import { UmrUnit } from '../../../personality/mlx5/memory/umr.ts';
import { type Mlx5Answer, type Mlx5Command, Mlx5Driver } from './mlx5-driver.ts';
import type { SendWork } from './queue-pair.ts';

export const PAGE_BYTES = 4096;
const CHANGES_AT = CTRL_SEG_SIZE;
const ATTRIBUTES_AT = CHANGES_AT + UMR_CTRL_SEG_SIZE;
const LIST_AT = ATTRIBUTES_AT + MKC_SIZE;

/** A piece of another key. */
export interface KeyPiece {
  readonly key: number;
  readonly address: number;
  readonly bytes: number;
}

/** Elements of a list: guest addresses of pages, or pieces of keys. */
export type KeyElements = readonly (number | KeyPiece)[];

/** A request that changes a key. */
export interface KeyChange {
  readonly key: number;
  /** Attributes in the request, and the mask that selects those to change. */
  readonly set?: Partial<KeyAttributes>;
  readonly mask?: readonly number[];
  readonly list?: KeyElements;
  /** First octoword of the list of the key that is written. */
  readonly offset?: number;
  /** Octowords that the request claims to have; those of `list` unless given. */
  readonly octowords?: number;
  /** The list lies in memory, which this key names. */
  readonly behind?: KeyPiece | undefined;
  readonly checks?: 'free' | 'in use' | 'qpn' | undefined;
  readonly changesAll?: boolean;
  readonly registers?: boolean;
  /** Bytes of the request; all of it unless given. */
  readonly lengthBytes?: number;
  /** Changes the request before it is executed. */
  readonly spoil?: (view: DataView) => void;
}

/** Byte `index` of memory: it differs from those near it, in its page and in others. */
export function pattern(index: number): number {
  return (index * 7 + (index >>> 8)) & 0xff;
}

export class KeyFixture {
  readonly driver = new Mlx5Driver();
  readonly keys: MemoryKeys;
  /** A QP of domain `pd`, and one of domain `otherPd`. */
  readonly qp: KeyHolder;
  readonly stranger: KeyHolder;

  constructor() {
    this.driver.start();
    const { hca } = this.driver.device;
    this.keys = hca.keys;
    this.qp = this.makeQueuePair(0x40, this.allocateDomain());
    this.stranger = this.makeQueuePair(0x41, this.allocateDomain());
  }

  get pd(): number {
    return this.qp.pd.number;
  }

  allocateDomain(): number {
    return this.driver.device.hca.domains.allocate() as number;
  }

  makeQueuePair(number: number, pd: number): KeyHolder {
    return { number, owner: this.keys.owner, pd: { number: pd } as KeyHolder['pd'], boundWindows: 0 };
  }

  /** Guest memory in pages that do not follow each other; byte n of it has the value `fill(n)`. */
  pages(count: number, fill: (index: number) => number = () => 0): number[] {
    const start = this.driver.allocate(2 * count * PAGE_BYTES);
    // The last page lies first, and every second one is left out.
    const pages = Array.from({ length: count }, (_, index) => start + 2 * (count - 1 - index) * PAGE_BYTES);
    for (const [index, page] of pages.entries()) {
      const bytes = this.bytes(page, PAGE_BYTES);
      for (let at = 0; at < PAGE_BYTES; at++) bytes[at] = fill(index * PAGE_BYTES + at);
    }
    return pages;
  }

  bytes(address: number, lengthBytes: number): Uint8Array {
    return this.driver.bytes(address, lengthBytes);
  }

  /**
   * Attributes of a key of pages that allows everything, with the given ones in place of its own.
   */
  attributes(given: Partial<KeyAttributes> = {}): KeyAttributes {
    const usual = { pd: this.pd, qpn: ANY_QP, umrEn: 1, lr: 1, lw: 1, rr: 1, rw: 1, a: 1, mkey70: 0x11 };
    const mode = { accessMode10: KeyAccessMode.PAGES, logPageSize: 12 };
    const attributes = { ...newAttributes(), ...usual, ...mode, ...given };
    return { ...attributes, startHigh: given.startHigh ?? highDword(attributes.startAddr) };
  }

  /** CREATE_MKEY; the list is as long as `elements` unless `given` says otherwise. */
  create(given: Partial<KeyAttributes> = {}, elements: KeyElements = [], command: Mlx5Command = {}): Mlx5Answer {
    const octowords = octowordsOf(elements);
    const attributes = this.attributes({ translationsOctwordSize: octowords, ...given });
    return this.driver.command(CommandOpcode.CREATE_MKEY, {
      inputBytes: CREATE_MKEY_IN_SIZE + octowords * OCTOWORD_BYTES,
      ...command,
      fill: (view) => {
        writeAttributes(view, CREATE_MKEY_IN_MEMORY_KEY_MKEY_ENTRY_OFFSET, attributes);
        setCreateMkeyInTranslationsOctwordActualSize(view, 0, octowords);
        writeElements(view, CREATE_MKEY_IN_SIZE, elements);
        command.fill?.(view);
      },
    });
  }

  /** As `create`, which must succeed; returns the whole key. */
  key(given: Partial<KeyAttributes> = {}, elements: KeyElements = []): number {
    const { status, output } = this.create(given, elements);
    if (status !== 0) throw new Error(`CREATE_MKEY: status ${status}`);
    return (((output.getUint32(8) & 0xffffff) << 8) | this.attributes(given).mkey70) >>> 0;
  }

  /** A key of pages that covers all their bytes. */
  region(pages: readonly number[], given: Partial<KeyAttributes> = {}): number {
    return this.key({ startAddr: 0x10000, len: pages.length * PAGE_BYTES, ...given }, pages);
  }

  /** A key of pieces that covers all their bytes. */
  compound(pieces: readonly KeyPiece[], given: Partial<KeyAttributes> = {}): number {
    const len = pieces.reduce((sum, { bytes }) => sum + bytes, 0);
    return this.key({ accessMode10: KeyAccessMode.KEYS, logPageSize: 0, len, ...given }, pieces);
  }

  /** The key in the device. */
  get(key: number): MemoryKey {
    const found = this.keys.get(key >>> 8);
    if (found === undefined) throw new Error(`there is no key 0x${key.toString(16)}`);
    return found;
  }

  /** Executes a request of a QP. Returns NONE or the fault. */
  change(change: KeyChange, qp: KeyHolder = this.qp): FaultKind {
    const { changesAll = false, registers = true } = change;
    const view = writeKeyRequest(change, this.attributes(change.set));
    const lengthBytes = change.lengthBytes ?? view.byteLength;
    this.keys.changes = new UmrUnit(this.keys, { fetch: () => ({ view, lengthBytes, changesAll, registers }) });
    return this.keys.perform(qp, 0);
  }

  /** Why a QP's own access is refused; NONE if it is not. */
  localFault(key: number, address: number, lengthBytes: number, access = 0, qp: KeyHolder = this.qp): FaultKind {
    return this.#faultOf(this.keys.at(address).check(qp.owner, qp.pd, key, lengthBytes, access));
  }

  /** The same for an access that came in a packet. */
  remoteFault(key: number, address: number, lengthBytes: number, access: number, qp: KeyHolder = this.qp): FaultKind {
    return this.#faultOf(this.keys.at(address).checkRemote(qp, key, lengthBytes, access));
  }

  /** Reads by a key without a check; undefined after a fault. */
  read(key: number, address: number, lengthBytes: number): Uint8Array | undefined {
    const block = makeBlock(lengthBytes);
    const { dma } = this.keys.owner;
    return this.get(key).read(dma.at(address), PAGE_LIST, lengthBytes, block, 0) ? block.bytes : undefined;
  }

  /** Writes by a key without a check. Returns false after a fault. */
  write(key: number, address: number, bytes: readonly number[]): boolean {
    const block = makeBlock(bytes.length);
    block.bytes.set(bytes);
    return this.get(key).write(this.keys.owner.dma.at(address), PAGE_LIST, bytes.length, block, 0);
  }

  store(key: number, address: number, bytes: readonly number[]): boolean {
    const block = makeBlock(bytes.length);
    block.bytes.set(bytes);
    return this.get(key).store(this.keys.owner.dma.at(address), PAGE_LIST, block);
  }

  /** A list in guest memory, readable by a key of its own. */
  listInMemory(elements: KeyElements, given: Partial<KeyAttributes> = {}): KeyPiece {
    const bytes = octowordsOf(elements) * OCTOWORD_BYTES;
    const pages = this.pages(Math.ceil(bytes / PAGE_BYTES));
    const list = new DataView(new ArrayBuffer(pages.length * PAGE_BYTES));
    writeElements(list, 0, elements);
    for (const [index, page] of pages.entries())
      this.bytes(page, PAGE_BYTES).set(new Uint8Array(list.buffer, index * PAGE_BYTES, PAGE_BYTES));
    const startAddr = 0x7000_0000;
    return { key: this.region(pages, { startAddr, ...given }), address: startAddr, bytes };
  }

  #faultOf(found: MemoryKey | undefined): FaultKind {
    const { fault } = this.keys;
    if ((found === undefined) === (fault === FaultKind.NONE)) throw new Error(`fault ${fault}, and a key or none`);
    return fault;
  }
}

function makeBlock(lengthBytes: number) {
  const buffer = new ArrayBuffer(Math.ceil(lengthBytes / 4) * 4);
  return { bytes: new Uint8Array(buffer, 0, lengthBytes), words: new Int32Array(buffer) };
}

/** Octowords of a list, in whole units of 64 bytes as drivers fill them up. */
function octowordsOf(elements: KeyElements): number {
  const bytes = elements.length * (typeof elements[0] === 'number' ? MTT_SIZE : KLM_SIZE);
  return Math.ceil(bytes / 64) * 4;
}

function writeElements(view: DataView, at: number, elements: KeyElements): void {
  for (const [index, element] of elements.entries())
    if (typeof element === 'number') view.setBigUint64(at + index * MTT_SIZE, BigInt(element) | 3n);
    else {
      setKlmByteCount(view, at + index * KLM_SIZE, element.bytes);
      setKlmMkey(view, at + index * KLM_SIZE, element.key);
      setKlmAddress(view, at + index * KLM_SIZE, element.address);
    }
}

/** The request by which a QP changes a key; attributes that `set` leaves out are 0. */
export function keyRequest(change: KeyChange): SendWork {
  const { key, set = {} } = change;
  const startHigh = highDword(set.startAddr ?? 0);
  const view = writeKeyRequest(change, { ...newAttributes(), mkey70: key & 0xff, ...set, startHigh });
  return { opcode: SendOpcode.UMR, immediate: key, raw: new Uint8Array(view.buffer).slice(CTRL_SEG_SIZE) };
}

/** The bytes of a request that changes a key, from its control piece on. */
function writeKeyRequest(change: KeyChange, attributes: KeyAttributes): DataView {
  const { key, mask = [], list = [], offset, behind, checks, spoil } = change;
  const octowords = change.octowords ?? octowordsOf(list);
  const listBytes = behind === undefined ? octowordsOf(list) * OCTOWORD_BYTES : DATA_SEG_SIZE;
  const view = new DataView(new ArrayBuffer(LIST_AT + listBytes));
  setCtrlSegImmediate(view, 0, key);
  const bits = mask.reduce((all, bit) => all | (1n << BigInt(bit)), 0n);
  setUmrCtrlSegMkeyMaskLow(view, CHANGES_AT, Number(bits & 0xffffffffn));
  setUmrCtrlSegMkeyMaskHigh(view, CHANGES_AT, Number(bits >> 32n));
  setUmrCtrlSegCheckFree(view, CHANGES_AT, Number(checks === 'free'));
  setUmrCtrlSegCheckInUse(view, CHANGES_AT, Number(checks === 'in use'));
  setUmrCtrlSegCheckQpn(view, CHANGES_AT, Number(checks === 'qpn'));
  setUmrCtrlSegTranslationOctowords(view, CHANGES_AT, octowords);
  setUmrCtrlSegTranslationOffset(view, CHANGES_AT, Number(offset !== undefined));
  setUmrCtrlSegTranslationOffsetLow(view, CHANGES_AT, (offset ?? 0) & 0xffff);
  setUmrCtrlSegTranslationOffsetHigh(view, CHANGES_AT, (offset ?? 0) >>> 16);
  setUmrCtrlSegInline(view, CHANGES_AT, Number(behind === undefined));
  writeAttributes(view, ATTRIBUTES_AT, attributes);
  if (behind === undefined) writeElements(view, LIST_AT, list);
  else {
    setDataSegByteCount(view, LIST_AT, behind.bytes);
    setDataSegLkey(view, LIST_AT, behind.key);
    setDataSegAddress(view, LIST_AT, behind.address);
  }
  spoil?.(view);
  return view;
}
