// SPDX-License-Identifier: Apache-2.0
/**
 * Fields of a QP context that a transition takes over from the mailbox: some always, others when
 * their bit in the parameter mask is set. All other fields stay as they are.
 */
import {
  QP_CONTEXT_ALTERNATE_PATH_OFFSET,
  QP_CONTEXT_LOG_MESSAGE_BYTES_MASK,
  QP_CONTEXT_LOG_READS_IN_MASK,
  QP_CONTEXT_LOG_READS_OUT_MASK,
  QP_CONTEXT_MIGRATION_MASK,
  QP_CONTEXT_MIGRATION_OFFSET,
  QP_CONTEXT_MTU_MASK,
  QP_CONTEXT_MTU_OFFSET,
  QP_CONTEXT_PRIMARY_PATH_OFFSET,
  QP_CONTEXT_QKEY_OFFSET,
  QP_CONTEXT_RECEIVE_PSN_MASK,
  QP_CONTEXT_RECEIVE_PSN_OFFSET,
  QP_CONTEXT_REMOTE_QPN_MASK,
  QP_CONTEXT_REMOTE_QPN_OFFSET,
  QP_CONTEXT_RETRY_COUNT_MASK,
  QP_CONTEXT_RETRY_COUNT_OFFSET,
  QP_CONTEXT_RNR_TIMER_MASK,
  QP_CONTEXT_SCHEDULE_QUEUE_MASK,
  QP_CONTEXT_SEND_PSN_MASK,
  QP_CONTEXT_SEND_PSN_OFFSET,
  QP_CONTEXT_SENDS_ATOMICS_MASK,
  QP_CONTEXT_SENDS_READS_MASK,
  QP_CONTEXT_TAKES_ATOMICS_MASK,
  QP_CONTEXT_TAKES_ATOMICS_OFFSET,
  QP_CONTEXT_TAKES_READS_MASK,
  QP_CONTEXT_TAKES_WRITES_MASK,
} from '../../../../protocol/mthca/gen/qp-context.gen.ts';
import {
  QP_PATH_ACK_TIMEOUT_MASK,
  QP_PATH_ACK_TIMEOUT_OFFSET,
  QP_PATH_HAS_ROUTE_MASK,
  QP_PATH_LID_MASK,
  QP_PATH_LID_OFFSET,
  QP_PATH_PATH_BITS_MASK,
  QP_PATH_PKEY_INDEX_MASK,
  QP_PATH_PKEY_INDEX_OFFSET,
  QP_PATH_PORT_MASK,
  QP_PATH_RNR_RETRY_MASK,
  QP_PATH_RNR_RETRY_OFFSET,
  QP_PATH_SERVICE_LEVEL_OFFSET,
  QP_PATH_SIZE,
} from '../../../../protocol/mthca/gen/qp-path.gen.ts';
import { QpParameterFlag } from '../../../../protocol/mthca/gen/values.gen.ts';
import { ALL_BITS, type ContextBits, dwordOf, mergeBits, wholeDwords } from '../../shared/context-bits.ts';

const PRIMARY = QP_CONTEXT_PRIMARY_PATH_OFFSET;
const ALTERNATE = QP_CONTEXT_ALTERNATE_PATH_OFFSET;

const retryDword = dwordOf(QP_CONTEXT_RETRY_COUNT_OFFSET);
const rightsDword = dwordOf(QP_CONTEXT_TAKES_ATOMICS_OFFSET);
const sizesDword = dwordOf(QP_CONTEXT_MTU_OFFSET);
const psnDword = dwordOf(QP_CONTEXT_RECEIVE_PSN_OFFSET);
const lidDword = dwordOf(QP_PATH_LID_OFFSET);
const timeoutDword = dwordOf(QP_PATH_ACK_TIMEOUT_OFFSET);
const pkeyDword = dwordOf(QP_PATH_PKEY_INDEX_OFFSET);
const retryInPath = dwordOf(QP_PATH_RNR_RETRY_OFFSET);

/** Destination of a path, without port, P_Key index, timeout and retries. */
const address: readonly ContextBits[] = [
  [PRIMARY + lidDword, QP_PATH_HAS_ROUTE_MASK | QP_PATH_PATH_BITS_MASK | QP_PATH_LID_MASK],
  [PRIMARY + timeoutDword, ~QP_PATH_ACK_TIMEOUT_MASK],
  ...wholeDwords(PRIMARY + QP_PATH_SERVICE_LEVEL_OFFSET, PRIMARY + QP_PATH_SIZE),
];

const optional: readonly (readonly [flag: QpParameterFlag, bits: readonly ContextBits[]])[] = [
  [QpParameterFlag.ALTERNATE_PATH, wholeDwords(ALTERNATE, ALTERNATE + QP_PATH_SIZE)],
  [QpParameterFlag.REMOTE_READ, [[rightsDword, QP_CONTEXT_TAKES_READS_MASK]]],
  [QpParameterFlag.REMOTE_ATOMIC, [[rightsDword, QP_CONTEXT_TAKES_ATOMICS_MASK]]],
  [QpParameterFlag.REMOTE_WRITE, [[rightsDword, QP_CONTEXT_TAKES_WRITES_MASK]]],
  [QpParameterFlag.PKEY_INDEX, [[PRIMARY + pkeyDword, QP_PATH_PKEY_INDEX_MASK]]],
  [QpParameterFlag.QKEY, [[QP_CONTEXT_QKEY_OFFSET, ALL_BITS]]],
  [QpParameterFlag.RNR_TIMEOUT, [[psnDword, QP_CONTEXT_RNR_TIMER_MASK]]],
  [QpParameterFlag.PRIMARY_PATH, address],
  [
    QpParameterFlag.READS_OUT,
    [[retryDword, QP_CONTEXT_LOG_READS_OUT_MASK | QP_CONTEXT_SENDS_READS_MASK | QP_CONTEXT_SENDS_ATOMICS_MASK]],
  ],
  [QpParameterFlag.READS_IN, [[rightsDword, QP_CONTEXT_LOG_READS_IN_MASK]]],
  [QpParameterFlag.MIGRATION_STATE, [[dwordOf(QP_CONTEXT_MIGRATION_OFFSET), QP_CONTEXT_MIGRATION_MASK]]],
  [QpParameterFlag.PORT, [[PRIMARY + pkeyDword, QP_PATH_PORT_MASK]]],
  [QpParameterFlag.RETRY_COUNT, [[retryDword, QP_CONTEXT_RETRY_COUNT_MASK]]],
  [QpParameterFlag.ALTERNATE_RNR_RETRY, [[ALTERNATE + retryInPath, QP_PATH_RNR_RETRY_MASK]]],
  [QpParameterFlag.ACK_TIMEOUT, [[PRIMARY + timeoutDword, QP_PATH_ACK_TIMEOUT_MASK]]],
  [QpParameterFlag.RNR_RETRY, [[PRIMARY + retryInPath, QP_PATH_RNR_RETRY_MASK]]],
  [QpParameterFlag.SCHEDULE_QUEUE, [[sizesDword, QP_CONTEXT_SCHEDULE_QUEUE_MASK]]],
];

/** Fields that INIT to RTR always takes over. */
export const receiveFields: readonly ContextBits[] = [
  [sizesDword, QP_CONTEXT_MTU_MASK | QP_CONTEXT_LOG_MESSAGE_BYTES_MASK],
  [dwordOf(QP_CONTEXT_REMOTE_QPN_OFFSET), QP_CONTEXT_REMOTE_QPN_MASK],
  [psnDword, QP_CONTEXT_RECEIVE_PSN_MASK],
];

/** Fields that RTR to RTS always takes over. */
export const sendFields: readonly ContextBits[] = [[dwordOf(QP_CONTEXT_SEND_PSN_OFFSET), QP_CONTEXT_SEND_PSN_MASK]];

/**
 * Takes over `always`, and the fields whose bits are set in `mask`. The new context lies at
 * `sourceOffset`.
 */
export function mergeContext(
  target: DataView,
  source: DataView,
  sourceOffset: number,
  mask: number,
  always: readonly ContextBits[],
): void {
  mergeBits(target, source, sourceOffset, always);
  for (const [flag, bits] of optional) if ((mask & flag) !== 0) mergeBits(target, source, sourceOffset, bits);
}
