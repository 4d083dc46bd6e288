// SPDX-License-Identifier: Apache-2.0
/**
 * The receiving side of the ports: takes packets from loopbacks and links, checks them as IBTA 7.3 and 9.6 order it, and gives them to the QP they
 * name. Drops are counted by cause; a bad packet touches nothing else.
 */
import { isLidOfPort } from '../../protocol/infiniband/addresses.ts';
import { PacketError, packetErrorNames } from '../../protocol/infiniband/gen/values.gen.ts';
import { TRANSPORT_MASK, Transport } from '../../protocol/infiniband/opcodes.ts';
import { newParsedPacket, PacketCheck, parsePacket } from '../../protocol/infiniband/packet.ts';
import type { ObjectTable } from '../queues/object-table.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import type { UdResponder } from '../transport/ud-responder.ts';
import type { PacketRing } from './packet-ring.ts';
import type { Port } from './port.ts';

export class PacketReceiver {
  /** Packets dropped, by packet-error. */
  readonly malformed = new Uint32Array(packetErrorNames.length);
  tooLong = 0;
  wrongLid = 0;
  unknownQueuePair = 0;
  unsupportedTransport = 0;
  readonly #queuePairs: ObjectTable<QueuePair>;
  readonly #responder: UdResponder;
  readonly #packet = newParsedPacket();

  constructor(queuePairs: ObjectTable<QueuePair>, responder: UdResponder) {
    this.#queuePairs = queuePairs;
    this.#responder = responder;
  }

  /** Takes one packet off `ring`, which arrived at `port`. False when there is none. */
  receive(port: Port, ring: PacketRing): boolean {
    if (ring.count === 0) return false;
    port.observer?.(port, false, ring.bytes, ring.readOffset, ring.readLength);
    if (this.#deliver(port, ring)) port.receivePackets++;
    else port.receiveDrops++;
    ring.shift();
    return true;
  }

  #deliver(port: Port, ring: PacketRing): boolean {
    const packet = this.#packet;
    const error = parsePacket(ring.view, ring.readOffset, ring.readLength, packet, PacketCheck.ALL);
    if (error !== PacketError.NONE) {
      this.malformed[error]++;
      return false;
    }
    if (!port.active || !isLidOfPort(packet.dlid, port.lid, port.lmc)) {
      this.wrongLid++;
      return false;
    }
    if (packet.payloadLengthBytes > port.mtuBytes) {
      this.tooLong++;
      return false;
    }
    const qp = this.#queuePairs.get(packet.destQpn);
    if (qp === undefined) {
      this.unknownQueuePair++;
      return false;
    }
    if ((packet.opcode & TRANSPORT_MASK) !== Transport.UD) {
      this.unsupportedTransport++;
      return false;
    }
    return this.#responder.receive(qp, port, ring, packet);
  }
}
