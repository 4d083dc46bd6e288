// SPDX-License-Identifier: Apache-2.0
/** Completion status of a send command that was not executed, by what was wrong with it (IBTA 11.6.2). */
import { CompletionStatus, FaultKind, SendOpcode } from '../../protocol/layout/gen/values.gen.ts';

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
