// SPDX-License-Identifier: Apache-2.0
/**
 * The driver's end of a send context (US 2015/0378953 abstract; docs/DOCUMENTS.md decision 9): an
 * allocator of send blocks with absolute counts of blocks sent and freed, the latter extended from
 * the 11 bits that the device returns; callbacks in the order of allocation when the blocks of a
 * packet are free; waiters for credits; restart after a halt, as in Linux's hfi1 driver.
 */
import {
  SEND_BLOCK_BYTES,
  SEND_CONTEXT_WINDOW_BYTES,
  SEND_COUNTER_MASK,
  SEND_START_OF_PACKET_OFFSET,
} from '../../../protocol/layout/gen/constants.gen.ts';
import {
  CREDIT_RETURN_SIZE,
  type CreditReturn,
  decodeCreditReturn,
  newCreditReturn,
} from '../../../protocol/layout/gen/credit-return.gen.ts';
import {
  CSR,
  CSR_SEND_CONTEXT_CONTROL_CREDIT_INTERRUPT_MASK,
  CSR_SEND_CONTEXT_CONTROL_ENABLE_MASK,
  CSR_SEND_CONTEXT_CONTROL_FORCE_MASK,
  CSR_SEND_CONTEXT_CONTROL_HALT_MASK,
  getCsrSendContextStatusState,
} from '../../../protocol/layout/gen/registers.gen.ts';
import { encodeSendControl, newSendControl, type SendControl } from '../../../protocol/layout/gen/send-control.gen.ts';
import { SendContextState } from '../../../protocol/layout/gen/values.gen.ts';
import type { HardwareAccess } from './hardware-access.ts';

const DWORD_BYTES = 4;
const STORE_BYTES = 8;
const REGISTER_BYTES = 4;
const WORDS_PER_LINE = 8;

/** One store of a packet into the PIO BAR. */
export interface SendStore {
  readonly offset: number;
  readonly low: number;
  readonly high: number;
}

interface Sent {
  /** Absolute count of freed blocks at which this packet is free. */
  readonly end: number;
  readonly onFree: (code: 'sent' | 'flushed') => void;
}

/** A send context. */
export class DriverSendContext {
  readonly number: number;
  readonly blocks: number;
  /** Line of guest memory that holds the credit word. */
  readonly line: DataView;
  /** Absolute counts of blocks sent and freed. */
  sent = 0;
  freed = 0;
  readonly #access: HardwareAccess;
  readonly #pending: Sent[] = [];
  readonly #waiters: (() => void)[] = [];
  #interrupts = false;

  constructor(access: HardwareAccess, number: number, blocks: number, line: DataView) {
    this.#access = access;
    this.number = number;
    this.blocks = blocks;
    this.line = line;
  }

  /** Blocks that may be allocated by the credits returned so far. */
  get available(): number {
    return this.blocks - (this.sent - this.freed);
  }

  get word(): CreditReturn {
    return decodeCreditReturn(this.line, (this.number % WORDS_PER_LINE) * CREDIT_RETURN_SIZE, newCreditReturn());
  }

  get state(): number {
    return getCsrSendContextStatusState(this.status);
  }

  get status(): number {
    return this.#access.readRegister(CSR.SEND_CONTEXT_STATUS + this.number * REGISTER_BYTES, REGISTER_BYTES);
  }

  /**
   * Clears counters and credit word, then enables the context. The register read keeps a PIO write
   * from overtaking the write of the control register.
   */
  enable(): void {
    this.sent = 0;
    this.freed = 0;
    const at = (this.number % WORDS_PER_LINE) * CREDIT_RETURN_SIZE;
    this.line.setUint32(at, 0, true);
    this.line.setUint32(at + 4, 0, true);
    this.control(CSR_SEND_CONTEXT_CONTROL_ENABLE_MASK);
    void this.status;
  }

  disable(): void {
    this.control(0);
  }

  halt(): void {
    this.control(CSR_SEND_CONTEXT_CONTROL_ENABLE_MASK | CSR_SEND_CONTEXT_CONTROL_HALT_MASK);
  }

  /** Forces a credit return: sets the control bit, then clears it; the rising edge counts. */
  force(): void {
    this.control(CSR_SEND_CONTEXT_CONTROL_ENABLE_MASK | CSR_SEND_CONTEXT_CONTROL_FORCE_MASK);
    this.control(CSR_SEND_CONTEXT_CONTROL_ENABLE_MASK);
  }

  /**
   * Calls `waiter` when credits return. Enables the interrupt for each return and forces one,
   * because the last credit may have returned before.
   */
  wantCredits(waiter: () => void): void {
    this.#waiters.push(waiter);
    if (this.#interrupts) return;
    this.#interrupts = true;
    this.force();
  }

  /** Reads the returned credits: extends the count, calls back in order, wakes waiters. */
  refresh(): void {
    this.freed += this.readReturned();
    while (this.#pending.length > 0 && this.#pending[0].end <= this.freed) this.#pending.shift()?.onFree('sent');
    if (this.#waiters.length === 0) return;
    const waiters = this.#waiters.splice(0);
    this.#interrupts = false;
    this.control(CSR_SEND_CONTEXT_CONTROL_ENABLE_MASK);
    for (const waiter of waiters) waiter();
  }

  /**
   * Allocates blocks for a packet (LRH to payload, without CRCs). Returns the stores that write it,
   * in order; undefined if there are not enough credits.
   */
  allocate(
    packet: Uint8Array,
    control: Partial<SendControl> = {},
    onFree: Sent['onFree'] = () => {},
  ): SendStore[] | undefined {
    const bytes = STORE_BYTES + packet.length;
    const count = Math.ceil(bytes / SEND_BLOCK_BYTES);
    if (count > this.available) this.refresh();
    if (count > this.available) return undefined;
    const first = this.sent % this.blocks;
    this.sent += count;
    this.#pending.push({ end: this.sent, onFree });
    const image = new DataView(new ArrayBuffer(count * SEND_BLOCK_BYTES));
    encodeSendControl(image, 0, { ...newSendControl(), lengthDwords: bytes / DWORD_BYTES, ...control });
    new Uint8Array(image.buffer).set(packet, STORE_BYTES);
    const stores: SendStore[] = [];
    for (let at = 0; at < image.byteLength; at += STORE_BYTES) {
      const block = (first + Math.floor(at / SEND_BLOCK_BYTES)) % this.blocks;
      const inWindow = block * SEND_BLOCK_BYTES + (at % SEND_BLOCK_BYTES);
      const alias = at < SEND_BLOCK_BYTES ? SEND_START_OF_PACKET_OFFSET : 0;
      const offset = alias + this.number * SEND_CONTEXT_WINDOW_BYTES + inWindow;
      stores.push({ offset, low: image.getUint32(at, true), high: image.getUint32(at + 4, true) });
    }
    return stores;
  }

  write({ offset, low, high }: SendStore): void {
    this.#access.writePio(offset, STORE_BYTES, low, high);
  }

  /** Allocates and writes a packet; false if there are not enough credits. */
  send(packet: Uint8Array, control: Partial<SendControl> = {}, onFree?: Sent['onFree']): boolean {
    const stores = this.allocate(packet, control, onFree);
    if (stores === undefined) return false;
    for (const store of stores) this.write(store);
    return true;
  }

  /**
   * After a halt: waits until whole packets have left, disables the context, reports the flushed
   * packets, enables it again.
   */
  restart(): void {
    this.disable();
    this.#access.waitFor(() => this.state === SendContextState.DISABLED, `send context ${this.number} to drain`);
    this.refresh();
    for (const { onFree } of this.#pending.splice(0)) onFree('flushed');
    this.enable();
  }

  /** Blocks returned since the last call: one read of the word, a difference modulo the counter. */
  protected readReturned(): number {
    return (this.word.freeCounter - this.freed) & SEND_COUNTER_MASK;
  }

  protected control(bits: number): void {
    const value = bits | (this.#interrupts ? CSR_SEND_CONTEXT_CONTROL_CREDIT_INTERRUPT_MASK : 0);
    const offset = CSR.SEND_CONTEXT_CONTROL + this.number * REGISTER_BYTES;
    this.#access.writeRegister(offset, REGISTER_BYTES, value, 0);
  }
}
