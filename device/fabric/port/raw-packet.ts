// SPDX-License-Identifier: Apache-2.0
/**
 * A packet whose headers software has composed, on its way to a port (IBTA 10.2.4.4 for QP0 and
 * QP1 of a driver; US 2015/0378953 for send contexts). The caller writes the bytes, lets `parse`
 * read the headers, checks what the sender may send, and calls `send`, which seals the packet.
 * Send contexts use it, and personalities whose drivers build headers.
 */
import { isMulticastLid } from '../../../protocol/infiniband/addresses.ts';
import { setLrhVirtualLane } from '../../../protocol/infiniband/gen/lrh.gen.ts';
import { PacketError } from '../../../protocol/infiniband/gen/values.gen.ts';
import { computeIcrc, setIcrc } from '../../../protocol/infiniband/icrc.ts';
import { newParsedPacket, PacketCheck, type ParsedPacket, parsePacket } from '../../../protocol/infiniband/packet.ts';
import { VCRC_SIZE } from '../../../protocol/infiniband/vcrc.ts';
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import { PACKET_SLOT_BYTES, type PacketRing } from './packet-ring.ts';
import type { Port } from './port.ts';
import { MANAGEMENT_VL } from './transmit-queues.ts';

/**
 * The fate of a packet: the port has no room; it waits in a ring of the port; it was discarded
 * because the link or the port is down.
 */
export const RawEgress = { BLOCKED: 0, AT_PORT: 1, DISCARDED: 2 } as const;
export type RawEgress = (typeof RawEgress)[keyof typeof RawEgress];

export class RawPacket {
  /** The packet from its LRH on. */
  readonly bytes = new Uint8Array(PACKET_SLOT_BYTES);
  readonly view = new DataView(this.bytes.buffer);
  /** Bytes from the LRH to the end of the ICRC. */
  lengthBytes = 0;
  /** The packet that `parse` has read. */
  readonly headers: Readonly<ParsedPacket>;
  /** The ring in which the packet waits, after AT_PORT. */
  ring: PacketRing | undefined = undefined;
  readonly #parsed = newParsedPacket();

  constructor() {
    this.headers = this.#parsed;
  }

  /**
   * Reads the headers of the packet that ends with an ICRC at `lengthBytes`. Returns false when
   * they are not those of a packet; `headers.error` has the cause.
   */
  parse(lengthBytes: number): boolean {
    this.lengthBytes = lengthBytes;
    const error = parsePacket(this.view, 0, lengthBytes + VCRC_SIZE, this.#parsed, PacketCheck.NONE);
    return error === PacketError.NONE;
  }

  /**
   * Gives the packet to `port`, with CRCs made anew. `virtualLane` is VL15 or a data VL, which
   * the port sets to that of the service level. Data packets need an active port, those of VL15 a
   * link that is up (IBTA 7.2.7). `badIcrc` and `badVcrc` damage the packet on purpose. The caller
   * may have changed headers after `parse`, but not the destination.
   */
  send(port: Port, virtualLane: number, badIcrc = false, badVcrc = false): RawEgress {
    const isManagement = virtualLane === MANAGEMENT_VL;
    if (isManagement ? port.state === PortState.DOWN : !port.active) {
      port.transmitDiscards++;
      return RawEgress.DISCARDED;
    }
    const { dlid, serviceLevel, grhOffset, icrcOffset } = this.#parsed;
    const ring = isManagement ? port.vl15RingFor(dlid) : port.ringFor(dlid, serviceLevel);
    this.ring = ring;
    if (ring === undefined || ring.full) return RawEgress.BLOCKED;
    const { view, bytes, lengthBytes } = this;
    setLrhVirtualLane(view, 0, virtualLane);
    const icrc = computeIcrc(view, 0, grhOffset >= 0, icrcOffset);
    setIcrc(view, icrcOffset, badIcrc ? ~icrc : icrc);
    const offset = ring.writeOffset;
    for (let index = 0; index < lengthBytes; index++) ring.bytes[offset + index] = bytes[index];
    const before = ring.count;
    if (badIcrc || badVcrc) port.transmitDamaged(ring, lengthBytes + VCRC_SIZE, badVcrc);
    else {
      if (isMulticastLid(dlid)) port.loopBack(ring, lengthBytes + VCRC_SIZE);
      port.transmit(ring, lengthBytes + VCRC_SIZE);
    }
    return ring.count > before ? RawEgress.AT_PORT : RawEgress.DISCARDED;
  }
}
