// SPDX-License-Identifier: Apache-2.0
/**
 * An adapter with embedded switches; the built-in subnet manager is at port 0 of the first one.
 * Tests of a single adapter let their machine build it by `buildManaged`.
 */
import { Adapter } from '../adapter/adapter.ts';
import type { AdapterOptions } from '../adapter/options.ts';
import type { AdapterClock, HostPort } from '../host.ts';
import type { InProcessMachine } from '../hosts/in-process/machine.ts';
import { installManager } from '../subnet-manager/install.ts';

/** Options of an adapter whose functions have ports of their own; its external ports are cabled. */
export function embeddedOptions(functionCount: number): Partial<AdapterOptions> {
  return { functionCount, portModel: 'vswitch' };
}

/** Builds the adapter, and the manager. */
export function buildManaged(options: AdapterOptions, clock: AdapterClock, hosts: HostPort[]): Adapter {
  const adapter = new Adapter(options, clock, hosts);
  const [home] = adapter.inner;
  const manager = installManager(home.management, 0, clock);
  home.software = (budget) => manager.run(budget);
  return adapter;
}

/** Runs the machine until every port of every function is active. */
export function awaitPorts(machine: InProcessMachine): void {
  machine.runUntil(() => machine.device.ports.every(({ active }) => active), 'active ports');
}
