// SPDX-License-Identifier: Apache-2.0
/**
 * Egress of one packet of a send context (US 2015/0378953 claim 1, egressing). Software composes
 * the packets, so each is checked before it goes to the port: it must be a datagram that the
 * function may send (docs/DOCUMENTS.md decision 14). `SendContexts` chooses the packets; the ring
 * of the port reports when one has left.
 */
import { GENERAL_SERVICES_QPN, isLidOfPort, SUBNET_MANAGEMENT_QPN } from '../../../protocol/infiniband/addresses.ts';
import { getDethSrcQpn } from '../../../protocol/infiniband/gen/deth.gen.ts';
import { getLrhVirtualLane } from '../../../protocol/infiniband/gen/lrh.gen.ts';
import { pKeysMatch } from '../../../protocol/infiniband/keys.ts';
import { TRANSPORT_MASK, Transport } from '../../../protocol/infiniband/opcodes.ts';
import { ICRC_SIZE } from '../../../protocol/infiniband/packet.ts';
import { SEND_BLOCK_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  getSendControlBadIcrc,
  getSendControlBadVcrc,
  getSendControlVirtualLane,
} from '../../../protocol/layout/gen/send-control.gen.ts';
import { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { PacketRing } from '../../fabric/port/packet-ring.ts';
import type { Port } from '../../fabric/port/port.ts';
import { RawEgress, RawPacket } from '../../fabric/port/raw-packet.ts';
import { MANAGEMENT_VL } from '../../fabric/port/transmit-queues.ts';
import type { ObjectTable } from '../function/object-table.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import type { SendContext } from './send-context.ts';

/** Payload bytes of a management datagram (IBTA 13.4.2). */
const MANAGEMENT_BYTES = 256;

/** What became of a packet: as `RawEgress`, or it is not allowed. */
export const EgressResult = { ...RawEgress, REFUSED: 3 } as const;
export type EgressResult = (typeof EgressResult)[keyof typeof EgressResult];

export class PacketEgress {
  readonly #ports: readonly Port[];
  readonly #queuePairs: ObjectTable<QueuePair>;
  readonly #raw = new RawPacket();

  constructor(ports: readonly Port[], queuePairs: ObjectTable<QueuePair>) {
    this.#ports = ports;
    this.#queuePairs = queuePairs;
  }

  /** Bytes of the packet of the last `send`, without its VCRC. */
  get lengthBytes(): number {
    return this.#raw.lengthBytes;
  }

  /** The ring in which the packet waits, after AT_PORT. */
  get ring(): PacketRing | undefined {
    return this.#raw.ring;
  }

  /** Checks the packet that starts at `block` of the context, and gives it to the port. */
  send(context: SendContext, block: number): EgressResult {
    const { view } = context.blocks;
    const control = block * SEND_BLOCK_BYTES;
    const virtualLane = getSendControlVirtualLane(view, control);
    const port = this.#ports[context.owner.portBase + context.port - 1];
    const raw = this.#raw;
    const isPacket = raw.parse(context.blocks.copyPacket(block, raw.bytes) + ICRC_SIZE);
    if (!isPacket || !this.#isAllowed(context, port, virtualLane)) {
      context.owner.faults.report(FaultKind.SEND_PACKET, context, raw.headers.error);
      return EgressResult.REFUSED;
    }
    const badIcrc = getSendControlBadIcrc(view, control) === 1;
    return raw.send(port, virtualLane, badIcrc, getSendControlBadVcrc(view, control) === 1);
  }

  /**
   * True for a datagram from this port and from a QP of the function, on a VL and in a
   * partition that the context may use.
   */
  #isAllowed(context: SendContext, port: Port, virtualLane: number): boolean {
    const { headers: packet, view } = this.#raw;
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
}
