// SPDX-License-Identifier: Apache-2.0
/**
 * The memory one end of a connection lets the other reach: slots to write, bytes to read that never change, a counter, a cell to swap. And what the oracle
 * knows of it: which writes each slot may hold.
 */
import { AccessFlag, ManagementOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import type { DriverMemoryRegion } from '../../hosts/in-process/driver/requests.ts';
import type { AdapterFixture, Buffer } from '../../test-support/adapter-fixture.ts';
import { findDifference } from './find-difference.ts';

export const SLOTS = 3;
const CELL_BYTES = 8;
const ALL_RIGHTS = AccessFlag.LOCAL_WRITE | AccessFlag.REMOTE_WRITE | AccessFlag.REMOTE_READ | AccessFlag.REMOTE_ATOMIC;

/** A write that was posted. */
interface PostedWrite {
  readonly content: Uint8Array;
  /** It is known to have been executed, or still may or may not have been. */
  done: boolean;
}

export class ExposedMemory {
  readonly region: DriverMemoryRegion;
  readonly slotBytes: number;
  /** What the other end names it by: the region's, unless a window gives it away. */
  rkey: number;
  readonly #fixture: AdapterFixture;
  readonly #buffer: Buffer;
  readonly #constant: Uint8Array;
  readonly #writes: PostedWrite[][] = Array.from({ length: SLOTS }, () => []);
  #snapshot: Uint8Array | undefined = undefined;

  /** `rights`: instead of all remote ones. */
  constructor(fixture: AdapterFixture, pd: number, slotBytes: number, rights: number = ALL_RIGHTS) {
    this.#fixture = fixture;
    this.slotBytes = slotBytes;
    this.#constant = fixture.random.bytes(slotBytes);
    this.#buffer = fixture.createBuffer((SLOTS + 1) * slotBytes + 2 * CELL_BYTES);
    this.#buffer.bytes.set(this.#constant, SLOTS * slotBytes);
    const { address: startAddress, lengthBytes: length } = this.#buffer;
    this.region = fixture.driver.createMemoryRegion({
      pd,
      access: AccessFlag.LOCAL_WRITE | rights,
      startAddress,
      length,
    });
    this.rkey = this.region.rkey;
  }

  /** The key was taken back. */
  get isFrozen(): boolean {
    return this.#snapshot !== undefined;
  }

  get address(): number {
    return this.#buffer.address;
  }

  get lengthBytes(): number {
    return this.#buffer.lengthBytes;
  }

  slotAddress(slot: number): number {
    return this.#buffer.address + slot * this.slotBytes;
  }

  get constantAddress(): number {
    return this.slotAddress(SLOTS);
  }

  /** 0: the counter, 1: the cell to swap. */
  cellAddress(cell: 0 | 1): number {
    return this.slotAddress(SLOTS + 1) + cell * CELL_BYTES;
  }

  cellValue(cell: 0 | 1): bigint {
    const { bytes } = this.#buffer;
    const at = (SLOTS + 1) * this.slotBytes + cell * CELL_BYTES;
    return new DataView(bytes.buffer, bytes.byteOffset + at, CELL_BYTES).getBigUint64(0, true);
  }

  endAddress(): number {
    return this.#buffer.address + this.#buffer.lengthBytes;
  }

  /** The bytes a READ of the constant area brings. */
  constant(offset: number, lengthBytes: number): Uint8Array {
    return this.#constant.subarray(offset, offset + lengthBytes);
  }

  post(slot: number, content: Uint8Array): PostedWrite {
    const write = { content, done: false };
    this.#writes[slot]?.push(write);
    return write;
  }

  /** Takes the key back. */
  deregister(): void {
    if (this.isFrozen) return;
    const { number: objectNumber } = this.region;
    this.#fixture.driver.management.perform({ opcode: ManagementOpcode.DESTROY_MR, objectNumber });
    this.freeze();
  }

  /** From now on nothing may change. */
  freeze(): void {
    this.#snapshot ??= this.#buffer.bytes.slice();
  }

  /** A new key was given away; a sentence when something has changed before. */
  thaw(): string | undefined {
    const wrong = this.findWrong();
    this.#snapshot = undefined;
    return wrong;
  }

  /** A sentence about a byte that cannot be there. */
  findWrong(): string | undefined {
    const { bytes } = this.#buffer;
    if (this.#snapshot !== undefined) {
      const changed = findDifference(bytes, this.#snapshot);
      if (changed >= 0) return `byte ${changed} changed after its key was taken back`;
    }
    if (findDifference(bytes, this.#constant, SLOTS * this.slotBytes) >= 0) return 'memory nobody writes has changed';
    for (let slot = 0; slot < SLOTS; slot++) {
      const wrong = this.#findWrongInSlot(slot);
      if (wrong !== undefined) return wrong;
    }
    return undefined;
  }

  #findWrongInSlot(slot: number): string | undefined {
    const writes = this.#writes[slot] ?? [];
    const bytes = this.#buffer.bytes.subarray(slot * this.slotBytes, (slot + 1) * this.slotBytes);
    for (let index = 0; index < bytes.length; index++)
      if (!mayHold(writes, index, bytes[index] as number)) return `slot ${slot}, byte ${index} is ${bytes[index]}`;
    return undefined;
  }
}

/** A byte is that of the last write known to be executed, or of one posted after it; zero as long as it may be that there was none. */
function mayHold(writes: readonly PostedWrite[], index: number, byte: number): boolean {
  for (let at = writes.length - 1; at >= 0; at--) {
    const { content, done } = writes[at] as PostedWrite;
    if (index >= content.length) continue;
    if (content[index] === byte) return true;
    if (done) return false;
  }
  return byte === 0;
}

export type { PostedWrite };
