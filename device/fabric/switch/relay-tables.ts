// SPDX-License-Identifier: Apache-2.0
/**
 * The tables by which a switch relays packets (IBTA 14.2.5.4, 14.2.5.7 to 14.2.5.12, 18.2.4): a
 * port for each unicast LID, a set of ports for each multicast LID, a VL for each way and service
 * level, partition keys of the ports. Subnet management writes them; the relay of the switch reads
 * them for each packet.
 */
import { MULTICAST_LID_BASE } from '../../../protocol/infiniband/addresses.ts';
import { DEFAULT_PKEY } from '../../../protocol/infiniband/keys.ts';
import type { SwitchTables } from '../agents/managed-node.ts';
import { SERVICE_LEVELS } from '../port/transmit-queues.ts';

/** A LID with this port has no route. */
export const NO_PORT = 255;

/** Entries of the linear table: all unicast LIDs. */
const LINEAR_ENTRIES = MULTICAST_LID_BASE;
const MULTICAST_ENTRIES = 1024;
const PKEY_ENTRIES = 32;
/** Ports in a position of the multicast table, and positions in a word of the masks. */
const POSITION_PORTS = 16;
const WORD_POSITIONS = 2;
/** Code of the highest number: no limit. */
const POWER_ON_LIFE = 31;

export class RelayTables implements SwitchTables {
  readonly linear = new Uint8Array(LINEAR_ENTRIES).fill(NO_PORT);
  /** Highest LID with a route; packets to higher LIDs are dropped. */
  linearTop = LINEAR_ENTRIES - 1;
  readonly multicastCapacity = MULTICAST_ENTRIES;
  /** Highest multicast LID with a route, where a subnet manager has set it. */
  multicastTop = 0;
  /** Ports of packets to a multicast LID without entry; 0: they are dropped. */
  defaultMulticastPrimaryPort = 0;
  defaultMulticastNotPrimaryPort = 0;
  lifeTime = POWER_ON_LIFE;
  portStateChange = false;
  /** Called after a manager has written a table. */
  onTablesChanged: () => void = () => {};
  /** Ports counted with port 0. */
  readonly #ports: number;
  /** Ports 0 to 31, and ports from 32, of each multicast LID. */
  readonly #multicastLow = new Int32Array(MULTICAST_ENTRIES);
  readonly #multicastHigh = new Int32Array(MULTICAST_ENTRIES);
  readonly #vls: Uint8Array;
  readonly #pkeys: readonly Uint16Array[];

  /** `ports` is the number of external ports. All service levels begin on VL0. */
  constructor(ports: number) {
    this.#ports = ports + 1;
    this.#vls = new Uint8Array(this.#ports * this.#ports * SERVICE_LEVELS);
    this.#pkeys = Array.from({ length: ports }, () => new Uint16Array(PKEY_ENTRIES).fill(DEFAULT_PKEY, 0, 1));
  }

  /** Port for a unicast LID, or `NO_PORT`. */
  getPort(lid: number): number {
    return lid > this.linearTop || lid >= LINEAR_ENTRIES ? NO_PORT : this.linear[lid];
  }

  /**
   * Mask of the ports 0 to 31 for a multicast LID, as a signed dword. A packet to a LID without
   * ports goes to the default port, and one that arrived there to the other default port.
   */
  getLowPorts(lid: number, inPort: number): number {
    const low = this.#hasEntry(lid) ? this.#multicastLow[lid - MULTICAST_LID_BASE] : 0;
    return low !== 0 || this.#getHigh(lid) !== 0 ? low : this.#getDefault(inPort, 0);
  }

  /** Mask of the ports from 32 for a multicast LID. */
  getHighPorts(lid: number, inPort: number): number {
    const high = this.#getHigh(lid);
    const isEmpty = high === 0 && (!this.#hasEntry(lid) || this.#multicastLow[lid - MULTICAST_LID_BASE] === 0);
    return isEmpty ? this.#getDefault(inPort, 1) : high;
  }

  /** 16 ports, from `position` times 16, of multicast LID 0xc000 + `index`. */
  getMulticastPorts(index: number, position: number): number {
    return (this.#words(position)[index] >>> shiftOf(position)) & 0xffff;
  }

  setMulticastPorts(index: number, position: number, mask: number): void {
    const words = this.#words(position);
    const shift = shiftOf(position);
    words[index] = (words[index] & ~(0xffff << shift)) | ((mask & 0xffff) << shift);
  }

  getVirtualLane(inPort: number, outPort: number, serviceLevel: number): number {
    return this.#vls[(inPort * this.#ports + outPort) * SERVICE_LEVELS + serviceLevel];
  }

  setVirtualLane(inPort: number, outPort: number, serviceLevel: number, virtualLane: number): void {
    this.#vls[(inPort * this.#ports + outPort) * SERVICE_LEVELS + serviceLevel] = virtualLane;
  }

  /** Partition keys that an external port enforces. */
  pkeysOf(portNumber: number): Uint16Array {
    return this.#pkeys[portNumber - 1];
  }

  #hasEntry(lid: number): boolean {
    if (this.multicastTop !== 0 && lid > this.multicastTop) return false;
    return lid - MULTICAST_LID_BASE < MULTICAST_ENTRIES;
  }

  #getHigh(lid: number): number {
    return this.#hasEntry(lid) ? this.#multicastHigh[lid - MULTICAST_LID_BASE] : 0;
  }

  /** Mask of the default port in a word of the masks. */
  #getDefault(inPort: number, word: number): number {
    const isPrimary = inPort === this.defaultMulticastPrimaryPort;
    const port = isPrimary ? this.defaultMulticastNotPrimaryPort : this.defaultMulticastPrimaryPort;
    return port > 0 && port < this.#ports && port >> 5 === word ? 1 << (port & 31) : 0;
  }

  #words(position: number): Int32Array {
    return position < WORD_POSITIONS ? this.#multicastLow : this.#multicastHigh;
  }
}

function shiftOf(position: number): number {
  return POSITION_PORTS * (position % WORD_POSITIONS);
}
