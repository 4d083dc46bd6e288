// SPDX-License-Identifier: Apache-2.0
/**
 * A whole adapter under a seeded random load: 3 to 8 functions, flows of every service between them
 * on both QoS levels, resources small enough to run out, share changes, errors, function resets and
 * ADAPTER_CONTROL. `AdapterWatch` checks the adapter after every step, each flow checks its
 * messages. Called by the test, `npm run simulate -- invariants` and `npm run simulate -- digests`.
 */
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import { SendOpcode, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import type { AdapterOptions } from '../../hca/adapter/options.ts';
import { Random } from '../../random.ts';
import { findLeak } from '../fixtures/invariants.ts';
import { InProcessMachine } from '../machine/machine.ts';
import { Flow } from './flow.ts';
import { LaneTableOracle } from './lane-table-oracle.ts';
import { PolicyOracle } from './policy-oracle.ts';
import { RandomActions } from './random-actions.ts';
import { Tenant } from './tenant.ts';
import { AdapterWatch } from './watch.ts';
import { watchGrants } from './watch-grants.ts';

const MEMORY_BYTES = 1 << 23;
const VCBS = 8;
const LEVEL_ONE_PAGES = 3;
/** Steps between two drains. */
const DRAIN_INTERVAL = 400;
/** Time of a step when reads take time. */
const STEP_NS = 400;
/** Flows of a function at most. Their QPs may outnumber the entries of the scheduler buffer. */
const FLOWS_MAX = 14;
const KINDS: readonly (readonly [ServiceType, SendOpcode])[] = [
  [ServiceType.RC, SendOpcode.SEND_IMMEDIATE],
  [ServiceType.RC, SendOpcode.RDMA_WRITE_IMMEDIATE],
  [ServiceType.UC, SendOpcode.SEND_IMMEDIATE],
  [ServiceType.UD, SendOpcode.SEND_IMMEDIATE],
];

/** The machine, its tenants and flows. */
export class AdapterLoad {
  readonly seed: number;
  readonly machine: InProcessMachine;
  readonly tenants: Tenant[];
  readonly flows: Flow[] = [];
  readonly watch: AdapterWatch;
  readonly policies: PolicyOracle;
  readonly laneTable: LaneTableOracle;
  readonly combining: boolean;
  steps = 0;
  messages = 0;
  readonly #actions: RandomActions;
  readonly #random: Random;
  readonly #stepNs: number;

  /** `options`: of the adapter, besides those drawn; with a latency, time passes at every step. */
  constructor(seed: number, options: Partial<AdapterOptions> = {}) {
    this.seed = seed;
    const random = new Random(seed);
    this.#random = random;
    const functionCount = random.between(3, 8);
    this.combining = random.oneIn(3);
    const adapter = {
      vcbCount: VCBS,
      vcbLimit: VCBS * 2,
      pcbCount: random.between(functionCount * 2, functionCount * 6),
      pcbGuaranteed: [1, 1] as [number, number],
      schedulerBufferCount: functionCount + random.between(1, 12),
      laneCount: random.pick([1, 4, 16, 40]),
      doorbellEntries: 8,
      busReads: random.between(2, 8),
      executionCredits: random.between(2, 48),
      completionCredits: random.between(4, 96),
      portQueuePackets: random.between(4, 32),
      ...(this.combining ? { writeCombining: { seed } } : {}),
      ...options,
    };
    this.#stepNs = options.dmaLatencyNs === undefined ? 0 : STEP_NS;
    this.machine = new InProcessMachine({
      seed,
      functionCount,
      memoryBytes: MEMORY_BYTES,
      adapter,
      budget: random.between(4, 64),
    });
    this.watch = new AdapterWatch(this.machine.device);
    const bringUp = { levelOnePages: LEVEL_ONE_PAGES, overflowEntriesLog2: random.pick([0, 6]) };
    this.tenants = this.machine.hosts.map((_, index) => new Tenant(this.machine, index, bringUp));
    const { device } = this.machine;
    this.policies = new PolicyOracle(device);
    this.laneTable = new LaneTableOracle(device, this.tenants[0] as Tenant);
    watchGrants(device, (change) => {
      this.policies.note(change);
      this.laneTable.note(change);
    });
    this.policies.drawAll(random);
    this.machine.onStep = () => this.#check();
    const flows = random.between(KINDS.length, FLOWS_MAX);
    for (const from of this.tenants) for (let count = 0; count < flows; count++) this.#addFlow(from, count);
    this.#actions = new RandomActions(this, random);
  }

  /** Runs `steps` more steps. Throws at the first violation, with the seed and the state. */
  run(steps: number): void {
    for (const end = this.steps + steps; this.steps < end; ) {
      this.steps++;
      this.#actions.perform();
      this.machine.step();
      if (this.#stepNs > 0) this.machine.clock.advance(this.#stepNs);
      this.reap(this.#random.pick(this.flows));
      if (this.steps % DRAIN_INTERVAL === 0) this.drain();
    }
  }

  /** Lets all messages end: none may be lost, and no resource may stay in use. */
  drain(): void {
    this.#actions.endDisturbances();
    const isDone = (): boolean => {
      for (const flow of this.flows) this.reap(flow);
      return this.flows.every(
        ({ posted, completed, arrived, failed }) => completed === posted && (failed || arrived === posted),
      );
    };
    this.machine.runUntil(isDone, 'the end of all messages', 20_000);
    this.machine.runUntilIdle();
    for (const { access, index } of this.tenants) {
      const leak = findLeak(access);
      if (leak !== undefined) this.fail(`function ${index}: ${leak}`);
      if (this.tenants[index].driver.allocator.findOverrun() !== undefined)
        this.fail(`function ${index}: memory was overrun`);
    }
    this.watch.shrinking = false;
  }

  /** Takes and checks the completions and arrivals of a flow. */
  reap(flow: Flow): void {
    const before = flow.completed;
    const wrong = flow.reap();
    if (wrong !== undefined) this.fail(wrong);
    this.messages += flow.completed - before;
  }

  /** Throws an error with the seed, the step and the unfinished flows. */
  fail(what: string): never {
    const unfinished = this.flows.filter(({ posted, completed }) => completed < posted).map((flow) => flow.describe());
    throw new Error(`${what}; step ${this.steps}; ${this.machine.describe()}\n${unfinished.join('\n')}`);
  }

  get laneCount(): number {
    return this.machine.device.lanes.count;
  }

  /** The sum of a register over all functions. */
  count(register: number): number {
    return this.tenants.reduce((sum, tenant) => sum + tenant.read(register), 0);
  }

  /** Counts that show whether the run had the intended load. */
  get summary() {
    const { messages, watch } = this;
    return {
      messages,
      launches: watch.launches,
      checks: watch.checks,
      refusals: watch.refusals,
      longestWait: watch.longestWait,
      spilled: this.count(CSR.DOORBELLS_SPILLED),
      ...this.policies.uses,
      tableEntries: this.laneTable.read,
      tableRefusals: this.laneTable.refused,
      ...this.#actions.counts,
    };
  }

  #addFlow(from: Tenant, count: number): void {
    const [serviceType, opcode] = KINDS[count % KINDS.length];
    this.flows.push(
      new Flow(from, this.#random.pick(this.tenants), { serviceType, opcode, qosLevel: this.#random.below(2) }),
    );
  }

  #check(): void {
    const wrong = this.watch.check(this.tenants) ?? this.policies.check() ?? this.laneTable.check();
    if (wrong !== undefined) this.fail(wrong);
  }
}
