// SPDX-License-Identifier: Apache-2.0
/**
 * BTH opcodes of request packets by operation and place in the message (IBTA table 38), and the
 * kinds of send opcodes (IBTA table 36). Called by requester, completer and command loader.
 */

import { BthOpcode } from '../../../protocol/infiniband/gen/values.gen.ts';
import { FlushSelectivity, PlacementType, SendOpcode, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import { CHANGE_KEY } from '../function/request-opcodes.ts';

/** Place of a packet in its message: bit 0 for the first packet, bit 1 for the last one. */
const MIDDLE = 0;
const FIRST = 1;
const LAST = 2;
const ONLY = 3;
const PLACES = 4;
const NONE = 0xff;

const table = new Uint8Array(32 * PLACES).fill(NONE);

function define(opcode: SendOpcode, first: number, middle: number, last: number, only: number): void {
  table[opcode * PLACES + FIRST] = first;
  table[opcode * PLACES + MIDDLE] = middle;
  table[opcode * PLACES + LAST] = last;
  table[opcode * PLACES + ONLY] = only;
}

const op = BthOpcode;
define(SendOpcode.SEND, op.RC_SEND_FIRST, op.RC_SEND_MIDDLE, op.RC_SEND_LAST, op.RC_SEND_ONLY);
define(
  SendOpcode.SEND_IMMEDIATE,
  op.RC_SEND_FIRST,
  op.RC_SEND_MIDDLE,
  op.RC_SEND_LAST_WITH_IMMEDIATE,
  op.RC_SEND_ONLY_WITH_IMMEDIATE,
);
define(
  SendOpcode.SEND_INVALIDATE,
  op.RC_SEND_FIRST,
  op.RC_SEND_MIDDLE,
  op.RC_SEND_LAST_WITH_INVALIDATE,
  op.RC_SEND_ONLY_WITH_INVALIDATE,
);
define(
  SendOpcode.RDMA_WRITE,
  op.RC_RDMA_WRITE_FIRST,
  op.RC_RDMA_WRITE_MIDDLE,
  op.RC_RDMA_WRITE_LAST,
  op.RC_RDMA_WRITE_ONLY,
);
define(
  SendOpcode.RDMA_WRITE_IMMEDIATE,
  op.RC_RDMA_WRITE_FIRST,
  op.RC_RDMA_WRITE_MIDDLE,
  op.RC_RDMA_WRITE_LAST_WITH_IMMEDIATE,
  op.RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE,
);
define(SendOpcode.RDMA_READ, NONE, NONE, NONE, op.RC_RDMA_READ_REQUEST);
define(SendOpcode.COMPARE_SWAP, NONE, NONE, NONE, op.RC_COMPARE_SWAP);
define(SendOpcode.FETCH_ADD, NONE, NONE, NONE, op.RC_FETCH_ADD);
define(SendOpcode.FLUSH, NONE, NONE, NONE, op.RC_FLUSH);
define(SendOpcode.ATOMIC_WRITE, NONE, NONE, NONE, op.RC_ATOMIC_WRITE);

/** Bytes that an ATOMIC WRITE writes (IBTA annex A19). */
export const ATOMIC_WRITE_BYTES = 8;

const ALL_PLACEMENTS = PlacementType.GLOBAL_VISIBILITY | PlacementType.PERSISTENCE;

/** True when a FLUSH names at least one placement, and nothing that is reserved. */
export function isPlacement(placementType: number, selectivity: number): boolean {
  const isKnown = placementType !== 0 && (placementType & ~ALL_PLACEMENTS) === 0;
  return isKnown && selectivity <= FlushSelectivity.MEMORY_REGION;
}

/** BTH opcode of a request packet of a transport, which must have the operation. */
export function requestOpcode(transport: number, opcode: number, first: boolean, last: boolean): number {
  return transport | table[opcode * PLACES + (first ? FIRST : 0) + (last ? LAST : 0)];
}

/** Kinds of send opcodes, by what the requester sends. */
export const RequestKind = {
  /** No operation of connected QPs. */
  NONE: 0,
  SEND: 1,
  WRITE: 2,
  // From READ to ATOMIC_WRITE: answered by a response. See `SendRecord.isFetch`.
  READ: 3,
  ATOMIC: 4,
  FLUSH: 5,
  ATOMIC_WRITE: 6,
  /** Executed locally, without a packet. */
  LOCAL: 7,
} as const;
export type RequestKind = (typeof RequestKind)[keyof typeof RequestKind];

const kinds = new Uint8Array(256);
kinds[SendOpcode.SEND] = RequestKind.SEND;
kinds[SendOpcode.SEND_IMMEDIATE] = RequestKind.SEND;
kinds[SendOpcode.SEND_INVALIDATE] = RequestKind.SEND;
kinds[SendOpcode.RDMA_WRITE] = RequestKind.WRITE;
kinds[SendOpcode.RDMA_WRITE_IMMEDIATE] = RequestKind.WRITE;
kinds[SendOpcode.RDMA_READ] = RequestKind.READ;
kinds[SendOpcode.COMPARE_SWAP] = RequestKind.ATOMIC;
kinds[SendOpcode.FETCH_ADD] = RequestKind.ATOMIC;
kinds[SendOpcode.FLUSH] = RequestKind.FLUSH;
kinds[SendOpcode.ATOMIC_WRITE] = RequestKind.ATOMIC_WRITE;
kinds[SendOpcode.NOP] = RequestKind.LOCAL;
kinds[SendOpcode.LOCAL_INVALIDATE] = RequestKind.LOCAL;
kinds[SendOpcode.FAST_REGISTER] = RequestKind.LOCAL;
kinds[SendOpcode.BIND_WINDOW] = RequestKind.LOCAL;
kinds[CHANGE_KEY] = RequestKind.LOCAL;

/**
 * Kind of a send opcode; NONE when the service lacks the operation (IBTA table 36). Linux knows
 * FLUSH and ATOMIC WRITE for RC, not for XRC.
 */
export function requestKind(serviceType: number, opcode: number): RequestKind {
  const kind = kinds[opcode] as RequestKind;
  if (kind === RequestKind.FLUSH || kind === RequestKind.ATOMIC_WRITE)
    return serviceType === ServiceType.RC ? kind : RequestKind.NONE;
  const onlyReliable =
    kind === RequestKind.READ || kind === RequestKind.ATOMIC || opcode === SendOpcode.SEND_INVALIDATE;
  return onlyReliable && serviceType === ServiceType.UC ? RequestKind.NONE : kind;
}

/**
 * True when the message consumes a receive WQE, so that it needs an end-to-end credit (IBTA
 * 9.7.7.2).
 */
export function needsCredit(opcode: number): boolean {
  return kinds[opcode] === RequestKind.SEND || opcode === SendOpcode.RDMA_WRITE_IMMEDIATE;
}

/** True when the requester sends payload from local memory. */
export function hasPayload(kind: RequestKind): boolean {
  return kind === RequestKind.SEND || kind === RequestKind.WRITE || kind === RequestKind.ATOMIC_WRITE;
}
