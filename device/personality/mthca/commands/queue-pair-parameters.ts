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

/** Bits of a dword of the context. */
export type ContextBits = readonly [offset: number, mask: number];

const DWORD_BYTES = 4;
const ALL = 0xffffffff;
const PRIMARY = QP_CONTEXT_PRIMARY_PATH_OFFSET;
const ALTERNATE = QP_CONTEXT_ALTERNATE_PATH_OFFSET;

/** Offset of the dword that holds a byte. */
const dword = (offset: number): number => offset - (offset % DWORD_BYTES);

const retryDword = dword(QP_CONTEXT_RETRY_COUNT_OFFSET);
const rightsDword = dword(QP_CONTEXT_TAKES_ATOMICS_OFFSET);
const sizesDword = dword(QP_CONTEXT_MTU_OFFSET);
const psnDword = dword(QP_CONTEXT_RECEIVE_PSN_OFFSET);
const lidDword = dword(QP_PATH_LID_OFFSET);
const timeoutDword = dword(QP_PATH_ACK_TIMEOUT_OFFSET);
const pkeyDword = dword(QP_PATH_PKEY_INDEX_OFFSET);
const retryInPath = dword(QP_PATH_RNR_RETRY_OFFSET);

/** Destination of a path, without port, P_Key index, timeout and retries. */
const address: readonly ContextBits[] = [
  [PRIMARY + lidDword, QP_PATH_HAS_ROUTE_MASK | QP_PATH_PATH_BITS_MASK | QP_PATH_LID_MASK],
  [PRIMARY + timeoutDword, ~QP_PATH_ACK_TIMEOUT_MASK],
  ...dwords(PRIMARY + QP_PATH_SERVICE_LEVEL_OFFSET, PRIMARY + QP_PATH_SIZE),
];

const optional: readonly (readonly [flag: QpParameterFlag, bits: readonly ContextBits[]])[] = [
  [QpParameterFlag.ALTERNATE_PATH, dwords(ALTERNATE, ALTERNATE + QP_PATH_SIZE)],
  [QpParameterFlag.REMOTE_READ, [[rightsDword, QP_CONTEXT_TAKES_READS_MASK]]],
  [QpParameterFlag.REMOTE_ATOMIC, [[rightsDword, QP_CONTEXT_TAKES_ATOMICS_MASK]]],
  [QpParameterFlag.REMOTE_WRITE, [[rightsDword, QP_CONTEXT_TAKES_WRITES_MASK]]],
  [QpParameterFlag.PKEY_INDEX, [[PRIMARY + pkeyDword, QP_PATH_PKEY_INDEX_MASK]]],
  [QpParameterFlag.QKEY, [[QP_CONTEXT_QKEY_OFFSET, ALL]]],
  [QpParameterFlag.RNR_TIMEOUT, [[psnDword, QP_CONTEXT_RNR_TIMER_MASK]]],
  [QpParameterFlag.PRIMARY_PATH, address],
  [
    QpParameterFlag.READS_OUT,
    [[retryDword, QP_CONTEXT_LOG_READS_OUT_MASK | QP_CONTEXT_SENDS_READS_MASK | QP_CONTEXT_SENDS_ATOMICS_MASK]],
  ],
  [QpParameterFlag.READS_IN, [[rightsDword, QP_CONTEXT_LOG_READS_IN_MASK]]],
  [QpParameterFlag.MIGRATION_STATE, [[dword(QP_CONTEXT_MIGRATION_OFFSET), QP_CONTEXT_MIGRATION_MASK]]],
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
  [dword(QP_CONTEXT_REMOTE_QPN_OFFSET), QP_CONTEXT_REMOTE_QPN_MASK],
  [psnDword, QP_CONTEXT_RECEIVE_PSN_MASK],
];

/** Fields that RTR to RTS always takes over. */
export const sendFields: readonly ContextBits[] = [[dword(QP_CONTEXT_SEND_PSN_OFFSET), QP_CONTEXT_SEND_PSN_MASK]];

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

function mergeBits(target: DataView, source: DataView, sourceOffset: number, bits: readonly ContextBits[]): void {
  for (const [offset, mask] of bits) {
    const kept = target.getUint32(offset) & ~mask;
    target.setUint32(offset, kept | (source.getUint32(sourceOffset + offset) & mask));
  }
}

function dwords(from: number, to: number): ContextBits[] {
  return Array.from({ length: (to - from) / DWORD_BYTES }, (_, index) => [from + index * DWORD_BYTES, ALL]);
}
