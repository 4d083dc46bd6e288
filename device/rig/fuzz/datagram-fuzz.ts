// SPDX-License-Identifier: Apache-2.0
/**
 * A managed subnet under forged management datagrams by seed: two switches, four adapters and a
 * subnet manager that protects the ports by a management key. One adapter sends what
 * `forgeDatagram` makes. Every port stays active with its LID, and routes and partitions stay; then
 * a link goes down and the manager brings it up again. Called by the test and by
 * `npm run simulate -- fuzz --datagrams`.
 */
import { PortPhysicalState } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import type { MadPort } from '../../fabric/agents/mad-port.ts';
import { Random } from '../../random.ts';
import { ManagedFabric } from '../fixtures/managed-fabric.ts';
import { forgeDatagram } from './forged-datagram.ts';

const M_KEY = '0123456789abcdef';
/** Datagrams between two checks. */
const CHECK_INTERVAL = 2000;
/** Datagrams that are sent before the subnet takes them. */
const BURST = 8;
const STEP_NS = 50_000_000;

export class DatagramFuzz {
  readonly fabric: ManagedFabric;
  sent = 0;
  readonly #seed: number;
  readonly #random: Random;
  readonly #door: MadPort;
  readonly #lids: readonly number[];
  readonly #before: string;

  constructor(seed: number) {
    this.#seed = seed;
    this.#random = new Random(seed);
    this.fabric = new ManagedFabric({
      switches: [4, 4],
      adapters: 4,
      links: [
        ['s0', 's1'],
        ['s0', 'a0'],
        ['s0', 'a1'],
        ['s1', 'a2'],
        ['s1', 'a3'],
      ],
      managers: [{ at: 's0', options: { mKey: M_KEY } }],
    });
    if (!this.fabric.runUntil(() => this.fabric.allActive)) throw new Error(`seed ${seed}: the subnet did not come up`);
    this.fabric.settle();
    this.#door = this.fabric.adapters[3].openPort();
    this.#lids = this.#endPorts().map(({ lid }) => lid);
    this.#before = this.#describe();
  }

  /** Sends `count` datagrams. Throws when the subnet has changed. */
  run(count: number): void {
    const { clock } = this.fabric;
    for (let left = count; left > 0; ) {
      const round = Math.min(left, CHECK_INTERVAL);
      for (let sent = 0; sent < round; sent++) {
        const { address, mad } = forgeDatagram(this.#random, this.#lids);
        this.#door.send(address, mad);
        if (sent % BURST === 0) this.fabric.settle();
      }
      clock.advance(STEP_NS);
      this.fabric.settle();
      this.sent += round;
      left -= round;
      this.#check();
    }
    this.#checkManager();
  }

  #endPorts() {
    return [...this.fabric.switches, ...this.fabric.adapters].flatMap(({ endPorts }) => [...endPorts]);
  }

  #check(): void {
    if (!this.fabric.allActive) throw new Error(`seed ${this.#seed}, ${this.sent} datagrams: a port is not active`);
    const now = this.#describe();
    if (now !== this.#before)
      throw new Error(`seed ${this.#seed}, ${this.sent} datagrams: the subnet was\n${this.#before}\nand is\n${now}`);
  }

  /** The manager still manages: it brings a link up that went down. */
  #checkManager(): void {
    this.fabric.adapters[1].port.restart(PortPhysicalState.POLLING);
    if (!this.fabric.runUntil(() => this.fabric.allActive))
      throw new Error(`seed ${this.#seed}, ${this.sent} datagrams: the manager does not bring a port up`);
    this.#check();
  }

  /** The settings of the manager: addresses, keys, routes. */
  #describe(): string {
    const ports = this.#endPorts().map(
      ({ lid, lmc, smLid, pkeys, subnet }) => `${lid} ${lmc} ${smLid} ${pkeys.join()} ${subnet.mKey.join()}`,
    );
    const routes = this.fabric.switches.map(({ switchTables: { linear, linearTop } }) =>
      linear.subarray(0, linearTop + 1).join(),
    );
    return [...ports, ...routes].join('\n');
  }
}
