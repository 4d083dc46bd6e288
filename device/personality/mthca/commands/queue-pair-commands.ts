// SPDX-License-Identifier: Apache-2.0
/**
 * Commands that move queue pairs through their states (IBTA 10.3.1). The input modifier is the QPN,
 * which may have bits above the size of the table. Mailboxes hold a parameter mask and a context.
 */
import {
  getQpContextHasSrq,
  getQpContextLogReceiveEntries,
  getQpContextLogSendEntries,
  getQpContextReceiveCqn,
  getQpContextReceiveRecord,
  getQpContextSendCqn,
  getQpContextService,
  getQpContextSrqn,
  getQpContextUar,
  QP_CONTEXT_SIZE,
} from '../../../../protocol/mthca/gen/qp-context.gen.ts';
import { CommandOpcode, CommandStatus, QpContextState, QpService } from '../../../../protocol/mthca/gen/values.gen.ts';
import type { ContextBits } from '../../shared/context-bits.ts';
import type { Hca } from '../hca/hca.ts';
import { checkAttributes, describeProgress } from '../hca/queue-pair-attributes.ts';
import type { ContextTable } from '../memory/context-table.ts';
import { MthcaQueuePair } from '../queues/queue-pair.ts';
import type { MthcaCommandContext } from './command-context.ts';
import { mergeContext, receiveFields, sendFields } from './queue-pair-parameters.ts';

/** The context lies behind the parameter mask and a reserved dword. */
const CONTEXT_AT = 8;
const MAILBOX_SIZE = CONTEXT_AT + QP_CONTEXT_SIZE;
const QPN_MASK = 0xffffff;
/** Bit of the input modifier: an event tells that the send queue is drained. */
const DRAIN_EVENT = 2 ** 31;
/** Opcode modifiers of ANY2RST: with and without an output mailbox. */
const RESET_WITH_OUTPUT = 2;
const RESET_WITHOUT_OUTPUT = 3;

/** The context of a transition, while it is checked. */
const merged = new Uint8Array(QP_CONTEXT_SIZE);
const mergedView = new DataView(merged.buffer);

interface Transition {
  readonly from: readonly QpContextState[];
  readonly to: QpContextState;
  readonly always: readonly ContextBits[];
}

const { INIT, RTR, RTS, SQD, SQE, DRAINING } = QpContextState;

const transitions: ReadonlyMap<number, Transition> = new Map<number, Transition>([
  [CommandOpcode.INIT2INIT_QP, { from: [INIT], to: INIT, always: [] }],
  [CommandOpcode.INIT2RTR_QP, { from: [INIT], to: RTR, always: receiveFields }],
  [CommandOpcode.RTR2RTS_QP, { from: [RTR], to: RTS, always: sendFields }],
  [CommandOpcode.RTS2RTS_QP, { from: [RTS], to: RTS, always: [] }],
  [CommandOpcode.SQERR2RTS_QP, { from: [SQE], to: RTS, always: [] }],
  [CommandOpcode.RTS2SQD_QP, { from: [RTS], to: SQD, always: [] }],
  [CommandOpcode.SQD2SQD_QP, { from: [SQD, DRAINING], to: SQD, always: [] }],
  [CommandOpcode.SQD2RTS_QP, { from: [SQD, DRAINING], to: RTS, always: [] }],
]);

/** RST2INIT: the QP comes into being. */
export function initializeQueuePair(context: MthcaCommandContext): CommandStatus {
  const { hca, inputView, input } = context;
  const qpn = context.modifier & QPN_MASK;
  const status = hca.queuePairs.check(hca.queuePairs.indexOf(qpn));
  if (status !== CommandStatus.OK) return status;
  if (hca.queuePairs.get(qpn) !== undefined) return CommandStatus.BAD_QP_STATE;
  const read = context.readInput(MAILBOX_SIZE);
  if (read !== CommandStatus.OK) return read;
  if (!isUsable(hca, inputView, CONTEXT_AT)) return CommandStatus.BAD_PARAM;
  const qp = new MthcaQueuePair(qpn, input, CONTEXT_AT);
  qp.state = INIT;
  const wrong = qp.isRaw ? CommandStatus.OK : checkAttributes(qp.view, INIT, hca.ports);
  if (wrong !== CommandStatus.OK) return wrong;
  qp.countUse(hca, 1);
  hca.queuePairs.set(qpn, qp);
  hca.unitOf(qp)?.add(qp);
  return CommandStatus.OK;
}

/** Every other transition that has a context. A refused one leaves the QP as it is. */
export function moveQueuePair(context: MthcaCommandContext): CommandStatus {
  const { hca, register, inputView } = context;
  const transition = transitions.get(register.opcode);
  if (transition === undefined) return CommandStatus.BAD_OP;
  const qp = findQueuePair(context);
  if (qp === undefined || !transition.from.includes(qp.state)) return CommandStatus.BAD_QP_STATE;
  const read = context.readInput(MAILBOX_SIZE);
  if (read !== CommandStatus.OK) return read;
  merged.set(qp.context);
  mergeContext(mergedView, inputView, CONTEXT_AT, inputView.getUint32(0), transition.always);
  const wrong = qp.isRaw ? CommandStatus.OK : checkAttributes(mergedView, transition.to, hca.ports);
  if (wrong !== CommandStatus.OK) return wrong;
  qp.context.set(merged);
  hca.unitOf(qp)?.move(qp, transition.to, (context.modifier & DRAIN_EVENT) !== 0);
  return CommandStatus.OK;
}

export function failQueuePair(context: MthcaCommandContext): CommandStatus {
  const qp = findQueuePair(context);
  if (qp === undefined) return CommandStatus.BAD_QP_STATE;
  context.hca.unitOf(qp)?.move(qp, QpContextState.ERR, false);
  return CommandStatus.OK;
}

/** ANY2RST: the QP is gone; one that is in RESET stays there. */
export function resetQueuePair(context: MthcaCommandContext): CommandStatus {
  const { hca, register } = context;
  const hasOutput = register.opcodeModifier === RESET_WITH_OUTPUT;
  if (!hasOutput && register.opcodeModifier !== RESET_WITHOUT_OUTPUT) return CommandStatus.BAD_OP;
  const qp = findQueuePair(context);
  if (qp === undefined) return CommandStatus.OK;
  const status = hasOutput ? writeContext(context, qp) : CommandStatus.OK;
  if (status !== CommandStatus.OK) return status;
  hca.unitOf(qp)?.drop(qp);
  qp.countUse(hca, -1);
  hca.queuePairs.delete(qp.number);
  return CommandStatus.OK;
}

export function queryQueuePair(context: MthcaCommandContext): CommandStatus {
  const qp = findQueuePair(context);
  return qp === undefined ? CommandStatus.BAD_QP_STATE : writeContext(context, qp);
}

/** The QP that the input modifier names; undefined while it is in RESET. */
function findQueuePair({ hca, modifier }: MthcaCommandContext): MthcaQueuePair | undefined {
  const qpn = modifier & QPN_MASK;
  const qp = hca.queuePairs.get(qpn);
  return qp?.number === qpn ? qp : undefined;
}

function writeContext(context: MthcaCommandContext, qp: MthcaQueuePair): CommandStatus {
  context.output.set(qp.context, CONTEXT_AT);
  describeProgress(qp, context.outputView, CONTEXT_AT);
  return context.writeOutput(MAILBOX_SIZE);
}

const services: readonly number[] = [QpService.RC, QpService.UC, QpService.UD, QpService.MLX];

function isUsable(hca: Hca, view: DataView, at: number): boolean {
  const { limits, records } = hca;
  return (
    services.includes(getQpContextService(view, at)) &&
    getQpContextLogSendEntries(view, at) <= limits.logQpEntries &&
    getQpContextUar(view, at) < records.regions &&
    hca.findCompletionQueue(getQpContextSendCqn(view, at)) !== undefined &&
    hca.findCompletionQueue(getQpContextReceiveCqn(view, at)) !== undefined &&
    hasReceives(hca, view, at)
  );
}

/** Receives come from an SRQ, or from a queue with a record; fields of the other do not count. */
function hasReceives({ sharedReceiveQueues, records, limits }: Hca, view: DataView, at: number): boolean {
  if (getQpContextHasSrq(view, at) === 0)
    return (
      getQpContextLogReceiveEntries(view, at) <= limits.logQpEntries &&
      records.has(getQpContextUar(view, at), getQpContextReceiveRecord(view, at))
    );
  return getQpContextService(view, at) !== QpService.MLX && has(sharedReceiveQueues, getQpContextSrqn(view, at));
}

function has<T>(table: ContextTable<T>, number: number): boolean {
  return table.hasIndex(number) && table.get(number) !== undefined;
}
