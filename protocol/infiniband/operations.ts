// SPDX-License-Identifier: Apache-2.0
/**
 * The BTH opcodes as data: one row per operation and one per transport service; the opcode table is
 * their product (IBTA tables 35 and 38, annexes A14, A19). It gives the meaning and the extension
 * headers of each opcode. `opcodes.ts` computes lookup arrays from it, `values.ts` named values.
 */
import type { StructTable } from '../layout/table.ts';
import {
  AETH,
  ATOMIC_ACK_ETH,
  ATOMIC_ETH,
  DETH,
  EXTENSION_HEADERS,
  FETH,
  IETH,
  IMM_DT,
  RDETH,
  RETH,
  XRCETH,
} from './headers.ts';

/** Properties of an opcode, one bit each. */
export const OpcodeFlag = {
  FIRST: 1 << 0,
  MIDDLE: 1 << 1,
  LAST: 1 << 2,
  ONLY: 1 << 3,
  SEND: 1 << 4,
  WRITE: 1 << 5,
  READ_REQUEST: 1 << 6,
  READ_RESPONSE: 1 << 7,
  ACKNOWLEDGE: 1 << 8,
  ATOMIC: 1 << 9,
  ATOMIC_ACKNOWLEDGE: 1 << 10,
  IMMEDIATE: 1 << 11,
  INVALIDATE: 1 << 12,
  PAYLOAD: 1 << 13,
  REQUEST: 1 << 14,
  RESPONSE: 1 << 15,
  FLUSH: 1 << 16,
  ATOMIC_WRITE: 1 << 17,
} as const;

const { FIRST, MIDDLE, LAST, ONLY, SEND, WRITE, IMMEDIATE, INVALIDATE, PAYLOAD, REQUEST, RESPONSE } = OpcodeFlag;
const { READ_REQUEST, READ_RESPONSE, ACKNOWLEDGE, ATOMIC, ATOMIC_ACKNOWLEDGE, FLUSH, ATOMIC_WRITE } = OpcodeFlag;
const SENT = SEND | PAYLOAD | REQUEST;
const WRITTEN = WRITE | PAYLOAD | REQUEST;
const RETURNED = READ_RESPONSE | PAYLOAD | RESPONSE;

/** An operation: the low five bits of an opcode. */
interface Operation {
  readonly name: string;
  readonly value: number;
  readonly flags: number;
  readonly headers: readonly StructTable[];
}

const OPERATIONS: readonly Operation[] = [
  { name: 'send-first', value: 0x00, flags: SENT | FIRST, headers: [] },
  { name: 'send-middle', value: 0x01, flags: SENT | MIDDLE, headers: [] },
  { name: 'send-last', value: 0x02, flags: SENT | LAST, headers: [] },
  { name: 'send-last-with-immediate', value: 0x03, flags: SENT | LAST | IMMEDIATE, headers: [IMM_DT] },
  { name: 'send-only', value: 0x04, flags: SENT | ONLY, headers: [] },
  { name: 'send-only-with-immediate', value: 0x05, flags: SENT | ONLY | IMMEDIATE, headers: [IMM_DT] },
  { name: 'rdma-write-first', value: 0x06, flags: WRITTEN | FIRST, headers: [RETH] },
  { name: 'rdma-write-middle', value: 0x07, flags: WRITTEN | MIDDLE, headers: [] },
  { name: 'rdma-write-last', value: 0x08, flags: WRITTEN | LAST, headers: [] },
  { name: 'rdma-write-last-with-immediate', value: 0x09, flags: WRITTEN | LAST | IMMEDIATE, headers: [IMM_DT] },
  { name: 'rdma-write-only', value: 0x0a, flags: WRITTEN | ONLY, headers: [RETH] },
  { name: 'rdma-write-only-with-immediate', value: 0x0b, flags: WRITTEN | ONLY | IMMEDIATE, headers: [RETH, IMM_DT] },
  { name: 'rdma-read-request', value: 0x0c, flags: READ_REQUEST | REQUEST | ONLY, headers: [RETH] },
  { name: 'rdma-read-response-first', value: 0x0d, flags: RETURNED | FIRST, headers: [AETH] },
  { name: 'rdma-read-response-middle', value: 0x0e, flags: RETURNED | MIDDLE, headers: [] },
  { name: 'rdma-read-response-last', value: 0x0f, flags: RETURNED | LAST, headers: [AETH] },
  { name: 'rdma-read-response-only', value: 0x10, flags: RETURNED | ONLY, headers: [AETH] },
  { name: 'acknowledge', value: 0x11, flags: ACKNOWLEDGE | RESPONSE | ONLY, headers: [AETH] },
  {
    name: 'atomic-acknowledge',
    value: 0x12,
    flags: ATOMIC_ACKNOWLEDGE | RESPONSE | ONLY,
    headers: [AETH, ATOMIC_ACK_ETH],
  },
  { name: 'compare-swap', value: 0x13, flags: ATOMIC | REQUEST | ONLY, headers: [ATOMIC_ETH] },
  { name: 'fetch-add', value: 0x14, flags: ATOMIC | REQUEST | ONLY, headers: [ATOMIC_ETH] },
  { name: 'resync', value: 0x15, flags: REQUEST | ONLY, headers: [] },
  { name: 'send-last-with-invalidate', value: 0x16, flags: SENT | LAST | INVALIDATE, headers: [IETH] },
  { name: 'send-only-with-invalidate', value: 0x17, flags: SENT | ONLY | INVALIDATE, headers: [IETH] },
  { name: 'flush', value: 0x1c, flags: FLUSH | REQUEST | ONLY, headers: [FETH, RETH] },
  { name: 'atomic-write', value: 0x1d, flags: ATOMIC_WRITE | PAYLOAD | REQUEST | ONLY, headers: [RETH] },
];

/** A transport service: the high three bits of an opcode. */
interface Transport {
  readonly name: string;
  readonly value: number;
  /** True if the transport service has this operation. */
  readonly has: (operation: number) => boolean;
  /** First extension headers of every packet (`always`) and of every request (`requests`). */
  readonly always: readonly StructTable[];
  readonly requests: readonly StructTable[];
}

const RESYNC = 0x15;
/** FLUSH and ATOMIC WRITE; Linux names them for RC and RD only. */
const isPlacement = (operation: number): boolean => operation >= 0x1c;
const TRANSPORTS: readonly Transport[] = [
  { name: 'rc', value: 0x00, has: (operation) => operation !== RESYNC, always: [], requests: [] },
  { name: 'uc', value: 0x20, has: (operation) => operation <= 0x0b, always: [], requests: [] },
  {
    name: 'rd',
    value: 0x40,
    has: (operation) => operation <= RESYNC || isPlacement(operation),
    always: [RDETH],
    requests: [DETH],
  },
  { name: 'ud', value: 0x60, has: (operation) => operation === 4 || operation === 5, always: [], requests: [DETH] },
  {
    name: 'xrc',
    value: 0xa0,
    has: (operation) => operation !== RESYNC && !isPlacement(operation),
    always: [],
    requests: [XRCETH],
  },
];

/** An opcode with its properties. */
interface OpcodeRow {
  readonly name: string;
  readonly value: number;
  readonly flags: number;
  /** Extension headers in wire order. */
  readonly headers: readonly StructTable[];
}

/** All opcodes that are not reserved. */
export const OPCODES: readonly OpcodeRow[] = TRANSPORTS.flatMap((transport) =>
  OPERATIONS.filter(({ value }) => transport.has(value)).map((operation) => {
    const first = (operation.flags & REQUEST) === 0 ? transport.always : [...transport.always, ...transport.requests];
    const carried = new Set([...first, ...operation.headers]);
    return {
      name: `${transport.name}-${operation.name}`,
      value: transport.value | operation.value,
      flags: operation.flags,
      headers: EXTENSION_HEADERS.filter((header) => carried.has(header)),
    };
  }),
);

/** The rows of the `bth-opcode` value table. */
export const opcodeValues = OPCODES.map(({ name, value, headers }) => ({
  name,
  value,
  doc: headers.length === 0 ? 'No extension header.' : `Carries ${headers.map((header) => header.name).join(', ')}.`,
}));
