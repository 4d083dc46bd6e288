// SPDX-License-Identifier: Apache-2.0
/**
 * A machine in one object: an adapter, a modelled host for each function, simulated time, and
 * optionally a recorder and an ordering model between them (docs/ARCHITECTURE.md, The seam). Tests
 * run it until it is idle or a condition holds; an idle machine advances to the next alarm. Each
 * step checks the rules of `InProcessHost`; errors name the seed and the state.
 */
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import { faultKindName, faultObjectName } from '../../../protocol/layout/gen/values.gen.ts';
import { Adapter, type AdapterFactory } from '../../hca/adapter/adapter.ts';
import { type AdapterOptions, defaultAdapterOptions } from '../../hca/adapter/options.ts';
import type { AnnouncedMemory, LateStore } from '../../hca/function/announced-memory.ts';
import type { UnderlyingFunction } from '../../hca/function/underlying-function.ts';
import type { AdapterClock, AdapterPort, FunctionPort, HostPort, ResetKind } from '../../host.ts';
import { OrderingModel } from '../../hosts/ordering/ordering-model.ts';
import { type OrderingOptions, strictOrdering } from '../../hosts/ordering/ordering-options.ts';
import type { Recorder } from '../../hosts/recording.ts';
import { Random } from '../../random.ts';
import { GuestMemoryModel } from './guest-memory-model.ts';
import { InProcessHost } from './host.ts';
import { SimulatedClock } from './simulated-clock.ts';

/** The parts of a machine. */
export interface MachineOptions {
  readonly adapter?: Partial<AdapterOptions>;
  /** Seed of `random`; part of every error. */
  readonly seed?: number;
  readonly functionCount?: number;
  /** Bytes of guest memory of each function. */
  readonly memoryBytes?: number;
  /** Storage of `memoryBytes` each for the first functions, reused from finished machines. */
  readonly memory?: readonly Uint8Array[];
  /** Bus address of guest memory; above 4 GiB unless given. */
  readonly memoryBase?: number;
  /** Units of work per step. */
  readonly budget?: number;
  readonly build?: AdapterFactory;
  /** Builds a recorder between adapter and hosts. */
  readonly record?: (options: AdapterOptions, functionCount: number) => Recorder;
  /** Visibility of the adapter's writes (docs/HAZARDS.md). */
  readonly ordering?: OrderingOptions;
}

const DEFAULT_MEMORY_BYTES = 8 * 1024 * 1024;
const DEFAULT_BUDGET = 64;
/** Longer than any work that a unit still does after a reset. */
const REST_NS = 1e6;
/** Steps after which a test fails because the adapter is not idle. `npm run mutate` lowers it. */
export const idleLimit = { steps: 100_000 };

/** An adapter with its modelled hosts and clock. */
export class InProcessMachine {
  readonly seed: number;
  readonly random: Random;
  readonly clock = new SimulatedClock();
  readonly hosts: InProcessHost[] = [];
  readonly recorder: Recorder | undefined;
  readonly ordering: OrderingModel;
  /** The adapter behind recorder and ordering model, if there are any: for calls by a host. */
  readonly adapter: AdapterPort;
  /** The adapter itself. */
  readonly core: AdapterPort;
  /** The test plants stores that arrive after the access that announces them. */
  expectsLateStores = false;
  /** Called after each step. */
  onStep: () => void = () => {};
  /** The order checks of the functions that have the option. */
  readonly #orderChecks: readonly AnnouncedMemory[];
  readonly #budget: number;
  #steps = 0;

  constructor(options: MachineOptions = {}) {
    const {
      functionCount = options.adapter?.functionCount ?? 1,
      memoryBytes = DEFAULT_MEMORY_BYTES,
      build = buildAdapter,
    } = options;
    this.seed = options.seed ?? 1;
    this.random = new Random(this.seed);
    this.#budget = options.budget ?? DEFAULT_BUDGET;
    for (let index = 0; index < functionCount; index++) {
      this.hosts.push(
        new InProcessHost(new GuestMemoryModel(memoryBytes, options.memoryBase, options.memory?.[index])),
      );
    }
    const adapterOptions = { ...defaultAdapterOptions, ...options.adapter, functionCount };
    this.recorder = options.record?.(adapterOptions, functionCount);
    this.ordering = new OrderingModel(options.ordering ?? strictOrdering);
    const { recorder, ordering } = this;
    const hosts: HostPort[] = this.hosts.map((host, index) => {
      const ordered = ordering.wrapHost(host);
      return recorder?.wrapHost(ordered, index) ?? ordered;
    });
    const clock: AdapterClock = recorder?.wrapClock(this.clock) ?? this.clock;
    this.core = build(adapterOptions, clock, hosts);
    this.#orderChecks = findOrderChecks(this.core);
    this.adapter = ordering.wrapAdapter(recorder?.wrapAdapter(this.core) ?? this.core);
    this.hosts.forEach((host, index) => {
      this.functionAt(index).memoryMapped(host.memory.base, host.memory.lengthBytes);
      this.functionAt(index).setBusMaster(true);
    });
  }

  functionAt(index: number): FunctionPort {
    return at(this.adapter.functions, index, 'function');
  }

  hostAt(index: number): InProcessHost {
    return at(this.hosts, index, 'host');
  }

  /**
   * The adapter itself with its units, or the first one of a fabric. Throws if the test has built
   * something else.
   */
  get device(): Adapter {
    const { nodes = [this.core] } = this.core as { readonly nodes?: readonly unknown[] };
    for (const node of nodes) if (node instanceof Adapter) return node;
    throw new Error('this machine runs something else in the place of an adapter');
  }

  get steps(): number {
    return this.#steps;
  }

  /** One pass of the adapter; true if it has more to do. */
  step(): boolean {
    this.#steps++;
    const more = this.adapter.run(this.#budget);
    for (const host of this.hosts) {
      if (host.violations.length > 0)
        throw new Error(`The adapter misbehaved: ${host.violations[0]}; ${this.describe()}`);
    }
    for (const { reports } of this.#orderChecks) {
      if (reports.length > 0 && !this.expectsLateStores)
        throw new Error(`Software stored late: ${JSON.stringify(reports[0])}; ${this.describe()}`);
    }
    this.onStep();
    return more;
  }

  /** The late stores that the option `orderCheck` has found. */
  get lateStores(): LateStore[] {
    return this.#orderChecks.flatMap(({ reports }) => reports);
  }

  /** Steps until the adapter is idle; alarms stay set. */
  runUntilIdle(stepLimit = idleLimit.steps): void {
    for (let step = 0; step < stepLimit; step++) if (!this.step()) return;
    throw new Error(`Not idle after ${stepLimit} steps; ${this.describe()}`);
  }

  /** Finishes work that nothing waits for. */
  rest(): void {
    this.runUntilIdle();
    this.clock.advance(REST_NS);
    this.runUntilIdle();
  }

  /** Steps, and advances to alarms when idle, until `condition` holds. */
  runUntil(condition: () => boolean, what: string, stepLimit = idleLimit.steps): void {
    for (let step = 0; step < stepLimit; step++) {
      if (condition()) return;
      if (this.step() || condition()) continue;
      if (!this.jump()) throw new Error(`Idle without ${what}; ${this.describe()}`);
    }
    throw new Error(`No sign of ${what} after ${stepLimit} steps; ${this.describe()}`);
  }

  /** Advances an idle machine to its next moment: an alarm, or the end of a watch. */
  jump(): boolean {
    const untilNs = this.core.pollUntilNs ?? 0;
    if (untilNs === 0 || untilNs > this.clock.alarmNs) return this.clock.jumpToAlarm();
    const restNs = untilNs - this.clock.now();
    if (restNs <= 0) return this.clock.jumpToAlarm();
    this.clock.advance(restNs);
    return true;
  }

  /** Resets a function; until `resume`, each store or interrupt of it is a violation. */
  reset(index: number, kind: ResetKind): void {
    this.functionAt(index).reset(kind);
    this.hostAt(index).quietBecause = `the function was reset (${kind})`;
  }

  /** Software sets the function up again: it may store and interrupt. */
  resume(index = 0): void {
    this.hostAt(index).quietBecause = '';
    this.functionAt(index).setBusMaster(true);
  }

  /** Seed, time and important registers, for error messages. */
  describe(): string {
    const parts = [`seed ${this.seed}`, `step ${this.#steps}`, `${this.clock.now()} ns`];
    this.core.functions.forEach((port, index) => {
      const read = (offset: number): number => port.readRegister(offset, 4);
      parts.push(
        `function ${index}: status 0x${read(CSR.DEVICE_STATUS).toString(16)}`,
        `PCBs ${read(CSR.PCB_IN_USE)}+${read(CSR.PCB_IN_USE + 4)}`,
        `credits ${read(CSR.EXECUTION_CREDITS_USED)}/${read(CSR.COMPLETION_CREDITS_USED)}`,
        `launches ${read(CSR.LANE_LAUNCHES)}`,
        `first fault ${faultKindName(read(CSR.FIRST_FAULT_KIND))} of ${faultObjectName(read(CSR.FIRST_FAULT_OBJECT_KIND))} ${read(CSR.FIRST_FAULT_OBJECT)}`,
      );
    });
    return parts.join(', ');
  }
}

function findOrderChecks(core: AdapterPort): readonly AnnouncedMemory[] {
  const functions: readonly object[] = core instanceof Adapter ? core.functions : [core];
  const underlying = functions.flatMap((one) => ('underlying' in one ? [one.underlying as UnderlyingFunction] : []));
  return underlying.flatMap(({ announced }) => announced ?? []);
}

function buildAdapter(options: AdapterOptions, clock: AdapterClock, hosts: HostPort[]): AdapterPort {
  return new Adapter(options, clock, hosts);
}

function at<T>(list: readonly T[], index: number, what: string): T {
  const item = list[index];
  if (item === undefined) throw new Error(`There is no ${what} ${index}; there are ${list.length}.`);
  return item;
}
