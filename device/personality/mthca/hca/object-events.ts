// SPDX-License-Identifier: Apache-2.0
/** Kinds of events of QPs, by the events that the transport reports (IBTA 11.6.3). */
import { EventType } from '../../../../protocol/layout/gen/values.gen.ts';
import { EventKind } from '../../../../protocol/mthca/gen/values.gen.ts';

export const objectEvents: Readonly<Partial<Record<number, EventKind>>> = {
  [EventType.QP_FATAL]: EventKind.QP_FATAL,
  [EventType.QP_REQUEST_ERROR]: EventKind.QP_INVALID_REQUEST,
  [EventType.QP_ACCESS_ERROR]: EventKind.QP_ACCESS_ERROR,
  [EventType.COMMUNICATION_ESTABLISHED]: EventKind.COMMUNICATION_ESTABLISHED,
  [EventType.SEND_QUEUE_DRAINED]: EventKind.SEND_QUEUE_DRAINED,
  [EventType.LAST_WQE_REACHED]: EventKind.LAST_WQE_REACHED,
};
