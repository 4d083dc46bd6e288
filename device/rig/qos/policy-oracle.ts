// SPDX-License-Identifier: Apache-2.0
/**
 * Oracle of doorbell policies: derives those of each function from granted requests, and checks
 * every use of them (US 8,484,392 par. 101; US 9,069,485 par. 72, 86-91): commands are queued in
 * host memory, doorbells of the scheduler buffer and commands by collect buffer are spilled when
 * the policy says so, and not otherwise. Used by `AdapterLoad`.
 */
import { RESOURCE_NO_LEVEL } from '../../../protocol/layout/gen/constants.gen.ts';
import type { ResourceChange } from '../../../protocol/layout/gen/resource-change.gen.ts';
import { ResourceKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { Adapter } from '../../hca/adapter/adapter.ts';
import type { Random } from '../../random.ts';
import { encodeChanges } from '../driver/resources.ts';

/** The policies, and the fields of the settings that show them. */
const POLICIES = [
  [ResourceKind.DOORBELL_HOST_QUEUE, 'hostQueue'],
  [ResourceKind.DOORBELL_SPILL_BUFFERED, 'spillBuffered'],
  [ResourceKind.DOORBELL_SPILL_COMMANDS, 'spillCommands'],
] as const;
type Policy = (typeof POLICIES)[number][1];
type DoorbellUnit = Adapter['functions'][number]['doorbells'];

export class PolicyOracle {
  /** Number of effects of each policy. */
  readonly uses: Record<Policy, number> = { hostQueue: 0, spillBuffered: 0, spillCommands: 0 };
  readonly #adapter: Adapter;
  /** By function: the policies that are on. */
  readonly #on: Set<Policy>[];
  #wrong: string | undefined;

  constructor(adapter: Adapter) {
    this.#adapter = adapter;
    this.#on = adapter.functions.map(() => new Set());
    for (const [number, { doorbells }] of adapter.functions.entries()) this.#watch(doorbells, number);
  }

  /** The host draws the policies of all functions. */
  drawAll(random: Random): void {
    for (const [target, one] of this.#adapter.functions.entries())
      for (const [resource] of POLICIES)
        one.requestResources(
          encodeChanges([{ resource, target, qosLevel: RESOURCE_NO_LEVEL, amount: random.below(2) }]),
        );
  }

  /** Notes a granted request. */
  note({ resource, target, amount }: ResourceChange): void {
    const policy = POLICIES.find(([kind]) => kind === resource)?.[1];
    if (policy === undefined) return;
    if (amount === 1) this.#on[target].add(policy);
    else this.#on[target].delete(policy);
  }

  /** Notes the reset of a function: its policies are off. */
  noteReset(target: number): void {
    this.#on[target].clear();
  }

  /** Describes the first violation; undefined if there is none. */
  check(): string | undefined {
    for (const [number, { doorbellSettings }] of this.#adapter.functions.entries())
      for (const [, policy] of POLICIES)
        if ((doorbellSettings[policy] === 1) !== this.#on[number].has(policy))
          this.#wrong ??= `function ${number}: ${policy} is ${doorbellSettings[policy]}`;
    return this.#wrong;
  }

  /** Notes an effect of a policy, which must be on. */
  #use(number: number, policy: Policy): void {
    this.uses[policy]++;
    if (!this.#on[number].has(policy)) this.#wrong ??= `function ${number}: ${policy} had an effect, and is off`;
  }

  #watch(unit: DoorbellUnit, number: number): void {
    const { spilled } = unit;
    const queue = spilled.queue.bind(spilled);
    spilled.queue = (qp, sequence) => {
      this.#use(number, 'hostQueue');
      return queue(qp, sequence);
    };
    const spillBuffered = spilled.spillBuffered.bind(spilled);
    spilled.spillBuffered = (count, rules) => {
      const before = unit.buffer.used;
      const isKept = spillBuffered(count, rules);
      const left = unit.buffer.used;
      if (left < before) this.#use(number, 'spillBuffered');
      if (before > 0 && left === 0) this.#wrong ??= `function ${number}: the oldest doorbell was spilled as well`;
      if (before - left > Math.max(0, count))
        this.#wrong ??= `function ${number}: ${before - left} of ${count} doorbells were spilled`;
      return isKept;
    };
    const prune = unit.prune.bind(unit);
    unit.prune = (qp, sequence) => {
      const isDue = unit.spilling && this.#on[number].has('spillCommands');
      const isSpilled = prune(qp, sequence);
      if (isSpilled) this.#use(number, 'spillCommands');
      if (isSpilled !== isDue) this.#wrong ??= `function ${number}: a command was ${isSpilled ? '' : 'not '}spilled`;
      return isSpilled;
    };
  }
}
