// SPDX-License-Identifier: Apache-2.0
/** Commands that create, query and destroy event queues. */

import { VECTOR_COUNT } from '../../../../protocol/layout/gen/constants.gen.ts';
import { EVENT_BYTES } from '../../../../protocol/mlx5/gen/constants.gen.ts';
import {
  CREATE_EQ_IN_EQ_CONTEXT_ENTRY_OFFSET,
  CREATE_EQ_IN_EVENT_BITMASK_OFFSET,
  CREATE_EQ_IN_SIZE,
} from '../../../../protocol/mlx5/gen/create-eq-in.gen.ts';
import { CREATE_EQ_OUT_SIZE, setCreateEqOutEqNumber } from '../../../../protocol/mlx5/gen/create-eq-out.gen.ts';
import { DESTROY_EQ_IN_SIZE, getDestroyEqInEqNumber } from '../../../../protocol/mlx5/gen/destroy-eq-in.gen.ts';
import { DESTROY_EQ_OUT_SIZE } from '../../../../protocol/mlx5/gen/destroy-eq-out.gen.ts';
import { decodeEqc, type Eqc, encodeEqc, newEqc } from '../../../../protocol/mlx5/gen/eqc.gen.ts';
import { getQueryEqInEqNumber, QUERY_EQ_IN_SIZE } from '../../../../protocol/mlx5/gen/query-eq-in.gen.ts';
import {
  QUERY_EQ_OUT_EQ_CONTEXT_ENTRY_OFFSET,
  QUERY_EQ_OUT_SIZE,
} from '../../../../protocol/mlx5/gen/query-eq-out.gen.ts';
import { CommandOpcode, CommandStatus } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { LOG_EVENT_ENTRIES } from '../hca/capabilities.ts';
import { HcaState } from '../hca/hca.ts';
import { LOG_LEAST_PAGE, listBytes, PageList, readPages } from '../memory/page-list.ts';
import { EventQueue } from '../queues/event-queue.ts';
import type { CommandContext } from './command-context.ts';
import { type CommandRow, row } from './command-row.ts';

const PAGES_OFFSET = CREATE_EQ_IN_SIZE;
/** Units of the offset of a queue in its first page. */
const PAGE_PARTS = 64;

const context: Eqc = newEqc();

function create({ hca, view, inputBytes, outputView }: CommandContext): CommandStatus {
  decodeEqc(view, CREATE_EQ_IN_EQ_CONTEXT_ENTRY_OFFSET, context);
  const { logEqSize, logPageSize, pageOffset, intr, uarPage, oi } = context;
  if (logEqSize > LOG_EVENT_ENTRIES || intr >= VECTOR_COUNT) return CommandStatus.BAD_PARAMETER;
  if (!hca.uars.has(uarPage)) return CommandStatus.BAD_RESOURCE;
  const pageBytes = 2 ** (logPageSize + LOG_LEAST_PAGE);
  const start = (pageOffset * pageBytes) / PAGE_PARTS;
  const lengthBytes = EVENT_BYTES * 2 ** logEqSize;
  const count = Math.ceil((start + lengthBytes) / pageBytes);
  if (inputBytes < PAGES_OFFSET + listBytes(count)) return CommandStatus.BAD_INPUT_LENGTH;
  const pages = readPages(view, PAGES_OFFSET, count);
  if (pages === undefined) return CommandStatus.BAD_PARAMETER;
  const number = hca.events.findNumber();
  if (number === undefined) return CommandStatus.NO_RESOURCES;
  const mask = view.getBigUint64(CREATE_EQ_IN_EVENT_BITMASK_OFFSET);
  const plan = { number, logEntries: logEqSize, vector: intr, uar: uarPage, mask, mayOverrun: oi === 1 };
  hca.uars.use(uarPage);
  hca.events.add(new EventQueue(plan, hca.underlying, new PageList(pages, pageBytes, start)));
  setCreateEqOutEqNumber(outputView, 0, number);
  return CommandStatus.OK;
}

function query({ hca, view, outputView }: CommandContext): CommandStatus {
  const queue = hca.events.get(getQueryEqInEqNumber(view, 0));
  if (queue === undefined) return CommandStatus.BAD_RESOURCE;
  const { plan, status, armState, producerIndex, consumerIndex } = queue;
  encodeEqc(outputView, QUERY_EQ_OUT_EQ_CONTEXT_ENTRY_OFFSET, {
    ...newEqc(),
    status,
    st: armState,
    oi: Number(plan.mayOverrun),
    logEqSize: plan.logEntries,
    uarPage: plan.uar,
    intr: plan.vector,
    consumerCounter: consumerIndex & 0xffffff,
    producerCounter: producerIndex & 0xffffff,
  });
  return CommandStatus.OK;
}

function destroy({ hca, view }: CommandContext): CommandStatus {
  const queue = hca.events.get(getDestroyEqInEqNumber(view, 0));
  if (queue === undefined) return CommandStatus.BAD_RESOURCE;
  if (queue.users > 0) return CommandStatus.RESOURCE_BUSY;
  hca.events.remove(queue);
  hca.uars.release(queue.plan.uar);
  return CommandStatus.OK;
}

const { RUNNING } = HcaState;

export const eventQueueCommands: readonly CommandRow[] = [
  row(CommandOpcode.CREATE_EQ, RUNNING, CREATE_EQ_IN_SIZE, CREATE_EQ_OUT_SIZE, create),
  row(CommandOpcode.QUERY_EQ, RUNNING, QUERY_EQ_IN_SIZE, QUERY_EQ_OUT_SIZE, query),
  row(CommandOpcode.DESTROY_EQ, RUNNING, DESTROY_EQ_IN_SIZE, DESTROY_EQ_OUT_SIZE, destroy),
];
