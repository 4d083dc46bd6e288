// SPDX-License-Identifier: Apache-2.0
/**
 * The state of a function as one string, so that a test can assert that nothing changed: the
 * results of query commands for known objects, and the number of objects of each class. Used by the
 * tests of `management/`.
 */
import { ManagementOpcode } from '../../protocol/layout/gen/values.gen.ts';
import type { AdapterFixture } from './adapter-fixture.ts';

/** A known object: its query opcode and its number. */
export type KnownObject = readonly [opcode: ManagementOpcode, number: number];

/** Number of objects of each class in the adapter. */
export function countObjects(fixture: AdapterFixture): Readonly<Record<string, number>> {
  return fixture.machine.device.tables.counts;
}

/** The query results of `objects`, and the number of objects of each class. */
export function digestState(fixture: AdapterFixture, objects: readonly KnownObject[]): string {
  const lines = [JSON.stringify(countObjects(fixture))];
  for (const [opcode, objectNumber] of objects) {
    const { status, payload } = fixture.driver.management.execute({ opcode, objectNumber });
    lines.push(`${opcode} ${objectNumber}: ${status} ${Buffer.from(payload.buffer).toString('hex')}`);
  }
  return lines.join('\n');
}

/** The objects of every fixture. */
export function fixtureObjects(fixture: AdapterFixture): KnownObject[] {
  return [
    [ManagementOpcode.QUERY_PD, fixture.pd],
    [ManagementOpcode.QUERY_MR, fixture.region.number],
    [ManagementOpcode.QUERY_EQ, fixture.events.eqn],
    [ManagementOpcode.QUERY_EQ, fixture.asynchronous.eqn],
  ];
}
