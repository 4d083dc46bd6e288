// SPDX-License-Identifier: Apache-2.0
/** Types of events of QPs, by the events that the transport reports (IBTA 11.6.3). */
import { EventType as ReportedEvent } from '../../../../protocol/layout/gen/values.gen.ts';
import { EventType } from '../../../../protocol/mlx5/gen/values.gen.ts';

export const objectEvents: Readonly<Partial<Record<number, EventType>>> = {
  [ReportedEvent.QP_FATAL]: EventType.QUEUE_CATASTROPHIC,
  [ReportedEvent.QP_REQUEST_ERROR]: EventType.INVALID_REQUEST,
  [ReportedEvent.QP_ACCESS_ERROR]: EventType.ACCESS_ERROR,
  [ReportedEvent.COMMUNICATION_ESTABLISHED]: EventType.COMMUNICATION_ESTABLISHED,
  [ReportedEvent.SEND_QUEUE_DRAINED]: EventType.SEND_QUEUE_DRAINED,
  [ReportedEvent.LAST_WQE_REACHED]: EventType.LAST_WQE,
  // Of XRC: a request named a shared receive queue that the QP may not use.
  [ReportedEvent.XRC_DOMAIN_VIOLATION]: EventType.INVALID_REQUEST,
  [ReportedEvent.XRC_INVALID_HEADER]: EventType.INVALID_REQUEST,
};
