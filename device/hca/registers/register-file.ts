// SPDX-License-Identifier: Apache-2.0
/**
 * The registers of one function. It handles access kinds, widths, reserved bits and reset values
 * from the layout table; units supply only side effects: a `read` hook computes a value, a `write`
 * hook acts on one. Registers take aligned accesses of 4 or 8 bytes; an 8-byte access to 32-bit
 * registers is two accesses. Reads of 1 and 2 bytes return their part of the register without its
 * side effect. Narrower or unaligned writes, and half writes to 8-byte doorbells, are dropped and
 * counted.
 */
import { joinDwords } from '../../../protocol/layout/dwords.ts';
import { CSR_SIZE, csrRegisters, type RegisterDescriptor } from '../../../protocol/layout/gen/registers.gen.ts';
import { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import { type FaultLog, NO_OBJECT } from '../function/fault-log.ts';

/** Side effects of a register; `index` counts within an array of registers. */
export interface RegisterHooks {
  /** Returns the low dword; the high one goes to `RegisterFile.high`. */
  read?(index: number): number;
  /**
   * Acts on a write. The value is the stored one with the writable bits replaced; for `wo` it is
   * the written value.
   */
  write?(index: number, low: number, high: number): void;
}

const NO_HOOKS: RegisterHooks = {};
const NONE = 0xffff;
const DWORD_BYTES = 4;

export class RegisterFile {
  /** High dword of the last 8-byte read, and where `read` hooks leave theirs. */
  high = 0;
  readonly #faults: FaultLog;
  readonly #values = new Uint32Array(CSR_SIZE / DWORD_BYTES);
  /** Descriptor of the register that owns each dword. */
  readonly #owner = new Uint16Array(CSR_SIZE / DWORD_BYTES).fill(NONE);
  readonly #hooks: RegisterHooks[];
  /** Offset of the 8-byte register whose high half was latched by reading its low half. */
  #latchedOffset = -1;
  #latchedHigh = 0;

  constructor(faults: FaultLog) {
    this.#faults = faults;
    this.#hooks = csrRegisters.map(() => NO_HOOKS);
    csrRegisters.forEach((register, position) => {
      const dwords = (register.count * register.bits) / 32;
      this.#owner.fill(position, register.offset / DWORD_BYTES, register.offset / DWORD_BYTES + dwords);
    });
    this.reset();
  }

  /** Gives the register at `offset` (of `CSR`) its side effects. */
  attach(offset: number, hooks: RegisterHooks): void {
    this.#hooks[this.#owner[offset / DWORD_BYTES]] = hooks;
  }

  /** Stored value of a register without side effects: for units that own storage registers. */
  getStored(offset: number): number {
    return this.#values[offset / DWORD_BYTES];
  }

  /** The same of a 64-bit register; exact below 2^53. */
  getStoredWide(offset: number): number {
    const slot = offset / DWORD_BYTES;
    return joinDwords(this.#values[slot], this.#values[slot + 1]);
  }

  /** Sets a storage register without its side effects. */
  setStored(offset: number, low: number, high: number): void {
    this.#values[offset / DWORD_BYTES] = low;
    this.#values[offset / DWORD_BYTES + 1] = high;
  }

  /** Every register takes its reset value. */
  reset(): void {
    this.#values.fill(0);
    this.#latchedOffset = -1;
    for (const register of csrRegisters) this.#resetRegister(register);
  }

  read(offset: number, sizeBytes: number): number {
    this.high = 0;
    if (sizeBytes === 8 && offset % 8 === 0) return this.#readEight(offset);
    if (sizeBytes === DWORD_BYTES && offset % DWORD_BYTES === 0) return this.#readDword(offset, sizeBytes);
    return this.#readPart(offset, sizeBytes);
  }

  write(offset: number, sizeBytes: number, low: number, high: number): void {
    this.#faults.duringWrite(sizeBytes, low, high);
    this.#write(offset, sizeBytes, low, high);
    this.#faults.endAccess();
  }

  #write(offset: number, sizeBytes: number, low: number, high: number): void {
    if (offset % sizeBytes !== 0 || sizeBytes < DWORD_BYTES) return this.#refuse(FaultKind.REGISTER_WIDTH, offset);
    const position = this.#owner[offset / DWORD_BYTES];
    if (sizeBytes === DWORD_BYTES) return this.#writeDword(position, offset, low);
    if (position !== NONE && csrRegisters[position].bits === 64) return this.#writeWhole(position, offset, low, high);
    this.#writeDword(position, offset, low);
    this.#writeDword(this.#owner[offset / DWORD_BYTES + 1], offset + DWORD_BYTES, high);
  }

  /** Counts a write to a place of the BAR that has no register. */
  refuse(offset: number, sizeBytes: number, low: number, high: number): void {
    this.#faults.duringWrite(sizeBytes, low, high).report(FaultKind.REGISTER_RESERVED, NO_OBJECT, offset);
  }

  #readEight(offset: number): number {
    const position = this.#owner[offset / DWORD_BYTES];
    if (position !== NONE && csrRegisters[position].bits === 64) return this.#readWhole(position, offset);
    const low = this.#readDword(offset, 8);
    const high = this.#readDword(offset + DWORD_BYTES, 8);
    this.high = high;
    return low;
  }

  /**
   * A 4-byte read of the low half of an 8-byte register latches its high half, so that two reads
   * return one value. `sizeBytes`: size of the whole access.
   */
  #readDword(offset: number, sizeBytes: number): number {
    const position = this.#owner[offset / DWORD_BYTES];
    if (position === NONE) {
      this.#faults.duringRead(sizeBytes).report(FaultKind.REGISTER_RESERVED, NO_OBJECT, offset);
      return 0;
    }
    const register = csrRegisters[position];
    if (register.bits === 32) return this.#readWhole(position, offset);
    if (offset % 8 === 0) {
      const low = this.#readWhole(position, offset);
      this.#latchedOffset = offset;
      this.#latchedHigh = this.high;
      this.high = 0;
      return low;
    }
    const high = this.#takeHigh(position, offset);
    this.high = 0;
    return high;
  }

  #takeHigh(position: number, offset: number): number {
    if (this.#latchedOffset === offset - DWORD_BYTES) {
      this.#latchedOffset = -1;
      return this.#latchedHigh;
    }
    this.#readWhole(position, offset - DWORD_BYTES);
    return this.high;
  }

  #readWhole(position: number, offset: number): number {
    const register = csrRegisters[position];
    const hook = this.#hooks[position];
    this.high = 0;
    if (hook.read !== undefined) return hook.read(indexOf(register, offset)) >>> 0;
    if (register.access === 'wo') return 0;
    if (register.bits === 64) this.high = this.#values[offset / DWORD_BYTES + 1];
    return this.#values[offset / DWORD_BYTES];
  }

  #readPart(offset: number, sizeBytes: number): number {
    const aligned = offset - (offset % DWORD_BYTES);
    const position = this.#owner[aligned / DWORD_BYTES];
    const crosses = (offset % DWORD_BYTES) + sizeBytes > DWORD_BYTES;
    if (crosses || (position !== NONE && csrRegisters[position].access === 'rc')) {
      this.#faults.duringRead(sizeBytes).report(FaultKind.REGISTER_WIDTH, NO_OBJECT, offset);
      return 0;
    }
    const shifted = this.#readDword(aligned, sizeBytes) >>> ((offset % DWORD_BYTES) * 8);
    return sizeBytes === 1 ? shifted & 0xff : shifted & 0xffff;
  }

  #writeDword(position: number, offset: number, value: number): void {
    if (position === NONE) return this.#refuse(FaultKind.REGISTER_RESERVED, offset);
    const register = csrRegisters[position];
    if (register.bits === 32) return this.#writeWhole(position, offset, value, 0);
    if (register.access === 'wo') return this.#refuse(FaultKind.REGISTER_WIDTH, offset);
    const base = offset - (offset % 8);
    const low = offset === base ? value : this.#values[base / DWORD_BYTES];
    const high = offset === base ? this.#values[base / DWORD_BYTES + 1] : value;
    this.#writeWhole(position, base, low, high);
  }

  #writeWhole(position: number, offset: number, low: number, high: number): void {
    const register = csrRegisters[position];
    const hook = this.#hooks[position];
    const slot = offset / DWORD_BYTES;
    switch (register.access) {
      case 'ro':
        return this.#refuse(FaultKind.REGISTER_READ_ONLY, offset);
      case 'rw':
        this.#values[slot] = merge(this.#values[slot], low, register.writableLow);
        if (register.bits === 64) this.#values[slot + 1] = merge(this.#values[slot + 1], high, register.writableHigh);
        break;
      case 'w1c':
        this.#values[slot] &= ~(low & register.w1cLow);
        break;
    }
    const stored = register.access === 'rw';
    hook.write?.(
      indexOf(register, offset),
      stored ? this.#values[slot] : low,
      stored && register.bits === 64 ? this.#values[slot + 1] : high,
    );
  }

  #resetRegister(register: RegisterDescriptor): void {
    const dwords = register.bits / 32;
    for (let index = 0; index < register.count; index++) {
      this.#values[register.offset / DWORD_BYTES + index * dwords] = register.resetLow;
      if (dwords === 2) this.#values[register.offset / DWORD_BYTES + index * 2 + 1] = register.resetHigh;
    }
  }

  #refuse(kind: FaultKind, offset: number): void {
    this.#faults.report(kind, NO_OBJECT, offset);
  }
}

function indexOf(register: RegisterDescriptor, offset: number): number {
  return ((offset - register.offset) * 8) / register.bits;
}

function merge(old: number, value: number, writable: number): number {
  return ((old & ~writable) | (value & writable)) >>> 0;
}
