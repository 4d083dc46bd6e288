// SPDX-License-Identifier: Apache-2.0
/** Opcodes of send requests that only personalities have, and the names of all opcodes. */
import { sendOpcodeName } from '../../../protocol/layout/gen/values.gen.ts';

/**
 * Send opcode of a request that changes a key in the form of a personality. Its front end reads
 * the request again (`KeyLookup.perform`). The adapter's own front end has no such requests.
 */
export const CHANGE_KEY = 0x13;

/** The name of the opcode of a send request: `RDMA_WRITE`. */
export function requestName(opcode: number): string {
  return opcode === CHANGE_KEY ? 'CHANGE_KEY' : sendOpcodeName(opcode);
}
