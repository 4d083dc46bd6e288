// SPDX-License-Identifier: Apache-2.0
/**
 * The fields that traces read from queue pairs and from the transport. Both belong to layers above;
 * their classes have these fields.
 */
import type { ParsedPacket } from '../../../protocol/infiniband/packet.ts';
import type { EventType, FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { PacketRing } from '../../fabric/port/packet-ring.ts';
import type { EventSubject } from '../function/event-record.ts';
import type { Timeline } from '../function/timeline.ts';

/** A queue pair. */
export interface TracedQueuePair extends EventSubject {
  readonly serviceType: number;
  readonly attributes: { readonly port: number; readonly remoteQpn: number };
  readonly pathMtuBytes: number;
  readonly owner: {
    readonly number: number;
    readonly timeline: Timeline | undefined;
    postAsynchronous(type: EventType, subject: EventSubject, fault: FaultKind): void;
  };
}

/** A connected queue pair as requester. */
export interface TracedRequester {
  readonly path: { readonly dlid: number };
  /** Message sequence number of the next new message. */
  readonly sendSequence: number;
}

/** A command of a connected queue pair, from launch to completion. */
export interface TracedCommand {
  readonly opcode: number;
  readonly sequence: number;
  readonly messageLength: number;
  readonly firstPsn: number;
  readonly lastPsn: number;
  launchedNs: number;
  /** Its command block, or -1. */
  traceBlock: number;
}

/** A connected queue pair as responder. */
export interface TracedResponder {
  readonly wqeNumber: number;
  readonly msn: number;
  /** Bytes of the message placed so far. */
  readonly messageBytes: number;
}

/** A request packet that a responder processes. */
export interface TracedRequest {
  readonly state: TracedResponder;
  readonly packet: Readonly<ParsedPacket>;
  readonly ring: PacketRing;
}

/** The answer to a READ or an atomic. */
export interface TracedAnswer {
  readonly isAtomic: boolean;
  readonly lengthBytes: number;
  readonly lastPsn: number;
  readonly msn: number;
  /** Its command block, or -1. */
  traceBlock: number;
}
