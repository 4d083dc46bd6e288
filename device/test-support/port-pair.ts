// SPDX-License-Identifier: Apache-2.0
/**
 * Ports without adapters, for tests of links: numbered packets enter one port; arrivals at the
 * other are parsed with all checks and recorded. Time advances as the link requests. Used by the
 * tests of `fabric/`.
 */
import { BthOpcode, PacketError, packetErrorName } from '../../protocol/infiniband/gen/values.gen.ts';
import { newParsedPacket, PacketCheck, parsePacket } from '../../protocol/infiniband/packet.ts';
import { buildPacket, payloadStart } from '../../protocol/infiniband/packet-builder.ts';
import { newPacketFields } from '../../protocol/infiniband/packet-fields.ts';
import { Port, parseGuid } from '../port/port.ts';

const fields = newPacketFields();
const parsed = newParsedPacket();

/** A port for tests; its LID is its number. */
export function newPort(number: number, dataLanes = 1, queuePackets = 64): Port {
  return new Port(
    number,
    parseGuid(`00000000000000${number.toString(16).padStart(2, '0')}`),
    number,
    queuePackets,
    dataLanes,
  );
}

/** Queues packet `id` (its PSN) at the port; false if its virtual lane is full. */
export function send(port: Port, id: number, payloadBytes = 64, serviceLevel = 0): boolean {
  const ring = port.ringFor(0xbfff, serviceLevel);
  if (ring.full) return false;
  fields.opcode = BthOpcode.UD_SEND_ONLY;
  fields.dlid = 0xbfff;
  fields.slid = port.lid;
  fields.serviceLevel = serviceLevel;
  fields.psn = id % 2 ** 24;
  fields.payloadLengthBytes = payloadBytes;
  const offset = ring.writeOffset;
  const payload = offset + payloadStart(fields.opcode, 0);
  for (let index = 0; index < payloadBytes; index++) ring.bytes[payload + index] = (id + index) % 251;
  port.transmit(ring, buildPacket(ring.view, offset, fields, PacketCheck.ICRC));
  return true;
}

/** The arrivals at a port. */
export class Arrivals {
  /** PSNs of the packets. */
  readonly ids: number[] = [];
  /** Their virtual lanes. */
  readonly lanes: number[] = [];
  /** Names of the errors of packets that failed to parse. */
  readonly errors: string[] = [];
  readonly port: Port;

  constructor(port: Port) {
    this.port = port;
  }

  /** Takes up to `limit` packets; returns how many. */
  take(limit = Number.POSITIVE_INFINITY): number {
    let taken = 0;
    for (; taken < limit; taken++) {
      const ring = this.port.link?.arrival(this.port);
      if (ring === undefined) break;
      const error = parsePacket(ring.view, ring.readOffset, ring.readLength, parsed, PacketCheck.ALL);
      if (error === PacketError.NONE) {
        this.ids.push(parsed.psn);
        this.lanes.push(parsed.virtualLane);
      } else this.errors.push(packetErrorName(error));
      ring.shift();
    }
    return taken;
  }
}

/** Lets a link work from `startNs` until it is idle; returns the time, ns. */
export function drain(port: Port, arrivals: readonly Arrivals[], startNs = 0): number {
  let nowNs = startNs;
  for (let step = 0; step < 100_000; step++) {
    const moved = port.link?.carry(nowNs, 1000) ?? 0;
    let taken = 0;
    for (const end of arrivals) taken += end.take();
    if (moved + taken > 0) continue;
    const nextNs = port.link?.nextNs ?? Number.POSITIVE_INFINITY;
    if (nextNs === Number.POSITIVE_INFINITY) return nowNs;
    if (nextNs < nowNs) throw new Error(`The link asks for ${nextNs} ns at ${nowNs} ns.`);
    nowNs = nextNs;
  }
  throw new Error('The link never comes to rest.');
}
