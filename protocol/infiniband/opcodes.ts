// SPDX-License-Identifier: Apache-2.0
/**
 * Lookup arrays by BTH opcode, computed once from `operations.ts`: flags, size of the headers, and
 * position of each extension header. Parser, builder and transport read them. A reserved opcode
 * has flags 0.
 */
import type { StructTable } from '../layout/table.ts';
import { BTH_SIZE } from './gen/bth.gen.ts';
import { AETH, ATOMIC_ACK_ETH, ATOMIC_ETH, DETH, FETH, IETH, IMM_DT, RDETH, RETH, XRCETH } from './headers.ts';
import { OPCODES } from './operations.ts';

export { OpcodeFlag } from './operations.ts';

/** Transport services: the upper three bits of an opcode. */
export const Transport = { RC: 0x00, UC: 0x20, RD: 0x40, UD: 0x60, XRC: 0xa0 } as const;

/** Bits of an opcode that select the transport service. */
export const TRANSPORT_MASK = 0xe0;

/** Bits of an opcode that select the operation. */
export const OPERATION_MASK = 0x1f;

/** `OpcodeFlag` bits of each opcode; 0 for a reserved one. */
export const opcodeFlags = new Int32Array(256);

/** Bytes of the BTH and all extension headers of each opcode; 0 for a reserved one. */
export const opcodeHeaderBytes = new Uint8Array(256);

for (const { value, flags, headers } of OPCODES) {
  opcodeFlags[value] = flags;
  opcodeHeaderBytes[value] = BTH_SIZE + bytesOf(headers);
}

/** Distance of each extension header from the start of the BTH, by opcode; 0 if not carried. */
export const rdethDistance = distances(RDETH);
export const xrcethDistance = distances(XRCETH);
export const dethDistance = distances(DETH);
export const fethDistance = distances(FETH);
export const rethDistance = distances(RETH);
export const atomicEthDistance = distances(ATOMIC_ETH);
export const aethDistance = distances(AETH);
export const atomicAckEthDistance = distances(ATOMIC_ACK_ETH);
export const immDtDistance = distances(IMM_DT);
export const iethDistance = distances(IETH);

/** 1 for each opcode with another extension header than DETH, RETH and AETH. */
export const rareHeaders = new Uint8Array(256);

const commonHeaders: readonly StructTable[] = [DETH, RETH, AETH];
for (const { value, headers } of OPCODES)
  rareHeaders[value] = headers.every((header) => commonHeaders.includes(header)) ? 0 : 1;

function distances(header: StructTable): Uint8Array {
  const table = new Uint8Array(256);
  for (const { value, headers } of OPCODES) {
    const index = headers.indexOf(header);
    if (index >= 0) table[value] = BTH_SIZE + bytesOf(headers.slice(0, index));
  }
  return table;
}

function bytesOf(headers: readonly StructTable[]): number {
  return headers.reduce((sum, header) => sum + header.sizeBytes, 0);
}
