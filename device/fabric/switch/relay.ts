// SPDX-License-Identifier: Apache-2.0
/**
 * Decides where a data packet goes that waits at an input of a switch (IBTA 18.2.4): checks the
 * packet, looks up its DLID and its VL, and checks the port of exit. The input gates call it for
 * the oldest packet of each VL; it changes nothing.
 */
import { MULTICAST_LID_BASE, PERMISSIVE_LID } from '../../../protocol/infiniband/addresses.ts';
import { getBthPKey } from '../../../protocol/infiniband/gen/bth.gen.ts';
import { GRH_SIZE } from '../../../protocol/infiniband/gen/grh.gen.ts';
import {
  getLrhDlid,
  getLrhLinkNextHeader,
  getLrhLinkVersion,
  getLrhPacketLength,
  getLrhServiceLevel,
  LRH_SIZE,
} from '../../../protocol/infiniband/gen/lrh.gen.ts';
import { LinkNextHeader } from '../../../protocol/infiniband/gen/values.gen.ts';
import { computeVcrc, getVcrc, VCRC_SIZE } from '../../../protocol/infiniband/vcrc.ts';
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import type { PacketRing } from '../port/packet-ring.ts';
import { DropCause } from './drop-causes.ts';
import type { OutputQueue } from './output-queue.ts';
import { NO_PORT, type RelayTables } from './relay-tables.ts';
import type { SwitchPort } from './switch-port.ts';

/**
 * A decision is the number of an output queue, one of these, or the complement of a `DropCause`.
 */
export const LOCAL = 0x10000;
export const MULTICAST = 0x10001;

/** VLs counted for each port in the numbers of inputs and of output queues. */
export const VLS_OF_PORT = 16;
/** Bytes by which LRH to ICRC may exceed the payload (IBTA 7.7.8). */
const OVERHEAD_BYTES = 124;
const BYTES_PER_DWORD = 4;
/** Ports in one word of a mask. */
export const WORD_PORTS = 32;

export class Relay {
  readonly tables: RelayTables;
  readonly #ports: readonly SwitchPort[];
  /** Output queues by port and VL. */
  readonly #queues: readonly (OutputQueue | undefined)[];

  /** The ports that exist, 0 to 31 and from 32, as masks. */
  readonly #lowMask: number;
  readonly #highMask: number;

  constructor(ports: readonly SwitchPort[], tables: RelayTables) {
    this.tables = tables;
    this.#ports = ports;
    this.#lowMask = ports.length + 1 >= WORD_PORTS ? -1 : (1 << (ports.length + 1)) - 1;
    this.#highMask = ports.length + 1 <= WORD_PORTS ? 0 : (1 << (ports.length + 1 - WORD_PORTS)) - 1;
    this.#queues = [undefined, ...ports].flatMap((port) =>
      Array.from({ length: VLS_OF_PORT }, (_, virtualLane) => port?.queues[virtualLane]),
    );
  }

  /** The output queue of a decision. */
  getQueue(decision: number): OutputQueue {
    return this.#queues[decision] as OutputQueue;
  }

  /** The port of exit of a decision. */
  getPort(decision: number): SwitchPort {
    return this.#ports[((decision / VLS_OF_PORT) | 0) - 1];
  }

  /** The external port with this number, or undefined. */
  findPort(number: number): SwitchPort | undefined {
    return this.#ports[number - 1];
  }

  /** The port by which the oldest packet of a ring would leave, or undefined. */
  findExit({ view, readOffset }: PacketRing): SwitchPort | undefined {
    return this.findPort(this.tables.getPort(getLrhDlid(view, readOffset)));
  }

  /** An input no longer waits for any output queue. */
  leaveAll(input: number): void {
    for (const { queues } of this.#ports) for (const queue of queues) queue.release(input);
  }

  /** Ports 0 to 31 that get a multicast from `input`: never the port of arrival (IBTA 18.2.4). */
  getLowPorts(dlid: number, input: number): number {
    const own = input < WORD_PORTS ? 1 << input : 0;
    return this.tables.getLowPorts(dlid, input) & this.#lowMask & ~own;
  }

  /** Ports from 32 that get a multicast from `input`. */
  getHighPorts(dlid: number, input: number): number {
    const own = input < WORD_PORTS ? 0 : 1 << (input - WORD_PORTS);
    return this.tables.getHighPorts(dlid, input) & this.#highMask & ~own;
  }

  /** Why the oldest packet of a ring is not whole (IBTA 7.8.2): the cause of its drop, or -1. */
  findDamage({ view, readOffset, readLength }: PacketRing): number {
    const vcrcOffset = readOffset + readLength - VCRC_SIZE;
    if (computeVcrc(view, readOffset, vcrcOffset) !== getVcrc(view, vcrcOffset)) return DropCause.DAMAGED;
    const isWhole =
      getLrhLinkVersion(view, readOffset) === 0 &&
      getLrhPacketLength(view, readOffset) * BYTES_PER_DWORD + VCRC_SIZE === readLength;
    return isWhole ? -1 : DropCause.MALFORMED;
  }

  /** Decides on the oldest packet of a data VL, which is not damaged. */
  decide(input: SwitchPort, ring: PacketRing): number {
    if (input.state !== PortState.ACTIVE) return ~DropCause.INPUT_INACTIVE;
    if (isTooLong(input, ring.readLength)) return ~DropCause.MALFORMED;
    if (input.settings.isRawInboundFiltered && isRaw(ring)) return ~DropCause.INPUT_RAW;
    if (input.settings.isInboundEnforced && !isOfPartition(input, ring)) return ~DropCause.INPUT_PARTITION;
    const dlid = getLrhDlid(ring.view, ring.readOffset);
    if (dlid >= MULTICAST_LID_BASE) return dlid === PERMISSIVE_LID ? ~DropCause.NO_ROUTE : MULTICAST;
    const output = this.tables.getPort(dlid);
    if (output === 0) return LOCAL;
    if (output === NO_PORT || output > this.#ports.length || dlid === 0) return ~DropCause.NO_ROUTE;
    if (output === input.number) return ~DropCause.LOOP;
    return this.decideExit(input.number, output, ring);
  }

  /** Decides on the exit by one port: a queue, or a cause to drop the packet. */
  decideExit(input: number, output: number, ring: PacketRing): number {
    const port = this.#ports[output - 1];
    if (port.state !== PortState.ACTIVE) return ~DropCause.OUTPUT_INACTIVE;
    const vl = this.tables.getVirtualLane(input, output, getLrhServiceLevel(ring.view, ring.readOffset));
    if (vl >= port.transmitQueues.operationalVls) return ~DropCause.NO_LANE;
    if (isTooLong(port, ring.readLength)) return ~DropCause.TOO_LONG;
    if (port.settings.isRawOutboundFiltered && isRaw(ring)) return ~DropCause.OUTPUT_RAW;
    if (port.settings.isOutboundEnforced && !isOfPartition(port, ring)) return ~DropCause.OUTPUT_PARTITION;
    if (port.queues[vl].isStalled) return ~DropCause.HEAD_OF_QUEUE;
    return output * VLS_OF_PORT + vl;
  }
}

function isTooLong(port: SwitchPort, lengthBytes: number): boolean {
  return lengthBytes - VCRC_SIZE > port.mtuBytes + OVERHEAD_BYTES;
}

/** True when the partition of a packet may pass the port; a raw packet has none. */
function isOfPartition(port: SwitchPort, ring: PacketRing): boolean {
  return isRaw(ring) || port.partitions.accepts(readPkey(ring));
}

/** The P_Key of a packet that is not raw. */
function readPkey({ view, readOffset }: PacketRing): number {
  const isGlobal = getLrhLinkNextHeader(view, readOffset) === LinkNextHeader.GRH;
  return getBthPKey(view, readOffset + LRH_SIZE + (isGlobal ? GRH_SIZE : 0));
}

function isRaw({ view, readOffset }: PacketRing): boolean {
  return getLrhLinkNextHeader(view, readOffset) < LinkNextHeader.BTH;
}
