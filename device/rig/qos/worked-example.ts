// SPDX-License-Identifier: Apache-2.0
/**
 * The worked example of US 8,484,392 par. 125-131 (figure 11): a control virtual machine and two
 * tenants, weather and ocean, share one adapter. The shares are requested by management commands;
 * the phases then measure each guest's service while others flood and while they do not, over
 * simulated time. Called by `shares.test.ts` and `npm run demo -- qos`.
 */
import { RESOURCE_NO_LEVEL } from '../../../protocol/layout/gen/constants.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import { ManagementStatus, ResourceKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { AdapterOptions } from '../../hca/adapter/options.ts';
import type { ResourceChangeRequest } from '../driver/resources.ts';
import { InProcessMachine } from '../machine/machine.ts';
import { Flood } from './flood.ts';
import { Tenant } from './tenant.ts';

/**
 * Shares by function; `levelVcbs` and `levelPcbs`: those of QoS levels 0 and 1. `paidWeight` is a
 * weight of each lane with which service follows the PCBs: lanes times weight is 15 for each PCB.
 */
export const GUESTS = [
  { name: 'control', vcbs: 30, pcbs: 25, lanes: 15, paidWeight: 25, levelVcbs: [15, 15], levelPcbs: [12, 13] },
  { name: 'weather', vcbs: 25, pcbs: 20, lanes: 10, paidWeight: 30, levelVcbs: [10, 15], levelPcbs: [8, 12] },
  { name: 'ocean', vcbs: 15, pcbs: 12, lanes: 20, paidWeight: 9, levelVcbs: [5, 10], levelPcbs: [4, 8] },
] as const;

/** Guests that flood in each phase, by function. */
export const PHASES = [
  { name: 'all three flood', active: [true, true, true] },
  { name: 'weather and ocean flood', active: [false, true, true] },
  { name: 'weather alone', active: [false, true, false] },
  { name: 'all three again', active: [true, true, true] },
] as const;

/** Service to a guest in a phase. */
export interface PhaseShare {
  /** Messages completed. */
  readonly messages: number;
  /** Fraction of the messages of all guests. */
  readonly share: number;
  /** Fraction by lanes and their weights of the guests that flood; 0 if this guest does not. */
  readonly expected: number;
  /** Most PCBs in use at a time, and most of them from the shared pool. */
  readonly pcbsPeak: number;
  readonly sharedPeak: number;
  /** Most completion credits in use at a time. */
  readonly completionPeak: number;
}

const SEED = 1;
const QUEUE_PAIRS = 6;
const DEPTH_LOG2 = 5;
const MESSAGE_BYTES = 16_384;
const PASSES = 1500;
const SETTLING_PASSES = 300;
const ADAPTER = { pcbCount: 128, schedulerBufferCount: 128, executionCredits: 256, vcbCount: 40, vcbLimit: 64 };

/** The adapter of the example with its shares given out. */
export class WorkedExample {
  readonly tenants: Tenant[];
  readonly #machine: InProcessMachine;
  readonly #floods: Flood[];
  /** By function: the weight of each of its lanes. */
  #weights: readonly number[] = GUESTS.map(() => 1);

  /** `adapter`: options in place of those of the example. */
  constructor(adapter: Partial<AdapterOptions> = {}) {
    this.#machine = new InProcessMachine({
      seed: SEED,
      functionCount: GUESTS.length,
      memoryBytes: 1 << 23,
      adapter: { ...ADAPTER, ...adapter },
    });
    this.tenants = GUESTS.map((_, index) => new Tenant(this.#machine, index));
    this.#giveShares();
    this.#floods = this.tenants.map(
      (tenant) =>
        new Flood(tenant, { queuePairs: QUEUE_PAIRS, size: MESSAGE_BYTES, posting: 'mixed', depthLog2: DEPTH_LOG2 }),
    );
  }

  /** Runs a phase; returns the service to each guest. */
  run(active: readonly boolean[]): PhaseShare[] {
    for (const [index, flood] of this.#floods.entries()) flood.active = active[index];
    this.#pass(SETTLING_PASSES, () => {});
    const before = this.#floods.map(({ completed }) => completed);
    const peaks = this.tenants.map(() => ({ pcbs: 0, shared: 0, completion: 0 }));
    this.#pass(PASSES, () => {
      for (const [index, tenant] of this.tenants.entries()) {
        const peak = peaks[index];
        peak.pcbs = Math.max(peak.pcbs, tenant.read(CSR.PCB_IN_USE) + tenant.read(CSR.PCB_IN_USE, 1));
        peak.shared = Math.max(peak.shared, tenant.read(CSR.PCB_IN_USE_DEVICE));
        peak.completion = Math.max(peak.completion, tenant.read(CSR.COMPLETION_CREDITS_USED));
      }
    });
    const messages = this.#floods.map(({ completed }, index) => completed - before[index]);
    const all = messages.reduce((sum, count) => sum + count, 0);
    const weights = GUESTS.map((guest, index) => (active[index] ? guest.lanes * this.#weights[index] : 0));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return messages.map((count, index) => ({
      messages: count,
      share: count / all,
      expected: weights[index] / total,
      pcbsPeak: peaks[index].pcbs,
      sharedPeak: peaks[index].shared,
      completionPeak: peaks[index].completion,
    }));
  }

  /** The control machine weights the lanes so that service follows what each guest paid for. */
  weightByPayment(): void {
    const { plan } = this.#machine.device.shareManager;
    this.#weights = GUESTS.map(({ paidWeight }) => paidWeight);
    for (const [number, amount] of this.#weights.entries())
      for (const target of plan.lanesOf(number))
        this.#request(0, [{ resource: ResourceKind.TVL_WEIGHT, target, amount, qosLevel: RESOURCE_NO_LEVEL }]);
  }

  /** The control machine gives out shares; each guest splits its own between its levels. */
  #giveShares(): void {
    const { VCBS, PCBS, TVLS } = ResourceKind;
    const whole = (resource: number, target: number, amount: number) => ({
      resource,
      target,
      amount,
      qosLevel: RESOURCE_NO_LEVEL,
    });
    for (const [target, { vcbs, pcbs, lanes }] of GUESTS.entries())
      this.#request(0, [whole(VCBS, target, vcbs), whole(PCBS, target, pcbs), whole(TVLS, target, lanes)]);
    for (const [target, { levelVcbs, levelPcbs }] of GUESTS.entries())
      this.#request(target, [
        ...[0, 1].map((qosLevel) => ({ resource: PCBS, target, amount: 0, qosLevel })),
        ...[0, 1].map((qosLevel) => ({ resource: PCBS, target, amount: levelPcbs[qosLevel], qosLevel })),
        { resource: VCBS, target, amount: levelVcbs[1], qosLevel: 1 },
      ]);
  }

  #request(requester: number, changes: ResourceChangeRequest[]): void {
    const { status, badOffset, limit } = this.tenants[requester].driver.resources.request(changes);
    if (status !== ManagementStatus.OK)
      throw new Error(`${GUESTS[requester].name} was refused: status ${status}, offset ${badOffset}, limit ${limit}`);
  }

  #pass(count: number, watch: () => void): void {
    for (let pass = 0; pass < count; pass++) {
      for (let at = 0; at < this.#floods.length; at++) this.#floods[(pass + at) % this.#floods.length].turn();
      watch();
      this.#machine.step();
    }
  }
}
