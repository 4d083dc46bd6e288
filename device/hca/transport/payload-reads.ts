// SPDX-License-Identifier: Apache-2.0
/**
 * Counts the reads of guest memory that a send command needs before its first packet (US 8,484,392
 * par. 118-119): its payload, in requests of at most 4096 bytes for each scatter/gather element;
 * the address handle of a datagram; the page list of a fast registration. The send pipeline calls
 * it at launch when reads take time.
 */
import { COMMAND_HEADER_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  getSendCommandInline,
  getSendCommandOpcode,
  getSendCommandSgeCount,
  getSendCommandSgeLength,
} from '../../../protocol/layout/gen/send-command.gen.ts';
import { getSgeLength, SGE_SIZE } from '../../../protocol/layout/gen/sge.gen.ts';
import { SendOpcode, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import { bytesBehindHeader } from '../collect/physical-collect-buffer.ts';
import { hasPayload, requestKind } from './requester-opcodes.ts';

/** The largest read request of PCI Express. */
export const READ_REQUEST_BYTES = 4096;
const ADDRESS_HANDLE_READS = 1;
const PAGE_LIST_READS = 1;

/**
 * Reads of the command in `view`. `connected`: its QP is RC or UC. A command that cannot be
 * executed needs none.
 */
export function countPayloadReads(connected: boolean, view: DataView): number {
  const opcode = getSendCommandOpcode(view, 0);
  const kind = requestKind(ServiceType.RC, opcode);
  if (opcode === SendOpcode.FAST_REGISTER && connected) return PAGE_LIST_READS;
  if (!hasPayload(kind)) return 0;
  return (connected ? 0 : ADDRESS_HANDLE_READS) + countElements(view);
}

function countElements(view: DataView): number {
  if (getSendCommandInline(view, 0)) return 0;
  const count = getSendCommandSgeCount(view, 0);
  if (count === 1) return requestsOf(getSendCommandSgeLength(view, 0));
  if (count * SGE_SIZE > bytesBehindHeader(view)) return 0;
  let reads = 0;
  for (let index = 0; index < count; index++)
    reads += requestsOf(getSgeLength(view, COMMAND_HEADER_BYTES + index * SGE_SIZE));
  return reads;
}

function requestsOf(lengthBytes: number): number {
  return Math.ceil(lengthBytes / READ_REQUEST_BYTES);
}
