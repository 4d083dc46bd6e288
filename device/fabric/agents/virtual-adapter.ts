// SPDX-License-Identifier: Apache-2.0
/**
 * A virtual adapter: a channel adapter with one port, management agents and a door for software,
 * and no data path. Software on the host manages the fabric through it, and tests of switches and
 * of subnet managers have it as a cheap end node. Other packets than datagrams of management are
 * dropped (IBTA 9.6.1: the destination QP does not exist). A `Fabric` runs it as one of its nodes.
 */
import { isLidOfPort, PERMISSIVE_LID } from '../../../protocol/infiniband/addresses.ts';
import { PacketError } from '../../../protocol/infiniband/gen/values.gen.ts';
import { pKeysMatch } from '../../../protocol/infiniband/keys.ts';
import { NodeType } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { newParsedPacket, PacketCheck, parsePacket } from '../../../protocol/infiniband/packet.ts';
import { sealWhole } from '../../../protocol/infiniband/packet-builder.ts';
import type { AdapterClock, FunctionPort } from '../../host.ts';
import type { PacketRing } from '../port/packet-ring.ts';
import { guidBytes, Port } from '../port/port.ts';
import { MANAGEMENT_VL } from '../port/transmit-queues.ts';
import { MadInterface } from './mad-interface.ts';
import type { MadPort } from './mad-port.ts';
import { type ManagedNode, nodeDescription } from './managed-node.ts';

const VENDOR_ID = 0x005655;
const DEVICE_ID = 0x0001;
const QUEUE_PACKETS = 16;

export class VirtualAdapter implements ManagedNode {
  readonly nodeType = NodeType.CHANNEL_ADAPTER;
  readonly nodeGuid: Uint8Array;
  readonly systemImageGuid: Uint8Array;
  readonly description: Uint8Array;
  readonly vendorId = VENDOR_ID;
  readonly deviceId = DEVICE_ID;
  readonly revision = 0;
  /** It has no functions: no guest sees it. */
  readonly functions: readonly FunctionPort[] = [];
  readonly port: Port;
  readonly ports: readonly Port[];
  readonly endPorts: readonly Port[];
  readonly mads: MadInterface;
  readonly #clock: AdapterClock;
  readonly #packet = newParsedPacket();
  /** The last run found nothing that moves or waits, and set no alarm. */
  #isAtRest = false;

  /** The GUID of the port is the one after `nodeGuid`. `dataVls`: those of the other end. */
  constructor(name: string, nodeGuid: bigint, clock: AdapterClock, dataVls = 1) {
    this.nodeGuid = guidBytes(nodeGuid);
    this.systemImageGuid = this.nodeGuid;
    this.description = nodeDescription(name);
    this.port = new Port(1, guidBytes(nodeGuid + 1n), 0, QUEUE_PACKETS, dataVls);
    this.port.selfActivating = false;
    this.ports = [this.port];
    this.endPorts = this.ports;
    this.#clock = clock;
    this.mads = new MadInterface(this, clock);
  }

  /** A door for software at the port. */
  openPort(): MadPort {
    return this.mads.openPort(1);
  }

  /** Takes up to `budget` packets. Returns true while there is more work. */
  run(budget: number): boolean {
    const { port } = this;
    const { link } = port;
    if (link?.active) link.carry(this.#clock.now(), budget);
    let taken = 0;
    for (; link !== undefined && taken < budget; taken++) {
      const ring = link.arrival(port);
      if (ring === undefined) break;
      this.#receive(ring, link.trusted);
    }
    const hasMore = this.mads.run();
    link?.settle(port);
    const nextNs = Math.min(link?.nextNs ?? Number.POSITIVE_INFINITY, this.mads.nextNs);
    if (nextNs !== Number.POSITIVE_INFINITY) this.#clock.setAlarm(nextNs);
    const isEmpty = link?.active !== true && port.transmitQueues.count === 0;
    this.#isAtRest = isEmpty && taken === 0 && nextNs === Number.POSITIVE_INFINITY;
    return hasMore || taken === budget;
  }

  /** See `FabricNode`. */
  skip(): boolean {
    return this.#isAtRest && this.mads.isIdle && this.port.link?.active !== true;
  }

  #receive(ring: PacketRing, isTrusted: boolean): void {
    const { port } = this;
    const offset = ring.readOffset;
    const length = ring.readLength;
    const isUnchanged = isTrusted && !ring.readSuspect;
    port.noteArrival(ring);
    if (port.observer !== undefined) {
      if (isUnchanged) sealWhole(ring.view, offset, length);
      port.observer(port, false, ring.bytes, offset, length);
    }
    if (this.#accepts(ring, isUnchanged) && this.mads.receivePacket(port.number, ring.view, offset, length))
      port.receivePackets++;
    else port.receiveDrops++;
    ring.shift();
  }

  /** Packets of VL15 in any state but DOWN, others when the port is active (IBTA 7.2.7). */
  #accepts(ring: PacketRing, isUnchanged: boolean): boolean {
    const { port } = this;
    const packet = this.#packet;
    const checks = isUnchanged ? PacketCheck.NONE : PacketCheck.ALL;
    const error = parsePacket(ring.view, ring.readOffset, ring.readLength, packet, checks);
    if (error !== PacketError.NONE) {
      port.noteBadPacket(error === PacketError.BAD_VCRC || error === PacketError.BAD_ICRC);
      return false;
    }
    const isOwn = isLidOfPort(packet.dlid, port.lid, port.lmc);
    if (packet.virtualLane === MANAGEMENT_VL) return isOwn || packet.dlid === PERMISSIVE_LID;
    return port.active && isOwn && port.pkeys.some((pkey) => pKeysMatch(packet.pKey, pkey));
  }
}
