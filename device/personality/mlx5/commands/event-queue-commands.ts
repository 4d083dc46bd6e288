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
import { HcaState } from '../hca/hca.ts';
import { PageList } from '../memory/page-list.ts';
import { EventQueue } from '../queues/event-queue.ts';
import type { CommandContext } from './command-context.ts';
import type { CommandRow } from './command-row.ts';
import { readAddress } from './function-commands.ts';

const PAGES_OFFSET = CREATE_EQ_IN_SIZE;
const ADDRESS_BYTES = 8;
const LOG_LEAST_PAGE = 12;
/** Units of the offset of a queue in its first page. */
const PAGE_PARTS = 64;
const LOG_ENTRIES_MAX = 16;

const context: Eqc = newEqc();

function create({ hca, view, inputBytes, outputView }: CommandContext): CommandStatus {
  decodeEqc(view, CREATE_EQ_IN_EQ_CONTEXT_ENTRY_OFFSET, context);
  const { logEqSize, logPageSize, pageOffset, intr, uarPage, oi } = context;
  if (logEqSize > LOG_ENTRIES_MAX || intr >= VECTOR_COUNT) return CommandStatus.BAD_PARAMETER;
  if (!hca.uars.has(uarPage)) return CommandStatus.BAD_RESOURCE;
  const pageBytes = 2 ** (logPageSize + LOG_LEAST_PAGE);
  const start = (pageOffset * pageBytes) / PAGE_PARTS;
  const lengthBytes = EVENT_BYTES * 2 ** logEqSize;
  const count = Math.ceil((start + lengthBytes) / pageBytes);
  if (inputBytes < PAGES_OFFSET + count * ADDRESS_BYTES) return CommandStatus.BAD_INPUT_LENGTH;
  const pages = Float64Array.from({ length: count }, (_, index) =>
    readAddress(view, PAGES_OFFSET + index * ADDRESS_BYTES),
  );
  if (pages.some((page) => page % 2 ** LOG_LEAST_PAGE !== 0)) return CommandStatus.BAD_PARAMETER;
  const number = hca.events.findNumber();
  if (number === undefined) return CommandStatus.NO_RESOURCES;
  const mask = view.getBigUint64(CREATE_EQ_IN_EVENT_BITMASK_OFFSET);
  const plan = { number, logEntries: logEqSize, vector: intr, uar: uarPage, mask, mayOverrun: oi === 1 };
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
  return CommandStatus.OK;
}

const needs = HcaState.RUNNING;

export const eventQueueCommands: readonly CommandRow[] = [
  {
    opcode: CommandOpcode.CREATE_EQ,
    needs,
    inputBytes: CREATE_EQ_IN_SIZE,
    outputBytes: CREATE_EQ_OUT_SIZE,
    handler: create,
  },
  {
    opcode: CommandOpcode.QUERY_EQ,
    needs,
    inputBytes: QUERY_EQ_IN_SIZE,
    outputBytes: QUERY_EQ_OUT_SIZE,
    handler: query,
  },
  {
    opcode: CommandOpcode.DESTROY_EQ,
    needs,
    inputBytes: DESTROY_EQ_IN_SIZE,
    outputBytes: DESTROY_EQ_OUT_SIZE,
    handler: destroy,
  },
];
