// SPDX-License-Identifier: Apache-2.0
/**
 * Egress of one packet of a send context (US 2015/0378953 claim 1, egressing). Software composes
 * the packets, so each is checked before it goes to the port: it must be a datagram that the
 * function may send (docs/DOCUMENTS.md decision 14). `SendContexts` chooses the packets; the ring
 * of the port reports when one has left.
 */
import {
  GENERAL_SERVICES_QPN,
  isLidOfPort,
  isMulticastLid,
  SUBNET_MANAGEMENT_QPN,
} from '../../protocol/infiniband/addresses.ts';
import { getDethSrcQpn } from '../../protocol/infiniband/gen/deth.gen.ts';
import { getLrhVirtualLane, setLrhVirtualLane } from '../../protocol/infiniband/gen/lrh.gen.ts';
import { PacketError } from '../../protocol/infiniband/gen/values.gen.ts';
import { computeIcrc, setIcrc } from '../../protocol/infiniband/icrc.ts';
import { pKeysMatch } from '../../protocol/infiniband/keys.ts';
import { TRANSPORT_MASK, Transport } from '../../protocol/infiniband/opcodes.ts';
import { ICRC_SIZE, newParsedPacket, PacketCheck, parsePacket } from '../../protocol/infiniband/packet.ts';
import { VCRC_SIZE } from '../../protocol/infiniband/vcrc.ts';
import { SEND_BLOCK_BYTES } from '../../protocol/layout/gen/constants.gen.ts';
import {
  getSendControlBadIcrc,
  getSendControlBadVcrc,
  getSendControlVirtualLane,
} from '../../protocol/layout/gen/send-control.gen.ts';
import { FaultKind, PortState } from '../../protocol/layout/gen/values.gen.ts';
import type { ObjectTable } from '../function/object-table.ts';
import { PACKET_SLOT_BYTES, type PacketRing } from '../port/packet-ring.ts';
import type { Port } from '../port/port.ts';
import { MANAGEMENT_VL } from '../port/transmit-queues.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import type { SendContext } from './send-context.ts';

/** Payload bytes of a management datagram (IBTA 13.4.2). */
const MANAGEMENT_BYTES = 256;

/**
 * What became of a packet: the port has no room; it waits in the ring of the port; it was discarded
 * because the link or the port is down; it is not allowed.
 */
export const Egress = { BLOCKED: 0, AT_PORT: 1, DISCARDED: 2, REFUSED: 3 } as const;
export type Egress = (typeof Egress)[keyof typeof Egress];

export class PacketEgress {
  /** Bytes of the packet of the last `send`, without its VCRC. */
  lengthBytes = 0;
  /** The ring in which the packet waits, after AT_PORT. */
  ring: PacketRing | undefined = undefined;
  readonly #ports: readonly Port[];
  readonly #queuePairs: ObjectTable<QueuePair>;
  readonly #bytes = new Uint8Array(PACKET_SLOT_BYTES);
  readonly #view = new DataView(this.#bytes.buffer);
  readonly #packet = newParsedPacket();

  constructor(ports: readonly Port[], queuePairs: ObjectTable<QueuePair>) {
    this.#ports = ports;
    this.#queuePairs = queuePairs;
  }

  /** Checks the packet that starts at `block` of the context, and gives it to the port. */
  send(context: SendContext, block: number): Egress {
    const { view } = context.blocks;
    const control = block * SEND_BLOCK_BYTES;
    const virtualLane = getSendControlVirtualLane(view, control);
    const port = this.#ports[context.owner.portBase + context.port - 1];
    this.lengthBytes = context.blocks.copyPacket(block, this.#bytes) + ICRC_SIZE;
    if (!this.#isAllowed(context, port, virtualLane)) {
      context.owner.faults.report(FaultKind.SEND_PACKET, context, this.#packet.error);
      return Egress.REFUSED;
    }
    if (!canSend(port, virtualLane)) return Egress.DISCARDED;
    this.ring = this.#ringFor(port, virtualLane);
    if (this.ring === undefined || this.ring.full) return Egress.BLOCKED;
    setLrhVirtualLane(this.#view, 0, virtualLane);
    const before = this.ring.count;
    this.#transmit(port, this.ring, getSendControlBadIcrc(view, control), getSendControlBadVcrc(view, control));
    return this.ring.count > before ? Egress.AT_PORT : Egress.DISCARDED;
  }

  /**
   * True for a well-formed datagram from this port and from a QP of the function, on a VL and in a
   * partition that the context may use.
   */
  #isAllowed(context: SendContext, port: Port, virtualLane: number): boolean {
    const packet = this.#packet;
    const view = this.#view;
    if (parsePacket(view, 0, this.lengthBytes + VCRC_SIZE, packet, PacketCheck.NONE) !== PacketError.NONE) return false;
    if ((packet.opcode & TRANSPORT_MASK) !== Transport.UD || !isLidOfPort(packet.slid, port.lid, port.lmc))
      return false;
    if (((context.virtualLanes >>> virtualLane) & 1) === 0) return false;
    // The adapter fills in the VL. One that software has set must be the same.
    const given = getLrhVirtualLane(view, 0);
    if (given !== 0 && given !== virtualLane) return false;
    const sourceQpn = getDethSrcQpn(view, packet.dethOffset);
    const isSubnetManagement = virtualLane === MANAGEMENT_VL;
    if (isSubnetManagement !== (packet.destQpn === SUBNET_MANAGEMENT_QPN)) return false;
    if (isSubnetManagement) return sourceQpn === SUBNET_MANAGEMENT_QPN && packet.payloadLengthBytes <= MANAGEMENT_BYTES;
    if (port.transmitQueues.getVirtualLane(packet.serviceLevel) !== virtualLane) return false;
    if (context.checkPkey && !pKeysMatch(packet.pKey, context.pkey)) return false;
    if (packet.payloadLengthBytes > port.mtuBytes) return false;
    return sourceQpn === GENERAL_SERVICES_QPN || this.#queuePairs.get(sourceQpn)?.owner === context.owner;
  }

  #ringFor(port: Port, virtualLane: number): PacketRing | undefined {
    const { dlid, serviceLevel } = this.#packet;
    return virtualLane === MANAGEMENT_VL ? port.managementRingFor(dlid) : port.ringFor(dlid, serviceLevel);
  }

  #transmit(port: Port, ring: PacketRing, badIcrc: number, badVcrc: number): void {
    const { grhOffset, icrcOffset } = this.#packet;
    const icrc = computeIcrc(this.#view, 0, grhOffset >= 0, icrcOffset);
    setIcrc(this.#view, icrcOffset, badIcrc ? ~icrc : icrc);
    const offset = ring.writeOffset;
    for (let index = 0; index < this.lengthBytes; index++) ring.bytes[offset + index] = this.#bytes[index];
    if (badIcrc || badVcrc) port.transmitDamaged(ring, this.lengthBytes + VCRC_SIZE, badVcrc === 1);
    else {
      if (isMulticastLid(this.#packet.dlid)) port.loopBack(ring, this.lengthBytes + VCRC_SIZE);
      port.transmit(ring, this.lengthBytes + VCRC_SIZE);
    }
  }
}

/** Data packets need an active port, subnet management packets a link that is up (IBTA 7.2.7). */
function canSend(port: Port, virtualLane: number): boolean {
  return virtualLane === MANAGEMENT_VL ? port.state !== PortState.DOWN : port.active;
}
