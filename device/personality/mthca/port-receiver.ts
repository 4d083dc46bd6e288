// SPDX-License-Identifier: Apache-2.0
/**
 * The receive side of the ports: takes packets from the links, gives management datagrams to QP0
 * and QP1 of software, or to the agents of the device when no software receives there, and drops
 * all others, because no data path is connected yet. `MthcaAdapter` calls it in each pass.
 */
import { isLidOfPort, PERMISSIVE_LID } from '../../../protocol/infiniband/addresses.ts';
import { PacketError } from '../../../protocol/infiniband/gen/values.gen.ts';
import { pKeysMatch } from '../../../protocol/infiniband/keys.ts';
import { MAD_BYTES } from '../../../protocol/infiniband/mad/mad-headers.ts';
import { newParsedPacket, PacketCheck, parsePacket } from '../../../protocol/infiniband/packet.ts';
import { resealVcrc } from '../../../protocol/infiniband/packet-builder.ts';
import { VCRC_SIZE } from '../../../protocol/infiniband/vcrc.ts';
import { GENERAL_SERVICES_QPN, newMadAddress, readMadPacket } from '../../agents/mad-packet.ts';
import type { ManagementInterface } from '../../agents/management-interface.ts';
import type { AdapterClock } from '../../host.ts';
import type { PacketRing } from '../../port/packet-ring.ts';
import { MANAGEMENT_VL } from '../../port/transmit-queues.ts';
import type { MthcaPort } from './mthca-port.ts';
import type { RawQueuePairs } from './raw-queue-pairs.ts';

export class PortReceiver {
  readonly #ports: readonly MthcaPort[];
  readonly #management: ManagementInterface;
  readonly #raw: RawQueuePairs;
  readonly #clock: AdapterClock;
  readonly #packet = newParsedPacket();

  constructor(ports: readonly MthcaPort[], management: ManagementInterface, raw: RawQueuePairs, clock: AdapterClock) {
    this.#ports = ports;
    this.#management = management;
    this.#raw = raw;
    this.#clock = clock;
  }

  /** Lets links carry packets, and takes up to `limit` arrived ones; returns how many. */
  run(limit: number): number {
    let taken = 0;
    let previous: unknown;
    for (const port of this.#ports) {
      const { link } = port;
      if (link === undefined) continue;
      // A link between two ports of this device carries both ways at once.
      if (link.active && link !== previous) link.carry(this.#clock.now(), limit);
      previous = link;
      for (; taken < limit; taken++) {
        const ring = port.loopback.count > 0 ? port.loopback : link.arrival(port);
        if (ring === undefined) break;
        this.#receive(port, ring, link.trusted || ring === port.loopback);
      }
    }
    return taken;
  }

  /** Ends a pass: wakes the other ends, and sets the alarm of the next link event. */
  settle(): void {
    let nextNs = Number.POSITIVE_INFINITY;
    for (const port of this.#ports) {
      port.link?.settle(port);
      nextNs = Math.min(nextNs, port.link?.nextNs ?? nextNs);
    }
    if (nextNs !== Number.POSITIVE_INFINITY) this.#clock.setAlarm(nextNs);
  }

  #receive(port: MthcaPort, ring: PacketRing, isTrusted: boolean): void {
    const offset = ring.readOffset;
    const length = ring.readLength;
    const isUnchanged = isTrusted && !ring.readSuspect;
    if (port.observer !== undefined) {
      if (isUnchanged) resealVcrc(ring.view, offset, offset + length - VCRC_SIZE);
      port.observer(port, false, ring.bytes, offset, length);
    }
    if (this.#accepts(port, ring, isUnchanged) && this.#deliver(port, ring)) port.receivePackets++;
    else port.receiveDrops++;
    ring.shift();
  }

  #deliver(port: MthcaPort, ring: PacketRing): boolean {
    const { view, readOffset, readLength } = ring;
    const address = newMadAddress();
    const mad = new Uint8Array(MAD_BYTES);
    if (!readMadPacket(view, readOffset, readLength, address, mad)) return false;
    if (this.#raw.deliver(port.number, address, mad)) return true;
    return this.#management.receivePacket(port.number, view, readOffset, readLength);
  }

  /** Packets of VL15 in any state but DOWN, others for QP1 when the port is active (IBTA 7.2.7). */
  #accepts(port: MthcaPort, ring: PacketRing, isUnchanged: boolean): boolean {
    const packet = this.#packet;
    const checks = isUnchanged ? PacketCheck.NONE : PacketCheck.ALL;
    if (parsePacket(ring.view, ring.readOffset, ring.readLength, packet, checks) !== PacketError.NONE) return false;
    const isOwn = isLidOfPort(packet.dlid, port.lid, port.lmc);
    if (packet.virtualLane === MANAGEMENT_VL) return isOwn || packet.dlid === PERMISSIVE_LID;
    const isGeneral = packet.destQpn === GENERAL_SERVICES_QPN;
    return port.active && isOwn && isGeneral && port.pkeys.some((pkey) => pKeysMatch(packet.pKey, pkey));
  }
}
