// SPDX-License-Identifier: Apache-2.0
/**
 * A switch (IBTA chapter 18): relays packets between its external ports by forwarding tables. It
 * holds no packet of its own besides its output queues; a packet without room there waits in the
 * buffer of its link, per VL, so none is lost for lack of room. Management packets go to its agents
 * and to software at port 0. A fabric runs it as it runs adapters; it has no functions.
 */
import { isLidOfPort, PERMISSIVE_LID } from '../../../protocol/infiniband/addresses.ts';
import { getLrhDlid } from '../../../protocol/infiniband/gen/lrh.gen.ts';
import { NodeType } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import type { AdapterClock, FunctionPort } from '../../host.ts';
import { MadInterface } from '../agents/mad-interface.ts';
import { type ManagedNode, nodeDescription } from '../agents/managed-node.ts';
import type { FabricNode } from '../link/fabric.ts';
import { NodeLinks } from '../link/node-links.ts';
import { PlainEndPort } from '../port/end-port.ts';
import type { PacketRing } from '../port/packet-ring.ts';
import { portGuid } from '../port/port.ts';
import { MANAGEMENT_VL } from '../port/transmit-queues.ts';
import { DropCause } from './drop-causes.ts';
import { InputGate } from './input-gate.ts';
import { readViolation } from './partition-filter.ts';
import { Relay, VLS_OF_PORT } from './relay.ts';
import { RelayTables } from './relay-tables.ts';
import { SwitchPort } from './switch-port.ts';
import { lifeNs, newWaitLimits } from './wait-limits.ts';

/** Numbers of external ports that a switch may have. */
export const SWITCH_PORTS_MIN = 2;
export const SWITCH_PORTS_MAX = 36;
/** The OUI of the GUIDs, and the device number of NodeInfo (IBTA 14.2.5.3). */
const VENDOR_ID = 0x005655;
const DEVICE_ID = 0x10f7;

interface SwitchOptions {
  /** Number of external ports. */
  readonly ports: number;
  readonly nodeGuid: Uint8Array;
  /** GUID of the board that it is part of; its own when absent. */
  readonly systemImageGuid?: Uint8Array;
  /** Text of its NodeDescription. */
  readonly description: string;
  /** Data VLs of each port. */
  readonly virtualLanes: number;
  /** Packets that each output queue holds. */
  readonly queuePackets: number;
  /** True without a subnet manager: a port becomes active as soon as its link comes up. */
  readonly selfActivating: boolean;
}

export const defaultSwitchOptions: Omit<SwitchOptions, 'ports' | 'nodeGuid'> = {
  description: 'vuhca switch',
  virtualLanes: 1,
  queuePackets: 16,
  selfActivating: false,
};

export class Switch implements FabricNode, ManagedNode {
  readonly functions: readonly FunctionPort[] = [];
  readonly ports: readonly SwitchPort[];
  readonly nodeType = NodeType.SWITCH;
  readonly nodeGuid: Uint8Array;
  readonly systemImageGuid: Uint8Array;
  readonly description: Uint8Array;
  readonly vendorId = VENDOR_ID;
  readonly deviceId = DEVICE_ID;
  readonly revision = 1;
  /** Port 0, the enhanced management port: it has the GUID of the node. */
  readonly endPorts: readonly [PlainEndPort];
  readonly switchTables: RelayTables;
  readonly mads: MadInterface;
  readonly links: NodeLinks;
  /**
   * Software of the switch, for instance a subnet manager at port 0: runs in each pass, and returns
   * true while it has more work.
   */
  software: ((budget: number) => boolean) | undefined = undefined;
  readonly #clock: AdapterClock;
  readonly #relay: Relay;
  readonly #gates: readonly InputGate[];
  /** The gate that is asked first in the next round. */
  #first = 0;
  readonly #limits = newWaitLimits();
  /** The last run found nothing that moves or waits, and set no alarm. */
  #isAtRest = false;

  constructor(options: SwitchOptions, clock: AdapterClock) {
    const { ports, nodeGuid } = options;
    this.#clock = clock;
    this.nodeGuid = nodeGuid;
    this.systemImageGuid = options.systemImageGuid ?? nodeGuid;
    this.description = nodeDescription(options.description);
    this.endPorts = [new PlainEndPort(nodeGuid)];
    this.switchTables = new RelayTables(ports);
    this.ports = Array.from({ length: ports }, (_, index) => this.#makePort(index + 1, options));
    this.#relay = new Relay(this.ports, this.switchTables);
    this.#gates = this.ports.map((port) => this.#makeGate(port));
    this.links = new NodeLinks(this.ports, clock);
    this.mads = new MadInterface(this, clock);
    this.switchTables.onTablesChanged = () => {
      for (const port of this.ports) port.partitions.invalidate();
    };
  }

  run(budget: number): boolean {
    const moved = this.#move(budget);
    this.mads.run();
    const more = this.settle(budget) || moved >= budget;
    this.#isAtRest = moved === 0 && !more && this.#isEmpty();
    return more;
  }

  skip(): boolean {
    if (!this.#isAtRest || this.software !== undefined || !this.mads.isIdle) return false;
    // The order of the gates in the next run does not depend on which runs were left out.
    this.#advanceFirst();
    return true;
  }

  /**
   * Does about `limit` units of work in a pass of the adapter that the switch is part of. Returns
   * their number. `settle` ends the pass.
   */
  work(limit: number): number {
    const moved = this.#move(limit);
    const { mads } = this;
    if (mads.isIdle || mads.nextNs > this.#clock.now()) return moved;
    mads.run();
    return moved + 1;
  }

  /** Ends a pass: lets the software run. Returns true when another pass is needed. */
  settle(budget: number): boolean {
    const more = this.#runSoftware(budget);
    const isAging = this.#age();
    this.links.settle();
    return more || isAging;
  }

  /** Takes packets until none can move; returns how many moved. */
  #move(limit: number): number {
    let moved = 0;
    while (moved < limit) {
      const step = this.links.carry(limit - moved) + this.#round();
      if (step === 0) break;
      moved += step;
    }
    return moved;
  }

  /** Runs the software. Returns true while it has more work, or datagrams wait. */
  #runSoftware(budget: number): boolean {
    const { mads } = this;
    const more = this.software?.(budget) === true;
    if (mads.isIdle) return more;
    // A trap or a sample ends later, or the software has sent datagrams to the switch itself.
    const { nextNs } = mads;
    if (nextNs > 0) this.#clock.setAlarm(nextNs);
    return more || nextNs === 0;
  }

  #makePort(
    number: number,
    { nodeGuid, ports, queuePackets, virtualLanes, selfActivating }: SwitchOptions,
  ): SwitchPort {
    const inputs = (ports + 1) * VLS_OF_PORT;
    const pkeys = this.switchTables.pkeysOf(number);
    const port = new SwitchPort(number, portGuid(nodeGuid, number), queuePackets, virtualLanes, inputs, pkeys);
    port.selfActivating = selfActivating;
    port.onStateChange = (_, previous) => this.#portChanged(port, previous);
    port.onLinkError = (_, trap) => this.mads.traps.raisePortError(trap, number);
    return port;
  }

  #makeGate(port: SwitchPort): InputGate {
    const gate = new InputGate(port, this.#relay);
    gate.onLocal = (input, ring) => this.#manage(input, ring);
    gate.onDrop = (at, cause, ring) => {
      if (cause === DropCause.INPUT_PARTITION || cause === DropCause.OUTPUT_PARTITION) this.#reportPartition(at, ring);
    };
    return gate;
  }

  /** Nothing waits in a queue or in a gate, and no link has times of its own. */
  #isEmpty(): boolean {
    for (const gate of this.#gates) if (gate.isBlocked || !gate.port.isEmpty) return false;
    return true;
  }

  #portChanged(port: SwitchPort, previous: PortState): void {
    this.#isAtRest = false;
    if (port.state === PortState.DOWN) this.#gates[port.number - 1].reset();
    if (port.state === PortState.DOWN || previous === PortState.DOWN) this.mads.noteStateChange();
  }

  /** Trap 259 (IBTA 14.2.5.1). */
  #reportPartition(port: SwitchPort, ring: PacketRing): void {
    const violation = readViolation(ring);
    if (violation !== undefined) this.mads.traps.raiseBadPartition(port.number, violation);
  }

  /** A packet for the switch itself. */
  #manage(input: SwitchPort, ring: PacketRing): void {
    ring.takeOldestLoan();
    this.mads.receivePacket(input.number, ring.view, ring.readOffset, ring.readLength);
  }

  /** Takes one packet from each port, or as many as its weighted turn has; returns how many. */
  #round(): number {
    const gates = this.#gates;
    const count = gates.length;
    let taken = 0;
    this.#advanceFirst();
    for (let step = 0, index = this.#first; step < count; step++) {
      const gate = gates[index];
      if (this.#take(gate)) taken++;
      while (gate.hasTurn && this.#take(gate)) taken++;
      index = index + 1 === count ? 0 : index + 1;
    }
    return taken;
  }

  #advanceFirst(): void {
    this.#first = this.#first + 1 === this.#gates.length ? 0 : this.#first + 1;
  }

  #take(gate: InputGate): boolean {
    const { port } = gate;
    const ring = port.link?.arrival(port, gate);
    if (ring === undefined) return false;
    port.receivePackets++;
    port.noteArrival(ring);
    if (port.observer !== undefined) port.observe(ring);
    if (ring.virtualLane === MANAGEMENT_VL) this.#takeManagement(port, ring);
    else gate.take(ring);
    ring.shift();
    return true;
  }

  /**
   * Takes a packet from VL15, which has no flow control (IBTA 7.6.3): for the switch itself, on a
   * directed route, or to be relayed by LID.
   */
  #takeManagement(input: SwitchPort, ring: PacketRing): void {
    const sealed = ring.readSuspect || input.link?.trusted === false;
    const damage = sealed ? this.#relay.findDamage(ring) : -1;
    if (damage >= 0) return input.drop(damage as DropCause);
    const dlid = getLrhDlid(ring.view, ring.readOffset);
    const number = dlid === PERMISSIVE_LID ? 0 : this.switchTables.getPort(dlid);
    if (number === 0 || this.#isOwnLid(dlid)) return this.#manage(input, ring);
    const output = this.#relay.findPort(number);
    if (output === undefined) return input.dropFrom(ring, DropCause.NO_ROUTE);
    if (output === input) return input.dropFrom(ring, DropCause.LOOP);
    output.relayManagement(ring, sealed);
  }

  #isOwnLid(lid: number): boolean {
    const [port] = this.endPorts;
    return isLidOfPort(lid, port.lid, port.lmc);
  }

  /**
   * Ends a pass: drops packets that waited too long (IBTA 18.2.5). The clock is read only while a
   * packet waits. Returns true when another pass is needed.
   */
  #age(): boolean {
    const limits = this.#limits;
    const clock = this.#clock;
    limits.nextNs = Number.POSITIVE_INFINITY;
    limits.switchNs = lifeNs(this.switchTables.lifeTime);
    let more = false;
    for (const port of this.ports) if (port.age(limits, clock)) more = true;
    if (limits.switchNs !== Number.POSITIVE_INFINITY) {
      for (const gate of this.#gates) {
        if (!gate.isBlocked) continue;
        limits.nowNs = clock.now();
        if (gate.age(limits)) more = true;
      }
    }
    if (limits.nextNs !== Number.POSITIVE_INFINITY) clock.setAlarm(limits.nextNs);
    return more;
  }
}
