// SPDX-License-Identifier: Apache-2.0
/**
 * Isolation of user processes (docs/HAZARDS.md, user processes): kernels and processes of two
 * functions send messages in rounds and request events, while a hostile process of each function
 * acts, or does nothing. Memory, also that of the device, queues and completions of all others must
 * be equal in both runs, and the event queues that they share with the hostile processes must never
 * fail. Called by the test and by `npm run simulate -- isolation --processes`.
 */
import { crc32 } from 'node:zlib';
import { PAGE_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { getEqAttributesError } from '../../../protocol/layout/gen/eq-attributes.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import {
  EventType,
  FaultKind,
  ManagementOpcode,
  SendOpcode,
  ServiceType,
} from '../../../protocol/layout/gen/values.gen.ts';
import { Random } from '../../random.ts';
import { DriverCollectContext } from '../driver/collect-context.ts';
import { DriverCompletionQueue } from '../driver/completion-queue.ts';
import { createDeviceMemory, type DriverDeviceMemory } from '../driver/device-memory.ts';
import type { DriverEventQueue } from '../driver/event-queue.ts';
import { InProcessMachine } from '../machine/machine.ts';
import { Flow } from '../qos/flow.ts';
import { Tenant } from '../qos/tenant.ts';
import { DEVICE_RIGHTS, type ForeignNumbers, HostileProcess } from './hostile-process.ts';

const MEMORY_BYTES = 1 << 24;
const FUNCTIONS = 2;
const BUDGET = 4096;
const ACTS_PER_STEP = 32;
/** Odd numbers, so that every hostile process has its turn. */
const ACTS_PER_RECOVERY = 101;
const ACTS_PER_LIFE = 2501;
/** Pages of the processes, beyond those that the kernel takes in turns. */
const KERNEL_PAGES = 16;
const EVENT_ENTRIES_LOG2 = 4;
const SERVICES = [ServiceType.RC, ServiceType.UC, ServiceType.UD] as const;

/** A flow, and the page and event queue of its process, if it belongs to one. */
interface Victim {
  readonly flow: Flow;
  readonly events: DriverEventQueue | undefined;
  readonly page: number;
}

/** One run: victims, and hostile processes that may be idle. */
export class ProcessIsolation {
  readonly hostile: readonly HostileProcess[];
  readonly #machine: InProcessMachine;
  readonly #tenants: readonly Tenant[];
  readonly #events: readonly DriverEventQueue[];
  readonly #victims: Victim[] = [];
  /** A page of device memory of each function, which must not change. */
  readonly #deviceMemories: readonly DriverDeviceMemory[];
  /** Keys of the regions of all functions. */
  readonly #keys: readonly number[];
  readonly #random: Random;
  #rounds = 0;
  #acts = 0;
  /** Events of the queues of victims that their processes have not taken. */
  readonly #reported = new Set<string>();

  constructor(seed: number) {
    this.#random = new Random(seed);
    this.#machine = new InProcessMachine({
      seed,
      functionCount: FUNCTIONS,
      memoryBytes: MEMORY_BYTES,
      budget: BUDGET,
      adapter: { functionCount: FUNCTIONS, vcbCount: 2 * KERNEL_PAGES },
    });
    this.#tenants = this.#machine.hosts.map((_, index) => new Tenant(this.#machine, index));
    const entriesLog2 = EVENT_ENTRIES_LOG2;
    this.#events = this.#tenants.map(({ driver }) => driver.createEventQueue({ entriesLog2, vector: 3 }));
    for (const [index, tenant] of this.#tenants.entries()) {
      const other = this.#tenants[1 - index] as Tenant;
      for (const [place, serviceType] of SERVICES.entries()) {
        this.#addFlow(tenant, other, serviceType);
        this.#addProcess(tenant, place === 0 ? tenant : other, serviceType, KERNEL_PAGES + place);
      }
    }
    this.#deviceMemories = this.#tenants.map(({ driver }) => createDeviceMemory(driver, PAGE_BYTES));
    this.#keys = this.#tenants.flatMap(({ driver, region }, index) => {
      const memory = this.#deviceMemories[index] as DriverDeviceMemory;
      memory.store(this.#random.bytes(PAGE_BYTES));
      return [region.lkey, memory.register(driver.createProtectionDomain(), DEVICE_RIGHTS).rkey];
    });
    const foreign = this.#numbers();
    this.hostile = this.#tenants.map((tenant, index) => {
      const pages = [KERNEL_PAGES + 5, KERNEL_PAGES + 6].map((page) => page * PAGE_BYTES);
      return new HostileProcess(tenant, new Random(seed + 1 + index), foreign, this.#eventsOf(tenant), pages);
    });
  }

  /** One message of a victim among `acts` hostile acts. Throws if it or its event fails. */
  round(acts: number): void {
    const victim = this.#victims[this.#rounds++ % this.#victims.length] as Victim;
    const { flow, page, events } = victim;
    const { sendCq } = flow.sender.parts;
    const by = this.#random.pick(['collect', 'doorbell'] as const);
    const size = this.#random.below(2048);
    if (events !== undefined) sendCq.notify({ page });
    this.#attack(acts >>> 1);
    flow.post(size, by);
    this.#attack(acts - (acts >>> 1));
    this.#machine.runUntil(() => this.#isDone(flow), 'the end of a message of a victim', 1_000_000);
    if (events === undefined) return;
    const name = nameOf(flow.from, sendCq.cqn);
    this.#machine.runUntil(() => this.#serveEvents() && this.#reported.has(name), 'the event of a victim', 1_000_000);
    this.#reported.delete(name);
  }

  /** Faults at the end of the run: failed event queues, resources that are still held. */
  end(): string[] {
    for (const process of this.hostile) process.end();
    this.#machine.runUntilIdle();
    this.#serveEvents();
    const wrong: string[] = [];
    for (const [index, tenant] of this.#tenants.entries()) {
      const { driver, core } = tenant;
      const eqn = this.#eventsOf(tenant).eqn;
      const { payload } = driver.management.perform({ opcode: ManagementOpcode.QUERY_EQ, objectNumber: eqn });
      if (getEqAttributesError(payload, 0) !== 0) wrong.push(`the event queue of function ${index} failed`);
      if (tenant.read(CSR.PCB_IN_USE) !== 0) wrong.push(`a collect buffer of function ${index} is held`);
      if (core.collect.inUseCount !== 0) wrong.push(`a page of function ${index} is in use`);
    }
    const contexts = this.#victims.filter(({ events }) => events !== undefined).length;
    if (this.#machine.device.tables.collectContexts.size !== contexts) wrong.push('a collect context is left');
    return wrong;
  }

  /** Faults by stores that named objects of others, of both functions. */
  get refused(): number {
    return this.#tenants.reduce((sum, tenant) => sum + tenant.read(CSR.FAULT_COUNT, FaultKind.COLLECT_CONTEXT), 0);
  }

  /** Names of what differs from another run for the victims. */
  findDifferences(other: ProcessIsolation): string[] {
    const theirs = other.#observe();
    return [...this.#observe()].filter(([name, value]) => theirs.get(name) !== value).map(([name]) => name);
  }

  /** Changes one byte that a victim has received, to show that the comparison notices it. */
  touch(): void {
    const { flow } = this.#victims[0] as Victim;
    flow.to.bytes(flow.received.address, 1)[0]++;
  }

  /** Memory, queue pairs and completion queues of the victims, by name. */
  #observe(): Map<string, number | string> {
    const seen = new Map<string, number | string>();
    for (const [index, memory] of this.#deviceMemories.entries())
      seen.set(`device memory of function ${index}`, crc32(memory.load()));
    for (const [place, { flow }] of this.#victims.entries()) {
      const { address, lengthBytes } = flow.received;
      seen.set(`received memory of flow ${place}`, crc32(flow.to.bytes(address, lengthBytes)));
      for (const [tenant, end] of [
        [flow.from, flow.sender],
        [flow.to, flow.receiver],
      ] as const) {
        const { sendBuffer, receiveBuffer, recordAddress, sendCq, receiveCq } = end.parts;
        const { management } = tenant.driver;
        const buffers = [sendBuffer, receiveBuffer, sendCq.buffer, receiveCq.buffer];
        for (const [index, { address: at, entriesLog2, strideLog2 }] of buffers.entries())
          seen.set(`queue ${index} of QP ${end.qpn}`, crc32(tenant.bytes(at, 2 ** (entriesLog2 + strideLog2))));
        seen.set(`record of QP ${end.qpn}`, crc32(tenant.bytes(recordAddress, 16)));
        for (const [opcode, number] of [
          [ManagementOpcode.QUERY_QP, end.qpn],
          [ManagementOpcode.QUERY_CQ, sendCq.cqn],
          [ManagementOpcode.QUERY_CQ, receiveCq.cqn],
        ] as const) {
          const { payload } = management.perform({ opcode, objectNumber: number });
          seen.set(`answer ${opcode} of ${number}`, crc32(new Uint8Array(payload.buffer)));
        }
      }
    }
    return seen;
  }

  /** The kernels' handlers: entries are given back, then EQ pending is cleared. */
  #serveEvents(): boolean {
    for (const tenant of this.#tenants) {
      const entries = this.#eventsOf(tenant).walk();
      for (const { eventType, objectNumber } of entries) {
        if (eventType !== EventType.COMPLETION) continue;
        this.#reported.add(nameOf(tenant, objectNumber));
        kernelsEnd(tenant, objectNumber).notify({ clearOnly: true });
      }
    }
    return true;
  }

  #attack(acts: number): void {
    for (let done = 0; done < acts; done++) {
      const process = this.hostile[this.#acts % this.hostile.length] as HostileProcess;
      process.act();
      this.#acts++;
      if (this.#acts % ACTS_PER_STEP === 0) this.#machine.step();
      if (this.#acts % ACTS_PER_STEP === ACTS_PER_STEP / 2) this.#serveEvents();
      if (this.#acts % ACTS_PER_RECOVERY === 0) process.recover();
      if (this.#acts % ACTS_PER_LIFE === 1) process.restart();
    }
  }

  #isDone(flow: Flow): boolean {
    const wrong = flow.reap();
    if (wrong !== undefined) throw new Error(`${wrong}; ${this.#machine.describe()}`);
    return flow.arrived === flow.posted && flow.completed === flow.posted;
  }

  #addFlow(from: Tenant, to: Tenant, serviceType: ServiceType): void {
    const flow = new Flow(from, to, { serviceType, opcode: SendOpcode.SEND_IMMEDIATE, qosLevel: 0 });
    this.#victims.push({ flow, events: undefined, page: 0 });
  }

  #addProcess(from: Tenant, to: Tenant, serviceType: ServiceType, pageNumber: number): void {
    const context = new DriverCollectContext(from.driver.management);
    const page = context.give(pageNumber * PAGE_BYTES);
    const eventQueue = this.#eventsOf(from);
    const user = { collectContext: context.number, page, eventQueue };
    const flow = new Flow(from, to, { serviceType, opcode: SendOpcode.SEND_IMMEDIATE, qosLevel: 0, user });
    this.#victims.push({ flow, events: eventQueue, page });
  }

  #eventsOf(tenant: Tenant): DriverEventQueue {
    return this.#events[tenant.index] as DriverEventQueue;
  }

  #numbers(): ForeignNumbers {
    const ends = this.#victims.flatMap(({ flow }) => [flow.sender, flow.receiver]);
    return {
      queuePairs: ends.map(({ qpn }) => qpn),
      completionQueues: ends.flatMap(({ parts }) => [parts.sendCq.cqn, parts.receiveCq.cqn]),
      keys: this.#keys,
    };
  }
}

function nameOf({ index }: Tenant, cqn: number): string {
  return `${index}/${cqn}`;
}

/** A completion queue as the kernel knows it: by its number. */
function kernelsEnd({ access }: Tenant, cqn: number): DriverCompletionQueue {
  return new DriverCompletionQueue(access, cqn, undefined as never, 0);
}
