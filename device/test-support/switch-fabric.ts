// SPDX-License-Identifier: Apache-2.0
/**
 * Switches, and ports without adapters at them, for tests of switches: numbered packets go from end
 * to end by static routes, over cables or over links with faults, in simulated time. Used by the
 * tests of `switch/`.
 */
import { BthOpcode, PacketError } from '../../protocol/infiniband/gen/values.gen.ts';
import { newParsedPacket, PacketCheck, parsePacket } from '../../protocol/infiniband/packet.ts';
import { buildPacket, payloadStart } from '../../protocol/infiniband/packet-builder.ts';
import { newPacketFields } from '../../protocol/infiniband/packet-fields.ts';
import { Cable } from '../fabric/cable.ts';
import { Fabric } from '../fabric/fabric.ts';
import { FaultyLink } from '../fabric/faulty-link.ts';
import type { FaultyLinkOptions } from '../fabric/link-options.ts';
import { SimulatedClock } from '../hosts/in-process/simulated-clock.ts';
import type { LinkEnd } from '../port/link.ts';
import { Port, parseGuid } from '../port/port.ts';
import type { VirtualLaneCredits } from '../port/transmit-queues.ts';
import { Random } from '../random.ts';
import { discardCauses } from '../switch/drop-causes.ts';
import { Switch } from '../switch/switch.ts';
import { type Exit, writeStaticRoutes } from './static-routes.ts';

export interface SwitchFabricPlan {
  /** Switches joined to each other, as pairs of numbers from 0. */
  readonly trunks?: readonly (readonly [number, number])[];
  /** The switch of each end; end n has LID n + 1. */
  readonly ends: readonly number[];
  readonly virtualLanes?: number;
  readonly queuePackets?: number;
  /** Options of all links; cables when absent. */
  readonly faults?: Partial<FaultyLinkOptions> | undefined;
  readonly seed?: number;
}

/** A packet that arrived at an end. */
export interface Arrival {
  readonly id: number;
  readonly slid: number;
  readonly dlid: number;
  readonly virtualLane: number;
}

const BUDGET = 64;
const fields = newPacketFields();
const parsed = newParsedPacket();

export class SwitchFabric {
  readonly clock = new SimulatedClock();
  readonly switches: readonly Switch[];
  readonly ends: readonly Port[];
  readonly links: (Cable | FaultyLink)[] = [];
  /** Packets that an end received and found damaged. */
  damaged = 0;
  readonly #random: Random;
  readonly #fabric: Fabric;

  constructor(plan: SwitchFabricPlan) {
    const { trunks = [], ends, virtualLanes = 1, queuePackets = 8 } = plan;
    this.#random = new Random(plan.seed ?? 1);
    const count = 1 + Math.max(0, ...ends, ...trunks.flat());
    const used = new Array<number>(count).fill(0);
    for (const one of [...ends, ...trunks.flat()]) used[one]++;
    this.switches = used.map((ports, index) => this.#makeSwitch(index, Math.max(2, ports), virtualLanes, queuePackets));
    this.ends = ends.map((_, index) => new Port(1, guidOf(0x1000 + index), index + 1, 64, virtualLanes));
    const exits: Exit[][] = used.map(() => []);
    const next = (at: number): LinkEnd => this.switches[at].ports[exits[at].length];
    for (const [at, end] of this.ends.entries()) {
      const port = next(ends[at]);
      exits[ends[at]].push({ port: port.number, to: { lid: end.lid } });
      this.#join(end, port, plan.faults);
    }
    for (const [first, second] of trunks) {
      const here = next(first);
      exits[first].push({ port: here.number, to: { switch: second } });
      const there = next(second);
      exits[second].push({ port: there.number, to: { switch: first } });
      this.#join(here, there, plan.faults);
    }
    writeStaticRoutes(this.switches, exits);
    this.#fabric = new Fabric(this.switches);
  }

  /** Queues packet `id` (its PSN) at an end; false if its virtual lane has no room. */
  send(from: number, dlid: number, id: number, payloadBytes = 64, serviceLevel = 0): boolean {
    const port = this.ends[from];
    const ring = port.ringFor(dlid, serviceLevel);
    if (ring.full) return false;
    fields.opcode = BthOpcode.UD_SEND_ONLY;
    fields.dlid = dlid;
    fields.slid = port.lid;
    fields.serviceLevel = serviceLevel;
    fields.psn = id;
    fields.pKey = 0xffff;
    fields.payloadLengthBytes = payloadBytes;
    const offset = ring.writeOffset;
    const payload = offset + payloadStart(fields.opcode, 0);
    for (let index = 0; index < payloadBytes; index++) ring.bytes[payload + index] = (id + index) % 251;
    port.transmit(ring, buildPacket(ring.view, offset, fields, PacketCheck.ICRC));
    return true;
  }

  /** Takes up to `limit` packets that arrived at an end, of the VLs that `room` allows. */
  take(at: number, limit = Number.POSITIVE_INFINITY, room?: VirtualLaneCredits): Arrival[] {
    const end = this.ends[at];
    const arrivals: Arrival[] = [];
    for (let taken = 0; taken < limit; taken++) {
      const ring = end.link?.arrival(end, room);
      if (ring === undefined) break;
      const isExposed = ring.readSuspect || end.link?.trusted === false;
      const checks = isExposed ? PacketCheck.ALL : PacketCheck.ICRC;
      const error = parsePacket(ring.view, ring.readOffset, ring.readLength, parsed, checks);
      const { psn, slid, dlid, virtualLane } = parsed;
      if (error !== PacketError.NONE) this.damaged++;
      else arrivals.push({ id: psn, slid, dlid, virtualLane });
      ring.shift();
    }
    return arrivals;
  }

  /** Lets links and switches work until nothing moves at the present time. */
  settle(): void {
    while (this.#fabric.run(BUDGET * this.switches.length));
  }

  /** Packets that switches received, relayed, dropped by cause, and lost with a link. */
  count(): { received: number; relayed: number; drops: number; lost: number } {
    const sums = { received: 0, relayed: 0, drops: 0, lost: 0 };
    for (const { ports } of this.switches) {
      for (const port of ports) {
        sums.received += port.receivePackets;
        sums.relayed += port.transmitPackets;
        sums.drops += port.drops.reduce((sum, drops) => sum + drops, 0);
        sums.lost += discardCauses.reduce((left, cause) => left - port.drops[cause], port.transmitDiscards);
      }
    }
    return sums;
  }

  /** Packets that links lost, and packets that wait in queues, in flight and in buffers. */
  countLinks(): { lost: number; duplicated: number; waiting: number } {
    const sums = { lost: 0, duplicated: 0, waiting: 0 };
    for (const end of [...this.ends, ...this.switches.flatMap(({ ports }) => ports)])
      sums.waiting += end.transmitQueues.count;
    for (const link of this.links) {
      if (link instanceof Cable) continue;
      for (const { counters, flight, buffer } of link.directions) {
        sums.lost += counters.dropped + counters.lostByFlap + counters.tooLong;
        sums.duplicated += counters.duplicated;
        sums.waiting += flight.count + buffer.rings.reduce((sum, ring) => sum + ring.count, 0);
      }
    }
    return sums;
  }

  #makeSwitch(index: number, ports: number, virtualLanes: number, queuePackets: number): Switch {
    const made = new Switch(
      {
        ports,
        nodeGuid: guidOf(0x10000 + index * 64),
        description: `switch ${index}`,
        virtualLanes,
        queuePackets,
        selfActivating: true,
      },
      this.clock,
    );
    for (const port of made.ports) mapLevels(port, virtualLanes);
    for (let input = 0; input <= ports; input++)
      for (let output = 1; output <= ports; output++)
        for (let level = 0; level < 16; level++)
          made.switchTables.setVirtualLane(input, output, level, level % virtualLanes);
    return made;
  }

  #join(first: LinkEnd, second: LinkEnd, faults: Partial<FaultyLinkOptions> | undefined): void {
    if (first instanceof Port) mapLevels(first, first.transmitQueues.rings.length);
    this.links.push(
      faults === undefined ? new Cable(first, second) : new FaultyLink(first, second, faults, this.#random.fork()),
    );
  }
}

function mapLevels(port: LinkEnd, virtualLanes: number): void {
  for (let level = 0; level < 16; level++) port.transmitQueues.mapServiceLevel(level, level % virtualLanes);
}

function guidOf(number: number): Uint8Array {
  return parseGuid(number.toString(16).padStart(16, '0'));
}
