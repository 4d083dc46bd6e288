// SPDX-License-Identifier: Apache-2.0
/**
 * The driver's side of a queue pair for tests: creates it, moves it through its states, posts
 * requests of one or several blocks as the Linux driver does, and rings its doorbell.
 */
import { swapBytes } from '../../../../protocol/layout/dwords.ts';
import {
  type AddressVector,
  encodeAddressVector,
  newAddressVector,
} from '../../../../protocol/mlx5/gen/address-vector.gen.ts';
import { type Ads, encodeAds, newAds } from '../../../../protocol/mlx5/gen/ads.gen.ts';
import { encodeAtomicSeg } from '../../../../protocol/mlx5/gen/atomic-seg.gen.ts';
import { DOORBELL_OFFSET, SEND_BLOCK_BYTES, UAR_PAGE_BYTES } from '../../../../protocol/mlx5/gen/constants.gen.ts';
import { CREATE_QP_IN_QPC_OFFSET, CREATE_QP_IN_SIZE } from '../../../../protocol/mlx5/gen/create-qp-in.gen.ts';
import { getCreateQpOutQpn } from '../../../../protocol/mlx5/gen/create-qp-out.gen.ts';
import { encodeCtrlSeg, newCtrlSeg } from '../../../../protocol/mlx5/gen/ctrl-seg.gen.ts';
import { encodeDataSeg } from '../../../../protocol/mlx5/gen/data-seg.gen.ts';
import {
  setDoorbellRecordReceiveCounter,
  setDoorbellRecordSendCounter,
} from '../../../../protocol/mlx5/gen/doorbell-record.gen.ts';
import {
  decodeQpc,
  encodeQpc,
  newQpc,
  QPC_PRIMARY_ADDRESS_PATH_OFFSET,
  type Qpc,
} from '../../../../protocol/mlx5/gen/qpc.gen.ts';
import { QUERY_QP_OUT_QPC_OFFSET, QUERY_QP_OUT_SIZE } from '../../../../protocol/mlx5/gen/query-qp-out.gen.ts';
import { encodeRemoteAddressSeg } from '../../../../protocol/mlx5/gen/remote-address-seg.gen.ts';
import {
  RST2INIT_QP_IN_QPC_OFFSET,
  RST2INIT_QP_IN_SIZE,
  setRst2initQpInOptParamMask,
  setRst2initQpInQpn,
} from '../../../../protocol/mlx5/gen/rst2init-qp-in.gen.ts';
import {
  CommandOpcode,
  CompletionMode,
  PathMtu,
  QpService,
  ReceiveQueueType,
} from '../../../../protocol/mlx5/gen/values.gen.ts';
import { encodeXrcSeg } from '../../../../protocol/mlx5/gen/xrc-seg.gen.ts';
import { writePages } from '../../../personality/mlx5/memory/page-list.ts';
import { LIST_END_KEY } from '../../../personality/shared/receive-elements.ts';
import { COUNTER_MASK } from '../../../personality/shared/receive-queue.ts';
import type { Piece, RequestWork } from '../../machine/personality-driver.ts';
import type { Mlx5DriverCompletionQueue } from './completion-queue.ts';
import { CommandError, type Mlx5Answer, type Mlx5Driver } from './mlx5-driver.ts';

/** Entries of the receive queue and blocks of the send queue. */
export const LOG_ENTRIES = 4;
const ENTRIES = 2 ** LOG_ENTRIES;
/** Receives of 64 bytes: four pieces. */
const RECEIVE_STRIDE = 2;
const RECEIVE_BYTES = 64;
const PAGE_BYTES = 4096;
const UNIT_BYTES = 16;
const RECORD_BYTES = 8;
const DWORD_BYTES = 4;
const FIRST_PSN = 100;

/** A send request; fields that its opcode does not need are left out. */
export interface SendWork extends RequestWork {
  /** Destination of a datagram, and its GID. */
  readonly to?: Partial<AddressVector>;
  readonly gid?: Uint8Array;
  /** Shared receive queue of the other end of XRC. */
  readonly srqn?: number;
  readonly completion?: number;
  readonly solicited?: 0 | 1;
  readonly fence?: number;
  readonly immediate?: number;
  /** Bytes that replace everything after the control piece. */
  readonly raw?: Uint8Array;
}

export interface QueuePairSetup {
  readonly service?: number;
  readonly cq: Mlx5DriverCompletionQueue;
  readonly uar: number;
  readonly pd: number;
  readonly context?: Partial<Qpc>;
}

export class Mlx5DriverQueuePair {
  readonly number: number;
  readonly setup: QueuePairSetup;
  readonly record: number;
  readonly queue: number;
  readonly #driver: Mlx5Driver;
  readonly #context: Qpc;
  /** Offset of the send queue in the memory of the queues. */
  readonly sendAt: number;
  /** Blocks and receives that were posted. */
  #blocks = 0;
  #received = 0;

  /** Creates the QP in RESET. */
  constructor(driver: Mlx5Driver, setup: QueuePairSetup) {
    const { cq, service = QpService.RC, uar, pd, context = {} } = setup;
    this.#driver = driver;
    this.setup = setup;
    this.record = driver.allocate(RECORD_BYTES, RECORD_BYTES);
    this.queue = driver.allocate(PAGE_BYTES);
    this.#context = {
      ...newQpc(),
      st: service,
      mtu: PathMtu.MTU_4096,
      logMsgMax: 30,
      logRqSize: LOG_ENTRIES,
      logRqStride: RECEIVE_STRIDE,
      logSqSize: LOG_ENTRIES,
      rqType: ReceiveQueueType.OWN,
      uarPage: uar,
      cqnSnd: cq.number,
      cqnRcv: cq.number,
      dbrAddr: this.record,
      retryCount: 7,
      rnrRetry: 7,
      logSraMax: 2,
      logRraMax: 2,
      minRnrNak: 12,
      rre: 1,
      rwe: 1,
      rae: 1,
      qKey: 0x1234,
      pd,
      ...context,
    };
    this.sendAt = this.#context.rqType === ReceiveQueueType.OWN ? ENTRIES * RECEIVE_BYTES : 0;
    const output = driver.expect(CommandOpcode.CREATE_QP, {
      inputBytes: CREATE_QP_IN_SIZE + RECORD_BYTES,
      fill: (view) => {
        encodeQpc(view, CREATE_QP_IN_QPC_OFFSET, this.#context);
        writePages(view, CREATE_QP_IN_SIZE, [this.queue]);
      },
    });
    this.number = getCreateQpOutQpn(output, 0);
  }

  /**
   * Moves the QP to RTS, connected to `remoteQpn` at `lid` unless its service is UD. `psn`: the
   * first one of both ends.
   */
  start(remoteQpn: number, lid: number, path: Partial<Ads> = {}, psn = FIRST_PSN): void {
    const ads = { rlid: lid, vhcaPortNum: 1, ackTimeout: 14, ...path };
    for (const opcode of [CommandOpcode.RST2INIT_QP, CommandOpcode.INIT2RTR_QP, CommandOpcode.RTR2RTS_QP]) {
      const { status } = this.move(opcode, { remoteQpn, nextRcvPsn: psn, nextSendPsn: psn }, ads);
      if (status !== 0) throw new CommandError(`transition 0x${opcode.toString(16)}: status ${status}`);
    }
  }

  move(opcode: number, fields: Partial<Qpc> = {}, path: Partial<Ads> = {}, mask = 0): Mlx5Answer {
    return this.#driver.command(opcode, {
      inputBytes: RST2INIT_QP_IN_SIZE,
      fill: (view) => {
        setRst2initQpInQpn(view, 0, this.number);
        setRst2initQpInOptParamMask(view, 0, mask);
        encodeQpc(view, RST2INIT_QP_IN_QPC_OFFSET, { ...this.#context, ...fields });
        encodeAds(view, RST2INIT_QP_IN_QPC_OFFSET + QPC_PRIMARY_ADDRESS_PATH_OFFSET, {
          ...newAds(),
          vhcaPortNum: 1,
          ...path,
        });
      },
    });
  }

  /** Executes a command whose only field is the number: to ERR, to RESET, destruction. */
  command(opcode: number): Mlx5Answer {
    return this.#driver.command(opcode, { fill: (view) => setRst2initQpInQpn(view, 0, this.number) });
  }

  /** To RESET; the queues are empty again. */
  reset(): void {
    this.command(CommandOpcode.QP_2RST);
    this.#blocks = 0;
    this.#received = 0;
    this.#recordView().setBigUint64(0, 0n);
  }

  query(): Qpc {
    const output = this.#driver.expect(CommandOpcode.QUERY_QP, {
      outputBytes: QUERY_QP_OUT_SIZE,
      fill: (view) => setRst2initQpInQpn(view, 0, this.number),
    });
    return decodeQpc(output, QUERY_QP_OUT_QPC_OFFSET, newQpc());
  }

  /** Posts a receive with up to four pieces; a shorter list ends with its key. */
  postReceive(...pieces: readonly Piece[]): void {
    const at = this.queue + (this.#received % ENTRIES) * RECEIVE_BYTES;
    writeReceive(this.#driver.memory.view(at, RECEIVE_BYTES), 0, RECEIVE_BYTES, pieces);
    this.#received = (this.#received + 1) & COUNTER_MASK;
    setDoorbellRecordReceiveCounter(this.#recordView(), 0, this.#received);
  }

  /** Posts requests and rings the doorbell; returns the block at which each begins. */
  post(...works: readonly SendWork[]): number[] {
    const first = works.map((work) => this.write(work));
    this.ring();
    return first;
  }

  /** Writes a request without ringing the doorbell. */
  write(work: SendWork): number {
    const request = this.#compose(work);
    const first = this.#blocks;
    const blocks = Math.ceil(request.length / SEND_BLOCK_BYTES);
    for (let at = 0; at < request.length; at++) {
      const place = ((first * SEND_BLOCK_BYTES + at) % (ENTRIES * SEND_BLOCK_BYTES)) + this.sendAt;
      this.#driver.memory.view(this.queue + place, 1).setUint8(0, request[at]);
    }
    this.#blocks = (first + blocks) & COUNTER_MASK;
    return first;
  }

  /** Writes the counter of posted blocks, or another one, into the record, and rings. */
  ring(counter = this.#blocks, uar = this.setup.uar): void {
    setDoorbellRecordSendCounter(this.#recordView(), 0, counter);
    const qpn = swapBytes((this.number << 8) >>> 0);
    this.#driver.port.writeRegister(uar * UAR_PAGE_BYTES + DOORBELL_OFFSET, 2 * DWORD_BYTES, 0, qpn);
  }

  /** Writes the next request at another block. */
  continueAt(block: number): void {
    this.#blocks = block;
  }

  /** Blocks that were written. */
  get blocks(): number {
    return this.#blocks;
  }

  #recordView(): DataView {
    return this.#driver.memory.view(this.record, RECORD_BYTES);
  }

  #compose(work: SendWork): Uint8Array {
    const bytes = new Uint8Array(16 * SEND_BLOCK_BYTES);
    const view = new DataView(bytes.buffer);
    let at = UNIT_BYTES;
    const { to, srqn, remote, atomic, pieces = [], inline, raw, gid } = work;
    if (to !== undefined) {
      encodeAddressVector(view, at, { ...newAddressVector(), extended: 1, ...to });
      if (gid !== undefined) bytes.set(gid, at + 0x20);
      at += 0x30;
    }
    if (srqn !== undefined) {
      encodeXrcSeg(view, at, { xrcSrqn: srqn });
      at += UNIT_BYTES;
    }
    if (remote !== undefined) {
      encodeRemoteAddressSeg(view, at, { address: remote.address, rkey: remote.key });
      at += UNIT_BYTES;
    }
    if (atomic !== undefined) {
      const [swapOrAdd, compare] = atomic;
      encodeAtomicSeg(view, at, { swapOrAdd, compare });
      at += UNIT_BYTES;
    }
    for (const piece of pieces) {
      writePiece(view, at, piece);
      at += UNIT_BYTES;
    }
    if (inline !== undefined) {
      view.setUint32(at, (0x80000000 | inline.length) >>> 0);
      bytes.set(inline, at + DWORD_BYTES);
      at = Math.ceil((at + DWORD_BYTES + inline.length) / UNIT_BYTES) * UNIT_BYTES;
    }
    if (raw !== undefined) {
      bytes.set(raw, at);
      at += raw.length;
    }
    const { opcode, completion = CompletionMode.ALWAYS, solicited = 0, fence = 0, immediate = 0 } = work;
    const head = { opcode, completion, solicited, fence, immediate, wqeIndex: this.#blocks, qpn: this.number };
    encodeCtrlSeg(view, 0, { ...newCtrlSeg(), ...head, ds: at / UNIT_BYTES });
    return bytes.slice(0, at);
  }
}

/** Writes a receive of `sizeBytes`, whose pieces begin at `from`. */
export function writeReceive(view: DataView, from: number, sizeBytes: number, pieces: readonly Piece[]): void {
  let at = from;
  for (const piece of pieces) {
    writePiece(view, at, piece);
    at += UNIT_BYTES;
  }
  if (at < sizeBytes) writePiece(view, at, { key: LIST_END_KEY, address: 0, byteCount: 0 });
}

function writePiece(view: DataView, at: number, { key, address, byteCount }: Piece): void {
  encodeDataSeg(view, at, { inline: 0, byteCount, lkey: key, address });
}
