// SPDX-License-Identifier: Apache-2.0
/**
 * The check of a command, collected or read from its send queue: QP, QoS level, checksum
 * (docs/DOCUMENTS.md decision 2; IBTA 10.8). Called by admission and fetcher.
 */
import {
  getSendCommandQosLevel,
  getSendCommandQpn,
  SEND_COMMAND_CHECKSUM_OFFSET,
} from '../../../protocol/layout/gen/send-command.gen.ts';
import { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import { hasCommandChecksum } from '../collect/checksum.ts';
import type { PhysicalCollectBuffer } from '../collect/physical-collect-buffer.ts';
import type { QueuePair } from '../queues/queue-pair.ts';

/** Returns the fault that forbids execution, or NONE. The length must be valid. */
export function checkCommand(qp: QueuePair, buffer: PhysicalCollectBuffer): FaultKind {
  const { view } = buffer;
  if (getSendCommandQpn(view, 0) !== qp.number) return FaultKind.COMMAND_BAD_QP;
  if (getSendCommandQosLevel(view, 0) !== qp.qosLevel) return FaultKind.COMMAND_QOS;
  if (qp.checksumOff) return FaultKind.NONE;
  const { checksumKey } = qp.creation;
  const length = buffer.collectLength;
  const right = hasCommandChecksum(
    view,
    length,
    SEND_COMMAND_CHECKSUM_OFFSET,
    checksumKey & 0xffff,
    checksumKey >>> 16,
  );
  return right ? FaultKind.NONE : FaultKind.COMMAND_CHECKSUM;
}
