// SPDX-License-Identifier: Apache-2.0
/**
 * Assigns the shares of the worked example of US8484392 (figure 11) through the management commands
 * of the guests: the control machine divides the adapter, then each machine divides its share
 * between its QoS levels. Called by measure.ts.
 */

import type { ControlClient } from '../../device/process/control/control-client.ts';
import { GUESTS } from '../../device/rig/qos/worked-example.ts';
import { SetupError } from '../../qemu/setup/tools/errors.ts';
import type { Tenant } from '../harness/tenant-guest.ts';

/**
 * Lanes of QoS level 0 and 1, by function: divided "in a similar manner" to the VCBs (US8484392).
 */
export const LEVEL_LANES = [
  [7, 8],
  [4, 6],
  [7, 13],
] as const;

/** Each lane has an execution credit of its own, so that none depends on shared ones. */
const LANE_CREDITS = 1;
const CHANGES_PER_REQUEST = 32;

/** Sends a guest an order. Throws SetupError with the guest's report when it fails. */
export async function tell(tenant: Tenant, line: string): Promise<readonly string[]> {
  const said = await tenant.do(line);
  if (said.some((words) => words.startsWith('not ok')))
    throw new SetupError(`a guest could not do "${line}": ${said.join('; ')}`);
  return said;
}

/** Resolves when all guests have the shares of the document. */
export async function giveShares(tenants: readonly Tenant[], client: ControlClient): Promise<void> {
  const [control] = tenants;
  await tell(control, `ask ${GUESTS.map((_, number) => wholeShare(number)).join('; ')}`);
  await changeLanes(control, client, () => `execution ${LANE_CREDITS}`);
  for (const [number, tenant] of tenants.entries()) await tell(tenant, `ask ${divide(number)}`);
}

/** The share of a guest in words of a request. */
export function wholeShare(number: number): string {
  const { vcbs, pcbs, lanes } = GUESTS[number];
  return `function ${number} vcbs ${vcbs} pcbs ${pcbs} tvls ${lanes}`;
}

/** The control machine gives the lanes of each function a weight. */
export async function weightLanes(control: Tenant, client: ControlClient, weights: readonly number[]): Promise<void> {
  await changeLanes(control, client, (number) => `weight ${weights[number]}`);
}

/** Changes all lanes of all functions; `describe` has the change of each lane of a function. */
async function changeLanes(
  control: Tenant,
  client: ControlClient,
  describe: (functionNumber: number) => string,
): Promise<void> {
  const { functions } = await client.request('resources');
  const changes = functions.flatMap(({ number, lanes }) => lanes.map((lane) => `lane ${lane} ${describe(number)}`));
  for (let at = 0; at < changes.length; at += CHANGES_PER_REQUEST)
    await tell(control, `ask ${changes.slice(at, at + CHANGES_PER_REQUEST).join('; ')}`);
}

/** Returns come first: a level cannot have what the other one still has. */
function divide(number: number): string {
  const { levelVcbs, levelPcbs } = GUESTS[number];
  const lanes = LEVEL_LANES[number];
  const given = [1, 0].map((level) => `level ${level} vcbs ${levelVcbs[level]} pcbs ${levelPcbs[level]}`);
  const mapped = [1, 0].map((level) => `level ${level} tvls ${lanes[level]}`);
  return ['level 0 pcbs 0 tvls 0', 'level 1 pcbs 0 tvls 0', ...given, ...mapped].join('; ');
}
