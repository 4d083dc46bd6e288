// SPDX-License-Identifier: Apache-2.0
/**
 * Makes one function spill doorbells, also between passes (US 9,069,485 par. 86-92): the thresholds
 * of its scheduler buffer are raised, and its doorbells are rung in each pass. Used by
 * `RandomActions`, because random load alone seldom spills while a command arrives.
 */
import { RESOURCE_NO_LEVEL } from '../../../protocol/layout/gen/constants.gen.ts';
import { ResourceKind } from '../../../protocol/layout/gen/values.gen.ts';
import { encodeChanges } from '../driver/resources.ts';
import type { InProcessMachine } from '../machine/machine.ts';

/** Passes in which a function gets further doorbells, until it spills. */
const TURNS = 8;

/** `ring` rings doorbells of function `target`. It may stay below the thresholds. */
export function floodUntilSpilling(machine: InProcessMachine, target: number, ring: () => void): void {
  const { doorbells } = machine.device.functions[target];
  const { doorbellEntries: entries } = machine.device.options;
  const change = (resource: ResourceKind, amount: number) => ({
    resource,
    target,
    qosLevel: RESOURCE_NO_LEVEL,
    amount,
  });
  const changes = [
    change(ResourceKind.DOORBELL_THRESHOLD_HIGH, entries),
    change(ResourceKind.DOORBELL_THRESHOLD_LOW, entries - 1),
  ];
  machine.functionAt(0).requestResources(encodeChanges(changes));
  for (let turn = 0; turn < TURNS && !doorbells.spilling; turn++) {
    ring();
    machine.step();
  }
}
