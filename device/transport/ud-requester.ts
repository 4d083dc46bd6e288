// SPDX-License-Identifier: Apache-2.0
/**
 * Sends datagrams (IBTA 9.8.3): checks the command, resolves its address handle, moves the payload
 * directly into the packet and transmits it. Called by the send pipeline.
 */
import { isMulticastLid } from '../../protocol/infiniband/addresses.ts';
import { BthOpcode } from '../../protocol/infiniband/gen/values.gen.ts';
import { effectiveQKey } from '../../protocol/infiniband/keys.ts';
import { PacketCheck } from '../../protocol/infiniband/packet.ts';
import { buildPacket, payloadStart } from '../../protocol/infiniband/packet-builder.ts';
import { newPacketFields } from '../../protocol/infiniband/packet-fields.ts';
import { addPsn } from '../../protocol/infiniband/psn.ts';
import {
  ADDRESS_HANDLE_SIZE,
  getAddressHandlePd,
  getAddressHandleValid,
} from '../../protocol/layout/gen/address-handle.gen.ts';
import { COMMAND_HEADER_BYTES } from '../../protocol/layout/gen/constants.gen.ts';
import {
  getSendCommandCollectLength,
  getSendCommandImmediate,
  getSendCommandInline,
  getSendCommandMessageLength,
  getSendCommandOpcode,
  getSendCommandSgeCount,
  getSendCommandSolicited,
  SEND_COMMAND_TARGET_OFFSET,
} from '../../protocol/layout/gen/send-command.gen.ts';
import {
  getUdTargetAddressHandle,
  getUdTargetQkey,
  getUdTargetRemoteQpn,
} from '../../protocol/layout/gen/ud-target.gen.ts';
import { FaultKind, SendOpcode } from '../../protocol/layout/gen/values.gen.ts';
import type { PhysicalCollectBuffer } from '../collect/physical-collect-buffer.ts';
import type { Port } from '../port/port.ts';
import { MANAGEMENT_VL } from '../port/transmit-queues.ts';
import type { KeyLookup } from '../protection/key-lookup.ts';
import type { MulticastGroups } from '../queues/multicast-groups.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { isManagementAllowed, MAD_BYTES, setManagementFields } from './management-datagrams.ts';
import { Path } from './path.ts';
import { ScatterGatherList } from './scatter-gather.ts';

export class UdRequester {
  readonly #keys: KeyLookup;
  readonly #groups: MulticastGroups;
  readonly #fields = newPacketFields();
  readonly #list = new ScatterGatherList();
  readonly #path = new Path();
  readonly #handle = new Uint8Array(ADDRESS_HANDLE_SIZE);
  readonly #handleView = new DataView(this.#handle.buffer);

  constructor(keys: KeyLookup, groups: MulticastGroups) {
    this.#keys = keys;
    this.#groups = groups;
  }

  /** Sends the message of a command through `port`, which has room. Returns NONE or the fault. */
  send(qp: QueuePair, buffer: PhysicalCollectBuffer, port: Port): FaultKind {
    const { view } = buffer;
    const opcode = getSendCommandOpcode(view, 0);
    if (opcode !== SendOpcode.SEND && opcode !== SendOpcode.SEND_IMMEDIATE) return FaultKind.COMMAND_OPCODE;
    const length = getSendCommandMessageLength(view, 0);
    if (length > (qp.isSpecial ? MAD_BYTES : port.mtuBytes)) return FaultKind.COMMAND_LENGTH;
    const fault =
      (getSendCommandInline(view, 0) ? checkInline(view, length) : this.#loadList(qp, view)) ||
      this.#loadAddress(qp, view, port);
    if (fault !== FaultKind.NONE) return fault;
    return this.#emit(qp, buffer, port, length);
  }

  #loadList(qp: QueuePair, view: DataView): FaultKind {
    return this.#list.loadCommand(view) ? this.#list.check(qp, this.#keys, 0) : FaultKind.COMMAND_SGE;
  }

  /** Reads the address handle and checks that the QP may use it (IBTA 11.2.2.1, 10.2.2.4). */
  #loadAddress(qp: QueuePair, view: DataView, port: Port): FaultKind {
    const { addressHandleTable, addressHandleCount, dma } = qp.owner;
    const index = getUdTargetAddressHandle(view, SEND_COMMAND_TARGET_OFFSET);
    if (index >= addressHandleCount) return FaultKind.ADDRESS_HANDLE;
    dma.at(addressHandleTable + index * ADDRESS_HANDLE_SIZE);
    if (!dma.read(qp, ADDRESS_HANDLE_SIZE, this.#handle, 0)) return FaultKind.DMA_READ;
    const handle = this.#handleView;
    const usable =
      getAddressHandleValid(handle, 0) === 1 &&
      getAddressHandlePd(handle, 0) === qp.pd.number &&
      this.#path.load(handle, 0, port) &&
      (this.#path.globalRoute !== 0 || !isMulticastLid(this.#path.dlid)) &&
      (!qp.isSpecial || isManagementAllowed(qp, view, this.#path));
    return usable ? FaultKind.NONE : FaultKind.ADDRESS_HANDLE;
  }

  #emit(qp: QueuePair, buffer: PhysicalCollectBuffer, port: Port, length: number): FaultKind {
    const fields = this.#fields;
    this.#path.apply(fields, port);
    this.#transport(qp, buffer.view, port, length);
    if (qp.isSpecial) setManagementFields(qp, buffer.view, port, fields);
    const ring =
      fields.virtualLane === MANAGEMENT_VL
        ? port.managementRingFor(fields.dlid)
        : port.ringFor(fields.dlid, fields.serviceLevel);
    if (ring === undefined) {
      // VL15 has no flow control: a management packet that finds no room is lost (IBTA 7.6.3).
      port.transmitDiscards++;
      qp.sendPsn = addPsn(qp.sendPsn, 1);
      return FaultKind.NONE;
    }
    const offset = ring.writeOffset;
    const payload = offset + payloadStart(fields.opcode, fields.hasGrh);
    // A loop, because `set` would need a view of the payload, which is an allocation.
    if (getSendCommandInline(buffer.view, 0))
      for (let index = 0; index < length; index++)
        ring.bytes[payload + index] = buffer.bytes[COMMAND_HEADER_BYTES + index];
    else if (!this.#list.gatherPart(qp, 0, length, ring, payload)) return FaultKind.DMA_READ;
    const lengthBytes = buildPacket(ring.view, offset, fields, PacketCheck.ICRC);
    if (isMulticastLid(fields.dlid) && this.#groups.find(fields.dgid, 0, fields.dlid) !== undefined)
      port.loopBack(ring, lengthBytes);
    port.transmit(ring, lengthBytes);
    const { psn, destQpn, dlid } = fields;
    qp.trace?.sendDatagram(buffer.view, psn, destQpn, dlid, ring, offset, payload - offset, length);
    qp.sendPsn = addPsn(qp.sendPsn, 1);
    return FaultKind.NONE;
  }

  #transport(qp: QueuePair, view: DataView, port: Port, length: number): void {
    const fields = this.#fields;
    const immediate = getSendCommandOpcode(view, 0) === SendOpcode.SEND_IMMEDIATE;
    fields.opcode = immediate ? BthOpcode.UD_SEND_ONLY_WITH_IMMEDIATE : BthOpcode.UD_SEND_ONLY;
    fields.solicited = getSendCommandSolicited(view, 0);
    fields.pKey = port.pkeys[qp.attributes.pkeyIndex];
    fields.destQpn = getUdTargetRemoteQpn(view, SEND_COMMAND_TARGET_OFFSET);
    fields.psn = qp.sendPsn;
    fields.qKey = effectiveQKey(getUdTargetQkey(view, SEND_COMMAND_TARGET_OFFSET), qp.attributes.qkey);
    fields.srcQpn = qp.wireNumber;
    fields.immediate = getSendCommandImmediate(view, 0);
    fields.payloadLengthBytes = length;
  }
}

function checkInline(view: DataView, length: number): FaultKind {
  if (getSendCommandSgeCount(view, 0) !== 0) return FaultKind.COMMAND_SGE;
  const room = getSendCommandCollectLength(view, 0) - COMMAND_HEADER_BYTES;
  return length <= room ? FaultKind.NONE : FaultKind.COMMAND_LENGTH;
}
