// SPDX-License-Identifier: Apache-2.0
/**
 * Commands of completion queues. A number has 24 bits: drivers use those above the size of the
 * table to tell a new CQ from an old one.
 */
import { COMPLETION_BYTES } from '../../../../protocol/mthca/gen/constants.gen.ts';
import { CQ_CONTEXT_SIZE, decodeCqContext, newCqContext } from '../../../../protocol/mthca/gen/cq-context.gen.ts';
import { CQ_RESIZING_SIZE, decodeCqResizing, newCqResizing } from '../../../../protocol/mthca/gen/cq-resizing.gen.ts';
import { CommandStatus, type CqErrorSyndrome } from '../../../../protocol/mthca/gen/values.gen.ts';
import { KeyRight } from '../../shared/key-rights.ts';
import { MthcaCompletionQueue } from '../queues/completion-queue.ts';
import type { MthcaCommandContext } from './command-context.ts';
import { checkBuffer } from './region-commands.ts';

const NUMBER_MAX = 0xffffff;

export function giveCompletionQueue(context: MthcaCommandContext): CommandStatus {
  const { hca, modifier: cqn } = context;
  if (cqn > NUMBER_MAX) return CommandStatus.BAD_INDEX;
  const free = hca.completionQueues.checkFree(hca.completionQueues.indexOf(cqn));
  if (free !== CommandStatus.OK) return free;
  const read = context.readInput(CQ_CONTEXT_SIZE);
  if (read !== CommandStatus.OK) return read;
  const cq = decodeCqContext(context.inputView, 0, newCqContext());
  const eventQueue = hca.eventQueues.hasIndex(cq.completionEqn) ? hca.eventQueues.get(cq.completionEqn) : undefined;
  const { records } = hca;
  if (eventQueue === undefined || !records.has(cq.uar, cq.consumerRecord) || !records.has(cq.uar, cq.armRecord))
    return CommandStatus.BAD_PARAM;
  const status = checkEntries(context, cq.key, cq.pd, cq.start, cq.logEntries);
  if (status !== CommandStatus.OK) return status;
  const { underlying, regions, events, planted } = hca;
  const postError = (number: number, syndrome: CqErrorSyndrome): void => events.postCompletionError(number, syndrome);
  const parts = { underlying, regions, records, planted, eventQueue, postError };
  hca.completionQueues.set(cqn, new MthcaCompletionQueue(cqn, cq, parts));
  return status;
}

export function queryCompletionQueue(context: MthcaCommandContext): CommandStatus {
  const { hca, modifier: cqn, outputView } = context;
  if (cqn > NUMBER_MAX) return CommandStatus.BAD_INDEX;
  const queue = hca.findCompletionQueue(cqn);
  if (queue === undefined) return CommandStatus.BAD_RESOURCE_STATE;
  queue.encode(outputView);
  return context.writeOutput(CQ_CONTEXT_SIZE);
}

/** HW2SW_CQ is refused while QPs complete on the CQ. */
export function takeCompletionQueue(context: MthcaCommandContext): CommandStatus {
  const { hca, modifier: cqn } = context;
  const queue = hca.findCompletionQueue(cqn);
  if (queue !== undefined && queue.users > 0) return CommandStatus.RESOURCE_BUSY;
  const status = queryCompletionQueue(context);
  if (queue === undefined || status !== CommandStatus.OK) return status;
  hca.eventQueues.get(queue.context.completionEqn)?.forget(queue);
  hca.retired.completions += queue.count;
  hca.completionQueues.delete(cqn);
  return status;
}

export function resizeCompletionQueue(context: MthcaCommandContext): CommandStatus {
  const { hca, modifier: cqn } = context;
  if (cqn > NUMBER_MAX) return CommandStatus.BAD_INDEX;
  const queue = hca.findCompletionQueue(cqn);
  if (queue === undefined) return CommandStatus.BAD_RESOURCE_STATE;
  const read = context.readInput(CQ_RESIZING_SIZE);
  if (read !== CommandStatus.OK) return read;
  const change = decodeCqResizing(context.inputView, 0, newCqResizing());
  const status = checkEntries(context, change.key, queue.context.pd, change.start, change.logEntries);
  if (status !== CommandStatus.OK) return status;
  if (!queue.fits(change.logEntries)) return CommandStatus.BAD_SIZE;
  queue.resize(change);
  return CommandStatus.OK;
}

function checkEntries(
  context: MthcaCommandContext,
  key: number,
  pd: number,
  start: number,
  logEntries: number,
): CommandStatus {
  if (logEntries > context.hca.limits.logCqEntries) return CommandStatus.EXCEED_LIMIT;
  if (start % COMPLETION_BYTES !== 0) return CommandStatus.BAD_PARAM;
  return checkBuffer(context, key, pd, KeyRight.LOCAL_WRITE, start, COMPLETION_BYTES * 2 ** logEntries);
}
