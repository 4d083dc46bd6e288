// SPDX-License-Identifier: Apache-2.0
/**
 * Completions of one work queue as the transport posts them (IBTA 11.4.2.1): the filled entry
 * becomes an entry of the CQ, its status a syndrome, and its number the counter by which software
 * knows the request.
 */
import {
  COMPLETION_ENTRY_SIZE,
  getCompletionEntryByteLength,
  getCompletionEntryGlobalRoute,
  getCompletionEntryHasImmediate,
  getCompletionEntryHasInvalidate,
  getCompletionEntryImmediate,
  getCompletionEntryOpcode,
  getCompletionEntryPathBits,
  getCompletionEntryPkeyIndex,
  getCompletionEntryPort,
  getCompletionEntryQpn,
  getCompletionEntryQueueSequence,
  getCompletionEntryReceive,
  getCompletionEntryServiceLevel,
  getCompletionEntrySolicited,
  getCompletionEntrySourceLid,
  getCompletionEntrySourceQpn,
  getCompletionEntrySrqn,
  getCompletionEntryStatus,
  getCompletionEntryVendorError,
} from '../../../../protocol/layout/gen/completion-entry.gen.ts';
import {
  CompletionOpcode as WorkOpcode,
  CompletionStatus as WorkStatus,
} from '../../../../protocol/layout/gen/values.gen.ts';
import {
  setCqeByteCount,
  setCqeHasRoute,
  setCqeImmediate,
  setCqeOpcode,
  setCqePathBits,
  setCqeQpn,
  setCqeRemoteLid,
  setCqeRemoteQpn,
  setCqeSendOpcode,
  setCqeServiceLevel,
  setCqeSolicited,
  setCqeSrqnOrUserIndex,
  setCqeWqeCounter,
} from '../../../../protocol/mlx5/gen/cqe.gen.ts';
import { setErrorCqeSyndrome, setErrorCqeVendorSyndrome } from '../../../../protocol/mlx5/gen/error-cqe.gen.ts';
import { CompletionOpcode, CompletionSyndrome, SendOpcode } from '../../../../protocol/mlx5/gen/values.gen.ts';
import type { CompletionPort } from '../../../hca/queues/completion-port.ts';
import type { Mlx5CompletionQueue } from './completion-queue.ts';

/** Work space of all queues: an entry is posted as soon as it is filled. */
const work = new Uint8Array(COMPLETION_ENTRY_SIZE);
const workView = new DataView(work.buffer);

const syndromes = new Uint8Array(256).fill(CompletionSyndrome.REMOTE_ABORTED);
for (const [status, syndrome] of [
  [WorkStatus.LOCAL_LENGTH_ERROR, CompletionSyndrome.LOCAL_LENGTH],
  [WorkStatus.LOCAL_QP_OPERATION_ERROR, CompletionSyndrome.LOCAL_QP],
  [WorkStatus.LOCAL_PROTECTION_ERROR, CompletionSyndrome.LOCAL_PROTECTION],
  [WorkStatus.FLUSHED, CompletionSyndrome.FLUSHED],
  [WorkStatus.WINDOW_BIND_ERROR, CompletionSyndrome.WINDOW_BIND],
  [WorkStatus.BAD_RESPONSE_ERROR, CompletionSyndrome.BAD_RESPONSE],
  [WorkStatus.LOCAL_ACCESS_ERROR, CompletionSyndrome.LOCAL_ACCESS],
  [WorkStatus.REMOTE_INVALID_REQUEST_ERROR, CompletionSyndrome.REMOTE_INVALID_REQUEST],
  [WorkStatus.REMOTE_ACCESS_ERROR, CompletionSyndrome.REMOTE_ACCESS],
  [WorkStatus.REMOTE_OPERATION_ERROR, CompletionSyndrome.REMOTE_OPERATION],
  [WorkStatus.RETRY_EXCEEDED, CompletionSyndrome.RETRIES_EXCEEDED],
  [WorkStatus.RNR_RETRY_EXCEEDED, CompletionSyndrome.RNR_RETRIES_EXCEEDED],
])
  syndromes[status] = syndrome;

/** One kind of request changes, invalidates and binds keys. Receives have the code of NOP. */
const sendOpcodes = new Uint8Array(256).fill(SendOpcode.NOP);
for (const [completion, opcode] of [
  [WorkOpcode.SEND, SendOpcode.SEND],
  [WorkOpcode.RDMA_WRITE, SendOpcode.WRITE],
  [WorkOpcode.RDMA_READ, SendOpcode.READ],
  [WorkOpcode.COMPARE_SWAP, SendOpcode.COMPARE_SWAP],
  [WorkOpcode.FETCH_ADD, SendOpcode.FETCH_ADD],
  [WorkOpcode.LOCAL_INVALIDATE, SendOpcode.UMR],
  [WorkOpcode.FAST_REGISTER, SendOpcode.UMR],
  [WorkOpcode.BIND_WINDOW, SendOpcode.UMR],
])
  sendOpcodes[completion] = opcode;

/** A work queue that knows how software counts its requests. */
export interface RequestPlaces {
  /** Counter of a request: the first block of a send, the index of a receive. */
  counterOf(number: number): number;
}

/** What completions say of their queue beside its QPN. */
export interface CompletionIdentity {
  /** Number of the form of version 1; undefined: the form of version 0 names the SRQ. */
  readonly userIndex?: number;
  /** Ports of datagrams, whose P_Keys completions tell; undefined: of no datagrams. */
  readonly ports?: readonly { readonly pkeys: Uint16Array }[];
}

export class CompletionEncoder implements CompletionPort {
  readonly number: number;
  references = 0;
  readonly #queue: Mlx5CompletionQueue;
  readonly #places: RequestPlaces;
  readonly #userIndex: number | undefined;
  readonly #ports: CompletionIdentity['ports'];

  constructor(queue: Mlx5CompletionQueue, places: RequestPlaces, { userIndex, ports }: CompletionIdentity = {}) {
    this.number = queue.number;
    this.#queue = queue;
    this.#places = places;
    this.#userIndex = userIndex;
    this.#ports = ports;
  }

  begin(): DataView {
    work.fill(0);
    return workView;
  }

  post(solicited: boolean): boolean {
    const view = this.#queue.begin();
    const isReceive = getCompletionEntryReceive(workView, 0) === 1;
    const status = getCompletionEntryStatus(workView, 0);
    setCqeQpn(view, 0, getCompletionEntryQpn(workView, 0));
    setCqeWqeCounter(view, 0, this.#places.counterOf(getCompletionEntryQueueSequence(workView, 0)));
    setCqeSrqnOrUserIndex(view, 0, this.#userIndex ?? getCompletionEntrySrqn(workView, 0));
    setCqeSendOpcode(view, 0, sendOpcodes[getCompletionEntryOpcode(workView, 0)]);
    if (status !== WorkStatus.SUCCESS) encodeError(view, status, isReceive);
    else {
      this.#queue.stamp();
      setCqeByteCount(view, 0, getCompletionEntryByteLength(workView, 0));
      if (isReceive) this.#encodeReceive(view);
    }
    return this.#queue.post(solicited, workView);
  }

  #encodeReceive(view: DataView): void {
    const opcode = receiveOpcode();
    setCqeOpcode(view, 0, opcode);
    setCqeImmediate(
      view,
      0,
      opcode === CompletionOpcode.SEND ? this.#pkey() : getCompletionEntryImmediate(workView, 0),
    );
    setCqeRemoteQpn(view, 0, getCompletionEntrySourceQpn(workView, 0));
    setCqeRemoteLid(view, 0, getCompletionEntrySourceLid(workView, 0));
    setCqeServiceLevel(view, 0, getCompletionEntryServiceLevel(workView, 0));
    setCqeHasRoute(view, 0, getCompletionEntryGlobalRoute(workView, 0));
    setCqePathBits(view, 0, getCompletionEntryPathBits(workView, 0));
    setCqeSolicited(view, 0, getCompletionEntrySolicited(workView, 0));
  }

  /** The P_Key of a datagram: the driver of Linux looks it up itself, for QP1. */
  #pkey(): number {
    const port = this.#ports?.[getCompletionEntryPort(workView, 0) - 1];
    return port === undefined ? 0 : port.pkeys[getCompletionEntryPkeyIndex(workView, 0)];
  }
}

function receiveOpcode(): CompletionOpcode {
  if (getCompletionEntryOpcode(workView, 0) === WorkOpcode.RECEIVE_RDMA_IMMEDIATE)
    return CompletionOpcode.WRITE_IMMEDIATE;
  if (getCompletionEntryHasInvalidate(workView, 0) === 1) return CompletionOpcode.SEND_INVALIDATE;
  return getCompletionEntryHasImmediate(workView, 0) === 1 ? CompletionOpcode.SEND_IMMEDIATE : CompletionOpcode.SEND;
}

function encodeError(view: DataView, status: number, isReceive: boolean): void {
  setCqeOpcode(view, 0, isReceive ? CompletionOpcode.RESPONSE_ERROR : CompletionOpcode.REQUEST_ERROR);
  setErrorCqeSyndrome(view, 0, syndromes[status]);
  setErrorCqeVendorSyndrome(view, 0, getCompletionEntryVendorError(workView, 0));
}
