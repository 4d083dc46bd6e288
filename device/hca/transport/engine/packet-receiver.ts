// SPDX-License-Identifier: Apache-2.0
/**
 * The receive side of the ports: takes packets from loopbacks and links, checks them in the order
 * of IBTA 7.3 and 9.6, and delivers them to the QP they name. Drops are counted by cause; a bad
 * packet has no other effect. `PortLinks` calls it.
 */

import {
  GENERAL_SERVICES_QPN,
  isLidOfPort,
  isMulticastLid,
  PERMISSIVE_LID,
  SUBNET_MANAGEMENT_QPN,
} from '../../../../protocol/infiniband/addresses.ts';
import { getDethSrcQpn } from '../../../../protocol/infiniband/gen/deth.gen.ts';
import { GRH_DGID_OFFSET } from '../../../../protocol/infiniband/gen/grh.gen.ts';
import { BthOpcode, PacketError, packetErrorNames } from '../../../../protocol/infiniband/gen/values.gen.ts';
import { pKeysMatch } from '../../../../protocol/infiniband/keys.ts';
import { MAD_BYTES } from '../../../../protocol/infiniband/mad/mad-headers.ts';
import { OpcodeFlag, TRANSPORT_MASK, Transport } from '../../../../protocol/infiniband/opcodes.ts';
import {
  newParsedPacket,
  PacketCheck,
  type ParsedPacket,
  parsePacket,
} from '../../../../protocol/infiniband/packet.ts';
import { sealWhole } from '../../../../protocol/infiniband/packet-builder.ts';
import type { PacketRing } from '../../../fabric/port/packet-ring.ts';
import type { Port } from '../../../fabric/port/port.ts';
import { MANAGEMENT_VL } from '../../../fabric/port/transmit-queues.ts';
import { PacketDrop } from '../../function/timeline-values.ts';
import type { GroupLookup } from '../../queues/multicast-groups.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import type { SpecialQueuePairs } from '../../queues/special-queue-pairs.ts';
import type { ReceiveStage } from '../datagrams/receive-stage.ts';
import type { UdResponder } from '../datagrams/ud-responder.ts';
import { notePkeyViolation } from '../key-violations.ts';
import { noteDrop } from '../packet-drops.ts';
import { requesterOf, responderOf } from '../state/connected-states.ts';
import type { ConnectedTransport } from './connected-transport.ts';
import { MadReceiver } from './mad-receiver.ts';
import { MulticastReceiver } from './multicast-receiver.ts';

/** The queue pairs by their number in packets. */
export interface QueuePairLookup {
  get(number: number): QueuePair | undefined;
}

/** Where packets go. */
export interface Receivers {
  readonly queuePairs: QueuePairLookup;
  readonly groups: GroupLookup;
  /** QP0 and QP1 of the ports. */
  readonly special: SpecialQueuePairs;
}

export class PacketReceiver {
  /** Packets dropped by values of packet-error. */
  readonly malformed = new Uint32Array(packetErrorNames.length);
  /** Packets whose CRCs were checked, and packets from a path that cannot change them. */
  checked = 0;
  unchecked = 0;
  tooLong = 0;
  wrongLid = 0;
  /**
   * Global packets for a GID that the port does not own or from another node than the peer; and
   * local packets where the path is global, or the reverse.
   */
  wrongGid = 0;
  unknownQueuePair = 0;
  unsupportedTransport = 0;
  readonly #queuePairs: QueuePairLookup;
  readonly multicast: MulticastReceiver;
  readonly mads: MadReceiver;
  /** Packets that wait for receive WQEs. */
  readonly stage: ReceiveStage;
  readonly #datagrams: UdResponder;
  readonly #connected: ConnectedTransport;
  readonly #packet = newParsedPacket();

  constructor(
    { queuePairs, groups, special }: Receivers,
    datagrams: UdResponder,
    connected: ConnectedTransport,
    stage: ReceiveStage,
  ) {
    this.stage = stage;
    this.#queuePairs = queuePairs;
    this.multicast = new MulticastReceiver(groups, datagrams);
    this.mads = new MadReceiver(special, datagrams);
    this.#datagrams = datagrams;
    this.#connected = connected;
  }

  /**
   * Takes one packet that arrived at `port` off `ring`. `trusted`: the path cannot have changed it.
   * Returns false when the ring is empty, or when no packet can be taken now.
   */
  receive(port: Port, ring: PacketRing, trusted: boolean): boolean {
    if (ring.count === 0 || this.stage.full) return false;
    const unchanged = trusted && !ring.readSuspect;
    if (port.observer !== undefined || !unchanged) ring.takeOldestLoan();
    if (port.observer !== undefined) observe(port, ring, unchanged);
    if (ring !== port.loopback) port.noteArrival(ring);
    if (this.#deliver(port, ring, unchanged)) port.receivePackets++;
    else port.receiveDrops++;
    ring.shift();
    return true;
  }

  /** Delivers the packets whose receive WQEs have arrived. */
  land(): void {
    this.stage.land(({ qp, port, ring, packet, pkeyIndex }) => {
      const responder = responderOf(qp);
      if (responder === undefined) this.#datagrams.deliver(qp, port, ring, packet, pkeyIndex);
      else this.#connected.responder.receive(responder, port, ring, packet);
    });
  }

  #deliver(port: Port, ring: PacketRing, trusted: boolean): boolean {
    const packet = this.#packet;
    if (trusted) this.unchecked++;
    else this.checked++;
    const checks = trusted ? PacketCheck.NONE : PacketCheck.ALL;
    const error = parsePacket(ring.view, ring.readOffset, ring.readLength, packet, checks);
    if (error !== PacketError.NONE) {
      this.malformed[error]++;
      port.noteBadPacket(error === PacketError.BAD_VCRC || error === PacketError.BAD_ICRC);
      return false;
    }
    if (packet.destQpn <= GENERAL_SERVICES_QPN) return this.#deliverMad(port, ring);
    if (!port.active) port.noteData();
    const isOwn = isLidOfPort(packet.dlid, port.lid, port.lmc);
    if (!port.active || (!isOwn && !isMulticastLid(packet.dlid))) {
      this.wrongLid++;
      return false;
    }
    if (packet.payloadLengthBytes > port.mtuBytes) {
      this.tooLong++;
      return false;
    }
    if (!isOwn) return this.multicast.receive(port, ring, packet);
    const qp = this.#queuePairs.get(packet.destQpn);
    if (qp === undefined || !port.serves(qp.owner.number)) {
      this.unknownQueuePair++;
      return false;
    }
    if ((packet.opcode & TRANSPORT_MASK) === Transport.UD) return this.#deliverDatagram(qp, port, ring);
    return this.#deliverConnected(qp, port, ring);
  }

  /**
   * QP0 takes packets of VL 15 from INIT on, also by the permissive LID; QP1 takes data packets
   * (IBTA 7.2.7, 7.6.3). No other packet is for either.
   */
  #deliverMad(port: Port, ring: PacketRing): boolean {
    const packet = this.#packet;
    const isSubnet = packet.virtualLane === MANAGEMENT_VL;
    if (isSubnet !== (packet.destQpn === SUBNET_MANAGEMENT_QPN) || !isMad(packet)) {
      this.unsupportedTransport++;
      return false;
    }
    if (!isSubnet && !port.active) port.noteData();
    const isOwn = isLidOfPort(packet.dlid, port.lid, port.lmc);
    if (isSubnet ? !isOwn && packet.dlid !== PERMISSIVE_LID : !isOwn || !port.active) {
      this.wrongLid++;
      return false;
    }
    if (packet.grhOffset >= 0 && !port.ownsGid(ring.bytes, packet.grhOffset + GRH_DGID_OFFSET)) {
      this.wrongGid++;
      return false;
    }
    return this.mads.receive(port, ring, packet);
  }

  /** A global datagram must name a GID of the port (IBTA 9.6.1.2). */
  #deliverDatagram(qp: QueuePair, port: Port, ring: PacketRing): boolean {
    const packet = this.#packet;
    if (packet.grhOffset >= 0 && !port.ownsGid(ring.bytes, packet.grhOffset + GRH_DGID_OFFSET)) {
      this.wrongGid++;
      return noteDrop(qp, packet, PacketDrop.GID, getDethSrcQpn(ring.view, packet.dethOffset));
    }
    return this.#datagrams.receive(qp, port, ring, packet);
  }

  /** IBTA 9.6.1: the packet must be of the QP's service, from its peer and in its partition. */
  #deliverConnected(qp: QueuePair, port: Port, ring: PacketRing): boolean {
    const packet = this.#packet;
    const requester = requesterOf(qp);
    const responder = responderOf(qp);
    const isOfService = (packet.opcode & TRANSPORT_MASK) === qp.transport && (packet.flags & qp.refusedFlags) === 0;
    if (requester === undefined || responder === undefined || !isOfService) {
      this.unsupportedTransport++;
      return noteDrop(qp, packet, PacketDrop.SERVICE);
    }
    if (qp.attributes.port !== port.number || packet.slid !== requester.path.dlid) {
      this.wrongLid++;
      return noteDrop(qp, packet, PacketDrop.LID);
    }
    if (!requester.path.accepts(ring.view, packet.grhOffset, port)) {
      this.wrongGid++;
      return noteDrop(qp, packet, PacketDrop.GID);
    }
    if (!pKeysMatch(packet.pKey, port.pkeys[qp.attributes.pkeyIndex])) {
      notePkeyViolation(port, qp, ring.view, packet);
      return noteDrop(qp, packet, PacketDrop.PKEY);
    }
    if (qp.trace !== undefined) ring.takeOldestLoan();
    if (packet.flags & OpcodeFlag.RESPONSE)
      return this.#connected.completer.receive(requester, ring, packet) || noteDrop(qp, packet, PacketDrop.RESPONSE);
    if (!this.stage.isPassed && qp.receives && this.stage.holds(qp, port, ring, packet)) return true;
    return this.#connected.responder.receive(responder, port, ring, packet);
  }
}

/** True for a datagram that can hold a MAD (IBTA 13.4.2). */
function isMad({ opcode, payloadLengthBytes }: Readonly<ParsedPacket>): boolean {
  return opcode === BthOpcode.UD_SEND_ONLY && payloadLengthBytes <= MAD_BYTES;
}

/** A packet from a trusted path may lack its CRCs, which observers expect. */
function observe(port: Port, ring: PacketRing, trusted: boolean): void {
  const offset = ring.readOffset;
  const length = ring.readLength;
  if (trusted) sealWhole(ring.view, offset, length);
  port.observer?.(port, false, ring.bytes, offset, length);
}
