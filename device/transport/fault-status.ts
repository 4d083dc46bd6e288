// SPDX-License-Identifier: Apache-2.0
/** Completion statuses by fault (IBTA 11.6.2), for datagrams and connections alike. */
import { NakCode } from '../../protocol/infiniband/gen/values.gen.ts';
import { CompletionStatus, FaultKind, SendOpcode } from '../../protocol/layout/gen/values.gen.ts';

/** Of a send command that was not executed. */
export function sendStatus(fault: FaultKind, opcode: number): CompletionStatus {
  if (opcode === SendOpcode.BIND_WINDOW) return CompletionStatus.WINDOW_BIND_ERROR;
  switch (fault) {
    case FaultKind.COMMAND_LENGTH:
      return CompletionStatus.LOCAL_LENGTH_ERROR;
    case FaultKind.KEY_INVALID:
    case FaultKind.KEY_PD:
    case FaultKind.KEY_BOUNDS:
    case FaultKind.KEY_ACCESS:
    case FaultKind.DMA_READ:
      return CompletionStatus.LOCAL_PROTECTION_ERROR;
    default:
      return CompletionStatus.LOCAL_QP_OPERATION_ERROR;
  }
}

/** Completion status of a receive entry that could not take its message, by what was wrong with it. */
export function receiveStatus(fault: FaultKind): CompletionStatus {
  switch (fault) {
    case FaultKind.RECEIVE_TOO_SHORT:
      return CompletionStatus.LOCAL_LENGTH_ERROR;
    case FaultKind.RECEIVE_ENTRY:
    case FaultKind.DMA_READ:
      return CompletionStatus.LOCAL_QP_OPERATION_ERROR;
    default:
      return CompletionStatus.LOCAL_PROTECTION_ERROR;
  }
}

/** How the requester sees a NAK that ends its QP (IBTA 9.9.2.2). */
export function refusalStatus(code: number): CompletionStatus {
  switch (code) {
    case NakCode.INVALID_REQUEST:
      return CompletionStatus.REMOTE_INVALID_REQUEST_ERROR;
    case NakCode.REMOTE_ACCESS_ERROR:
      return CompletionStatus.REMOTE_ACCESS_ERROR;
    default:
      return CompletionStatus.REMOTE_OPERATION_ERROR;
  }
}
