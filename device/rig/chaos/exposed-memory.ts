// SPDX-License-Identifier: Apache-2.0
/**
 * The memory that one end of a connection exposes to the other: slots to write, a constant area to
 * read, a counter and a cell to swap. It records the writes posted to each slot, so that the oracle
 * can name a byte that no write explains. Part of `Endpoint` and `WindowKey`.
 */
import { AccessFlag, ManagementOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import type { DriverMemoryRegion } from '../driver/requests.ts';
import type { AdapterFixture, Buffer } from '../fixtures/adapter-fixture.ts';
import { FULL_ACCESS } from '../fixtures/connected-fixture.ts';
import { findDifference } from './find-difference.ts';

/** Number of slots to write. */
export const SLOTS = 3;
const CELL_BYTES = 8;
const ALL_RIGHTS = FULL_ACCESS | AccessFlag.FLUSH_GLOBAL;

/** A write that was posted to a slot. */
export interface PostedWrite {
  readonly content: Uint8Array;
  /** It is known to be executed; otherwise it may or may not have been. */
  done: boolean;
}

/** The buffer, its region, and the writes that may have been executed. */
export class ExposedMemory {
  readonly region: DriverMemoryRegion;
  readonly slotBytes: number;
  /** R_Key for the other end: that of the region or of a window. */
  rkey: number;
  readonly #fixture: AdapterFixture;
  readonly #buffer: Buffer;
  readonly #constant: Uint8Array;
  readonly #writes: PostedWrite[][] = Array.from({ length: SLOTS }, () => []);
  #snapshot: Uint8Array | undefined = undefined;

  /** `rights`: access rights beside local write; all remote rights unless given. */
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

  /** The key is invalid, so no byte may change. */
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

  /** 0 is the counter, 1 the cell to swap. */
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

  /** The bytes that a READ of the constant area returns. */
  constant(offset: number, lengthBytes: number): Uint8Array {
    return this.#constant.subarray(offset, offset + lengthBytes);
  }

  /** Notes a write to a slot that is about to be posted. */
  post(slot: number, content: Uint8Array): PostedWrite {
    const write = { content, done: false };
    this.#writes[slot]?.push(write);
    return write;
  }

  /** Destroys the region, and with it the key. */
  deregister(): void {
    if (this.isFrozen) return;
    const { number: objectNumber } = this.region;
    this.#fixture.driver.management.perform({ opcode: ManagementOpcode.DESTROY_MR, objectNumber });
    this.freeze();
  }

  /** From now on no byte may change. */
  freeze(): void {
    this.#snapshot ??= this.#buffer.bytes.slice();
  }

  /** A new key is valid. Describes a byte that changed while frozen; undefined if none. */
  thaw(): string | undefined {
    const wrong = this.findWrong();
    this.#snapshot = undefined;
    return wrong;
  }

  /** Describes a byte that no write explains; undefined if there is none. */
  findWrong(): string | undefined {
    const { bytes } = this.#buffer;
    if (this.#snapshot !== undefined) {
      const changed = findDifference(bytes, this.#snapshot);
      if (changed >= 0) return `byte ${changed} changed after its key was taken back`;
    }
    if (findDifference(bytes, this.#constant, SLOTS * this.slotBytes) >= 0)
      return 'memory that no operation writes has changed';
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

/**
 * True if the byte is that of the last write known to be executed or of a later one; zero is
 * possible until a write is known to be executed.
 */
function mayHold(writes: readonly PostedWrite[], index: number, byte: number): boolean {
  for (let at = writes.length - 1; at >= 0; at--) {
    const { content, done } = writes[at] as PostedWrite;
    if (index >= content.length) continue;
    if (content[index] === byte) return true;
    if (done) return false;
  }
  return byte === 0;
}
