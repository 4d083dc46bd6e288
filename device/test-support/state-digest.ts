// SPDX-License-Identifier: Apache-2.0
/** A function's state as one string, so that a test can say "nothing changed": all that queries tell of the objects it knows, and how many there are. */
import { ManagementOpcode } from '../../protocol/layout/gen/values.gen.ts';
import type { AdapterFixture } from './adapter-fixture.ts';

/** An object a test knows of: its query opcode and its number. */
export type KnownObject = readonly [opcode: ManagementOpcode, number: number];

/** How many objects of each class the adapter has; in-process only. */
export function countObjects(fixture: AdapterFixture): Record<string, number> {
  const { tables } = fixture.machine.device;
  return {
    protectionDomains: tables.protectionDomains.size,
    memoryRegions: tables.memoryRegions.size,
    completionQueues: tables.completionQueues.size,
    eventQueues: tables.eventQueues.size,
    queuePairs: tables.queuePairs.size,
    sharedReceiveQueues: tables.sharedReceiveQueues.size,
    memoryWindows: tables.memoryWindows.size,
  };
}

/** All that queries tell of `objects`, and the counts of all others. */
export function digestState(fixture: AdapterFixture, objects: readonly KnownObject[]): string {
  const lines = [JSON.stringify(countObjects(fixture))];
  for (const [opcode, objectNumber] of objects) {
    const { status, payload } = fixture.driver.management.execute({ opcode, objectNumber });
    lines.push(`${opcode} ${objectNumber}: ${status} ${Buffer.from(payload.buffer).toString('hex')}`);
  }
  return lines.join('\n');
}

/** The objects every fixture has. */
export function fixtureObjects(fixture: AdapterFixture): KnownObject[] {
  return [
    [ManagementOpcode.QUERY_PD, fixture.pd],
    [ManagementOpcode.QUERY_MR, fixture.region.number],
    [ManagementOpcode.QUERY_EQ, fixture.events.eqn],
    [ManagementOpcode.QUERY_EQ, fixture.asynchronous.eqn],
  ];
}
