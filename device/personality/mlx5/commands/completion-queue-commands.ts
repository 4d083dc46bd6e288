// SPDX-License-Identifier: Apache-2.0
/** Commands that create, change, query and destroy completion queues. */
import { type Cqc, decodeCqc, newCqc } from '../../../../protocol/mlx5/gen/cqc.gen.ts';
import {
  CREATE_CQ_IN_CQ_CONTEXT_OFFSET,
  CREATE_CQ_IN_SIZE,
  getCreateCqInCqUmemValid,
} from '../../../../protocol/mlx5/gen/create-cq-in.gen.ts';
import { CREATE_CQ_OUT_SIZE, setCreateCqOutCqn } from '../../../../protocol/mlx5/gen/create-cq-out.gen.ts';
import { DESTROY_CQ_IN_SIZE, getDestroyCqInCqn } from '../../../../protocol/mlx5/gen/destroy-cq-in.gen.ts';
import { DESTROY_CQ_OUT_SIZE } from '../../../../protocol/mlx5/gen/destroy-cq-out.gen.ts';
import {
  getModifyCqInCqn,
  getModifyCqInModifyFieldSelectResizeFieldSelect,
  MODIFY_CQ_IN_CQ_CONTEXT_OFFSET,
  MODIFY_CQ_IN_SIZE,
} from '../../../../protocol/mlx5/gen/modify-cq-in.gen.ts';
import { MODIFY_CQ_OUT_SIZE } from '../../../../protocol/mlx5/gen/modify-cq-out.gen.ts';
import { getQueryCqInCqn, QUERY_CQ_IN_SIZE } from '../../../../protocol/mlx5/gen/query-cq-in.gen.ts';
import { QUERY_CQ_OUT_CQ_CONTEXT_OFFSET, QUERY_CQ_OUT_SIZE } from '../../../../protocol/mlx5/gen/query-cq-out.gen.ts';
import {
  CommandOpcode,
  CommandStatus,
  CqeSize,
  CqFieldSelect,
  CqModification,
  CqPeriodMode,
  CqResizeSelect,
} from '../../../../protocol/mlx5/gen/values.gen.ts';
import { LOG_COMPLETION_ENTRIES } from '../hca/capabilities.ts';
import { HcaState } from '../hca/hca.ts';
import type { PageList } from '../memory/page-list.ts';
import { entryBytesOf, Mlx5CompletionQueue } from '../queues/completion-queue.ts';
import type { CommandContext } from './command-context.ts';
import { type CommandRow, row } from './command-row.ts';
import { readQueuePages } from './queue-pages.ts';

/** Alignment of doorbell records. */
const RECORD_ALIGNMENT = 8;
/** Bits of the masks of fields that change. */
const FIELDS_END = 2 ** (CqFieldSelect.PERIOD_MODE + 1);
const RESIZE_END = 2 ** (CqResizeSelect.PAGE_SIZE + 1);

const context: Cqc = newCqc();

/** True when a context asks for what capabilities deny: they promise none of it. */
function isUnpromised({ cc, cqeCompEn, scqeBreakModerationEn, dbrUmemValid, cqPeriodMode, cqeSz }: Cqc): boolean {
  return (
    cc + cqeCompEn + scqeBreakModerationEn + dbrUmemValid > 0 ||
    cqPeriodMode !== CqPeriodMode.EVENT ||
    cqeSz > CqeSize.BYTES_128_PADDED
  );
}

/** Pages of a queue of `entryBytes`, whose size and place `place` has. */
function readPages(
  command: CommandContext,
  listAt: number,
  { logCqSize, logPageSize, pageOffset }: Pick<Cqc, 'logCqSize' | 'logPageSize' | 'pageOffset'>,
  entryBytes: number,
): PageList | CommandStatus {
  if (logCqSize > LOG_COMPLETION_ENTRIES) return CommandStatus.LIMIT_EXCEEDED;
  return readQueuePages(command, listAt, { logPageSize, pageOffset, entries: 2 ** logCqSize, entryBytes });
}

function create(command: CommandContext): CommandStatus {
  const { hca, view, outputView } = command;
  decodeCqc(view, CREATE_CQ_IN_CQ_CONTEXT_OFFSET, context);
  const { uarPage, dbrAddr, cEqnOrApuElement, cqeSz } = context;
  if (isUnpromised(context) || getCreateCqInCqUmemValid(view, 0) === 1) return CommandStatus.BAD_PARAMETER;
  if (dbrAddr % RECORD_ALIGNMENT !== 0) return CommandStatus.BAD_PARAMETER;
  const eventQueue = hca.events.get(cEqnOrApuElement);
  if (eventQueue === undefined || !hca.uars.has(uarPage)) return CommandStatus.BAD_RESOURCE;
  const pages = readPages(command, CREATE_CQ_IN_SIZE, context, entryBytesOf(cqeSz));
  if (typeof pages === 'number') return pages;
  const queue = hca.completionQueues.add(
    hca.underlying,
    (number) => new Mlx5CompletionQueue(number, context, pages, eventQueue, hca),
  );
  if (queue === undefined) return CommandStatus.NO_RESOURCES;
  hca.uars.use(uarPage);
  setCreateCqOutCqn(outputView, 0, queue.number);
  return CommandStatus.OK;
}

function modify(command: CommandContext): CommandStatus {
  const { hca, view, modifier } = command;
  const queue = hca.completionQueues.get(getModifyCqInCqn(view, 0));
  if (queue === undefined) return CommandStatus.BAD_RESOURCE;
  decodeCqc(view, MODIFY_CQ_IN_CQ_CONTEXT_OFFSET, context);
  const mask = getModifyCqInModifyFieldSelectResizeFieldSelect(view, 0);
  if (modifier === CqModification.FIELDS) return modifyFields(command, queue, mask);
  if (modifier === CqModification.RESIZE) return resize(command, queue, mask);
  return CommandStatus.BAD_PARAMETER;
}

function modifyFields({ hca }: CommandContext, queue: Mlx5CompletionQueue, mask: number): CommandStatus {
  const selects = (bit: CqFieldSelect): boolean => ((mask >>> bit) & 1) === 1;
  if (mask >= FIELDS_END) return CommandStatus.BAD_PARAMETER;
  if (selects(CqFieldSelect.PERIOD_MODE) && context.cqPeriodMode !== CqPeriodMode.EVENT)
    return CommandStatus.BAD_PARAMETER;
  const eventQueue = selects(CqFieldSelect.EQN) ? hca.events.get(context.cEqnOrApuElement) : queue.eventQueue;
  if (eventQueue === undefined) return CommandStatus.BAD_RESOURCE;
  const { cqPeriod, cqMaxCount } = queue.context;
  queue.moveEvents(eventQueue);
  if (selects(CqFieldSelect.OVERRUN)) queue.context.oi = context.oi;
  queue.moderate(
    selects(CqFieldSelect.PERIOD) ? context.cqPeriod : cqPeriod,
    selects(CqFieldSelect.MAX_COUNT) ? context.cqMaxCount : cqMaxCount,
  );
  return CommandStatus.OK;
}

function resize(command: CommandContext, queue: Mlx5CompletionQueue, mask: number): CommandStatus {
  const source = (bit: CqResizeSelect): Cqc => (((mask >>> bit) & 1) === 1 ? context : queue.context);
  if (mask >= RESIZE_END || context.cqeSz !== queue.context.cqeSz) return CommandStatus.BAD_PARAMETER;
  const place = {
    logCqSize: source(CqResizeSelect.SIZE).logCqSize,
    pageOffset: source(CqResizeSelect.PAGE_OFFSET).pageOffset,
    logPageSize: source(CqResizeSelect.PAGE_SIZE).logPageSize,
  };
  const pages = readPages(command, MODIFY_CQ_IN_SIZE, place, entryBytesOf(context.cqeSz));
  return typeof pages === 'number' ? pages : queue.resize({ ...place, pages });
}

function query({ hca, view, outputView }: CommandContext): CommandStatus {
  const queue = hca.completionQueues.get(getQueryCqInCqn(view, 0));
  if (queue === undefined) return CommandStatus.BAD_RESOURCE;
  queue.encode(outputView, QUERY_CQ_OUT_CQ_CONTEXT_OFFSET);
  return CommandStatus.OK;
}

function destroy({ hca, view }: CommandContext): CommandStatus {
  const queue = hca.completionQueues.get(getDestroyCqInCqn(view, 0));
  if (queue === undefined) return CommandStatus.BAD_RESOURCE;
  if (queue.users > 0) return CommandStatus.RESOURCE_BUSY;
  hca.completionQueues.remove(queue);
  return CommandStatus.OK;
}

const { RUNNING } = HcaState;

export const completionQueueCommands: readonly CommandRow[] = [
  row(CommandOpcode.CREATE_CQ, RUNNING, CREATE_CQ_IN_SIZE, CREATE_CQ_OUT_SIZE, create),
  row(CommandOpcode.MODIFY_CQ, RUNNING, MODIFY_CQ_IN_SIZE, MODIFY_CQ_OUT_SIZE, modify),
  row(CommandOpcode.QUERY_CQ, RUNNING, QUERY_CQ_IN_SIZE, QUERY_CQ_OUT_SIZE, query),
  row(CommandOpcode.DESTROY_CQ, RUNNING, DESTROY_CQ_IN_SIZE, DESTROY_CQ_OUT_SIZE, destroy),
];
