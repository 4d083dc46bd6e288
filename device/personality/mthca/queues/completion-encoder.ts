// SPDX-License-Identifier: Apache-2.0
/**
 * Completions of one work queue as the transport posts them (IBTA 11.4.2.1): the filled entry
 * becomes an entry of 32 bytes, its status a syndrome, and its number the offset of the request.
 */
import { BthOpcode } from '../../../../protocol/infiniband/gen/values.gen.ts';
import {
  COMPLETION_ENTRY_SIZE,
  getCompletionEntryByteLength,
  getCompletionEntryGlobalRoute,
  getCompletionEntryHasImmediate,
  getCompletionEntryImmediate,
  getCompletionEntryOpcode,
  getCompletionEntryPathBits,
  getCompletionEntryQpn,
  getCompletionEntryQueueSequence,
  getCompletionEntryReceive,
  getCompletionEntryServiceLevel,
  getCompletionEntrySourceLid,
  getCompletionEntrySourceQpn,
  getCompletionEntryStatus,
  getCompletionEntryVendorError,
} from '../../../../protocol/layout/gen/completion-entry.gen.ts';
import { CompletionOpcode, CompletionStatus } from '../../../../protocol/layout/gen/values.gen.ts';
import {
  COMPLETION_SIZE,
  setCompletionByteCount,
  setCompletionHasRoute,
  setCompletionImmediate,
  setCompletionIsSend,
  setCompletionOpcode,
  setCompletionPathBits,
  setCompletionQpn,
  setCompletionRemoteLid,
  setCompletionRemoteQpn,
  setCompletionRequest,
  setCompletionServiceLevel,
} from '../../../../protocol/mthca/gen/completion.gen.ts';
import {
  setErrorCompletionOpcode,
  setErrorCompletionSyndrome,
  setErrorCompletionVendorSyndrome,
} from '../../../../protocol/mthca/gen/error-completion.gen.ts';
import { CompletionSyndrome, ErrorOpcode, WorkOpcode } from '../../../../protocol/mthca/gen/values.gen.ts';
import type { CompletionPort } from '../../../hca/queues/completion-port.ts';
import type { MthcaCompletionQueue } from './completion-queue.ts';

/** Work space of all queues: an entry is posted as soon as it is filled. */
const work = new Uint8Array(COMPLETION_ENTRY_SIZE);
const workView = new DataView(work.buffer);
const entry = new Uint8Array(COMPLETION_SIZE);
const entryView = new DataView(entry.buffer);

const syndromes = new Uint8Array(256).fill(CompletionSyndrome.REMOTE_ABORTED);
for (const [status, syndrome] of [
  [CompletionStatus.LOCAL_LENGTH_ERROR, CompletionSyndrome.LOCAL_LENGTH],
  [CompletionStatus.LOCAL_QP_OPERATION_ERROR, CompletionSyndrome.LOCAL_QP_OPERATION],
  [CompletionStatus.LOCAL_PROTECTION_ERROR, CompletionSyndrome.LOCAL_PROTECTION],
  [CompletionStatus.FLUSHED, CompletionSyndrome.FLUSHED],
  [CompletionStatus.WINDOW_BIND_ERROR, CompletionSyndrome.WINDOW_BIND],
  [CompletionStatus.BAD_RESPONSE_ERROR, CompletionSyndrome.BAD_RESPONSE],
  [CompletionStatus.LOCAL_ACCESS_ERROR, CompletionSyndrome.LOCAL_ACCESS],
  [CompletionStatus.REMOTE_INVALID_REQUEST_ERROR, CompletionSyndrome.REMOTE_INVALID_REQUEST],
  [CompletionStatus.REMOTE_ACCESS_ERROR, CompletionSyndrome.REMOTE_ACCESS],
  [CompletionStatus.REMOTE_OPERATION_ERROR, CompletionSyndrome.REMOTE_OPERATION],
  [CompletionStatus.RETRY_EXCEEDED, CompletionSyndrome.RETRIES_EXCEEDED],
  [CompletionStatus.RNR_RETRY_EXCEEDED, CompletionSyndrome.RNR_RETRIES_EXCEEDED],
])
  syndromes[status] = syndrome;

const sendOpcodes = new Uint8Array(256).fill(WorkOpcode.NOP);
for (const [completion, opcode] of [
  [CompletionOpcode.SEND, WorkOpcode.SEND],
  [CompletionOpcode.RDMA_WRITE, WorkOpcode.RDMA_WRITE],
  [CompletionOpcode.RDMA_READ, WorkOpcode.RDMA_READ],
  [CompletionOpcode.COMPARE_SWAP, WorkOpcode.COMPARE_AND_SWAP],
  [CompletionOpcode.FETCH_ADD, WorkOpcode.FETCH_AND_ADD],
])
  sendOpcodes[completion] = opcode;

/** A work queue that knows where its requests lie. */
interface RequestPlaces {
  /** Offset of a request, as completions name it. */
  offsetOf(number: number): number;
}

export class CompletionEncoder implements CompletionPort {
  readonly number: number;
  references = 0;
  readonly #queue: MthcaCompletionQueue;
  readonly #places: RequestPlaces;

  constructor(queue: MthcaCompletionQueue, places: RequestPlaces) {
    this.number = queue.number;
    this.#queue = queue;
    this.#places = places;
  }

  begin(): DataView {
    work.fill(0);
    return workView;
  }

  post(solicited: boolean): boolean {
    entry.fill(0);
    const isReceive = getCompletionEntryReceive(workView, 0) === 1;
    setCompletionQpn(entryView, 0, getCompletionEntryQpn(workView, 0));
    setCompletionRequest(entryView, 0, this.#places.offsetOf(getCompletionEntryQueueSequence(workView, 0)));
    const status = getCompletionEntryStatus(workView, 0);
    if (status !== CompletionStatus.SUCCESS) encodeError(status, isReceive);
    else if (isReceive) encodeReceive();
    else encodeSend();
    return this.#queue.post(entry, solicited, workView);
  }
}

function encodeSend(): void {
  setCompletionIsSend(entryView, 0, 1);
  setCompletionOpcode(entryView, 0, sendOpcodes[getCompletionEntryOpcode(workView, 0)]);
  setCompletionByteCount(entryView, 0, getCompletionEntryByteLength(workView, 0));
}

function encodeReceive(): void {
  setCompletionOpcode(entryView, 0, receiveOpcode());
  setCompletionByteCount(entryView, 0, getCompletionEntryByteLength(workView, 0));
  setCompletionImmediate(entryView, 0, getCompletionEntryImmediate(workView, 0));
  setCompletionRemoteQpn(entryView, 0, getCompletionEntrySourceQpn(workView, 0));
  setCompletionRemoteLid(entryView, 0, getCompletionEntrySourceLid(workView, 0));
  setCompletionServiceLevel(entryView, 0, getCompletionEntryServiceLevel(workView, 0));
  setCompletionHasRoute(entryView, 0, getCompletionEntryGlobalRoute(workView, 0));
  setCompletionPathBits(entryView, 0, getCompletionEntryPathBits(workView, 0));
}

/** The last packet of a message tells how it came. */
function receiveOpcode(): number {
  if (getCompletionEntryOpcode(workView, 0) === CompletionOpcode.RECEIVE_RDMA_IMMEDIATE)
    return BthOpcode.RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE;
  const hasImmediate = getCompletionEntryHasImmediate(workView, 0) === 1;
  return hasImmediate ? BthOpcode.RC_SEND_ONLY_WITH_IMMEDIATE : BthOpcode.RC_SEND_ONLY;
}

function encodeError(status: number, isReceive: boolean): void {
  setErrorCompletionSyndrome(entryView, 0, syndromes[status]);
  setErrorCompletionVendorSyndrome(entryView, 0, getCompletionEntryVendorError(workView, 0));
  setErrorCompletionOpcode(entryView, 0, isReceive ? ErrorOpcode.RECEIVE : ErrorOpcode.SEND);
}
