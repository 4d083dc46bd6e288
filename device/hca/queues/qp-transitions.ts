// SPDX-License-Identifier: Apache-2.0
/**
 * State transitions of a QP: the legal ones, and the attributes that each requires and accepts
 * (IBTA 10.3.1, 11.2.5.2 and table 92). The management command modify QP looks them up.
 */
import { QpMask, QpState, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';

/** Masks (`QpMask`) of the required and of the optional attributes. */
interface Transition {
  readonly required: number;
  readonly optional: number;
}

const { PKEY_INDEX, PORT, QKEY, ACCESS, SEND_PSN, RECEIVE_PSN, CURRENT_STATE, SQD_NOTIFY } = QpMask;
const { ADDRESS_VECTOR, PATH_MTU, REMOTE_QPN, TIMEOUT, RETRY_COUNT, RNR_RETRY, MIN_RNR_TIMER } = QpMask;
const { MAX_READS_INITIATED, MAX_READS_SERVED } = QpMask;
const { RESET, INIT, RTR, RTS, SQD, SQE, ERR } = QpState;

type Table = (Transition | undefined)[];
/** `from, to, required, optional`. */
type Row = readonly [QpState, QpState, number, number];

const STATES = 8;
const NOTHING: Transition = { required: 0, optional: 0 };

function tableOf(rows: readonly Row[]): Table {
  const table: Table = new Array<Transition | undefined>(STATES * STATES).fill(undefined);
  for (const [from, to, required, optional] of rows) table[from * STATES + to] = { required, optional };
  return table;
}

const datagram = tableOf([
  [RESET, INIT, PKEY_INDEX | PORT | QKEY, 0],
  [INIT, INIT, 0, PKEY_INDEX | PORT | QKEY],
  [INIT, RTR, 0, PKEY_INDEX | QKEY],
  [RTR, RTS, SEND_PSN, CURRENT_STATE | QKEY],
  [RTS, RTS, 0, CURRENT_STATE | QKEY],
  [RTS, SQD, 0, SQD_NOTIFY],
  [SQD, SQD, 0, PKEY_INDEX | QKEY],
  [SQD, RTS, 0, CURRENT_STATE | QKEY],
  [SQE, RTS, 0, CURRENT_STATE | QKEY],
]);

/** SMI and GSI QPs belong to a port from their creation on. */
const special = tableOf([
  [RESET, INIT, PKEY_INDEX | QKEY, 0],
  [INIT, INIT, 0, PKEY_INDEX | QKEY],
  [INIT, RTR, 0, PKEY_INDEX | QKEY],
  [RTR, RTS, SEND_PSN, CURRENT_STATE | QKEY],
  [RTS, RTS, 0, CURRENT_STATE | QKEY],
  [RTS, SQD, 0, SQD_NOTIFY],
  [SQD, SQD, 0, PKEY_INDEX | QKEY],
  [SQD, RTS, 0, CURRENT_STATE | QKEY],
  [SQE, RTS, 0, CURRENT_STATE | QKEY],
]);

const unreliable = tableOf([
  [RESET, INIT, PKEY_INDEX | PORT | ACCESS, 0],
  [INIT, INIT, 0, PKEY_INDEX | PORT | ACCESS],
  [INIT, RTR, ADDRESS_VECTOR | PATH_MTU | REMOTE_QPN | RECEIVE_PSN, PKEY_INDEX | ACCESS],
  [RTR, RTS, SEND_PSN, CURRENT_STATE | ACCESS],
  [RTS, RTS, 0, CURRENT_STATE | ACCESS],
  [RTS, SQD, 0, SQD_NOTIFY],
  [SQD, SQD, 0, ADDRESS_VECTOR | PKEY_INDEX | ACCESS],
  [SQD, RTS, 0, CURRENT_STATE | ACCESS],
  [SQE, RTS, 0, CURRENT_STATE | ACCESS],
]);

const RETRIES = TIMEOUT | RETRY_COUNT | RNR_RETRY;
const reliable = tableOf([
  [RESET, INIT, PKEY_INDEX | PORT | ACCESS, 0],
  [INIT, INIT, 0, PKEY_INDEX | PORT | ACCESS],
  [
    INIT,
    RTR,
    ADDRESS_VECTOR | PATH_MTU | REMOTE_QPN | RECEIVE_PSN | MAX_READS_SERVED | MIN_RNR_TIMER,
    PKEY_INDEX | ACCESS,
  ],
  [RTR, RTS, SEND_PSN | RETRIES | MAX_READS_INITIATED, CURRENT_STATE | ACCESS | MIN_RNR_TIMER],
  [RTS, RTS, 0, CURRENT_STATE | ACCESS | MIN_RNR_TIMER],
  [RTS, SQD, 0, SQD_NOTIFY],
  [
    SQD,
    SQD,
    0,
    ADDRESS_VECTOR | PKEY_INDEX | ACCESS | RETRIES | MIN_RNR_TIMER | MAX_READS_INITIATED | MAX_READS_SERVED,
  ],
  [SQD, RTS, 0, CURRENT_STATE | ACCESS | MIN_RNR_TIMER],
]);

/** The sending half of a reliable connection (IBTA annex A14). */
const initiator = tableOf([
  [RESET, INIT, PKEY_INDEX | PORT | ACCESS, 0],
  [INIT, INIT, 0, PKEY_INDEX | PORT | ACCESS],
  [INIT, RTR, ADDRESS_VECTOR | PATH_MTU | REMOTE_QPN | RECEIVE_PSN, PKEY_INDEX | ACCESS],
  [RTR, RTS, SEND_PSN | RETRIES | MAX_READS_INITIATED, CURRENT_STATE | ACCESS],
  [RTS, RTS, 0, CURRENT_STATE | ACCESS],
  [RTS, SQD, 0, SQD_NOTIFY],
  [SQD, SQD, 0, ADDRESS_VECTOR | PKEY_INDEX | ACCESS | RETRIES | MAX_READS_INITIATED],
  [SQD, RTS, 0, CURRENT_STATE | ACCESS],
]);

/** The receiving half (IBTA annex A14). */
const target = tableOf([
  [RESET, INIT, PKEY_INDEX | PORT | ACCESS, 0],
  [INIT, INIT, 0, PKEY_INDEX | PORT | ACCESS],
  [
    INIT,
    RTR,
    ADDRESS_VECTOR | PATH_MTU | REMOTE_QPN | RECEIVE_PSN | MAX_READS_SERVED | MIN_RNR_TIMER,
    PKEY_INDEX | ACCESS,
  ],
  [RTR, RTS, SEND_PSN | TIMEOUT, CURRENT_STATE | ACCESS | MIN_RNR_TIMER],
  [RTS, RTS, 0, CURRENT_STATE | ACCESS | MIN_RNR_TIMER],
  [RTS, SQD, 0, SQD_NOTIFY],
  [SQD, SQD, 0, ADDRESS_VECTOR | PKEY_INDEX | ACCESS | TIMEOUT | MIN_RNR_TIMER | MAX_READS_SERVED],
  [SQD, RTS, 0, CURRENT_STATE | ACCESS | MIN_RNR_TIMER],
]);

const tables = new Map<number, Table>([
  [ServiceType.UD, datagram],
  [ServiceType.SMI, special],
  [ServiceType.GSI, special],
  [ServiceType.UC, unreliable],
  [ServiceType.RC, reliable],
  [ServiceType.XRC_INITIATOR, initiator],
  [ServiceType.XRC_TARGET, target],
]);

/**
 * Returns the rule of a state change, or undefined when it is illegal. RESET and ERR can be reached
 * from every state.
 */
export function findTransition(serviceType: number, from: QpState, to: QpState): Transition | undefined {
  if (to === RESET || to === ERR) return NOTHING;
  return tables.get(serviceType)?.[from * STATES + to];
}
