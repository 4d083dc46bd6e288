// SPDX-License-Identifier: Apache-2.0
/**
 * Isolation of functions (docs/DOCUMENTS.md decision 14): the physical function and a virtual one
 * send messages in rounds while a third function attacks, or does nothing. The registers, memory
 * and interrupts of the two must be equal in both runs. With embedded switches the attacker also
 * manages ports of its own. Called by the test, `npm run simulate -- isolation` and `npm run
 * simulate -- digests`.
 */
import { crc32 } from 'node:zlib';
import { CSR, csrRegisters } from '../../../protocol/layout/gen/registers.gen.ts';
import { SendOpcode, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import type { PortModelName } from '../../hca/adapter/options.ts';
import { Random } from '../../random.ts';
import { awaitPorts, buildManaged, embeddedOptions } from '../fixtures/managed-adapter.ts';
import { InProcessMachine } from '../machine/machine.ts';
import { Attacker } from './attacker.ts';
import { Flow } from './flow.ts';
import { Tenant } from './tenant.ts';

const MEMORY_BYTES = 1 << 21;
const FUNCTIONS = 3;
const ATTACKER = 1;
const VICTIMS = [0, 2] as const;
const BUDGET = 4096;
/** Hostile acts per step of the adapter. */
const ACTS_PER_STEP = 32;
/**
 * Registers that show the adapter or its ports rather than the function: time, free buffers of the
 * shared pool, packets of the ports, and, to the physical function, lanes. Reading DEDICATED_LOCK
 * takes the lock.
 */
const SHARED_REGISTERS: readonly number[] = [
  CSR.LOCAL_TIME,
  CSR.DEDICATED_LOCK,
  CSR.PCB_AVAILABLE,
  CSR.SCHEDULER_BUFFERS_AVAILABLE,
  CSR.PORT_TRANSMIT_PACKETS,
  CSR.PORT_RECEIVE_PACKETS,
  CSR.PORT_RECEIVE_DROPS,
  CSR.TVL_EXECUTION,
  CSR.TVL_COMPLETION,
  CSR.TVL_SHARED,
  CSR.TVL_KICK_LIST,
  CSR.TVL_LAUNCHES,
];

/** One run: victims, and an attacker that may be idle. */
export class Isolation {
  readonly attacker: Attacker;
  readonly #machine: InProcessMachine;
  readonly #victims: Tenant[];
  readonly #flows: Flow[] = [];
  readonly #random: Random;
  #rounds = 0;

  constructor(seed: number, portModel: PortModelName = 'shared') {
    this.#random = new Random(seed);
    const machine = { seed, functionCount: FUNCTIONS, memoryBytes: MEMORY_BYTES, budget: BUDGET };
    const embedded = { ...machine, adapter: embeddedOptions(FUNCTIONS), build: buildManaged };
    this.#machine = new InProcessMachine(portModel === 'shared' ? machine : embedded);
    awaitPorts(this.#machine);
    const tenants = this.#machine.hosts.map((_, index) => new Tenant(this.#machine, index, { levelOnePages: 8 }));
    this.#victims = VICTIMS.map((index) => tenants[index]);
    for (const [from, to] of [
      [0, 1],
      [1, 0],
      [1, 1],
    ])
      for (const serviceType of [ServiceType.RC, ServiceType.UC, ServiceType.UD])
        this.#addFlow(this.#victims[from], this.#victims[to], serviceType);
    const numbers = this.#flows.flatMap(({ sender, receiver, to }) => [
      sender.qpn,
      receiver.qpn,
      sender.parts.sendCq.cqn,
      receiver.parts.receiveCq.cqn,
      to.pd,
      to.region.lkey,
      to.region.number,
    ]);
    this.attacker = new Attacker(tenants[ATTACKER], new Random(seed + 1), numbers);
  }

  /** One message of a victim among `acts` hostile acts. Throws if the message fails. */
  round(acts: number): void {
    const flow = this.#flows[this.#rounds++ % this.#flows.length];
    const by = this.#random.pick(['collect', 'doorbell', 'register'] as const);
    const size = this.#random.below(2048);
    this.#attack(acts >>> 1);
    flow.post(size, by);
    this.#attack(acts - (acts >>> 1));
    this.#machine.runUntil(() => this.#isDone(flow), 'the end of a message of the victim', 1_000_000);
  }

  /** Names of the registers, memories and interrupts of the victims that differ in another run. */
  findDifferences(other: Isolation): string[] {
    const theirs = other.#observe();
    return [...this.#observe()].filter(([name, value]) => theirs.get(name) !== value).map(([name]) => name);
  }

  /** Changes one byte of a victim's memory, to show that the comparison notices it. */
  touch(): void {
    this.#victims[0].access.host.memory.bytes[MEMORY_BYTES - 1]++;
  }

  /** Registers, memory (with all completions) and interrupts of the victims, by name. */
  #observe(): Map<string, number> {
    this.#machine.runUntilIdle();
    const seen = new Map<string, number>();
    for (const { access, index } of this.#victims) {
      for (const { name, offset, bits, count } of csrRegisters)
        if (!SHARED_REGISTERS.includes(offset))
          for (let at = 0; at < (bits / 32) * count; at++)
            seen.set(`${name}[${at}] of function ${index}`, access.readRegister(offset + at * 4, 4));
      seen.set(`memory of function ${index}`, crc32(access.host.memory.bytes));
      seen.set(`interrupts of function ${index}`, crc32(new Uint8Array(access.host.raised.buffer)));
    }
    return seen;
  }

  #attack(acts: number): void {
    for (let done = 0; done < acts; done++) {
      this.attacker.act();
      if (done % ACTS_PER_STEP === ACTS_PER_STEP - 1) this.#machine.step();
    }
  }

  #isDone(flow: Flow): boolean {
    const wrong = flow.reap();
    if (wrong !== undefined) throw new Error(`${wrong}; ${this.#machine.describe()}`);
    return flow.arrived === flow.posted && flow.completed === flow.posted;
  }

  #addFlow(from: Tenant, to: Tenant, serviceType: ServiceType): void {
    this.#flows.push(
      new Flow(from, to, { serviceType, opcode: SendOpcode.SEND_IMMEDIATE, qosLevel: this.#flows.length & 1 }),
    );
  }
}
