// SPDX-License-Identifier: Apache-2.0
/**
 * The context of a QP as the transport knows it: service, attributes and address vector
 * (IBTA 11.2.5.2), and what of them is out of range. `queue-pair-commands.ts` checks contexts,
 * `DataPath` applies them.
 */
import { mtuBytes } from '../../../../protocol/infiniband/mtu.ts';
import {
  ADDRESS_HANDLE_DESTINATION_GID_OFFSET,
  ADDRESS_HANDLE_SIZE,
  setAddressHandleDlid,
  setAddressHandleFlowLabel,
  setAddressHandleGlobalRoute,
  setAddressHandleHopLimit,
  setAddressHandlePort,
  setAddressHandleServiceLevel,
  setAddressHandleSourceGidIndex,
  setAddressHandleSourcePathBits,
  setAddressHandleTrafficClass,
} from '../../../../protocol/layout/gen/address-handle.gen.ts';
import { AccessFlag } from '../../../../protocol/layout/gen/values.gen.ts';
import {
  getQpContextLogReadsIn,
  getQpContextLogReadsOut,
  getQpContextMtu,
  getQpContextQkey,
  getQpContextReceivePsn,
  getQpContextRemoteQpn,
  getQpContextRetryCount,
  getQpContextRnrTimer,
  getQpContextSendPsn,
  getQpContextSendsAtomics,
  getQpContextSendsReads,
  getQpContextService,
  getQpContextTakesAtomics,
  getQpContextTakesReads,
  getQpContextTakesWrites,
  QP_CONTEXT_PRIMARY_PATH_OFFSET,
  setQpContextReceiveCounter,
  setQpContextReceivePsn,
  setQpContextSendCounter,
  setQpContextSendPsn,
  setQpContextState,
} from '../../../../protocol/mthca/gen/qp-context.gen.ts';
import {
  copyQpPathGidTo,
  getQpPathAckTimeout,
  getQpPathFlowLabel,
  getQpPathGidIndex,
  getQpPathHasRoute,
  getQpPathHopLimit,
  getQpPathLid,
  getQpPathPathBits,
  getQpPathPkeyIndex,
  getQpPathPort,
  getQpPathRnrRetry,
  getQpPathServiceLevel,
  getQpPathTrafficClass,
} from '../../../../protocol/mthca/gen/qp-path.gen.ts';
import { CommandStatus, QpContextState, QpService } from '../../../../protocol/mthca/gen/values.gen.ts';
import type { QueuePair } from '../../../hca/queues/queue-pair.ts';
import { Path } from '../../../hca/transport/path.ts';
import { requesterOf, responderOf } from '../../../hca/transport/state/connected-states.ts';
import type { PersonalityPort } from '../../shared/personality-port.ts';
import type { MthcaQueuePair } from '../queues/queue-pair.ts';
import { MTU_CODE } from './limits.ts';

const PATH = QP_CONTEXT_PRIMARY_PATH_OFFSET;
/** READs and atomics in flight, as 2^n. */
const LOG_READS_MAX = 4;
const vector = new Uint8Array(ADDRESS_HANDLE_SIZE);
const vectorView = new DataView(vector.buffer);
const scratch = new Path();

/** The primary path of a context as an address vector, which the next call overwrites. */
export function vectorOf(context: DataView): DataView {
  vector.fill(0);
  setAddressHandleGlobalRoute(vectorView, 0, getQpPathHasRoute(context, PATH));
  setAddressHandlePort(vectorView, 0, getQpPathPort(context, PATH));
  setAddressHandleServiceLevel(vectorView, 0, getQpPathServiceLevel(context, PATH));
  setAddressHandleDlid(vectorView, 0, getQpPathLid(context, PATH));
  setAddressHandleSourcePathBits(vectorView, 0, getQpPathPathBits(context, PATH));
  setAddressHandleFlowLabel(vectorView, 0, getQpPathFlowLabel(context, PATH));
  setAddressHandleSourceGidIndex(vectorView, 0, getQpPathGidIndex(context, PATH));
  setAddressHandleTrafficClass(vectorView, 0, getQpPathTrafficClass(context, PATH));
  setAddressHandleHopLimit(vectorView, 0, getQpPathHopLimit(context, PATH));
  copyQpPathGidTo(context, PATH, vector, ADDRESS_HANDLE_DESTINATION_GID_OFFSET);
  return vectorView;
}

/** Why a QP may not enter `next` with this context; OK if it may. */
export function checkAttributes(
  context: DataView,
  next: QpContextState,
  ports: readonly PersonalityPort[],
): CommandStatus {
  const service = getQpContextService(context, 0);
  const port = ports[getQpPathPort(context, PATH) - 1];
  if (port === undefined) return CommandStatus.BAD_PARAM;
  if (service === QpService.UD || next === QpContextState.INIT) return CommandStatus.OK;
  const mtu = getQpContextMtu(context, 0);
  if (mtu < 1 || mtu > MTU_CODE) return CommandStatus.BAD_PARAM;
  if (service === QpService.RC && exceedsReads(context)) return CommandStatus.EXCEED_LIMIT;
  return scratch.load(vectorOf(context), 0, port) ? CommandStatus.OK : CommandStatus.BAD_PARAM;
}

/** The depth of the initiator does not count while the QP sends no READs and no atomics. */
function exceedsReads(context: DataView): boolean {
  return (
    getQpContextLogReadsIn(context, 0) > LOG_READS_MAX ||
    (sendsReads(context) && getQpContextLogReadsOut(context, 0) > LOG_READS_MAX)
  );
}

function sendsReads(context: DataView): boolean {
  return (getQpContextSendsReads(context, 0) | getQpContextSendsAtomics(context, 0)) === 1;
}

/** Sets the attributes of a QP from its context. */
export function applyAttributes(qp: QueuePair, context: DataView): void {
  const { attributes } = qp;
  attributes.port = getQpPathPort(context, PATH);
  attributes.pkeyIndex = getQpPathPkeyIndex(context, PATH);
  attributes.qkey = getQpContextQkey(context, 0);
  attributes.access = accessOf(context);
  if (!qp.connected) return;
  attributes.remoteQpn = getQpContextRemoteQpn(context, 0);
  attributes.timeout = getQpPathAckTimeout(context, PATH);
  attributes.retryCount = getQpContextRetryCount(context, 0);
  attributes.rnrRetry = getQpPathRnrRetry(context, PATH);
  attributes.minRnrTimer = getQpContextRnrTimer(context, 0);
  attributes.maxReadsInitiated = sendsReads(context) ? 2 ** getQpContextLogReadsOut(context, 0) : 0;
  attributes.maxReadsServed = 2 ** getQpContextLogReadsIn(context, 0);
  attributes.pathMtu = getQpContextMtu(context, 0);
  qp.pathMtuBytes = mtuBytes(attributes.pathMtu);
}

/** Sets the PSN with which the QP begins to receive, or to send. */
export function applyReceivePsn(qp: QueuePair, context: DataView): void {
  qp.attributes.receivePsn = getQpContextReceivePsn(context, 0);
}

export function applySendPsn(qp: QueuePair, context: DataView): void {
  qp.sendPsn = getQpContextSendPsn(context, 0);
}

/** Writes state and sequence numbers of a QP into a copy of its context, as a query shows them. */
export function describeProgress({ data, state }: MthcaQueuePair, view: DataView, base: number): void {
  setQpContextState(view, base, state);
  if (data === undefined) return;
  const { qp, sends } = data;
  setQpContextSendPsn(view, base, requesterOf(qp)?.nextPsn ?? qp.sendPsn);
  const responder = responderOf(qp);
  if (responder !== undefined && qp.receives) setQpContextReceivePsn(view, base, responder.expectedPsn);
  setQpContextSendCounter(view, base, sends.posted);
  setQpContextReceiveCounter(view, base, qp.srq === undefined ? qp.receiveSource.head : 0);
}

function accessOf(context: DataView): number {
  return (
    getQpContextTakesWrites(context, 0) * AccessFlag.REMOTE_WRITE +
    getQpContextTakesReads(context, 0) * AccessFlag.REMOTE_READ +
    getQpContextTakesAtomics(context, 0) * AccessFlag.REMOTE_ATOMIC
  );
}
