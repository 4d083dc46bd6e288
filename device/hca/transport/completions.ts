// SPDX-License-Identifier: Apache-2.0
/**
 * Posts the CQEs of work requests (IBTA 11.4.2.1; US 9,069,485 par. 81-82). When a CQ cannot take a
 * CQE, the QP fails, because its further work could not be reported (IBTA 11.6.3.2). Called by the
 * requester's side, the responders and the send pipeline.
 */
import {
  setCompletionEntryByteLength,
  setCompletionEntryGlobalRoute,
  setCompletionEntryHasImmediate,
  setCompletionEntryHasInvalidate,
  setCompletionEntryImmediate,
  setCompletionEntryOpcode,
  setCompletionEntryPathBits,
  setCompletionEntryPkeyIndex,
  setCompletionEntryPort,
  setCompletionEntryQpn,
  setCompletionEntryQueueSequence,
  setCompletionEntryReceive,
  setCompletionEntryServiceLevel,
  setCompletionEntrySolicited,
  setCompletionEntrySourceLid,
  setCompletionEntrySourceQpn,
  setCompletionEntrySrqn,
  setCompletionEntryStatus,
  setCompletionEntryVendorError,
} from '../../../protocol/layout/gen/completion-entry.gen.ts';
import {
  CompletionOpcode,
  CompletionStatus,
  FaultKind,
  QpState,
  SendOpcode,
} from '../../../protocol/layout/gen/values.gen.ts';
import { CHANGE_KEY } from '../function/request-opcodes.ts';
import type { QueuePair } from '../queues/queue-pair.ts';

/** Completion opcode by send opcode. */
const sendCompletionOpcodes = new Uint8Array(256);
for (const [send, completion] of [
  [SendOpcode.NOP, CompletionOpcode.NOP],
  [SendOpcode.SEND, CompletionOpcode.SEND],
  [SendOpcode.SEND_IMMEDIATE, CompletionOpcode.SEND],
  [SendOpcode.SEND_INVALIDATE, CompletionOpcode.SEND],
  [SendOpcode.RDMA_WRITE, CompletionOpcode.RDMA_WRITE],
  [SendOpcode.RDMA_WRITE_IMMEDIATE, CompletionOpcode.RDMA_WRITE],
  [SendOpcode.RDMA_READ, CompletionOpcode.RDMA_READ],
  [SendOpcode.COMPARE_SWAP, CompletionOpcode.COMPARE_SWAP],
  [SendOpcode.FETCH_ADD, CompletionOpcode.FETCH_ADD],
  [SendOpcode.FLUSH, CompletionOpcode.FLUSH],
  [SendOpcode.ATOMIC_WRITE, CompletionOpcode.ATOMIC_WRITE],
  [SendOpcode.LOCAL_INVALIDATE, CompletionOpcode.LOCAL_INVALIDATE],
  [SendOpcode.FAST_REGISTER, CompletionOpcode.FAST_REGISTER],
  [SendOpcode.BIND_WINDOW, CompletionOpcode.BIND_WINDOW],
  [CHANGE_KEY, CompletionOpcode.FAST_REGISTER],
])
  sendCompletionOpcodes[send] = completion;

/**
 * Contents of the CQE of a received message. Instances are reused, so none is allocated per
 * message.
 */
export class ReceiveReport {
  status: CompletionStatus = CompletionStatus.SUCCESS;
  fault: FaultKind = FaultKind.NONE;
  opcode: CompletionOpcode = CompletionOpcode.RECEIVE;
  byteLength = 0;
  solicited = 0;
  globalRoute = 0;
  hasImmediate = 0;
  hasInvalidate = 0;
  immediate = 0;
  sourceQpn = 0;
  sourceLid = 0;
  serviceLevel = 0;
  pathBits = 0;
  port = 0;
  pkeyIndex = 0;
}

/** Posts the CQE of the send command with sequence number `sequence`. */
export function postSendCompletion(
  qp: QueuePair,
  sequence: number,
  opcode: number,
  status: CompletionStatus,
  fault: FaultKind,
  byteLength = 0,
): void {
  const view = qp.sendCq.begin();
  setCompletionEntryQpn(view, 0, qp.number);
  setCompletionEntryStatus(view, 0, status);
  setCompletionEntryOpcode(view, 0, sendCompletionOpcodes[opcode]);
  setCompletionEntryQueueSequence(view, 0, sequence);
  setCompletionEntryVendorError(view, 0, fault);
  setCompletionEntryByteLength(view, 0, byteLength);
  if (!qp.sendCq.post(status !== CompletionStatus.SUCCESS)) failOnCompletion(qp);
}

/** Posts the CQE of receive WQE `number`. */
export function postReceiveCompletion(qp: QueuePair, number: number, report: Readonly<ReceiveReport>): void {
  const view = qp.receiveCq.begin();
  setCompletionEntryQpn(view, 0, qp.number);
  setCompletionEntryStatus(view, 0, report.status);
  setCompletionEntryOpcode(view, 0, report.opcode);
  setCompletionEntryReceive(view, 0, 1);
  setCompletionEntryQueueSequence(view, 0, number);
  setCompletionEntryVendorError(view, 0, report.fault);
  setCompletionEntrySrqn(view, 0, qp.srq?.number ?? 0);
  if (report.status === CompletionStatus.SUCCESS) {
    setCompletionEntryByteLength(view, 0, report.byteLength);
    setCompletionEntrySolicited(view, 0, report.solicited);
    setCompletionEntryGlobalRoute(view, 0, report.globalRoute);
    setCompletionEntryHasImmediate(view, 0, report.hasImmediate);
    setCompletionEntryHasInvalidate(view, 0, report.hasInvalidate);
    setCompletionEntryImmediate(view, 0, report.immediate);
    setCompletionEntrySourceQpn(view, 0, report.sourceQpn);
    setCompletionEntrySourceLid(view, 0, report.sourceLid);
    setCompletionEntryServiceLevel(view, 0, report.serviceLevel);
    setCompletionEntryPathBits(view, 0, report.pathBits);
    setCompletionEntryPort(view, 0, report.port);
    setCompletionEntryPkeyIndex(view, 0, report.pkeyIndex);
  }
  const wakes = report.solicited === 1 || report.status !== CompletionStatus.SUCCESS;
  if (!qp.receiveCq.post(wakes)) failOnCompletion(qp);
}

function failOnCompletion(qp: QueuePair): void {
  if (qp.state !== QpState.ERR) qp.life.fail(qp, FaultKind.CQ_ERROR);
}
