// SPDX-License-Identifier: Apache-2.0
/**
 * Receiver of MADs, the datagrams to QP0 and QP1 of the ports (IBTA 13.5, 9.6.1.1). The agents of
 * the port take each first; what they leave to software comes back by `deliver`, for the queue pair
 * that software has created. `PacketReceiver` calls it.
 */
import { GENERAL_SERVICES_QPN, SUBNET_MANAGEMENT_QPN } from '../../../../protocol/infiniband/addresses.ts';
import { getDethQKey } from '../../../../protocol/infiniband/gen/deth.gen.ts';
import { GSI_QKEY, pKeysMatch } from '../../../../protocol/infiniband/keys.ts';
import {
  newParsedPacket,
  PacketCheck,
  type ParsedPacket,
  parsePacket,
} from '../../../../protocol/infiniband/packet.ts';
import type { DatagramTaker } from '../../../fabric/agents/mad-interface.ts';
import { type MadAddress, writeMadPacket } from '../../../fabric/agents/mad-packet.ts';
import { PacketRing } from '../../../fabric/port/packet-ring.ts';
import type { Port } from '../../../fabric/port/port.ts';
import type { SpecialQueuePairs } from '../../queues/special-queue-pairs.ts';
import type { UdResponder } from '../datagrams/ud-responder.ts';
import { notePkeyViolation, noteQkeyViolation } from '../key-violations.ts';

export class MadReceiver {
  /** Agents and doors by place of the port; without them all datagrams are for software. */
  readonly interfaces: (DatagramTaker | undefined)[] = [];
  /** Datagrams for software that has no such queue pair. */
  unclaimed = 0;
  readonly #special: SpecialQueuePairs;
  readonly #datagrams: UdResponder;
  /** Datagrams that come back from the interface are packed again here. */
  readonly #repacked = new PacketRing(1);
  readonly #parsed = newParsedPacket();

  constructor(special: SpecialQueuePairs, datagrams: UdResponder) {
    this.#special = special;
    this.#datagrams = datagrams;
  }

  /** Takes a packet whose lane, LID and GID are right. Returns false when it is dropped. */
  receive(port: Port, ring: PacketRing, packet: Readonly<ParsedPacket>): boolean {
    const isGeneral = packet.destQpn === GENERAL_SERVICES_QPN;
    if (isGeneral && !this.#keysMatch(port, ring.view, packet)) return false;
    const agents = this.interfaces[port.index];
    if (agents === undefined) return this.#give(port, ring, packet);
    return agents.receivePacket(port.number, ring.view, ring.readOffset, ring.readLength);
  }

  /** Takes a datagram that the interface gives to the software of a port. */
  deliver(port: Port, address: Readonly<MadAddress>, mad: Uint8Array): void {
    const ring = this.#repacked;
    ring.push(writeMadPacket(ring.view, ring.writeOffset, address, mad));
    parsePacket(ring.view, ring.readOffset, ring.readLength, this.#parsed, PacketCheck.NONE);
    this.#give(port, ring, this.#parsed);
    ring.shift();
  }

  #give(port: Port, ring: PacketRing, packet: Readonly<ParsedPacket>): boolean {
    const isSubnet = packet.destQpn === SUBNET_MANAGEMENT_QPN;
    const qp = this.#special.get(port.index, isSubnet ? SUBNET_MANAGEMENT_QPN : GENERAL_SERVICES_QPN);
    if (qp === undefined) {
      this.unclaimed++;
      return false;
    }
    const pkeyIndex = isSubnet ? 0 : Math.max(0, findPkey(port, packet.pKey));
    return this.#datagrams.receiveMad(qp, port, ring, packet, pkeyIndex);
  }

  /** QP1 takes every P_Key of the table, and one Q_Key (IBTA 9.6.1.1, 10.2.5). */
  #keysMatch(port: Port, view: DataView, packet: Readonly<ParsedPacket>): boolean {
    const qp = this.#special.get(port.index, GENERAL_SERVICES_QPN);
    if (findPkey(port, packet.pKey) < 0) {
      notePkeyViolation(port, qp, view, packet);
      return false;
    }
    const qKey = getDethQKey(view, packet.dethOffset);
    if (qKey !== GSI_QKEY) noteQkeyViolation(port, qp, view, packet, qKey);
    return qKey === GSI_QKEY;
  }
}

/** The first entry of the P_Key table that matches, or -1. */
function findPkey(port: Port, pKey: number): number {
  for (let index = 0; index < port.pkeys.length; index++) if (pKeysMatch(pKey, port.pkeys[index])) return index;
  return -1;
}
