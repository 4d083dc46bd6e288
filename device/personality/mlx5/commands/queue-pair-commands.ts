// SPDX-License-Identifier: Apache-2.0
/**
 * Commands that create queue pairs, move them through their states (IBTA 10.3.1), query and destroy
 * them.
 */
import { SEND_BLOCK_BYTES } from '../../../../protocol/mlx5/gen/constants.gen.ts';
import {
  CREATE_QP_IN_QPC_OFFSET,
  CREATE_QP_IN_SIZE,
  getCreateQpInWqUmemValid,
} from '../../../../protocol/mlx5/gen/create-qp-in.gen.ts';
import { CREATE_QP_OUT_SIZE, setCreateQpOutQpn } from '../../../../protocol/mlx5/gen/create-qp-out.gen.ts';
import { DESTROY_QP_IN_SIZE } from '../../../../protocol/mlx5/gen/destroy-qp-in.gen.ts';
import { DESTROY_QP_OUT_SIZE } from '../../../../protocol/mlx5/gen/destroy-qp-out.gen.ts';
import { QP_2ERR_IN_SIZE } from '../../../../protocol/mlx5/gen/qp-2err-in.gen.ts';
import { decodeQpc, newQpc, QPC_SIZE, type Qpc } from '../../../../protocol/mlx5/gen/qpc.gen.ts';
import { QUERY_QP_IN_SIZE } from '../../../../protocol/mlx5/gen/query-qp-in.gen.ts';
import { QUERY_QP_OUT_QPC_OFFSET, QUERY_QP_OUT_SIZE } from '../../../../protocol/mlx5/gen/query-qp-out.gen.ts';
import {
  getRst2initQpInOptParamMask,
  getRst2initQpInQpn,
  RST2INIT_QP_IN_QPC_OFFSET,
  RST2INIT_QP_IN_SIZE,
} from '../../../../protocol/mlx5/gen/rst2init-qp-in.gen.ts';
import {
  CommandOpcode,
  CommandStatus,
  QpService,
  QpState,
  ReceiveQueueType,
} from '../../../../protocol/mlx5/gen/values.gen.ts';
import type { ContextBits } from '../../shared/context-bits.ts';
import { LOG_QUEUE_PAIR_BLOCKS, RECEIVE_ENTRY_MAX_BYTES } from '../hca/capabilities.ts';
import { type Hca, HcaState } from '../hca/hca.ts';
import { checkAttributes, describeProgress } from '../hca/queue-pair-attributes.ts';
import { hasReceives, type QueuePairPlan } from '../hca/queue-pair-plan.ts';
import type { Mlx5QueuePair } from '../queues/queue-pair.ts';
import type { CommandContext } from './command-context.ts';
import { type CommandRow, plainRow } from './command-row.ts';
import { readQueuePages, receiveStride } from './queue-pages.ts';
import { initialFields, mergeContext, OPTIONAL_MASK, receiveFields, sendFields } from './queue-pair-parameters.ts';

/** Alignment of doorbell records. */
const RECORD_ALIGNMENT = 8;
/** Least lengths of commands without fields of their own. */
const BARE_OUT = DESTROY_QP_OUT_SIZE;

const created: Qpc = newQpc();
/** The context of a transition, while it is checked. */
const merged = new Uint8Array(QPC_SIZE);
const mergedView = new DataView(merged.buffer);

const services: readonly number[] = [
  ...[QpService.RC, QpService.UC, QpService.UD, QpService.XRC],
  ...[QpService.QP0, QpService.QP1, QpService.UMR],
];

interface Transition {
  readonly from: QpState;
  readonly to: QpState;
  readonly always: readonly ContextBits[];
}

const { RESET, INIT, RTR, RTS, SQE } = QpState;

const transitions: ReadonlyMap<number, Transition> = new Map<number, Transition>([
  [CommandOpcode.RST2INIT_QP, { from: RESET, to: INIT, always: initialFields }],
  [CommandOpcode.INIT2INIT_QP, { from: INIT, to: INIT, always: [] }],
  [CommandOpcode.INIT2RTR_QP, { from: INIT, to: RTR, always: receiveFields }],
  [CommandOpcode.RTR2RTS_QP, { from: RTR, to: RTS, always: sendFields }],
  [CommandOpcode.RTS2RTS_QP, { from: RTS, to: RTS, always: [] }],
  [CommandOpcode.SQERR2RTS_QP, { from: SQE, to: RTS, always: [] }],
]);

function create(command: CommandContext): CommandStatus {
  const { hca, view, outputView, input } = command;
  decodeQpc(view, CREATE_QP_IN_QPC_OFFSET, created);
  if (!services.includes(created.st) || created.wqSignature + created.dbrUmemValid > 0)
    return CommandStatus.BAD_PARAMETER;
  if (getCreateQpInWqUmemValid(view, 0) === 1 || created.dbrAddr % RECORD_ALIGNMENT !== 0)
    return CommandStatus.BAD_PARAMETER;
  const plan = planOf(created);
  if (typeof plan === 'number') return plan;
  const missing = checkResources(hca, created, plan);
  if (missing !== CommandStatus.OK) return missing;
  const pages = readQueuePages(command, CREATE_QP_IN_SIZE, {
    ...created,
    entries: plan.receiveEntries * plan.receiveBytes + plan.sendBlocks * SEND_BLOCK_BYTES,
    entryBytes: 1,
  });
  if (typeof pages === 'number') return pages;
  const context = input.slice(CREATE_QP_IN_QPC_OFFSET, CREATE_QP_IN_QPC_OFFSET + QPC_SIZE);
  const qp = hca.unit?.create(context, created, plan, pages);
  if (qp === undefined) return CommandStatus.NO_RESOURCES;
  setCreateQpOutQpn(outputView, 0, qp.number);
  return CommandStatus.OK;
}

/** Sizes of the queues, or the status of a command that asks for others than there are. */
function planOf(context: Qpc): QueuePairPlan | CommandStatus {
  const ownsReceives = context.rqType === ReceiveQueueType.OWN;
  const receiveBytes = receiveStride(context.logRqStride);
  const isKnown =
    ownsReceives || context.rqType === ReceiveQueueType.SHARED || context.rqType === ReceiveQueueType.NONE;
  if (!isKnown) return CommandStatus.BAD_PARAMETER;
  if (context.logSqSize > LOG_QUEUE_PAIR_BLOCKS || context.logRqSize > LOG_QUEUE_PAIR_BLOCKS)
    return CommandStatus.LIMIT_EXCEEDED;
  if (ownsReceives && receiveBytes > RECEIVE_ENTRY_MAX_BYTES) return CommandStatus.LIMIT_EXCEEDED;
  return {
    isXrcTarget: context.st === QpService.XRC && context.noSq === 1,
    receiveEntries: ownsReceives ? 2 ** context.logRqSize : 0,
    receiveBytes: ownsReceives ? receiveBytes : 0,
    sendBlocks: context.noSq === 1 ? 0 : 2 ** context.logSqSize,
    usesSharedQueue: context.rqType === ReceiveQueueType.SHARED && context.st !== QpService.XRC,
  };
}

/** The objects that a QP of this plan names must exist. */
function checkResources(hca: Hca, context: Qpc, plan: QueuePairPlan): CommandStatus {
  const { isXrcTarget, usesSharedQueue } = plan;
  const { pd, st, xrcd, uarPage, cqnSnd, cqnRcv, srqnRmpnXrqn } = context;
  if (isXrcTarget) return hca.xrcDomains.has(xrcd) ? CommandStatus.OK : CommandStatus.BAD_RESOURCE;
  // A QP that changes the keys of all domains names none.
  const hasDomain = st === QpService.UMR || hca.domains.has(pd);
  const hasQueues = hca.completionQueues.get(cqnSnd) !== undefined;
  const hasReceiveQueue = !hasReceives(plan) || hca.completionQueues.get(cqnRcv) !== undefined;
  const shared = usesSharedQueue ? hca.sharedReceiveQueues.get(srqnRmpnXrqn) : undefined;
  // The queues of XRC belong to targets.
  const hasShared = !usesSharedQueue || (shared !== undefined && shared.xrc === undefined);
  const isWhole = hasDomain && hasQueues && hasReceiveQueue && hasShared && hca.uars.has(uarPage);
  if (!isWhole) return CommandStatus.BAD_RESOURCE;
  const isTaken = (st === QpService.QP0 || st === QpService.QP1) && hca.unit?.hasSpecial(st) === true;
  return isTaken ? CommandStatus.RESOURCE_BUSY : CommandStatus.OK;
}

/** Every transition that has a context. A refused one leaves the QP as it is. */
function move(command: CommandContext): CommandStatus {
  const { hca, view } = command;
  const transition = transitions.get(command.opcode);
  const qp = find(command);
  if (qp === undefined) return CommandStatus.BAD_RESOURCE;
  if (transition === undefined || qp.state !== transition.from) return CommandStatus.BAD_QP_STATE;
  const mask = getRst2initQpInOptParamMask(view, 0);
  if ((mask & ~OPTIONAL_MASK) !== 0) return CommandStatus.BAD_PARAMETER;
  merged.set(qp.context);
  mergeContext(mergedView, view, RST2INIT_QP_IN_QPC_OFFSET, mask, transition.always);
  const wrong = checkAttributes(qp, mergedView, transition.to, hca.ports);
  if (wrong !== CommandStatus.OK) return wrong;
  qp.context.set(merged);
  hca.unit?.move(qp, transition.to);
  return CommandStatus.OK;
}

function fail(command: CommandContext): CommandStatus {
  const qp = find(command);
  if (qp === undefined) return CommandStatus.BAD_RESOURCE;
  if (qp.state === RESET) return CommandStatus.BAD_QP_STATE;
  command.hca.unit?.move(qp, QpState.ERROR);
  return CommandStatus.OK;
}

function reset(command: CommandContext): CommandStatus {
  const qp = find(command);
  if (qp === undefined) return CommandStatus.BAD_RESOURCE;
  command.hca.unit?.move(qp, RESET);
  return CommandStatus.OK;
}

function query(command: CommandContext): CommandStatus {
  const qp = find(command);
  if (qp === undefined) return CommandStatus.BAD_RESOURCE;
  describeProgress(qp);
  command.output.set(qp.context, QUERY_QP_OUT_QPC_OFFSET);
  return CommandStatus.OK;
}

function destroy(command: CommandContext): CommandStatus {
  const qp = find(command);
  if (qp === undefined) return CommandStatus.BAD_RESOURCE;
  command.hca.unit?.destroy(qp);
  return CommandStatus.OK;
}

/** All commands of QPs have the number at the same place. */
function find({ hca, view }: CommandContext): Mlx5QueuePair | undefined {
  return hca.queuePairs.get(getRst2initQpInQpn(view, 0));
}

const { RUNNING } = HcaState;

export const queuePairCommands: readonly CommandRow[] = [
  plainRow(CommandOpcode.CREATE_QP, RUNNING, CREATE_QP_IN_SIZE, CREATE_QP_OUT_SIZE, create),
  plainRow(CommandOpcode.DESTROY_QP, RUNNING, DESTROY_QP_IN_SIZE, DESTROY_QP_OUT_SIZE, destroy),
  ...[...transitions.keys()].map((opcode) => plainRow(opcode, RUNNING, RST2INIT_QP_IN_SIZE, BARE_OUT, move)),
  plainRow(CommandOpcode.QP_2ERR, RUNNING, QP_2ERR_IN_SIZE, BARE_OUT, fail),
  plainRow(CommandOpcode.QP_2RST, RUNNING, QP_2ERR_IN_SIZE, BARE_OUT, reset),
  plainRow(CommandOpcode.QUERY_QP, RUNNING, QUERY_QP_IN_SIZE, QUERY_QP_OUT_SIZE, query),
];
