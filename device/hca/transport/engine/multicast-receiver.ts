// SPDX-License-Identifier: Apache-2.0
/**
 * Receives multicast datagrams: each queue pair of the port that is attached to the group gets a
 * copy (IBTA 10.5.2, 9.6.1.2.3). `PacketReceiver` calls it for packets with a multicast LID.
 */
import { isLidOfPort, isMulticastGid, MULTICAST_QPN } from '../../../../protocol/infiniband/addresses.ts';
import { getDethSrcQpn } from '../../../../protocol/infiniband/gen/deth.gen.ts';
import { GRH_DGID_OFFSET } from '../../../../protocol/infiniband/gen/grh.gen.ts';
import { TRANSPORT_MASK, Transport } from '../../../../protocol/infiniband/opcodes.ts';
import type { ParsedPacket } from '../../../../protocol/infiniband/packet.ts';
import type { PacketRing } from '../../../fabric/port/packet-ring.ts';
import type { Port } from '../../../fabric/port/port.ts';
import type { GroupLookup } from '../../queues/multicast-groups.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import type { UdResponder } from '../datagrams/ud-responder.ts';

export class MulticastReceiver {
  /** Copies delivered, and packets of groups to which no queue pair is attached. */
  copies = 0;
  unknownGroup = 0;
  /** Packets that are no datagrams for QP 0xffffff with a multicast GID. */
  malformed = 0;
  readonly #groups: GroupLookup;
  readonly #datagrams: UdResponder;

  constructor(groups: GroupLookup, datagrams: UdResponder) {
    this.#groups = groups;
    this.#datagrams = datagrams;
  }

  /** Delivers a packet that arrived at an active port. Returns false when no queue pair took it. */
  receive(port: Port, ring: PacketRing, packet: Readonly<ParsedPacket>): boolean {
    const mgidOffset = packet.grhOffset + GRH_DGID_OFFSET;
    const isGroupDatagram =
      (packet.opcode & TRANSPORT_MASK) === Transport.UD &&
      packet.destQpn === MULTICAST_QPN &&
      packet.grhOffset >= 0 &&
      isMulticastGid(ring.bytes, mgidOffset);
    if (!isGroupDatagram) {
      this.malformed++;
      return false;
    }
    const group = this.#groups.find(ring.bytes, mgidOffset, packet.dlid);
    if (group === undefined) {
      this.unknownGroup++;
      return false;
    }
    const before = this.copies;
    const { members } = group;
    for (let index = 0; index < members.length; index++) {
      const qp = members[index];
      if (qp.portIndex !== port.index || !qp.receives || isBlocked(qp, port, ring, packet)) continue;
      if (this.#datagrams.receive(qp, port, ring, packet)) this.copies++;
    }
    return this.copies > before;
  }
}

/** True when the queue pair has sent the packet itself and wants no such packets. */
function isBlocked(qp: QueuePair, port: Port, ring: PacketRing, packet: Readonly<ParsedPacket>): boolean {
  if (qp.creation.blockMulticastLoopback === 0 || !isLidOfPort(packet.slid, port.lid, port.lmc)) return false;
  return getDethSrcQpn(ring.view, packet.dethOffset) === qp.number;
}
