// SPDX-License-Identifier: Apache-2.0
/** Which state changes of a QP are legal, and which attributes each needs and takes (IBTA 10.3.1, 11.2.4.2 and table 92). */
import { QpMask, QpState, ServiceType } from '../../protocol/layout/gen/values.gen.ts';

interface Transition {
  readonly required: number;
  readonly optional: number;
}

const { PKEY_INDEX, PORT, QKEY, SEND_PSN, CURRENT_STATE, SQD_NOTIFY } = QpMask;
const NOTHING: Transition = { required: 0, optional: 0 };

/** Datagram QPs, by `from * STATES + to`. */
const STATES = 8;
const datagram: (Transition | undefined)[] = new Array<Transition | undefined>(STATES * STATES).fill(undefined);

function allow(from: QpState, to: QpState, required: number, optional: number): void {
  datagram[from * STATES + to] = { required, optional };
}

allow(QpState.RESET, QpState.INIT, PKEY_INDEX | PORT | QKEY, 0);
allow(QpState.INIT, QpState.INIT, 0, PKEY_INDEX | PORT | QKEY);
allow(QpState.INIT, QpState.RTR, 0, PKEY_INDEX | QKEY);
allow(QpState.RTR, QpState.RTS, SEND_PSN, CURRENT_STATE | QKEY);
allow(QpState.RTS, QpState.RTS, 0, CURRENT_STATE | QKEY);
allow(QpState.RTS, QpState.SQD, 0, SQD_NOTIFY);
allow(QpState.SQD, QpState.SQD, 0, PKEY_INDEX | QKEY);
allow(QpState.SQD, QpState.RTS, 0, CURRENT_STATE | QKEY);
allow(QpState.SQE, QpState.RTS, 0, CURRENT_STATE | QKEY);

/** The rules of a state change; undefined when it is illegal. RESET and ERR can be reached from everywhere. */
export function findTransition(serviceType: ServiceType, from: QpState, to: QpState): Transition | undefined {
  if (to === QpState.RESET || to === QpState.ERR) return NOTHING;
  if (serviceType !== ServiceType.UD) return undefined;
  return datagram[from * STATES + to];
}
