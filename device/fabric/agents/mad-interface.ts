// SPDX-License-Identifier: Apache-2.0
/**
 * The MAD interface of a node: what becomes of each datagram that arrives at one of its
 * ports or that its own software sends (IBTA 13.5.3, 14.2.2). Directed routes go on, agents
 * answer, and the rest goes to the doors of software. Adapters, virtual adapters and switches have
 * one each; their receive paths call `receivePacket`, and their `run` calls `run`.
 */
import { PERMISSIVE_LID } from '../../../protocol/infiniband/addresses.ts';
import { GSI_QKEY, pKeysMatch } from '../../../protocol/infiniband/keys.ts';
import { DirectedRoute, OWN_SOFTWARE, routeDirected } from '../../../protocol/infiniband/mad/directed-route.ts';
import {
  getDirectedRouteSmpDrDlid,
  getDirectedRouteSmpDrSlid,
  getDirectedRouteSmpHopPointer,
  getDirectedRouteSmpIsReturning,
  setDirectedRouteSmpIsReturning,
} from '../../../protocol/infiniband/mad/gen/directed-route-smp.gen.ts';
import { getMadHeaderManagementClass } from '../../../protocol/infiniband/mad/gen/mad-header.gen.ts';
import { MadClass, TrapNumber } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { madView } from '../../../protocol/infiniband/mad/mad-head.ts';
import { MAD_BYTES } from '../../../protocol/infiniband/mad/mad-headers.ts';
import type { AdapterClock } from '../../host.ts';
import { Agents } from './agents.ts';
import { answerAddress, type MadAddress, newMadAddress, readMadPacket, subnetAddress } from './mad-packet.ts';
import type { MadPort } from './mad-port.ts';
import { egressOf, MadEgress, transmitMad } from './mad-transmit.ts';
import { endPortOf, isSwitch, type ManagedNode } from './managed-node.ts';
import { Traps } from './traps.ts';

/** Datagrams that wait for the next run of the node. */
export const WAITING_DATAGRAMS_MAX = 64;

interface WaitingDatagram {
  readonly portNumber: number;
  readonly address: MadAddress;
  readonly mad: Uint8Array;
  /** It arrived, if only from the node itself; otherwise its directed route ends here. */
  readonly hasArrived: boolean;
}

/** Takes packets of VL15 and QP1 that arrived at a port. Returns false when it drops one. */
export interface DatagramTaker {
  receivePacket(portNumber: number, view: DataView, offset: number, lengthBytes: number): boolean;
}

export class MadInterface implements DatagramTaker {
  readonly node: ManagedNode;
  /** Packets without a datagram, datagrams with a bad route, and datagrams that nothing takes. */
  malformed = 0;
  routeDiscards = 0;
  unclaimed = 0;
  /** Datagrams dropped for want of room in a transmit queue, or of a port that is up. */
  noRoom = 0;
  readonly agents: Agents;
  readonly traps: Traps;
  readonly #clock: AdapterClock;
  readonly #doors: Door[] = [];
  readonly #waiting: WaitingDatagram[] = [];

  constructor(node: ManagedNode, clock: AdapterClock) {
    this.node = node;
    this.#clock = clock;
    this.traps = new Traps(node, (portNumber, address, mad) => this.send(portNumber, address, mad));
    this.agents = new Agents(node, clock, this.traps);
  }

  /** Opens a door for software at a port; a switch has them at port 0 only. */
  openPort(portNumber: number): MadPort {
    const door = new Door(this, portNumber);
    this.#doors.push(door);
    return door;
  }

  /**
   * Takes a packet that arrived at an external port, or at port 0 by its LID: VL15 or QP1. Its CRCs
   * are good. The datagram is served in the next `run`: it may take the link down whose packets the
   * caller still holds. Returns false when the packet carries none, or there is no room.
   */
  receivePacket(portNumber: number, view: DataView, offset: number, lengthBytes: number): boolean {
    const address = newMadAddress();
    const mad = new Uint8Array(MAD_BYTES);
    if (!readMadPacket(view, offset, lengthBytes, address, mad)) {
      this.malformed++;
      return false;
    }
    if (!address.isVl15 && !this.#passesKeys(portNumber, address)) return false;
    if (this.#waiting.length < WAITING_DATAGRAMS_MAX)
      return this.#waiting.push({ portNumber, address, mad, hasArrived: true }) > 0;
    const counters = this.node.ports[portNumber - 1]?.counters;
    if (counters === undefined) this.noRoom++;
    else if (address.isVl15) counters.vl15Dropped++;
    else counters.qp1Dropped++;
    return false;
  }

  /** Serves a datagram that arrived at a port. `mad` may change. */
  receive(portNumber: number, address: MadAddress, mad: Uint8Array): void {
    const view = madView(mad);
    if (!address.isVl15 || getMadHeaderManagementClass(view, 0) !== MadClass.SUBNET_DIRECTED_ROUTE)
      return this.#deliver(portNumber, address, mad, view);
    const step = routeDirected(view, 0, portNumber, isSwitch(this.node), this.node.ports.length);
    this.#follow(step, portNumber, address, mad, view);
  }

  /** Sends a datagram of the node's software. Returns false when there is no room for it. */
  send(portNumber: number, address: Readonly<MadAddress>, mad: Uint8Array): boolean {
    const copy = mad.slice(0, MAD_BYTES);
    const view = madView(copy);
    const isDirected = address.isVl15 && getMadHeaderManagementClass(view, 0) === MadClass.SUBNET_DIRECTED_ROUTE;
    return isDirected && !beginsByLid(view)
      ? this.#sendDirected(portNumber, copy, view)
      : this.#sendByLid(portNumber, address, copy);
  }

  /** Serves the datagrams that wait, and sends traps. Returns true while more datagrams wait. */
  run(): boolean {
    if (this.isIdle) return false;
    for (let left = this.#waiting.length; left > 0; left--) {
      const { portNumber, address, mad, hasArrived } = this.#waiting.shift() as WaitingDatagram;
      if (hasArrived) this.receive(portNumber, address, mad);
      else this.#deliver(portNumber, address, mad, madView(mad));
    }
    const nowNs = this.#clock.now();
    this.traps.run(nowNs);
    this.agents.performanceAgent.advance(nowNs);
    return this.#waiting.length > 0;
  }

  /** True when `run` has nothing to do, now or later. Asked in each pass: it computes nothing. */
  get isIdle(): boolean {
    return this.#waiting.length === 0 && this.traps.isIdle && this.agents.performanceAgent.isIdle;
  }

  /** Time at which `run` must be called if nothing arrives; Infinity for never. */
  get nextNs(): number {
    if (this.#waiting.length > 0) return 0;
    return Math.min(this.traps.nextNs, this.agents.performanceAgent.nextNs);
  }

  /** A port of the switch has changed its state: SwitchInfo says so, and trap 128 (o14-3). */
  noteStateChange(): void {
    const { switchTables } = this.node;
    if (switchTables === undefined) return;
    const isNews = !switchTables.portStateChange;
    switchTables.portStateChange = true;
    if (isNews) this.traps.raiseLinkState();
  }

  /** QP1 takes every partition of its port, and one queue key (IBTA 9.6.1.1, 10.2.5). */
  #passesKeys(portNumber: number, address: Readonly<MadAddress>): boolean {
    const port = endPortOf(this.node, portNumber);
    const { pKey, qKey } = address;
    if (!port.pkeys.some((own) => pKeysMatch(pKey, own))) {
      port.badPkeys++;
      this.traps.raiseKeyViolation(TrapNumber.BAD_P_KEY, portNumber, { ...address, key: pKey });
      return false;
    }
    if (qKey === GSI_QKEY) return true;
    port.badQkeys++;
    this.traps.raiseKeyViolation(TrapNumber.BAD_Q_KEY, portNumber, { ...address, key: qKey });
    return false;
  }

  /** A datagram with a directed route of the node's own software. */
  #sendDirected(portNumber: number, mad: Uint8Array, view: DataView): boolean {
    const step = routeDirected(view, 0, OWN_SOFTWARE, isSwitch(this.node), this.node.ports.length);
    if (step === DirectedRoute.HERE) return this.#queue(portNumber, newMadAddress(), mad, false);
    if (step === DirectedRoute.BY_LID) return this.#sendByLid(portNumber, this.#partByLid(view, portNumber), mad);
    // The ports of an adapter are apart: a route begins at the port of the software.
    if (step === DirectedRoute.DISCARD || (!isSwitch(this.node) && step !== portNumber)) {
      this.routeDiscards++;
      return true;
    }
    return transmitMad(this.node, step, newMadAddress(), mad);
  }

  #sendByLid(portNumber: number, address: Readonly<MadAddress>, mad: Uint8Array): boolean {
    const egress = address.dlid === PERMISSIVE_LID ? portNumber : egressOf(this.node, portNumber, address.dlid);
    if (egress === MadEgress.OWN_NODE) return this.#queue(portNumber, { ...address }, mad, true);
    if (egress !== MadEgress.NOWHERE) return transmitMad(this.node, egress, address, mad);
    this.unclaimed++;
    return true;
  }

  #queue(portNumber: number, address: MadAddress, mad: Uint8Array, hasArrived: boolean): boolean {
    if (this.#waiting.length >= WAITING_DATAGRAMS_MAX) return false;
    this.#waiting.push({ portNumber, address, mad, hasArrived });
    this.node.ports[Math.max(0, portNumber - 1)]?.onWork?.();
    return true;
  }

  /** The next step of a directed route that arrived, or of its answer. */
  #follow(step: number, portNumber: number, address: MadAddress, mad: Uint8Array, view: DataView): void {
    if (step === DirectedRoute.HERE) return this.#deliver(portNumber, address, mad, view);
    if (step === DirectedRoute.DISCARD) {
      this.routeDiscards++;
      return;
    }
    const sent =
      step === DirectedRoute.BY_LID
        ? this.#sendByLid(portNumber, this.#partByLid(view, portNumber), mad.slice())
        : transmitMad(this.node, step, newMadAddress(), mad);
    if (!sent) this.noRoom++;
  }

  /** The address of the part of a route that is routed by LID (C14-9, C14-13). */
  #partByLid(view: DataView, portNumber: number): MadAddress {
    const isReturning = getDirectedRouteSmpIsReturning(view, 0) === 1;
    const dlid = isReturning ? getDirectedRouteSmpDrSlid(view, 0) : getDirectedRouteSmpDrDlid(view, 0);
    return subnetAddress(endPortOf(this.node, portNumber).lid, dlid);
  }

  /** A datagram for this node: an agent answers it, or software takes it. */
  #deliver(portNumber: number, address: MadAddress, mad: Uint8Array, view: DataView): void {
    const isHeard = this.#doors.some((door) => door.hears(portNumber));
    switch (this.agents.take(portNumber, address, mad, isHeard)) {
      case 'answered':
        return this.#answer(portNumber, address, mad, view);
      case 'software':
        if (!isHeard) this.unclaimed++;
        return this.#give(portNumber, address, mad);
      default:
    }
  }

  /** Gives a datagram to the door that claims it, or to all of the port. */
  #give(portNumber: number, address: MadAddress, mad: Uint8Array): void {
    const claimant = this.#doors.find((door) => door.claimsAt(portNumber, mad));
    if (claimant !== undefined) return claimant.deliver(portNumber, address, mad);
    for (const door of this.#doors) door.deliver(portNumber, address, mad);
  }

  #answer(portNumber: number, address: MadAddress, mad: Uint8Array, view: DataView): void {
    const back = answerAddress(address);
    if (!address.isVl15 || getMadHeaderManagementClass(view, 0) !== MadClass.SUBNET_DIRECTED_ROUTE) {
      if (!this.#sendByLid(portNumber, back, mad.slice())) this.noRoom++;
      return;
    }
    setDirectedRouteSmpIsReturning(view, 0, 1);
    const step = routeDirected(view, 0, OWN_SOFTWARE, isSwitch(this.node), this.node.ports.length);
    // The answer to the node's own software is at its end, and it is for software alone.
    if (step === DirectedRoute.HERE) for (const door of this.#doors) door.deliver(portNumber, back, mad);
    else this.#follow(step, portNumber, back, mad, view);
  }
}

/** A door at one port. */
class Door implements MadPort {
  readonly portNumber: number;
  readonly portGuid: Uint8Array;
  onMad: ((address: Readonly<MadAddress>, mad: Uint8Array) => void) | undefined = undefined;
  claims: ((mad: Uint8Array) => boolean) | undefined = undefined;
  readonly #owner: MadInterface;

  constructor(owner: MadInterface, portNumber: number) {
    this.#owner = owner;
    this.portNumber = portNumber;
    this.portGuid = endPortOf(owner.node, portNumber).guid;
  }

  get lid(): number {
    return endPortOf(this.#owner.node, this.portNumber).lid;
  }

  send(address: Readonly<MadAddress>, mad: Uint8Array): boolean {
    return this.#owner.send(this.portNumber, address, mad);
  }

  /** True when software listens to what arrives at a port of the node. */
  hears(portNumber: number): boolean {
    return this.onMad !== undefined && this.#isFor(portNumber);
  }

  claimsAt(portNumber: number, mad: Uint8Array): boolean {
    return this.claims !== undefined && this.#isFor(portNumber) && this.claims(mad);
  }

  deliver(portNumber: number, address: Readonly<MadAddress>, mad: Uint8Array): void {
    if (this.#isFor(portNumber)) this.onMad?.(address, mad);
  }

  /** All ports of a switch lead to its port 0. */
  #isFor(portNumber: number): boolean {
    return this.portNumber === 0 || this.portNumber === portNumber;
  }
}

/** The route begins with a part by LID, to the switch where the directed part begins (C14-9). */
function beginsByLid(view: DataView): boolean {
  return (
    getDirectedRouteSmpIsReturning(view, 0) === 0 &&
    getDirectedRouteSmpHopPointer(view, 0) === 0 &&
    getDirectedRouteSmpDrSlid(view, 0) !== PERMISSIVE_LID
  );
}
