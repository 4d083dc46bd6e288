// SPDX-License-Identifier: Apache-2.0
/** Commands of shared receive queues. */
import { decodeSrqContext, newSrqContext, SRQ_CONTEXT_SIZE } from '../../../../protocol/mthca/gen/srq-context.gen.ts';
import { CommandStatus, type EventKind } from '../../../../protocol/mthca/gen/values.gen.ts';
import { KeyRight } from '../../shared/key-rights.ts';
import { REQUEST_UNIT_BYTES } from '../memory/queue-buffer.ts';
import { MthcaSharedReceiveQueue } from '../queues/shared-receive-queue.ts';
import type { MthcaCommandContext } from './command-context.ts';
import { checkBuffer } from './region-commands.ts';

const LIMIT_MAX = 0xffff;

export function giveSharedReceiveQueue(context: MthcaCommandContext): CommandStatus {
  const { hca, modifier: srqn } = context;
  const free = hca.sharedReceiveQueues.checkFree(srqn);
  if (free !== CommandStatus.OK) return free;
  const read = context.readInput(SRQ_CONTEXT_SIZE);
  if (read !== CommandStatus.OK) return read;
  const srq = decodeSrqContext(context.inputView, 0, newSrqContext());
  if (srq.logEntries > hca.limits.logSrqEntries) return CommandStatus.EXCEED_LIMIT;
  if (!hca.records.has(srq.uar, srq.record)) return CommandStatus.BAD_PARAM;
  const sizeBytes = REQUEST_UNIT_BYTES * 2 ** (srq.stride + srq.logEntries);
  const status = checkBuffer(context, srq.key, srq.pd, KeyRight.LOCAL_READ, srq.base, sizeBytes);
  if (status !== CommandStatus.OK) return status;
  const { regions, records, events } = hca;
  const postEvent = (kind: EventKind, number: number): void => events.postObject(kind, number);
  hca.sharedReceiveQueues.set(srqn, new MthcaSharedReceiveQueue(srqn, srq, { regions, records, postEvent }));
  return CommandStatus.OK;
}

export function querySharedReceiveQueue(context: MthcaCommandContext): CommandStatus {
  const { hca, modifier: srqn, outputView } = context;
  if (!hca.sharedReceiveQueues.hasIndex(srqn)) return CommandStatus.BAD_INDEX;
  const queue = hca.sharedReceiveQueues.get(srqn);
  if (queue === undefined) return CommandStatus.BAD_RESOURCE_STATE;
  queue.encode(outputView);
  return context.writeOutput(SRQ_CONTEXT_SIZE);
}

/** HW2SW_SRQ is refused while QPs receive from the SRQ. */
export function takeSharedReceiveQueue(context: MthcaCommandContext): CommandStatus {
  const { hca, modifier: srqn } = context;
  const isUsed = hca.sharedReceiveQueues.hasIndex(srqn) && (hca.sharedReceiveQueues.get(srqn)?.references ?? 0) > 0;
  if (isUsed) return CommandStatus.RESOURCE_BUSY;
  const status = querySharedReceiveQueue(context);
  if (status === CommandStatus.OK) hca.sharedReceiveQueues.delete(srqn);
  return status;
}

/** ARM_SRQ: the input parameter is the limit. */
export function armSharedReceiveQueue({ hca, register, modifier: srqn }: MthcaCommandContext): CommandStatus {
  if (!hca.sharedReceiveQueues.hasIndex(srqn)) return CommandStatus.BAD_INDEX;
  const queue = hca.sharedReceiveQueues.get(srqn);
  if (queue === undefined) return CommandStatus.BAD_RESOURCE_STATE;
  if (register.inParameter > LIMIT_MAX) return CommandStatus.BAD_PARAM;
  queue.arm(register.inParameter);
  return CommandStatus.OK;
}
