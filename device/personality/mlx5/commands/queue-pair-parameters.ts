// SPDX-License-Identifier: Apache-2.0
/**
 * Fields of a QP context that a transition takes over from the command: some always, others when
 * their bit in the mask is set. All other fields stay as they are.
 */
import {
  ADS_ACK_TIMEOUT_MASK,
  ADS_ACK_TIMEOUT_OFFSET,
  ADS_PKEY_INDEX_MASK,
  ADS_PKEY_INDEX_OFFSET,
  ADS_SIZE,
  ADS_VHCA_PORT_NUM_MASK,
  ADS_VHCA_PORT_NUM_OFFSET,
} from '../../../../protocol/mlx5/gen/ads.gen.ts';
import {
  QPC_COUNTER_SET_ID_MASK,
  QPC_COUNTER_SET_ID_OFFSET,
  QPC_LOG_MSG_MAX_MASK,
  QPC_LOG_MSG_MAX_OFFSET,
  QPC_LOG_RRA_MAX_MASK,
  QPC_LOG_RRA_MAX_OFFSET,
  QPC_LOG_SRA_MAX_MASK,
  QPC_LOG_SRA_MAX_OFFSET,
  QPC_MIN_RNR_NAK_MASK,
  QPC_MIN_RNR_NAK_OFFSET,
  QPC_MTU_MASK,
  QPC_MTU_OFFSET,
  QPC_NEXT_RCV_PSN_MASK,
  QPC_NEXT_RCV_PSN_OFFSET,
  QPC_NEXT_SEND_PSN_MASK,
  QPC_NEXT_SEND_PSN_OFFSET,
  QPC_PM_STATE_MASK,
  QPC_PM_STATE_OFFSET,
  QPC_PRIMARY_ADDRESS_PATH_OFFSET,
  QPC_Q_KEY_OFFSET,
  QPC_RAE_MASK,
  QPC_RAE_OFFSET,
  QPC_REMOTE_QPN_MASK,
  QPC_REMOTE_QPN_OFFSET,
  QPC_RETRY_COUNT_MASK,
  QPC_RETRY_COUNT_OFFSET,
  QPC_RNR_RETRY_MASK,
  QPC_RNR_RETRY_OFFSET,
  QPC_RRE_MASK,
  QPC_RWE_MASK,
  QPC_SECONDARY_ADDRESS_PATH_OFFSET,
} from '../../../../protocol/mlx5/gen/qpc.gen.ts';
import { QpOptional } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { ALL_BITS, type ContextBits, dwordOf, mergeBits, wholeDwords } from '../../shared/context-bits.ts';

const PRIMARY = QPC_PRIMARY_ADDRESS_PATH_OFFSET;

/** The bits of a field, by the offset of its first byte. */
function field(offset: number, mask: number): ContextBits {
  return [dwordOf(offset), mask];
}

const pkeyIndex = field(PRIMARY + ADS_PKEY_INDEX_OFFSET, ADS_PKEY_INDEX_MASK);
const ackTimeout = field(PRIMARY + ADS_ACK_TIMEOUT_OFFSET, ADS_ACK_TIMEOUT_MASK);
const port = field(PRIMARY + ADS_VHCA_PORT_NUM_OFFSET, ADS_VHCA_PORT_NUM_MASK);
const remoteReads = field(QPC_RAE_OFFSET, QPC_RRE_MASK);
const remoteWrites = field(QPC_RAE_OFFSET, QPC_RWE_MASK);
const remoteAtomics = field(QPC_RAE_OFFSET, QPC_RAE_MASK);
const rnrTimeout = field(QPC_MIN_RNR_NAK_OFFSET, QPC_MIN_RNR_NAK_MASK);
const retryCount = field(QPC_RETRY_COUNT_OFFSET, QPC_RETRY_COUNT_MASK);
const rnrRetry = field(QPC_RNR_RETRY_OFFSET, QPC_RNR_RETRY_MASK);
const readsOut = field(QPC_LOG_SRA_MAX_OFFSET, QPC_LOG_SRA_MAX_MASK);
const readsIn = field(QPC_LOG_RRA_MAX_OFFSET, QPC_LOG_RRA_MAX_MASK);
const migration = field(QPC_PM_STATE_OFFSET, QPC_PM_STATE_MASK);
const qkey = field(QPC_Q_KEY_OFFSET, ALL_BITS);
const counterSet = field(QPC_COUNTER_SET_ID_OFFSET, QPC_COUNTER_SET_ID_MASK);

/** Destination of the path in use, without P_Key index, port and timeout. */
const address = wholeDwords(PRIMARY, PRIMARY + ADS_SIZE).map(([offset, mask]): ContextBits => {
  const others = [pkeyIndex, ackTimeout, port].filter(([at]) => at === offset);
  return [offset, others.reduce((bits, [, other]) => bits & ~other, mask)];
});

const optional: readonly (readonly [bit: QpOptional, bits: readonly ContextBits[]])[] = [
  [
    QpOptional.ALTERNATE_PATH,
    wholeDwords(QPC_SECONDARY_ADDRESS_PATH_OFFSET, QPC_SECONDARY_ADDRESS_PATH_OFFSET + ADS_SIZE),
  ],
  [QpOptional.REMOTE_READS, [remoteReads]],
  [QpOptional.REMOTE_ATOMICS, [remoteAtomics]],
  [QpOptional.REMOTE_WRITES, [remoteWrites]],
  [QpOptional.PKEY_INDEX, [pkeyIndex]],
  [QpOptional.QKEY, [qkey]],
  [QpOptional.RNR_TIMEOUT, [rnrTimeout]],
  [QpOptional.PRIMARY_PATH, address],
  [QpOptional.READS_OUT, [readsOut]],
  [QpOptional.READS_IN, [readsIn]],
  [QpOptional.MIGRATION_STATE, [migration]],
  [QpOptional.RETRY_COUNT, [retryCount]],
  [QpOptional.RNR_RETRY, [rnrRetry]],
  [QpOptional.ACK_TIMEOUT, [ackTimeout]],
  [QpOptional.PRIMARY_PORT, [port]],
  [QpOptional.COUNTER_SET, [counterSet]],
];

/** Bits of the mask that are understood. */
export const OPTIONAL_MASK = optional.reduce((mask, [bit]) => mask | (1 << bit), 0);

/** Fields that RESET to INIT always takes over. */
export const initialFields: readonly ContextBits[] = [
  ...[pkeyIndex, port, qkey, migration, remoteReads, remoteWrites, remoteAtomics, counterSet],
];

/** Fields that INIT to RTR always takes over. */
export const receiveFields: readonly ContextBits[] = [
  field(QPC_MTU_OFFSET, QPC_MTU_MASK),
  field(QPC_LOG_MSG_MAX_OFFSET, QPC_LOG_MSG_MAX_MASK),
  field(QPC_REMOTE_QPN_OFFSET, QPC_REMOTE_QPN_MASK),
  field(QPC_NEXT_RCV_PSN_OFFSET, QPC_NEXT_RCV_PSN_MASK),
  ...[readsIn, rnrTimeout],
  ...address,
];

/** Fields that RTR to RTS always takes over. */
export const sendFields: readonly ContextBits[] = [
  field(QPC_NEXT_SEND_PSN_OFFSET, QPC_NEXT_SEND_PSN_MASK),
  ...[retryCount, rnrRetry, readsOut, ackTimeout],
];

/** Takes over `always`, and the fields whose bits are set in `mask`, from the context at `at`. */
export function mergeContext(
  target: DataView,
  source: DataView,
  at: number,
  mask: number,
  always: readonly ContextBits[],
): void {
  mergeBits(target, source, at, always);
  for (const [bit, bits] of optional) if (((mask >>> bit) & 1) === 1) mergeBits(target, source, at, bits);
}
