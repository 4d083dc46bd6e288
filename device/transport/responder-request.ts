// SPDX-License-Identifier: Apache-2.0
/** The request packet a responder is looking at, and whose it is; one record, reused. And the states of the responder over one packet (IBTA 9.7.4). */
import type { ParsedPacket } from '../../protocol/infiniband/packet.ts';
import { type EventType, type FaultKind, ServiceType } from '../../protocol/layout/gen/values.gen.ts';
import type { PacketRing } from '../port/packet-ring.ts';
import type { Port } from '../port/port.ts';
import type { MemoryRegion } from '../protection/memory-region.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import type { ResponderState } from './responder-state.ts';

/** States of the responder, over one packet. From DROP on it is done with it. */
export const ResponderStep = {
  CHECK_PSN: 0,
  CHECK_OPCODE_SEQUENCE: 1,
  CHECK_RESOURCES: 2,
  CHECK_LENGTH: 3,
  CHECK_RKEY: 4,
  EXECUTE: 5,
  READ: 6,
  ATOMIC: 7,
  COMPLETE: 8,
  ACKNOWLEDGE: 9,
  DUPLICATE: 10,
  DROP: 11,
  EXIT: 12,
} as const;
export type ResponderStep = (typeof ResponderStep)[keyof typeof ResponderStep];

/** The QP fails: flush, and the event that says why; undefined when a completion has said it. `detail` goes with the fault. */
export type FailResponder = (qp: QueuePair, event: EventType | undefined, fault: FaultKind, detail: number) => void;

export class ResponderRequest {
  qp!: QueuePair;
  state!: ResponderState;
  port!: Port;
  ring!: PacketRing;
  packet!: Readonly<ParsedPacket>;
  /** Where a WRITE goes, once its key was checked for this packet's payload. */
  region: MemoryRegion | undefined = undefined;

  /** Is it acknowledged? */
  get reliable(): boolean {
    return this.qp.serviceType !== ServiceType.UC;
  }
}
