// SPDX-License-Identifier: Apache-2.0
/**
 * A switch (InfiniBand specification, chapter 18): relays packets between its external ports by
 * forwarding tables. It holds no packet of its own besides its output queues; a packet without room
 * there waits in the buffer of its link, per VL, so none is lost for lack of room. A fabric runs it
 * as it runs adapters; it has no functions.
 */
import { PortState } from '../../protocol/layout/gen/values.gen.ts';
import type { FabricNode } from '../fabric/fabric.ts';
import { NodeLinks } from '../fabric/node-links.ts';
import type { AdapterClock, FunctionPort } from '../host.ts';
import type { PacketRing } from '../port/packet-ring.ts';
import { portGuid } from '../port/port.ts';
import { MANAGEMENT_VL } from '../port/transmit-queues.ts';
import { DropCause } from './drop-causes.ts';
import { InputGate } from './input-gate.ts';
import { LANES_OF_PORT, Relay } from './relay.ts';
import { RelayTables } from './relay-tables.ts';
import { SwitchPort } from './switch-port.ts';
import { lifeNs, newWaitLimits } from './wait-limits.ts';

/** Numbers of external ports that a switch may have. */
export const SWITCH_PORTS_MIN = 2;
export const SWITCH_PORTS_MAX = 36;

export interface SwitchOptions {
  /** Number of external ports. */
  readonly ports: number;
  readonly nodeGuid: Uint8Array;
  /** Data VLs of each port. */
  readonly virtualLanes: number;
  /** Packets that each output queue holds. */
  readonly queuePackets: number;
  /** True without a subnet manager: a port becomes active as soon as its link comes up. */
  readonly selfActivating: boolean;
}

export class Switch implements FabricNode {
  readonly functions: readonly FunctionPort[] = [];
  readonly ports: readonly SwitchPort[];
  readonly tables: RelayTables;
  readonly links: NodeLinks;
  readonly #clock: AdapterClock;
  readonly #relay: Relay;
  readonly #gates: readonly InputGate[];
  /** The gate that is asked first in the next round. */
  #first = 0;
  readonly #limits = newWaitLimits();

  constructor(options: SwitchOptions, clock: AdapterClock) {
    const { ports, nodeGuid, virtualLanes, queuePackets } = options;
    const inputs = (ports + 1) * LANES_OF_PORT;
    this.#clock = clock;
    this.ports = Array.from(
      { length: ports },
      (_, index) => new SwitchPort(index + 1, portGuid(nodeGuid, index + 1), queuePackets, virtualLanes, inputs),
    );
    this.tables = new RelayTables(ports);
    this.#relay = new Relay(this.ports, this.tables);
    this.#gates = this.ports.map((port) => new InputGate(port, this.#relay));
    this.links = new NodeLinks(this.ports, clock);
    for (const [index, port] of this.ports.entries()) {
      port.selfActivating = options.selfActivating;
      port.onStateChange = () => {
        if (port.state === PortState.DOWN) this.#gates[index].reset();
      };
    }
    this.tables.onTablesChanged = () => this.#tablesChanged();
  }

  run(budget: number): boolean {
    let left = budget;
    while (left > 0) {
      const moved = this.links.carry(left) + this.#round();
      if (moved === 0) break;
      left -= moved;
    }
    const more = this.#age();
    this.links.settle();
    return more || left <= 0;
  }

  /** Takes at most one packet from each port; returns how many. */
  #round(): number {
    const gates = this.#gates;
    const count = gates.length;
    let taken = 0;
    this.#first = this.#first + 1 === count ? 0 : this.#first + 1;
    for (let step = 0, index = this.#first; step < count; step++) {
      if (this.#take(gates[index])) taken++;
      index = index + 1 === count ? 0 : index + 1;
    }
    return taken;
  }

  #take(gate: InputGate): boolean {
    const { port } = gate;
    const ring = port.link?.arrival(port, gate);
    if (ring === undefined) return false;
    port.receivePackets++;
    port.counters.noteArrival(ring.readLength);
    if (port.observer !== undefined) port.observe(ring);
    if (ring.virtualLane === MANAGEMENT_VL) this.#relayManagement(port, ring);
    else gate.take(ring);
    ring.shift();
    return true;
  }

  /** Relays a management packet by LID; VL15 has no flow control (IBTA 7.6.3). */
  #relayManagement(input: SwitchPort, ring: PacketRing): void {
    const sealed = ring.readSuspect || input.link?.trusted === false;
    if (sealed && this.#relay.isDamaged(ring)) return input.drop(DropCause.DAMAGED);
    const output = this.#relay.findExit(ring);
    if (output === undefined) return input.drop(DropCause.NO_ROUTE);
    if (output === input) return input.drop(DropCause.LOOP);
    output.relayManagement(ring, sealed);
  }

  /**
   * Ends a pass: drops packets that waited too long (IBTA 18.2.5). The clock is read only while a
   * packet waits. Returns true when another pass is needed.
   */
  #age(): boolean {
    const limits = this.#limits;
    const clock = this.#clock;
    limits.nextNs = Number.POSITIVE_INFINITY;
    limits.switchNs = lifeNs(this.tables.lifeTime);
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

  #tablesChanged(): void {
    for (const gate of this.#gates) gate.reset();
    for (const port of this.ports) port.partitions.setTable(this.tables.pkeysOf(port.number));
  }
}
