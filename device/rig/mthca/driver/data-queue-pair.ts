// SPDX-License-Identifier: Apache-2.0
/**
 * The driver's side of an RC, UC or UD queue pair for tests: moves it through its states, posts
 * requests as the Linux driver does, and rings its doorbell.
 */
import { encodeAtomicSegment } from '../../../../protocol/mthca/gen/atomic-segment.gen.ts';
import { SEND_DOORBELL_OFFSET, UAR_PAGE_BYTES } from '../../../../protocol/mthca/gen/constants.gen.ts';
import { encodeDataSegment } from '../../../../protocol/mthca/gen/data-segment.gen.ts';
import {
  copyDatagramSegmentGidFrom,
  type DatagramSegment,
  encodeDatagramSegment,
  newDatagramSegment,
} from '../../../../protocol/mthca/gen/datagram-segment.gen.ts';
import {
  encodeNextSegment,
  newNextSegment,
  setNextSegmentNextFence,
  setNextSegmentNextOpcode,
  setNextSegmentNextSize,
} from '../../../../protocol/mthca/gen/next-segment.gen.ts';
import { encodeQpContext, newQpContext, type QpContext } from '../../../../protocol/mthca/gen/qp-context.gen.ts';
import { encodeQpPath, newQpPath, type QpPath } from '../../../../protocol/mthca/gen/qp-path.gen.ts';
import { encodeRemoteSegment } from '../../../../protocol/mthca/gen/remote-segment.gen.ts';
import { encodeSendDoorbell } from '../../../../protocol/mthca/gen/send-doorbell.gen.ts';
import { CommandOpcode, QpParameterFlag, QpService } from '../../../../protocol/mthca/gen/values.gen.ts';
import { LIST_END_KEY } from '../../../personality/shared/receive-elements.ts';
import { COUNTER_MASK } from '../../../personality/shared/receive-queue.ts';
import type { Piece, RequestWork } from '../../machine/personality-driver.ts';
import type { MthcaDriverCompletionQueue } from './completion-queue.ts';
import type { MthcaDriver } from './mthca-driver.ts';
import { PD } from './profile.ts';

export const LOG_ENTRIES = 4;
const ENTRIES = 2 ** LOG_ENTRIES;
/** Strides of 256 bytes for sends, of 64 for receives. */
const SEND_STRIDE = 4;
const SEND_BYTES = 256;
const RECEIVE_STRIDE = 2;
const RECEIVE_BYTES = 64;
const SEND_AT = ENTRIES * RECEIVE_BYTES;
const QUEUE_BYTES = 0x2000;
const UNIT_BYTES = 16;
const CONTEXT_AT = 8;
const PATH_AT = CONTEXT_AT + 0x20;

/** A send request; fields that its opcode does not need are left out. */
export interface SendWork extends RequestWork {
  /** Address vector of a datagram, its destination, and its GID. */
  readonly to?: Partial<DatagramSegment>;
  readonly gid?: Uint8Array;
  readonly signaled?: 0 | 1;
  readonly solicited?: 0 | 1;
  readonly fence?: 0 | 1;
  readonly immediate?: number;
}

/** Parts and attributes of a queue pair. */
export interface QueuePairSetup {
  readonly number: number;
  readonly service?: number;
  readonly port?: number;
  readonly cq: MthcaDriverCompletionQueue;
  readonly uar?: number;
  readonly pd?: number;
  /** First of two doorbell records. */
  readonly record: number;
  readonly context?: Partial<QpContext>;
}

const ALL_PARAMETERS = Object.values(QpParameterFlag).reduce((all, flag) => all | flag, 0);

export class DriverDataQueuePair {
  readonly number: number;
  readonly setup: QueuePairSetup;
  readonly queue: number;
  readonly uar: number;
  readonly #driver: MthcaDriver;
  readonly #context: QpContext;
  #sent = 0;
  #rung = 0;
  #posted = 0;
  /** Opcode, size and fence of the first request without a doorbell. */
  #first: [opcode: number, size: number, fence: number] = [0, 0, 0];

  /** Creates the QP in INIT. */
  constructor(driver: MthcaDriver, setup: QueuePairSetup) {
    this.#driver = driver;
    this.setup = setup;
    this.number = setup.number;
    this.uar = setup.uar ?? 1;
    const { pd = PD } = setup;
    this.queue = driver.allocate(QUEUE_BYTES);
    this.#context = {
      ...newQpContext(),
      service: setup.service ?? QpService.RC,
      mtu: 4,
      logMessageBytes: 31,
      logSendEntries: LOG_ENTRIES,
      sendStride: SEND_STRIDE,
      logReceiveEntries: LOG_ENTRIES,
      receiveStride: RECEIVE_STRIDE,
      sendQueueOffset: SEND_AT,
      uar: this.uar,
      pd,
      queueKey: driver.createRegion(this.queue, QUEUE_BYTES, { pd }),
      sendCqn: setup.cq.number,
      receiveCqn: setup.cq.number,
      receiveRecord: setup.record,
      sendRecord: setup.record + 1,
      retryCount: 7,
      sendsReads: 1,
      sendsAtomics: 1,
      takesReads: 1,
      takesWrites: 1,
      takesAtomics: 1,
      logReadsIn: 2,
      logReadsOut: 2,
      rnrTimer: 1,
      qkey: 0x1234,
      ...setup.context,
    };
    driver.setRecord(this.uar, setup.record, 0);
    this.move(CommandOpcode.RST2INIT_QP);
  }

  /** Executes a transition with all parameters. */
  move(opcode: number, context: Partial<QpContext> = {}, path: Partial<QpPath> = {}): void {
    Object.assign(this.#context, context);
    const box = new Uint8Array(0x200);
    const view = new DataView(box.buffer);
    view.setUint32(0, ALL_PARAMETERS);
    encodeQpContext(view, CONTEXT_AT, this.#context);
    encodeQpPath(view, PATH_AT, {
      ...newQpPath(),
      port: this.setup.port ?? 1,
      ackTimeout: 10,
      rnrRetry: 7,
      ...path,
    });
    this.#driver.expect(opcode, { input: box, modifier: this.number });
  }

  /** Moves to RTS, connected to a QP at the port with that LID. */
  start(remoteQpn = 0, lid = 0, path: Partial<QpPath> = {}, psn = 100): void {
    this.move(CommandOpcode.INIT2RTR_QP, { remoteQpn, receivePsn: psn }, { lid, ...path });
    this.move(CommandOpcode.RTR2RTS_QP, { sendPsn: psn }, { lid, ...path });
  }

  /** From any state through RESET to INIT, with empty queues. */
  restart(): void {
    this.destroy();
    this.setup.cq.take();
    this.#sent = 0;
    this.#rung = 0;
    this.#posted = 0;
    this.#driver.setRecord(this.uar, this.setup.record, 0);
    this.move(CommandOpcode.RST2INIT_QP);
  }

  fail(): void {
    this.#driver.expect(CommandOpcode.ANY2ERR_QP, { modifier: this.number });
  }

  destroy(): void {
    this.#driver.expect(CommandOpcode.ANY2RST_QP, { modifier: this.number, opcodeModifier: 3 });
  }

  /** Offset of a request in its queue, as completions name it. */
  sendOffset(number: number): number {
    return SEND_AT + (number % ENTRIES) * SEND_BYTES;
  }

  receiveOffset(number: number): number {
    return (number % ENTRIES) * RECEIVE_BYTES;
  }

  postReceive(...pieces: readonly Piece[]): void {
    const view = this.#driver.memory.view(this.queue + this.receiveOffset(this.#posted), RECEIVE_BYTES);
    writeReceive(view, pieces);
    this.#posted++;
    this.#driver.setRecord(this.uar, this.setup.record, this.#posted & COUNTER_MASK);
  }

  /** Writes requests and rings once for all. */
  post(...list: readonly SendWork[]): void {
    for (const work of list) this.write(work);
    this.ring();
  }

  /** Writes a request, and its size and opcode into the one before it. */
  write(work: SendWork): void {
    const view = this.sendView(this.#sent);
    const size = writeSend(view, work, this.setup);
    const before = this.sendView(this.#sent + ENTRIES - 1);
    setNextSegmentNextOpcode(before, 0, work.opcode);
    setNextSegmentNextSize(before, 0, size);
    setNextSegmentNextFence(before, 0, work.fence ?? 0);
    if (this.#sent === this.#rung) this.#first = [work.opcode, size, work.fence ?? 0];
    this.#sent++;
  }

  sendView(number: number): DataView {
    return this.#driver.memory.view(this.queue + this.sendOffset(number), SEND_BYTES);
  }

  ring(): void {
    const [opcode, size, fence] = this.#first;
    this.ringRaw({ count: this.#sent - this.#rung, head: this.#rung & COUNTER_MASK, opcode, size, fence });
    this.#rung = this.#sent;
  }

  /** Stores any doorbell into the page of any user access region. */
  ringRaw(bell: { count: number; head: number; opcode: number; size: number; fence: number }, page = this.uar): void {
    const view = new DataView(new ArrayBuffer(8));
    encodeSendDoorbell(view, 0, { ...bell, qpn: this.number });
    const offset = page * UAR_PAGE_BYTES + SEND_DOORBELL_OFFSET;
    this.#driver.port.writeCollect(offset, 8, view.getInt32(0, true), view.getInt32(4, true));
  }
}

/** Writes the list of a receive; a shorter list ends with its key. */
export function writeReceive(view: DataView, pieces: readonly Piece[]): void {
  let at = UNIT_BYTES;
  for (const piece of pieces) {
    encodeDataSegment(view, at, { isInline: 0, ...piece });
    at += UNIT_BYTES;
  }
  if (at < view.byteLength) encodeDataSegment(view, at, { isInline: 0, byteCount: 0, key: LIST_END_KEY, address: 0 });
}

/** Writes a send request; returns its size in units of 16 bytes. */
export function writeSend(view: DataView, work: SendWork, { service, pd = PD }: QueuePairSetup): number {
  const { signaled = 1, solicited = 0, immediate = 0 } = work;
  encodeNextSegment(view, 0, { ...newNextSegment(), signaled, solicited, immediate });
  let at = UNIT_BYTES;
  if (service === QpService.UD) {
    encodeDatagramSegment(view, at, { ...newDatagramSegment(), pd, port: 1, ...work.to });
    if (work.gid !== undefined) copyDatagramSegmentGidFrom(view, at, work.gid, 0);
    at += 48;
  }
  if (work.remote !== undefined) {
    encodeRemoteSegment(view, at, work.remote);
    at += UNIT_BYTES;
  }
  if (work.atomic !== undefined) {
    const [swapOrAddLow, compareLow] = work.atomic;
    encodeAtomicSegment(view, at, { swapOrAddHigh: 0, swapOrAddLow, compareHigh: 0, compareLow });
    at += UNIT_BYTES;
  }
  for (const piece of work.pieces ?? []) {
    encodeDataSegment(view, at, { isInline: 0, ...piece });
    at += UNIT_BYTES;
  }
  if (work.inline !== undefined) {
    view.setUint32(at, 2 ** 31 + work.inline.length);
    for (const [index, byte] of work.inline.entries()) view.setUint8(at + 4 + index, byte);
    at += Math.ceil((4 + work.inline.length) / UNIT_BYTES) * UNIT_BYTES;
  }
  return at / UNIT_BYTES;
}
