// SPDX-License-Identifier: Apache-2.0
/**
 * The driver's side of a queue pair that acts as QP0 or QP1, with a CQ and doorbell records of its
 * own. Tests post requests and take completions with it.
 */

import { GRH_SIZE } from '../../../../protocol/infiniband/gen/grh.gen.ts';
import { type Completion, decodeCompletion, newCompletion } from '../../../../protocol/mthca/gen/completion.gen.ts';
import { SEND_DOORBELL_OFFSET, UAR_PAGE_BYTES } from '../../../../protocol/mthca/gen/constants.gen.ts';
import { encodeCqContext, newCqContext } from '../../../../protocol/mthca/gen/cq-context.gen.ts';
import { encodeDataSegment } from '../../../../protocol/mthca/gen/data-segment.gen.ts';
import {
  decodeErrorCompletion,
  type ErrorCompletion,
  newErrorCompletion,
} from '../../../../protocol/mthca/gen/error-completion.gen.ts';
import { encodeQpContext, newQpContext } from '../../../../protocol/mthca/gen/qp-context.gen.ts';
import { encodeQpPath, newQpPath } from '../../../../protocol/mthca/gen/qp-path.gen.ts';
import { encodeRawSegment, newRawSegment } from '../../../../protocol/mthca/gen/raw-segment.gen.ts';
import { encodeSendDoorbell } from '../../../../protocol/mthca/gen/send-doorbell.gen.ts';
import { CommandOpcode, QpService } from '../../../../protocol/mthca/gen/values.gen.ts';
import { type MadAddress, writeMadPacket } from '../../../fabric/agents/mad-packet.ts';
import { COUNTER_MASK } from '../../../personality/shared/receive-queue.ts';
import type { Random } from '../../../random.ts';
import type { MthcaDriver } from './mthca-driver.ts';
import { PD, UARC_BASE } from './profile.ts';

const UAR = 1;
const ENTRIES = 4;
const LOG_ENTRIES = 2;
/** Strides of 128 bytes, and of 64. */
const SEND_STRIDE = 3;
const SEND_BYTES = 128;
const RECEIVE_STRIDE = 2;
const RECEIVE_BYTES = 64;
const SEND_AT = 0x400;
const CQ_ENTRIES = 32;
const ENTRY_BYTES = 32;
const OWNED_BY_HARDWARE = 0x80;
/** Bytes of a slot: GRH and datagram. */
const MESSAGE_BYTES = 296;
const CRC_BYTES = 6;
const ICRC_BYTES = 4;
const QKEY = 0x80010000;
const PACKET_BYTES = 512;

export class MthcaDriverQueuePair {
  readonly number: number;
  readonly #driver: MthcaDriver;
  readonly #queue: number;
  readonly #queueKey: number;
  readonly #data: number;
  readonly #dataKey: number;
  readonly #completions: number;
  readonly #record: number;
  #sent = 0;
  #posted = 0;
  #consumed = 0;

  /** Creates the QP and its CQ, and moves it to RTS. */
  constructor(driver: MthcaDriver, number: number, port: number) {
    this.number = number;
    this.#driver = driver;
    this.#queue = driver.allocate(0x1000);
    this.#queueKey = driver.createRegion(this.#queue, 0x1000);
    this.#data = driver.allocate(0x2000);
    this.#dataKey = driver.createRegion(this.#data, 0x2000);
    this.#completions = driver.allocate(0x1000);
    this.#record = 2 * number;
    const cqn = 128 + number;
    this.#giveCompletionQueue(cqn);
    const context = new Uint8Array(0x200);
    const view = new DataView(context.buffer);
    view.setUint32(0, 0);
    encodeQpContext(view, 8, {
      ...newQpContext(),
      service: QpService.MLX,
      logSendEntries: LOG_ENTRIES,
      sendStride: SEND_STRIDE,
      logReceiveEntries: LOG_ENTRIES,
      receiveStride: RECEIVE_STRIDE,
      sendQueueOffset: SEND_AT,
      uar: UAR,
      pd: PD,
      queueKey: this.#queueKey,
      signalsAll: 1,
      sendCqn: cqn,
      receiveCqn: cqn,
      receiveRecord: this.#record,
      qkey: QKEY,
    });
    encodeQpPath(view, 8 + 0x20, { ...newQpPath(), port });
    this.#setRecord(this.#record, 0);
    for (const opcode of [CommandOpcode.RST2INIT_QP, CommandOpcode.INIT2RTR_QP, CommandOpcode.RTR2RTS_QP])
      driver.expect(opcode, { input: context, modifier: number });
  }

  move(opcode: number, opcodeModifier: number): void {
    this.#driver.expect(opcode, { modifier: this.number, opcodeModifier });
  }

  sendOffset(counter: number): number {
    return SEND_AT + (counter % ENTRIES) * SEND_BYTES;
  }

  /** Posts a receive with `bytes` of room. */
  postReceive(bytes = MESSAGE_BYTES): void {
    const slot = this.#posted % ENTRIES;
    const view = this.#driver.memory.view(this.#queue + slot * RECEIVE_BYTES, RECEIVE_BYTES);
    const piece = { isInline: 0, byteCount: bytes, key: this.#dataKey, address: this.#receiveAt(slot) };
    encodeDataSegment(view, 16, piece);
    encodeDataSegment(view, 32, { isInline: 0, byteCount: 0, key: 0x100, address: 0 });
    this.#posted++;
    this.#setRecord(this.#record, this.#posted & COUNTER_MASK);
  }

  /** The datagram in the memory of a slot. */
  receivedMad(slot: number): DataView {
    return this.#driver.memory.view(this.#data + this.#receiveAt(slot) + 40, 256);
  }

  receivedMadAt(request: number): DataView {
    return this.receivedMad(request / RECEIVE_BYTES);
  }

  /** The GRH in the memory of a slot. */
  receivedRoute(slot: number): Uint8Array {
    return this.#driver.bytes(this.#data + this.#receiveAt(slot), GRH_SIZE);
  }

  send(address: MadAddress, mad: Uint8Array): void {
    this.sendAll([[address, mad]]);
  }

  /** Posts a send with a change of the packet that software has composed. */
  sendChanged(address: MadAddress, mad: Uint8Array, change: (packet: DataView) => void): void {
    change(this.#postSend(address, mad, this.#dataKey));
    this.ring(1, (this.#sent - 1) & COUNTER_MASK, 3);
  }

  /** Posts sends, rings once for all, and lets the device work. `key`: that of the data. */
  sendAll(list: readonly (readonly [MadAddress, Uint8Array])[], key = this.#dataKey): void {
    const head = this.#sent;
    for (const [address, mad] of list) this.#postSend(address, mad, key);
    this.ring(list.length, head & COUNTER_MASK, 3);
  }

  ring(count: number, head: number, size: number, page = UAR, qpn = this.number): void {
    const view = new DataView(new ArrayBuffer(8));
    encodeSendDoorbell(view, 0, { count, head, fence: 0, opcode: 10, qpn, size });
    const offset = page * UAR_PAGE_BYTES + SEND_DOORBELL_OFFSET;
    this.#driver.port.writeCollect(offset, 8, view.getInt32(0, true), view.getInt32(4, true));
    this.#driver.machine.runUntilIdle();
  }

  /** Fills the send queue with random content, now and then with valid keys. */
  scramble(random: Random): void {
    const view = this.#driver.memory.view(this.#queue + SEND_AT, ENTRIES * SEND_BYTES);
    for (let at = 0; at < view.byteLength; at += 4)
      view.setUint32(at, random.pick([0, 16, this.#dataKey, this.#queueKey, 0x80000010, random.next()]));
  }

  takeCompletions(): Completion[] {
    return this.#take((view) => decodeCompletion(view, 0, newCompletion()));
  }

  takeErrors(): ErrorCompletion[] {
    return this.#take((view) => decodeErrorCompletion(view, 0, newErrorCompletion()));
  }

  #take<T>(decode: (view: DataView) => T): T[] {
    const found: T[] = [];
    for (;;) {
      const at = this.#completions + (this.#consumed % CQ_ENTRIES) * ENTRY_BYTES;
      const view = this.#driver.memory.view(at, ENTRY_BYTES);
      if (view.getUint8(ENTRY_BYTES - 1) & OWNED_BY_HARDWARE) return found;
      found.push(decode(view));
      view.setUint8(ENTRY_BYTES - 1, OWNED_BY_HARDWARE);
      this.#consumed++;
      this.#setRecord(this.#record + 1, this.#consumed);
    }
  }

  /** Returns the packet. */
  #postSend(address: MadAddress, mad: Uint8Array, key: number): DataView {
    const slot = this.#sent % ENTRIES;
    const at = 0x1000 + slot * PACKET_BYTES;
    const room = this.#driver.memory.view(this.#data + at, PACKET_BYTES);
    const byteCount = writeMadPacket(room, 0, address, mad) - CRC_BYTES;
    const view = this.#driver.memory.view(this.#queue + this.sendOffset(this.#sent), SEND_BYTES);
    encodeRawSegment(view, 0, { ...newRawSegment(), nextSize: 3, permissiveSource: address.dlid === 0xffff ? 1 : 0 });
    encodeDataSegment(view, 16, { isInline: 0, byteCount, key, address: at });
    encodeDataSegment(view, 32, { isInline: 1, byteCount: ICRC_BYTES, key: 0, address: 0 });
    this.#sent++;
    return room;
  }

  #receiveAt(slot: number): number {
    return slot * PACKET_BYTES;
  }

  #giveCompletionQueue(cqn: number): void {
    const driver = this.#driver;
    const buffer = driver.bytes(this.#completions, CQ_ENTRIES * ENTRY_BYTES);
    for (let at = ENTRY_BYTES - 1; at < buffer.length; at += ENTRY_BYTES) buffer[at] = OWNED_BY_HARDWARE;
    const table = driver.device.hca.completionQueues;
    this.#setRecord(this.#record + 1, 0);
    if (table.get(cqn) !== undefined) driver.expect(CommandOpcode.HW2SW_CQ, { modifier: cqn, out: 0x40 });
    const bytes = new Uint8Array(0x40);
    const context = { logEntries: Math.log2(CQ_ENTRIES), completionEqn: 2, pd: PD, uar: UAR };
    const key = driver.createRegion(this.#completions, 0x1000);
    encodeCqContext(new DataView(bytes.buffer), 0, {
      ...newCqContext(),
      ...context,
      key,
      consumerRecord: this.#record + 1,
    });
    driver.expect(CommandOpcode.SW2HW_CQ, { input: bytes, modifier: cqn });
  }

  #setRecord(record: number, counter: number): void {
    const at = this.#driver.device.hca.icm.resolve(UARC_BASE + UAR * UAR_PAGE_BYTES + record * 8);
    this.#driver.memory.view(at, 8).setUint32(0, counter);
  }
}
