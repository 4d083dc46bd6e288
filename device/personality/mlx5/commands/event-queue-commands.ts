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
  QUERY_EQ_OUT_EVENT_BITMASK_OFFSET,
  QUERY_EQ_OUT_SIZE,
} from '../../../../protocol/mlx5/gen/query-eq-out.gen.ts';
import { CommandOpcode, CommandStatus } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { LOG_EVENT_ENTRIES } from '../hca/capabilities.ts';
import { HcaState } from '../hca/hca.ts';
import { EventQueue } from '../queues/event-queue.ts';
import type { CommandContext } from './command-context.ts';
import { type CommandRow, row } from './command-row.ts';
import { readQueuePages } from './queue-pages.ts';

const PAGES_OFFSET = CREATE_EQ_IN_SIZE;

const context: Eqc = newEqc();

function create(command: CommandContext): CommandStatus {
  const { hca, view, outputView } = command;
  decodeEqc(view, CREATE_EQ_IN_EQ_CONTEXT_ENTRY_OFFSET, context);
  const { logEqSize, logPageSize, pageOffset, intr, uarPage, oi, ec } = context;
  if (ec === 1 || intr >= VECTOR_COUNT) return CommandStatus.BAD_PARAMETER;
  if (logEqSize > LOG_EVENT_ENTRIES) return CommandStatus.LIMIT_EXCEEDED;
  if (!hca.uars.has(uarPage)) return CommandStatus.BAD_RESOURCE;
  const extent = { logPageSize, pageOffset, entries: 2 ** logEqSize, entryBytes: EVENT_BYTES };
  const pages = readQueuePages(command, PAGES_OFFSET, extent);
  if (typeof pages === 'number') return pages;
  const number = hca.events.findNumber();
  if (number === undefined) return CommandStatus.NO_RESOURCES;
  const mask = view.getBigUint64(CREATE_EQ_IN_EVENT_BITMASK_OFFSET);
  const place = { logEntries: logEqSize, logPageSize, pageOffset };
  const plan = { number, vector: intr, uar: uarPage, mask, mayOverrun: oi === 1, ...place };
  hca.events.add(new EventQueue(plan, hca.underlying, pages));
  hca.uars.use(uarPage);
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
    pageOffset: plan.pageOffset,
    logEqSize: plan.logEntries,
    logPageSize: plan.logPageSize,
    uarPage: plan.uar,
    intr: plan.vector,
    consumerCounter: consumerIndex,
    producerCounter: producerIndex,
  });
  outputView.setBigUint64(QUERY_EQ_OUT_EVENT_BITMASK_OFFSET, plan.mask);
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
