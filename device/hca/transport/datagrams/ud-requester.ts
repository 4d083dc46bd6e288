// SPDX-License-Identifier: Apache-2.0
/**
 * Sends datagrams (IBTA 9.8.3): checks the command, resolves its address handle, moves the payload
 * directly into the packet and transmits it. Lane, keys and source of a datagram from QP0 or QP1
 * make it a MAD (IBTA 7.6.3, 3.9.3, 9.6.1.1). Called by the send pipeline.
 */
import { isMulticastLid, PERMISSIVE_LID, SUBNET_MANAGEMENT_QPN } from '../../../../protocol/infiniband/addresses.ts';
import { BthOpcode } from '../../../../protocol/infiniband/gen/values.gen.ts';
import { DEFAULT_PKEY, effectiveQKey, GSI_QKEY } from '../../../../protocol/infiniband/keys.ts';
import { MAD_BYTES } from '../../../../protocol/infiniband/mad/mad-headers.ts';
import { PacketCheck } from '../../../../protocol/infiniband/packet.ts';
import { buildPacket, payloadStart } from '../../../../protocol/infiniband/packet-builder.ts';
import { newPacketFields, type PacketFields } from '../../../../protocol/infiniband/packet-fields.ts';
import { addPsn } from '../../../../protocol/infiniband/psn.ts';
import { COMMAND_HEADER_BYTES, PKEY_TABLE_ENTRIES } from '../../../../protocol/layout/gen/constants.gen.ts';
import {
  getSendCommandImmediate,
  getSendCommandInline,
  getSendCommandMessageLength,
  getSendCommandOpcode,
  getSendCommandSequence,
  getSendCommandSgeCount,
  getSendCommandSolicited,
  SEND_COMMAND_TARGET_OFFSET,
} from '../../../../protocol/layout/gen/send-command.gen.ts';
import {
  getUdTargetPkeyIndex,
  getUdTargetQkey,
  getUdTargetRemoteQpn,
} from '../../../../protocol/layout/gen/ud-target.gen.ts';
import { FaultKind, SendOpcode } from '../../../../protocol/layout/gen/values.gen.ts';
import type { Port } from '../../../fabric/port/port.ts';
import { MANAGEMENT_VL } from '../../../fabric/port/transmit-queues.ts';
import { bytesBehindHeader, type PhysicalCollectBuffer } from '../../collect/physical-collect-buffer.ts';
import { PagePart } from '../../function/timeline-values.ts';
import type { KeyLookup } from '../../protection/key-lookup.ts';
import { type GroupLookup, hasMemberOf } from '../../queues/multicast-groups.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import { Path } from '../path.ts';
import { ScatterGatherList } from '../scatter-gather.ts';
import type { AddressSource } from './address-source.ts';
import { DatagramPages } from './datagram-pages.ts';

export class UdRequester {
  readonly #keys: KeyLookup;
  readonly #addresses: AddressSource;
  readonly #groups: GroupLookup;
  readonly #fields = newPacketFields();
  readonly #list = new ScatterGatherList();
  readonly #path = new Path();
  readonly #pages: DatagramPages;

  /** `schedule`: the send queue of a QP may be read again. */
  constructor(
    keys: KeyLookup,
    addresses: AddressSource,
    groups: GroupLookup,
    schedule: (qp: QueuePair) => void = () => undefined,
  ) {
    this.#keys = keys;
    this.#pages = new DatagramPages(keys.pageFaults, PagePart.DATAGRAM, schedule);
    this.#addresses = addresses;
    this.#groups = groups;
  }

  /**
   * The payload of a command cannot be read. Returns true when it waits for a page: the command
   * returns to the send queue, which is read again when the page has come.
   */
  awaitPage(qp: QueuePair, buffer: PhysicalCollectBuffer): boolean {
    return this.#pages.await(qp, getSendCommandSequence(buffer.view, 0));
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
      this.#loadAddress(qp, buffer, port);
    if (fault !== FaultKind.NONE) return fault;
    return this.#emit(qp, buffer, port, length);
  }

  #loadList(qp: QueuePair, view: DataView): FaultKind {
    return this.#list.loadCommand(view) ? this.#list.check(qp, this.#keys, 0) : FaultKind.COMMAND_SGE;
  }

  /** Loads the path of the datagram, which must be one that the QP may send. */
  #loadAddress(qp: QueuePair, buffer: PhysicalCollectBuffer, port: Port): FaultKind {
    const path = this.#path;
    const fault = this.#addresses.load(qp, buffer, port, path);
    if (fault !== FaultKind.NONE) return fault;
    const usable =
      (path.globalRoute !== 0 || !isMulticastLid(path.dlid)) && (!qp.isSpecial || mayTakePath(qp, buffer.view, path));
    return usable ? FaultKind.NONE : FaultKind.ADDRESS_HANDLE;
  }

  #emit(qp: QueuePair, buffer: PhysicalCollectBuffer, port: Port, length: number): FaultKind {
    const fields = this.#fields;
    this.#path.apply(fields, port);
    this.#transport(qp, buffer.view, port, length);
    if (qp.isSpecial) setMadFields(qp, buffer.view, port, fields);
    const ring =
      fields.virtualLane === MANAGEMENT_VL
        ? port.vl15RingFor(fields.dlid)
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
    const lengthBytes = buildPacket(ring.view, offset, fields, PacketCheck.NONE);
    if (isMulticastLid(fields.dlid) && this.#isHeardAt(port)) port.loopBack(ring, lengthBytes);
    port.transmit(ring, lengthBytes);
    const { psn, destQpn, dlid } = fields;
    qp.trace?.sendDatagram(buffer.view, psn, destQpn, dlid, ring, offset, payload - offset, length);
    qp.sendPsn = addPsn(qp.sendPsn, 1);
    return FaultKind.NONE;
  }

  /** True when a queue pair at the port may be a member of the group of the packet. */
  #isHeardAt(port: Port): boolean {
    const group = this.#groups.find(this.#fields.dgid, 0, this.#fields.dlid);
    return group !== undefined && hasMemberOf(group, port.owner);
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
  return length <= bytesBehindHeader(view) ? FaultKind.NONE : FaultKind.COMMAND_LENGTH;
}

/** True when QP0 or QP1 may send a command by this path: QP0 has no GRH, QP1 names a P_Key. */
function mayTakePath(qp: QueuePair, command: DataView, path: Readonly<Path>): boolean {
  if (qp.wireNumber === SUBNET_MANAGEMENT_QPN) return path.globalRoute === 0;
  return getUdTargetPkeyIndex(command, SEND_COMMAND_TARGET_OFFSET) < PKEY_TABLE_ENTRIES;
}

/** Sets the fields in which a packet of QP0 or QP1 differs from those of other QPs. */
function setMadFields(qp: QueuePair, command: DataView, port: Port, fields: PacketFields): void {
  if (qp.wireNumber === SUBNET_MANAGEMENT_QPN) {
    fields.virtualLane = MANAGEMENT_VL;
    fields.pKey = DEFAULT_PKEY;
    fields.qKey = 0;
    if (fields.dlid === PERMISSIVE_LID) fields.slid = PERMISSIVE_LID;
    return;
  }
  fields.pKey = port.pkeys[getUdTargetPkeyIndex(command, SEND_COMMAND_TARGET_OFFSET)];
  fields.qKey = effectiveQKey(getUdTargetQkey(command, SEND_COMMAND_TARGET_OFFSET), GSI_QKEY);
}
