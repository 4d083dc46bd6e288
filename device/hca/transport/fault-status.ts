// SPDX-License-Identifier: Apache-2.0
/**
 * Completion statuses of faults and NAK codes (IBTA 11.6.2, 9.9.2.2), for datagrams and connections
 * alike. Called wherever the transport posts an error completion.
 */
import { NakCode } from '../../../protocol/infiniband/gen/values.gen.ts';
import { CompletionStatus, FaultKind, SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import { CHANGE_KEY } from '../function/request-opcodes.ts';

/**
 * Status of a send command that was not executed because of `fault`. Operations on keys have a
 * status of their own, unless the command is malformed (IBTA 11.6.2, memory management operation
 * error).
 */
export function sendStatus(fault: FaultKind, opcode: number): CompletionStatus {
  if (opcode === SendOpcode.BIND_WINDOW) return CompletionStatus.WINDOW_BIND_ERROR;
  const isOnKeys =
    opcode === SendOpcode.LOCAL_INVALIDATE || opcode === SendOpcode.FAST_REGISTER || opcode === CHANGE_KEY;
  switch (fault) {
    case FaultKind.KEY_STATE:
      return isOnKeys ? CompletionStatus.WINDOW_BIND_ERROR : CompletionStatus.LOCAL_QP_OPERATION_ERROR;
    case FaultKind.COMMAND_LENGTH:
      return CompletionStatus.LOCAL_LENGTH_ERROR;
    case FaultKind.KEY_INVALID:
    case FaultKind.KEY_PD:
    case FaultKind.KEY_BOUNDS:
    case FaultKind.KEY_ACCESS:
    case FaultKind.DMA_READ:
      return isOnKeys ? CompletionStatus.WINDOW_BIND_ERROR : CompletionStatus.LOCAL_PROTECTION_ERROR;
    default:
      return CompletionStatus.LOCAL_QP_OPERATION_ERROR;
  }
}

/** Status of a receive WQE that could not take its message because of `fault`. */
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

/** Status of the request that a NAK with `code` ends (IBTA 9.9.2.2). */
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
