// SPDX-License-Identifier: Apache-2.0
/**
 * All send contexts of the adapter and their egress (US 2015/0378953 claim 1, egressing). Contexts
 * take turns. The packets of a context leave in order of completion or, with a seed, in any order.
 * Software composes the packets, so each is checked before it leaves: it must be a datagram that
 * the function may send (docs/DOCUMENTS.md decision 14). PCIe functions bring the writes,
 * `Adapter.run` the turns.
 */

import { isLidOfPort } from '../../protocol/infiniband/addresses.ts';
import { getDethSrcQpn } from '../../protocol/infiniband/gen/deth.gen.ts';
import { setLrhVirtualLane } from '../../protocol/infiniband/gen/lrh.gen.ts';
import { PacketError } from '../../protocol/infiniband/gen/values.gen.ts';
import { computeIcrc, setIcrc } from '../../protocol/infiniband/icrc.ts';
import { pKeysMatch } from '../../protocol/infiniband/keys.ts';
import { TRANSPORT_MASK, Transport } from '../../protocol/infiniband/opcodes.ts';
import { ICRC_SIZE, newParsedPacket, PacketCheck, parsePacket } from '../../protocol/infiniband/packet.ts';
import { VCRC_SIZE } from '../../protocol/infiniband/vcrc.ts';
import {
  SEND_BLOCK_BYTES,
  SEND_CONTEXT_MAX,
  SEND_CONTEXT_WINDOW_BYTES,
  SEND_START_OF_PACKET_OFFSET,
} from '../../protocol/layout/gen/constants.gen.ts';
import {
  getSendControlBadIcrc,
  getSendControlBadVcrc,
  getSendControlInterrupt,
  getSendControlVirtualLane,
} from '../../protocol/layout/gen/send-control.gen.ts';
import { FaultKind, PortState, SendHaltCause } from '../../protocol/layout/gen/values.gen.ts';
import { NO_OBJECT } from '../function/fault-log.ts';
import type { ObjectTable } from '../function/object-table.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import { PACKET_SLOT_BYTES, type PacketRing } from '../port/packet-ring.ts';
import type { Port } from '../port/port.ts';
import { MANAGEMENT_VL } from '../port/transmit-queues.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { Random } from '../random.ts';
import { SendContext } from './send-context.ts';

/** Numbers of the special QPs (IBTA 3.9.3). */
const SUBNET_MANAGEMENT_QPN = 0;
const GENERAL_SERVICES_QPN = 1;
/** Payload bytes of a management datagram (IBTA 13.4.2). */
const MANAGEMENT_BYTES = 256;

/** The send contexts of all functions. */
export class SendContexts {
  readonly #contexts: (SendContext | undefined)[] = new Array(SEND_CONTEXT_MAX).fill(undefined);
  readonly #ports: readonly Port[];
  readonly #queuePairs: ObjectTable<QueuePair>;
  readonly #random: Random | undefined;
  readonly #bytes = new Uint8Array(PACKET_SLOT_BYTES);
  readonly #view = new DataView(this.#bytes.buffer);
  readonly #packet = newParsedPacket();
  /** Number of packets that wait in all contexts, and the context of the next turn. */
  #waiting = 0;
  #turn = 0;
  #frozen = false;

  /** With an `egressSeed`, the packets of a context leave in an order drawn from it. */
  constructor(ports: readonly Port[], queuePairs: ObjectTable<QueuePair>, egressSeed: number | undefined) {
    this.#ports = ports;
    this.#queuePairs = queuePairs;
    this.#random = egressSeed === undefined ? undefined : new Random(egressSeed);
  }

  get frozen(): boolean {
    return this.#frozen;
  }

  /** Returns the context of that number if `owner` owns it. */
  get(owner: UnderlyingFunction, number: number): SendContext | undefined {
    const context = this.#contexts[number];
    return context?.owner === owner ? context : undefined;
  }

  /**
   * Adds a context of `blocks` blocks under the lowest free number. Returns undefined when none is
   * free.
   */
  add(owner: UnderlyingFunction, blocks: number): SendContext | undefined {
    const number = this.#contexts.indexOf(undefined);
    if (number < 0) return undefined;
    const context = new SendContext(number, owner, blocks);
    this.#contexts[number] = context;
    return context;
  }

  /** Removes a context and its waiting packets. */
  remove(context: SendContext): void {
    this.#waiting -= context.waitingCount;
    this.#contexts[context.number] = undefined;
  }

  /** Removes all contexts of a function. */
  dropFunction(owner: UnderlyingFunction): void {
    for (const context of this.#contexts) if (context?.owner === owner) this.remove(context);
  }

  /** Calls `visit` for each context in the order of their numbers. */
  forEach(visit: (context: SendContext) => void): void {
    for (const context of this.#contexts) if (context !== undefined) visit(context);
  }

  /** Takes a write to a function's PIO BAR. */
  write(owner: UnderlyingFunction, offset: number, sizeBytes: number, low: number, high: number): void {
    const start = offset >= SEND_START_OF_PACKET_OFFSET;
    const inWindow = start ? offset - SEND_START_OF_PACKET_OFFSET : offset;
    const context = this.get(owner, Math.floor(inWindow / SEND_CONTEXT_WINDOW_BYTES));
    if (context === undefined) return owner.faults.report(FaultKind.PIO_UNSUPPORTED, NO_OBJECT, offset);
    const before = context.waitingCount;
    context.write(inWindow % SEND_CONTEXT_WINDOW_BYTES, sizeBytes, low, high, start);
    this.#waiting += context.waitingCount - before;
  }

  /**
   * Halts every enabled context, or lets software restart them (docs/DOCUMENTS.md decision 9; the
   * freeze of Linux's hfi1 driver).
   */
  setFrozen(on: boolean): void {
    this.#frozen = on;
    for (const context of this.#contexts) {
      if (on) context?.halt(SendHaltCause.FREEZE);
      else context?.thaw();
    }
  }

  /** Lets up to `limit` packets egress. Returns their number. */
  run(limit: number): number {
    let sent = 0;
    let idleTurns = 0;
    while (this.#waiting > 0 && sent < limit && idleTurns < SEND_CONTEXT_MAX) {
      const context = this.#contexts[this.#turn];
      this.#turn = (this.#turn + 1) % SEND_CONTEXT_MAX;
      if (context !== undefined && context.waitingCount > 0 && this.#egress(context)) {
        sent++;
        idleTurns = 0;
      } else idleTurns++;
    }
    return sent;
  }

  /** Sends or drops one packet of the context. Returns false when its port has no room. */
  #egress(context: SendContext): boolean {
    const place = this.#random?.below(context.waitingCount) ?? 0;
    const control = context.waitingAt(place) * SEND_BLOCK_BYTES;
    const { view } = context.blocks;
    const virtualLane = getSendControlVirtualLane(view, control);
    const port = this.#ports[context.port - 1];
    const covered = context.blocks.copyPacket(context.waitingAt(place), this.#bytes) + ICRC_SIZE;
    const allowed = this.#isAllowed(context, port, virtualLane, covered + VCRC_SIZE);
    if (allowed && canSend(port, virtualLane)) {
      const ring = this.#ringFor(port, virtualLane);
      if (ring === undefined || ring.full) return false;
      setLrhVirtualLane(this.#view, 0, virtualLane);
      this.#send(port, ring, covered, getSendControlBadIcrc(view, control), getSendControlBadVcrc(view, control));
      context.packetsSent++;
    } else context.packetsDropped++;
    if (getSendControlInterrupt(view, control)) context.owner.msix.request(context.vector);
    this.#waiting--;
    context.finish(place);
    if (!allowed) {
      context.owner.faults.report(FaultKind.SEND_PACKET, context, this.#packet.error);
      context.halt(SendHaltCause.DISALLOWED_PACKET);
    }
    return true;
  }

  /**
   * True for a well-formed datagram from this port and from a QP of the function, on a VL and in a
   * partition that the context may use.
   */
  #isAllowed(context: SendContext, port: Port, virtualLane: number, lengthBytes: number): boolean {
    const packet = this.#packet;
    const view = this.#view;
    if (parsePacket(view, 0, lengthBytes, packet, PacketCheck.NONE) !== PacketError.NONE) return false;
    if ((packet.opcode & TRANSPORT_MASK) !== Transport.UD || !isLidOfPort(packet.slid, port.lid, port.lmc))
      return false;
    if (((context.virtualLanes >>> virtualLane) & 1) === 0) return false;
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

  #send(port: Port, ring: PacketRing, covered: number, badIcrc: number, badVcrc: number): void {
    const { grhOffset, icrcOffset } = this.#packet;
    const icrc = computeIcrc(this.#view, 0, grhOffset >= 0, icrcOffset);
    setIcrc(this.#view, icrcOffset, badIcrc ? ~icrc : icrc);
    const offset = ring.writeOffset;
    for (let index = 0; index < covered; index++) ring.bytes[offset + index] = this.#bytes[index];
    if (badIcrc || badVcrc) port.transmitDamaged(ring, covered + VCRC_SIZE, badVcrc === 1);
    else port.transmit(ring, covered + VCRC_SIZE);
  }
}

/** Data packets need an active port, subnet management packets a link that is up (IBTA 7.2.7). */
function canSend(port: Port, virtualLane: number): boolean {
  return virtualLane === MANAGEMENT_VL ? port.state !== PortState.DOWN : port.active;
}
