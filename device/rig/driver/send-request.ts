// SPDX-License-Identifier: Apache-2.0
/**
 * Builds the bytes of a send command (docs/DOCUMENTS.md decision 1) from a request. Every field can
 * be overridden, so that tests can build invalid commands. Called by `DriverQueuePair`.
 */

import {
  ATOMIC_OPERANDS_COMPARE_OFFSET,
  ATOMIC_OPERANDS_SIZE,
  ATOMIC_OPERANDS_SWAP_OR_ADD_OFFSET,
} from '../../../protocol/layout/gen/atomic-operands.gen.ts';
import { COMMAND_HEADER_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { encodeRdmaTarget } from '../../../protocol/layout/gen/rdma-target.gen.ts';
import {
  encodeSendCommand,
  newSendCommand,
  SEND_COMMAND_CHECKSUM_OFFSET,
  SEND_COMMAND_TARGET_OFFSET,
  type SendCommand,
  setSendCommandChecksum,
} from '../../../protocol/layout/gen/send-command.gen.ts';
import { encodeSge, SGE_SIZE, type Sge } from '../../../protocol/layout/gen/sge.gen.ts';
import { encodeUdTarget } from '../../../protocol/layout/gen/ud-target.gen.ts';
import { SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import { commandChecksum } from './checksum.ts';

/** A work request. By default a signaled SEND without payload to QP 0 by address handle 0. */
export interface SendRequest {
  readonly remoteQpn?: number;
  readonly qkey?: number;
  readonly addressHandle?: number;
  /** P_Key table index, of datagrams of a GSI QP. */
  readonly pkeyIndex?: number;
  /** Immediate data; with it the default operation is SEND_IMMEDIATE. */
  readonly immediate?: number;
  /** Operation; SEND or SEND_IMMEDIATE unless given. */
  readonly opcode?: SendOpcode;
  /** Remote memory of an RDMA or atomic operation. */
  readonly remote?: { readonly address: number; readonly rkey: number };
  /** Of a FLUSH: placement type, selectivity, and length of the range in bytes. */
  readonly flush?: { readonly placementType: number; readonly selectivity?: number; readonly lengthBytes?: number };
  /** Operands of an atomic operation. */
  readonly atomic?: { readonly swapOrAdd: bigint; readonly compare?: bigint };
  readonly fence?: boolean;
  readonly solicited?: boolean;
  readonly signaled?: boolean;
  /** Payload in the command itself, in place of `sges`. */
  readonly inline?: Uint8Array;
  readonly sges?: readonly Sge[];
  /** Header fields that override all others. */
  readonly header?: Partial<SendCommand>;
  /** Changes the bytes before the checksum is computed. */
  readonly alter?: (command: DataView) => void;
  /** Changes the bytes after the checksum is written. */
  readonly damage?: (command: DataView) => void;
}

/** The fields of a command that come from the queue pair. */
interface SenderAttributes {
  readonly qpn: number;
  readonly sequence: number;
  readonly qosLevel: number;
  readonly checksumKey: number;
  /** Q_Key of requests that name none. */
  readonly qkey: number;
}

const WORD_BYTES = 8;

/** The bytes of a command, padded to a multiple of 8, with its checksum. */
export function buildSendCommand(request: SendRequest, sender: SenderAttributes): Uint8Array {
  const { inline, sges = [] } = request;
  const trailing = request.atomic
    ? ATOMIC_OPERANDS_SIZE
    : inline
      ? inline.length
      : sges.length > 1
        ? sges.length * SGE_SIZE
        : 0;
  const lengthBytes = COMMAND_HEADER_BYTES + Math.ceil(trailing / WORD_BYTES) * WORD_BYTES;
  const bytes = new Uint8Array(lengthBytes);
  const view = new DataView(bytes.buffer);
  const head = header(request, sender, lengthBytes);
  encodeSendCommand(view, 0, request.header === undefined ? head : { ...head, ...request.header });
  encodeTarget(view, request, sender);
  if (request.atomic) {
    view.setBigUint64(COMMAND_HEADER_BYTES + ATOMIC_OPERANDS_SWAP_OR_ADD_OFFSET, request.atomic.swapOrAdd, true);
    view.setBigUint64(COMMAND_HEADER_BYTES + ATOMIC_OPERANDS_COMPARE_OFFSET, request.atomic.compare ?? 0n, true);
  } else if (inline) bytes.set(inline, COMMAND_HEADER_BYTES);
  else if (sges.length > 1) {
    sges.forEach((sge, index) => {
      encodeSge(view, COMMAND_HEADER_BYTES + index * SGE_SIZE, sge);
    });
  }
  request.alter?.(view);
  setSendCommandChecksum(view, 0, commandChecksum(view, SEND_COMMAND_CHECKSUM_OFFSET, sender.checksumKey));
  request.damage?.(view);
  return bytes;
}

function encodeTarget(view: DataView, request: SendRequest, sender: SenderAttributes): void {
  const { remote, flush } = request;
  if (remote) {
    encodeRdmaTarget(view, SEND_COMMAND_TARGET_OFFSET, {
      remoteAddress: remote.address,
      rkey: remote.rkey,
      placementType: flush?.placementType ?? 0,
      selectivity: flush?.selectivity ?? 0,
    });
    return;
  }
  encodeUdTarget(view, SEND_COMMAND_TARGET_OFFSET, {
    remoteQpn: request.remoteQpn ?? 0,
    qkey: request.qkey ?? sender.qkey,
    addressHandle: request.addressHandle ?? 0,
    pkeyIndex: request.pkeyIndex ?? 0,
  });
}

function header(request: SendRequest, sender: SenderAttributes, lengthBytes: number): SendCommand {
  const { inline, sges = [] } = request;
  const only = inline === undefined && sges.length === 1 ? sges[0] : undefined;
  const gathered = sges.reduce((sum, { length }) => sum + length, 0);
  return {
    ...newSendCommand(),
    opcode: request.opcode ?? (request.immediate === undefined ? SendOpcode.SEND : SendOpcode.SEND_IMMEDIATE),
    fence: Number(request.fence ?? false),
    qpn: sender.qpn,
    sequence: sender.sequence,
    collectLength: lengthBytes,
    qosLevel: sender.qosLevel,
    sgeCount: inline ? 0 : sges.length,
    signaled: Number(request.signaled ?? true),
    solicited: Number(request.solicited ?? false),
    inline: Number(inline !== undefined),
    messageLength: request.flush?.lengthBytes ?? (inline ? inline.length : gathered),
    immediate: request.immediate ?? 0,
    sgeAddress: only?.address ?? 0,
    sgeLength: only?.length ?? 0,
    sgeLkey: only?.lkey ?? 0,
  };
}
