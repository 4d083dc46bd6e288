// SPDX-License-Identifier: Apache-2.0
/**
 * Commands of shared receive queues in their three forms: SRQ, XRC SRQ and receive memory pool.
 * They have one space of numbers.
 */
import { joinDwords } from '../../../../protocol/layout/dwords.ts';
import { ARM_RQ_IN_SIZE, getArmRqInLwm, getArmRqInSrqNumber } from '../../../../protocol/mlx5/gen/arm-rq-in.gen.ts';
import { CREATE_RMP_IN_CTX_OFFSET, CREATE_RMP_IN_SIZE } from '../../../../protocol/mlx5/gen/create-rmp-in.gen.ts';
import { CREATE_RMP_OUT_SIZE } from '../../../../protocol/mlx5/gen/create-rmp-out.gen.ts';
import {
  CREATE_SRQ_IN_SIZE,
  CREATE_SRQ_IN_SRQ_CONTEXT_ENTRY_OFFSET,
} from '../../../../protocol/mlx5/gen/create-srq-in.gen.ts';
import { setCreateSrqOutSrqn } from '../../../../protocol/mlx5/gen/create-srq-out.gen.ts';
import { getCreateXrcSrqInXrcSrqUmemValid } from '../../../../protocol/mlx5/gen/create-xrc-srq-in.gen.ts';
import { DESTROY_SRQ_IN_SIZE, getDestroySrqInSrqn } from '../../../../protocol/mlx5/gen/destroy-srq-in.gen.ts';
import { DESTROY_SRQ_OUT_SIZE } from '../../../../protocol/mlx5/gen/destroy-srq-out.gen.ts';
import {
  getModifyRmpInBitmask,
  MODIFY_RMP_IN_CTX_OFFSET,
  MODIFY_RMP_IN_SIZE,
} from '../../../../protocol/mlx5/gen/modify-rmp-in.gen.ts';
import {
  QUERY_RMP_OUT_RMP_CONTEXT_OFFSET,
  QUERY_RMP_OUT_SIZE,
} from '../../../../protocol/mlx5/gen/query-rmp-out.gen.ts';
import {
  QUERY_SRQ_OUT_SIZE,
  QUERY_SRQ_OUT_SRQ_CONTEXT_ENTRY_OFFSET,
} from '../../../../protocol/mlx5/gen/query-srq-out.gen.ts';
import {
  decodeRmpc,
  newRmpc,
  RMPC_SIZE,
  RMPC_WQ_OFFSET,
  setRmpcState,
} from '../../../../protocol/mlx5/gen/rmpc.gen.ts';
import {
  decodeSrqc,
  newSrqc,
  SRQC_SIZE,
  setSrqcLwm,
  setSrqcState,
  setSrqcWqeCnt,
} from '../../../../protocol/mlx5/gen/srqc.gen.ts';
import {
  CommandOpcode,
  CommandStatus,
  type EventType,
  RmpState,
  SrqState,
  WorkQueueType,
} from '../../../../protocol/mlx5/gen/values.gen.ts';
import { decodeWq, getWqLwm, newWq, setWqHwCounter, setWqLwm } from '../../../../protocol/mlx5/gen/wq.gen.ts';
import { decodeXrcSrqc, newXrcSrqc } from '../../../../protocol/mlx5/gen/xrc-srqc.gen.ts';
import { LOG_SHARED_ENTRIES, RECEIVE_ENTRY_MAX_BYTES } from '../hca/capabilities.ts';
import { HcaState } from '../hca/hca.ts';
import { QueueMemory } from '../memory/queue-memory.ts';
import { CompletionEncoder } from '../queues/completion-encoder.ts';
import { Mlx5SharedReceiveQueue, SharedForm } from '../queues/shared-receive-queue.ts';
import type { CommandContext } from './command-context.ts';
import { type CommandRow, plainRow, row } from './command-row.ts';
import { readQueuePages, receiveStride } from './queue-pages.ts';

/** Alignment of doorbell records; the address of an XRC record is given in units of 4 bytes. */
const RECORD_ALIGNMENT = 4;
const ENTRY_MIN_BYTES = 32;
/** Variant of the commands that arm: of shared queues. */
const ARM_SHARED = 1;
/** What MODIFY_RMP changes: the limit. */
const LIMIT_FIELD = 1;
const ADDRESS_UNIT = 4;

const plain = newSrqc();
const extended = newXrcSrqc();
const pool = newRmpc();
const queue = newWq();

/** What the contexts of the three forms say alike. */
interface SharedFields {
  readonly form: SharedForm;
  readonly pd: number;
  readonly logEntries: number;
  readonly strideBytes: number;
  readonly recordAddress: number;
  readonly logPageSize: number;
  readonly pageOffset: number;
  readonly limit: number;
  /** Of XRC: its domain, and the CQ of its messages. */
  readonly xrc?: { readonly xrcd: number; readonly cqn: number; readonly userIndex: number };
}

function createPlain(command: CommandContext): CommandStatus {
  decodeSrqc(command.view, CREATE_SRQ_IN_SRQ_CONTEXT_ENTRY_OFFSET, plain);
  const { pd, logSrqSize, logRqStride, dbrAddr, logPageSize, pageOffset, lwm, wqSignature, contSrq } = plain;
  if (wqSignature + contSrq > 0) return CommandStatus.BAD_PARAMETER;
  return create(command, CREATE_SRQ_IN_SRQ_CONTEXT_ENTRY_OFFSET, SRQC_SIZE, {
    form: SharedForm.PLAIN,
    logEntries: logSrqSize,
    strideBytes: receiveStride(logRqStride),
    recordAddress: dbrAddr,
    limit: lwm,
    ...{ pd, logPageSize, pageOffset },
  });
}

function createExtended(command: CommandContext): CommandStatus {
  decodeXrcSrqc(command.view, CREATE_SRQ_IN_SRQ_CONTEXT_ENTRY_OFFSET, extended);
  const { pd, logXrcSrqSize, logRqStride, dbRecordAddrH, dbRecordAddrL, logPageSize, pageOffset, lwm } = extended;
  const { wqSignature, contSrq, basicCyclicRcvWqe, dbrUmemValid } = extended;
  const isUnpromised = wqSignature + contSrq + basicCyclicRcvWqe + dbrUmemValid > 0;
  if (isUnpromised || getCreateXrcSrqInXrcSrqUmemValid(command.view, 0) === 1) return CommandStatus.BAD_PARAMETER;
  return create(command, CREATE_SRQ_IN_SRQ_CONTEXT_ENTRY_OFFSET, SRQC_SIZE, {
    form: SharedForm.XRC,
    logEntries: logXrcSrqSize,
    strideBytes: receiveStride(logRqStride),
    recordAddress: joinDwords(dbRecordAddrL * ADDRESS_UNIT, dbRecordAddrH),
    limit: lwm,
    ...{ pd, logPageSize, pageOffset },
    xrc: { xrcd: extended.xrcd, cqn: extended.cqn, userIndex: extended.userIndex },
  });
}

function createPool(command: CommandContext): CommandStatus {
  const at = CREATE_RMP_IN_CTX_OFFSET;
  decodeRmpc(command.view, at, pool);
  decodeWq(command.view, at + RMPC_WQ_OFFSET, queue);
  const { pd, wqType, wqSignature, dbrUmemValid, wqUmemValid, logWqStride, logWqSz, logWqPgSz, dbrAddr } = queue;
  const isList = wqType === WorkQueueType.LIST && pool.basicCyclicRcvWqe === 0;
  if (!isList || wqSignature + dbrUmemValid + wqUmemValid > 0) return CommandStatus.BAD_PARAMETER;
  return create(command, at, RMPC_SIZE, {
    form: SharedForm.POOL,
    logEntries: logWqSz,
    strideBytes: 2 ** logWqStride,
    recordAddress: dbrAddr,
    logPageSize: logWqPgSz,
    pageOffset: queue.pageOffset,
    limit: queue.lwm,
    pd,
  });
}

/** The context is `sizeBytes` at `at`; the list of pages lies behind the input. */
function create(command: CommandContext, at: number, sizeBytes: number, fields: SharedFields): CommandStatus {
  const { hca, input, outputView } = command;
  const { pd, logEntries, strideBytes, recordAddress, limit, xrc } = fields;
  if (logEntries > LOG_SHARED_ENTRIES) return CommandStatus.LIMIT_EXCEEDED;
  if (strideBytes < ENTRY_MIN_BYTES || strideBytes > RECEIVE_ENTRY_MAX_BYTES) return CommandStatus.LIMIT_EXCEEDED;
  if (recordAddress % RECORD_ALIGNMENT !== 0 || limit > 2 ** logEntries) return CommandStatus.BAD_PARAMETER;
  if (!hca.domains.has(pd)) return CommandStatus.BAD_RESOURCE;
  const cq = xrc === undefined ? undefined : hca.completionQueues.get(xrc.cqn);
  if (xrc !== undefined && (cq === undefined || !hca.xrcDomains.has(xrc.xrcd))) return CommandStatus.BAD_RESOURCE;
  const extent = { ...fields, entries: 2 ** logEntries, entryBytes: strideBytes };
  const pages = readQueuePages(command, CREATE_SRQ_IN_SIZE, extent);
  if (typeof pages === 'number') return pages;
  const plan = {
    memory: new QueueMemory(hca.underlying.dma, pages),
    entries: 2 ** logEntries,
    ...{ strideBytes, recordAddress },
    postEvent: (type: EventType, number: number) => hca.events.postObject(type, number),
  };
  const context = input.slice(at, at + sizeBytes);
  const places = { counterOf: (number: number) => number };
  const binding =
    xrc === undefined || cq === undefined
      ? undefined
      : {
          domain: hca.transport.xrcDomain(xrc.xrcd),
          cq: new CompletionEncoder(cq, places, hca.identify(xrc.userIndex)),
        };
  const made = hca.sharedReceiveQueues.add(
    hca.underlying,
    (number) =>
      new Mlx5SharedReceiveQueue(number, fields.form, hca.transport.protectionDomain(pd), context, plan, binding),
  );
  if (made === undefined) return CommandStatus.NO_RESOURCES;
  hca.domains.use(pd);
  if (xrc !== undefined) hca.xrcDomains.use(xrc.xrcd);
  if (cq !== undefined) cq.users++;
  made.release = () => {
    hca.domains.release(pd);
    if (xrc !== undefined) hca.xrcDomains.release(xrc.xrcd);
    if (cq !== undefined) cq.users--;
  };
  made.limit = limit;
  setCreateSrqOutSrqn(outputView, 0, made.number);
  return CommandStatus.OK;
}

function destroy(command: CommandContext, form: SharedForm): CommandStatus {
  const found = find(command, form);
  if (found === undefined) return CommandStatus.BAD_RESOURCE;
  if (found.references > 0) return CommandStatus.RESOURCE_BUSY;
  command.hca.sharedReceiveQueues.remove(found);
  return CommandStatus.OK;
}

function arm(command: CommandContext, form: SharedForm): CommandStatus {
  if (command.modifier !== ARM_SHARED) return CommandStatus.BAD_PARAMETER;
  const found = command.hca.sharedReceiveQueues.get(getArmRqInSrqNumber(command.view, 0));
  if (found?.form !== form) return CommandStatus.BAD_RESOURCE;
  return setLimit(found, getArmRqInLwm(command.view, 0));
}

function modifyPool(command: CommandContext): CommandStatus {
  const found = find(command, SharedForm.POOL);
  if (found === undefined) return CommandStatus.BAD_RESOURCE;
  if (getModifyRmpInBitmask(command.view, 0) !== LIMIT_FIELD) return CommandStatus.BAD_PARAMETER;
  return setLimit(found, getWqLwm(command.view, MODIFY_RMP_IN_CTX_OFFSET + RMPC_WQ_OFFSET));
}

/** A limit that no queue of this size could fall below is wrong. */
function setLimit(shared: Mlx5SharedReceiveQueue, limit: number): CommandStatus {
  if (limit > shared.plan.entries) return CommandStatus.BAD_PARAMETER;
  shared.arm(limit);
  return CommandStatus.OK;
}

/** Contexts of SRQs and XRC SRQs have what changes at the same places. */
function query(command: CommandContext, form: SharedForm): CommandStatus {
  const found = find(command, form);
  if (found === undefined) return CommandStatus.BAD_RESOURCE;
  const { output, outputView } = command;
  const at = QUERY_SRQ_OUT_SRQ_CONTEXT_ENTRY_OFFSET;
  found.ring.refresh(found);
  output.set(found.context, at);
  setSrqcState(outputView, at, found.hasFailed ? SrqState.ERROR : SrqState.GOOD);
  setSrqcLwm(outputView, at, found.limit);
  setSrqcWqeCnt(outputView, at, found.ring.known);
  return CommandStatus.OK;
}

function queryPool(command: CommandContext): CommandStatus {
  const found = find(command, SharedForm.POOL);
  if (found === undefined) return CommandStatus.BAD_RESOURCE;
  const { output, outputView } = command;
  const at = QUERY_RMP_OUT_RMP_CONTEXT_OFFSET;
  output.set(found.context, at);
  setRmpcState(outputView, at, found.hasFailed ? RmpState.ERROR : RmpState.READY);
  setWqLwm(outputView, at + RMPC_WQ_OFFSET, found.limit);
  setWqHwCounter(outputView, at + RMPC_WQ_OFFSET, found.ring.taken);
  return CommandStatus.OK;
}

/** All commands but those that arm have the number at the same place. */
function find({ hca, view }: CommandContext, form: SharedForm): Mlx5SharedReceiveQueue | undefined {
  const found = hca.sharedReceiveQueues.get(getDestroySrqInSrqn(view, 0));
  return found?.form === form ? found : undefined;
}

const { RUNNING } = HcaState;
const [HEAD, BARE_OUT] = [DESTROY_SRQ_IN_SIZE, DESTROY_SRQ_OUT_SIZE];

/** Commands that two of the forms have alike: opcodes that destroy, query and arm. */
function rowsOf(form: SharedForm, destroys: number, queries: number, arms: number): CommandRow[] {
  return [
    plainRow(destroys, RUNNING, HEAD, BARE_OUT, (command) => destroy(command, form)),
    plainRow(queries, RUNNING, HEAD, QUERY_SRQ_OUT_SIZE, (command) => query(command, form)),
    row(arms, RUNNING, ARM_RQ_IN_SIZE, BARE_OUT, (command) => arm(command, form)),
  ];
}

export const sharedReceiveQueueCommands: readonly CommandRow[] = [
  plainRow(CommandOpcode.CREATE_SRQ, RUNNING, CREATE_SRQ_IN_SIZE, CREATE_RMP_OUT_SIZE, createPlain),
  ...rowsOf(SharedForm.PLAIN, CommandOpcode.DESTROY_SRQ, CommandOpcode.QUERY_SRQ, CommandOpcode.ARM_RQ),
  plainRow(CommandOpcode.CREATE_XRC_SRQ, RUNNING, CREATE_SRQ_IN_SIZE, CREATE_RMP_OUT_SIZE, createExtended),
  ...rowsOf(SharedForm.XRC, CommandOpcode.DESTROY_XRC_SRQ, CommandOpcode.QUERY_XRC_SRQ, CommandOpcode.ARM_XRC_SRQ),
  plainRow(CommandOpcode.CREATE_RMP, RUNNING, CREATE_RMP_IN_SIZE, CREATE_RMP_OUT_SIZE, createPool),
  plainRow(CommandOpcode.DESTROY_RMP, RUNNING, HEAD, BARE_OUT, (command) => destroy(command, SharedForm.POOL)),
  plainRow(CommandOpcode.QUERY_RMP, RUNNING, HEAD, QUERY_RMP_OUT_SIZE, queryPool),
  plainRow(CommandOpcode.MODIFY_RMP, RUNNING, MODIFY_RMP_IN_SIZE, BARE_OUT, modifyPool),
];
