// SPDX-License-Identifier: Apache-2.0
/**
 * Nodes with management agents on simulated time, and a manager that sends requests through a door
 * and waits for the response. Tests of the agents use it; the manager knows directed routes and
 * LIDs, and repeats a request that got lost.
 */

import {
  DIRECTED_ROUTE_SMP_INITIAL_PATH_OFFSET,
  DIRECTED_ROUTE_SMP_M_KEY_OFFSET,
  setDirectedRouteSmpDrDlid,
  setDirectedRouteSmpDrSlid,
  setDirectedRouteSmpHopCount,
} from '../../protocol/infiniband/mad/gen/directed-route-smp.gen.ts';
import {
  encodeMadHeader,
  getMadHeaderMethod,
  getMadHeaderTransactionIdLow,
  newMadHeader,
} from '../../protocol/infiniband/mad/gen/mad-header.gen.ts';
import { MadClass, NodeType } from '../../protocol/infiniband/mad/gen/values.gen.ts';
import { ATTRIBUTE_OFFSET, MAD_BYTES } from '../../protocol/infiniband/mad/mad-headers.ts';
import { newParsedPacket, PacketCheck, PacketError, parsePacket } from '../../protocol/infiniband/packet.ts';
import { generalAddress, type MadAddress, newMadAddress } from '../agents/mad-packet.ts';
import type { MadPort } from '../agents/mad-port.ts';
import type { ManagedNode, SwitchTables } from '../agents/managed-node.ts';
import { nodeDescription } from '../agents/managed-node.ts';
import { ManagementInterface } from '../agents/management-interface.ts';
import type { EndPort } from '../port/end-port.ts';
import { PlainEndPort } from '../port/end-port.ts';
import { Port, parseGuid, portGuid } from '../port/port.ts';

const RESPONSE_BIT = 0x80;
const STATUS_MASK = 0x7fff;

/** Time that a test moves. */
export class TestClock {
  nowNs = 0;

  now(): number {
    return this.nowNs;
  }

  setAlarm(): void {}
}

/** A channel adapter, or a switch without a data path. */
export class TestNode implements ManagedNode {
  readonly nodeType: NodeType;
  readonly nodeGuid: Uint8Array;
  readonly systemImageGuid: Uint8Array;
  readonly description: Uint8Array;
  readonly vendorId = 0x005655;
  readonly deviceId = 1;
  readonly revision = 2;
  readonly ports: readonly Port[];
  readonly endPorts: readonly EndPort[];
  readonly switchTables?: SwitchTables;
  readonly management: ManagementInterface;
  readonly #clock: TestClock;
  readonly #packet = newParsedPacket();

  constructor(name: string, guid: number, clock: TestClock, ports = 1, isSwitch = false, dataLanes = 1) {
    this.nodeGuid = parseGuid(guid.toString(16).padStart(16, '0'));
    this.systemImageGuid = this.nodeGuid;
    this.description = nodeDescription(name);
    this.nodeType = isSwitch ? NodeType.SWITCH : NodeType.CHANNEL_ADAPTER;
    this.#clock = clock;
    this.ports = Array.from({ length: ports }, (_, index) => {
      const port = new Port(index + 1, portGuid(this.nodeGuid, index + 1), 0, 16, dataLanes);
      port.selfActivating = false;
      return port;
    });
    this.endPorts = isSwitch ? [new PlainEndPort(this.nodeGuid)] : this.ports;
    if (isSwitch) this.switchTables = new TestTables(ports);
    this.management = new ManagementInterface(this, clock);
    if (isSwitch) for (const { number } of this.ports) this.#watch(number);
  }

  /** Takes what has arrived, and runs the agents. Returns true when something happened. */
  run(): boolean {
    let taken = 0;
    for (const port of this.ports) {
      const { link } = port;
      if (link?.active) taken += link.carry(this.#clock.now(), 64);
      for (let ring = link?.arrival(port); ring !== undefined; ring = link?.arrival(port)) {
        const checks = link?.trusted ? PacketCheck.NONE : PacketCheck.ALL;
        const error = parsePacket(ring.view, ring.readOffset, ring.readLength, this.#packet, checks);
        if (error !== PacketError.NONE) port.noteBadPacket(true);
        else this.management.receivePacket(port.number, ring.view, ring.readOffset, ring.readLength);
        ring.shift();
        taken++;
      }
    }
    return this.management.run() || taken > 0;
  }

  #watch(portNumber: number): void {
    this.ports[portNumber - 1].onStateChange = () => this.management.noteStateChange();
  }
}

class TestTables implements SwitchTables {
  readonly linear = new Uint8Array(1024).fill(255);
  linearTop = 0;
  readonly multicastCapacity = 64;
  multicastTop = 0;
  defaultMulticastPrimaryPort = 255;
  defaultMulticastNotPrimaryPort = 255;
  lifeTime = 18;
  portStateChange = false;
  changes = 0;
  readonly #multicast = new Map<number, number>();
  readonly #lanes = new Map<number, number>();
  readonly #pkeys: readonly Uint16Array[];

  constructor(ports: number) {
    this.#pkeys = Array.from({ length: ports }, () => new Uint16Array(32));
  }

  getMulticastPorts(index: number, position: number): number {
    return this.#multicast.get(index * 16 + position) ?? 0;
  }

  setMulticastPorts(index: number, position: number, mask: number): void {
    this.#multicast.set(index * 16 + position, mask);
  }

  getVirtualLane(inPort: number, outPort: number, serviceLevel: number): number {
    return this.#lanes.get((inPort * 64 + outPort) * 16 + serviceLevel) ?? 0;
  }

  setVirtualLane(inPort: number, outPort: number, serviceLevel: number, virtualLane: number): void {
    this.#lanes.set((inPort * 64 + outPort) * 16 + serviceLevel, virtualLane);
  }

  pkeysOf(portNumber: number): Uint16Array {
    return this.#pkeys[portNumber - 1];
  }

  onTablesChanged(): void {
    this.changes++;
  }
}

/** A response: status, and the whole datagram. */
export interface Response {
  readonly status: number;
  readonly view: DataView;
  readonly data: Uint8Array;
}

export interface Request {
  readonly method: number;
  readonly attribute: number;
  readonly modifier?: number;
  /** The attribute. */
  readonly data?: Uint8Array;
  readonly mKey?: Uint8Array;
  readonly classVersion?: number;
}

/** Sends requests through a door. */
export class TestManager {
  readonly door: MadPort;
  /** Other datagrams than the awaited response: copies. */
  readonly heard: { readonly address: MadAddress; readonly mad: Uint8Array }[] = [];
  readonly #nodes: readonly TestNode[];
  readonly #clock: TestClock;
  #transaction = 0;
  #response: Uint8Array | undefined = undefined;

  constructor(door: MadPort, nodes: readonly TestNode[], clock: TestClock) {
    this.door = door;
    this.#nodes = nodes;
    this.#clock = clock;
    door.onMad = (address, mad) => this.#take(address, mad);
  }

  /**
   * Asks the node at the end of a directed route: numbers of output ports. With `byLid` the route
   * begins with a part by LID.
   */
  askDirected(
    route: readonly number[],
    request: Request,
    retries = 0,
    byLid: MadAddress & { readonly drSlid?: number } = newMadAddress(),
  ): Response | undefined {
    const mad = this.#build(MadClass.SUBNET_DIRECTED_ROUTE, request);
    const view = new DataView(mad.buffer);
    setDirectedRouteSmpHopCount(view, 0, route.length);
    setDirectedRouteSmpDrSlid(view, 0, byLid.drSlid ?? 0xffff);
    setDirectedRouteSmpDrDlid(view, 0, 0xffff);
    mad.set(route, DIRECTED_ROUTE_SMP_INITIAL_PATH_OFFSET + 1);
    return this.#ask(byLid, mad, retries);
  }

  /** Asks the subnet management agent at a LID. */
  askByLid(address: MadAddress, request: Request): Response | undefined {
    return this.#ask(address, this.#build(MadClass.SUBNET, request), 0);
  }

  /** Asks the performance management agent at a LID. */
  askPerformance(slid: number, dlid: number, request: Request): Response | undefined {
    return this.#ask(generalAddress(slid, dlid), this.#build(MadClass.PERFORMANCE, request), 0);
  }

  /** Runs the nodes until nothing happens, or `awaited` is there. */
  settle(awaited = (): boolean => false): void {
    for (let round = 0; round < 200 && !awaited(); round++) {
      this.#clock.nowNs += 1000;
      for (const node of this.#nodes) node.run();
    }
  }

  #build(managementClass: number, request: Request): Uint8Array {
    const { method, attribute, modifier = 0, data, mKey, classVersion = 1 } = request;
    const mad = new Uint8Array(MAD_BYTES);
    const header = newMadHeader();
    header.baseVersion = 1;
    header.managementClass = managementClass;
    header.classVersion = classVersion;
    header.method = method;
    header.transactionIdLow = ++this.#transaction;
    header.attributeId = attribute;
    header.attributeModifier = modifier;
    encodeMadHeader(new DataView(mad.buffer), 0, header);
    if (mKey !== undefined) mad.set(mKey, DIRECTED_ROUTE_SMP_M_KEY_OFFSET);
    if (data !== undefined) mad.set(data, ATTRIBUTE_OFFSET);
    return mad;
  }

  #ask(address: MadAddress, mad: Uint8Array, retries: number): Response | undefined {
    this.#response = undefined;
    for (let attempt = 0; attempt <= retries && this.#response === undefined; attempt++) {
      this.door.send(address, mad);
      this.settle(() => this.#response !== undefined);
    }
    const response = this.#response as Uint8Array | undefined;
    if (response === undefined) return undefined;
    const view = new DataView(response.buffer);
    return { status: view.getUint16(4) & STATUS_MASK, view, data: response.subarray(ATTRIBUTE_OFFSET) };
  }

  #take(address: Readonly<MadAddress>, mad: Uint8Array): void {
    const view = new DataView(mad.buffer, mad.byteOffset, MAD_BYTES);
    const isResponse = (getMadHeaderMethod(view, 0) & RESPONSE_BIT) !== 0;
    if (isResponse && getMadHeaderTransactionIdLow(view, 0) === this.#transaction) this.#response = mad.slice();
    else this.heard.push({ address: { ...address }, mad: mad.slice() });
  }
}
