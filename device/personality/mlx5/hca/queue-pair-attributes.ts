// SPDX-License-Identifier: Apache-2.0
/**
 * The context of a QP as the transport knows it: attributes and address vector (IBTA 11.2.5.2), and
 * what of them is out of range. `queue-pair-commands.ts` checks contexts, and `QueuePairs` applies
 * them.
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
  copyAdsRgidRipTo,
  getAdsAckTimeout,
  getAdsFlowLabel,
  getAdsGrh,
  getAdsHopLimit,
  getAdsMlid,
  getAdsPkeyIndex,
  getAdsRlid,
  getAdsSl,
  getAdsSrcAddrIndex,
  getAdsTclass,
  getAdsVhcaPortNum,
} from '../../../../protocol/mlx5/gen/ads.gen.ts';
import {
  getQpcLogRraMax,
  getQpcLogSraMax,
  getQpcMinRnrNak,
  getQpcMtu,
  getQpcNextRcvPsn,
  getQpcNextSendPsn,
  getQpcQKey,
  getQpcRae,
  getQpcRemoteQpn,
  getQpcRetryCount,
  getQpcRnrRetry,
  getQpcRre,
  getQpcRwe,
  QPC_PRIMARY_ADDRESS_PATH_OFFSET,
  setQpcHwRqCounter,
  setQpcHwSqWqebbCounter,
  setQpcNextRcvPsn,
  setQpcNextSendPsn,
  setQpcSwSqWqebbCounter,
} from '../../../../protocol/mlx5/gen/qpc.gen.ts';
import { CommandStatus, PathMtu, QpState } from '../../../../protocol/mlx5/gen/values.gen.ts';
import type { Port } from '../../../fabric/port/port.ts';
import type { QueuePair } from '../../../hca/queues/queue-pair.ts';
import { Path } from '../../../hca/transport/path.ts';
import { requesterOf, responderOf } from '../../../hca/transport/state/connected-states.ts';
import type { Mlx5QueuePair } from '../queues/queue-pair.ts';
import { LOG_READS } from './capabilities.ts';

const PATH = QPC_PRIMARY_ADDRESS_PATH_OFFSET;

const vector = new Uint8Array(ADDRESS_HANDLE_SIZE);
const vectorView = new DataView(vector.buffer);
/** For checks of address vectors. */
const scratch = new Path();

/** The path of a connected QP as an address handle; valid until the next call. */
export function vectorOf(context: DataView): DataView {
  setAddressHandleGlobalRoute(vectorView, 0, getAdsGrh(context, PATH));
  setAddressHandlePort(vectorView, 0, getAdsVhcaPortNum(context, PATH));
  setAddressHandleServiceLevel(vectorView, 0, getAdsSl(context, PATH));
  setAddressHandleDlid(vectorView, 0, getAdsRlid(context, PATH));
  setAddressHandleSourcePathBits(vectorView, 0, getAdsMlid(context, PATH));
  setAddressHandleFlowLabel(vectorView, 0, getAdsFlowLabel(context, PATH));
  setAddressHandleSourceGidIndex(vectorView, 0, getAdsSrcAddrIndex(context, PATH));
  setAddressHandleTrafficClass(vectorView, 0, getAdsTclass(context, PATH));
  setAddressHandleHopLimit(vectorView, 0, getAdsHopLimit(context, PATH));
  copyAdsRgidRipTo(context, PATH, vector, ADDRESS_HANDLE_DESTINATION_GID_OFFSET);
  return vectorView;
}

/** Why `qp` may not enter `next` with this context; OK if it may. */
export function checkAttributes(
  { qp, isLocal }: Mlx5QueuePair,
  context: DataView,
  next: QpState,
  ports: readonly Port[],
): CommandStatus {
  // A QP that has no other end has no path either.
  if (isLocal) return CommandStatus.OK;
  const port = ports[portOf(qp, context) - 1];
  if (port === undefined || getAdsPkeyIndex(context, PATH) >= port.pkeys.length) return CommandStatus.BAD_PARAMETER;
  if (!qp.connected || next === QpState.INIT) return CommandStatus.OK;
  const mtu = getQpcMtu(context, 0);
  if (mtu < PathMtu.MTU_256 || mtu > PathMtu.MTU_4096) return CommandStatus.BAD_PARAMETER;
  if (getQpcLogRraMax(context, 0) > LOG_READS || getQpcLogSraMax(context, 0) > LOG_READS)
    return CommandStatus.LIMIT_EXCEEDED;
  return scratch.load(vectorOf(context), 0, port) ? CommandStatus.OK : CommandStatus.BAD_PARAMETER;
}

/** QP0 and QP1 belong to a port from their creation on. */
function portOf(qp: QueuePair, context: DataView): number {
  return qp.isSpecial ? qp.creation.specialPort : getAdsVhcaPortNum(context, PATH);
}

/** Sets the attributes of a QP from its context. */
export function applyAttributes(qp: QueuePair, context: DataView): void {
  const { attributes } = qp;
  attributes.port = portOf(qp, context);
  attributes.pkeyIndex = getAdsPkeyIndex(context, PATH);
  attributes.qkey = getQpcQKey(context, 0);
  attributes.access = accessOf(context);
  if (!qp.connected) return;
  attributes.remoteQpn = getQpcRemoteQpn(context, 0);
  attributes.timeout = getAdsAckTimeout(context, PATH);
  attributes.retryCount = getQpcRetryCount(context, 0);
  attributes.rnrRetry = getQpcRnrRetry(context, 0);
  attributes.minRnrTimer = getQpcMinRnrNak(context, 0);
  attributes.maxReadsInitiated = 2 ** getQpcLogSraMax(context, 0);
  attributes.maxReadsServed = 2 ** getQpcLogRraMax(context, 0);
  attributes.pathMtu = getQpcMtu(context, 0);
  qp.pathMtuBytes = mtuBytes(attributes.pathMtu);
}

/** Sets the PSN with which the QP begins to receive, or to send. */
export function applyReceivePsn(qp: QueuePair, context: DataView): void {
  qp.attributes.receivePsn = getQpcNextRcvPsn(context, 0);
}

export function applySendPsn(qp: QueuePair, context: DataView): void {
  qp.sendPsn = getQpcNextSendPsn(context, 0);
}

/** Writes state and sequence numbers of a QP into its context, as a query shows them. */
export function describeProgress(queuePair: Mlx5QueuePair): void {
  const { qp, sends, view } = queuePair;
  queuePair.noteState();
  setQpcNextSendPsn(view, 0, requesterOf(qp)?.nextPsn ?? qp.sendPsn);
  const responder = responderOf(qp);
  if (responder !== undefined && qp.receives) setQpcNextRcvPsn(view, 0, responder.expectedPsn);
  setQpcHwSqWqebbCounter(view, 0, sends?.nextBlock ?? 0);
  setQpcSwSqWqebbCounter(view, 0, sends?.posted ?? 0);
  setQpcHwRqCounter(view, 0, qp.srq === undefined ? qp.receiveSource.head : 0);
}

function accessOf(context: DataView): number {
  return (
    getQpcRwe(context, 0) * AccessFlag.REMOTE_WRITE +
    getQpcRre(context, 0) * AccessFlag.REMOTE_READ +
    getQpcRae(context, 0) * AccessFlag.REMOTE_ATOMIC
  );
}
