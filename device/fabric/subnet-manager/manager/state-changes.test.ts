// SPDX-License-Identifier: Apache-2.0
/**
 * Links that come up at any time of a first sweep are found: at a switch, although its flag was set
 * before, and at the port of the manager, which has no flag.
 */
import t from 'tap';
import { buildManaged, embeddedOptions } from '../../../rig/fixtures/managed-adapter.ts';
import { ManagedFabric } from '../../../rig/fixtures/managed-fabric.ts';
import { InProcessMachine } from '../../../rig/machine/machine.ts';
import { Cable } from '../../link/cable.ts';

/** More steps than the first sweep takes. */
const STEPS = 120;

t.test('a link that comes up within a sweep', async (t) => {
  const late: number[] = [];
  for (let before = 0; before < STEPS; before += 2) {
    const adapter = { ...embeddedOptions(1), portLink: { kind: 'none' } as const };
    const machine = new InProcessMachine({ adapter, build: buildManaged, memoryBytes: 1 << 16, budget: 8 });
    const { uplinks, ports } = machine.device;
    for (let step = 0; step < before; step++) machine.step();
    new Cable(uplinks[0], uplinks[1]);
    // A manager that has missed the link looks every ten seconds, and finds nothing.
    for (let step = 0; step < 2000 && !ports.every(({ active }) => active); step++)
      if (!machine.step()) machine.clock.jumpToAlarm();
    if (!ports.every(({ active }) => active)) late.push(before);
  }
  t.same(late, [], 'steps before the link came up');
});

t.test('a link of the port of the manager that comes up within a sweep', async (t) => {
  const late: number[] = [];
  for (let before = 0; before < STEPS; before++) {
    const fabric = new ManagedFabric({ switches: [], adapters: 2, links: [], managers: [{ at: 'a0' }] });
    for (let pass = 0; pass < before; pass++) fabric.pass();
    fabric.join('a0', 'a1');
    if (!fabric.runUntil(() => fabric.allActive)) late.push(before);
  }
  t.same(late, [], 'passes before the link came up');
});
