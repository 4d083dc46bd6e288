// SPDX-License-Identifier: Apache-2.0
/**
 * Subnet administration as saquery and osmtest see it: a query for each kind of record, and the
 * flows that make an inventory, forward events and flood. Scenarios call it for opensm and for the
 * built-in manager.
 */
import type { FabricFixture } from './fabric-fixture.ts';
import { expect } from './scoreboard.ts';

/** Kinds of records by the names of saquery, and the least content of the answer. */
const RECORDS: Readonly<Record<string, RegExp>> = {
  CPI: /Class version/,
  NR: /NodeRecord dump/,
  PIR: /PortInfoRecord dump/,
  SWIR: /SwitchInfo/,
  LR: /LinkRecord dump/,
  SMIR: /SMInfoRecord dump/,
  LFTR: /LFT Record dump/,
  MFTR: /^/,
  'PKTR --smkey 1': /PKey Table/,
  SL2VL: /SL2VLTable/,
  VLAR: /VLArb/,
  PR: /PathRecord dump/,
  MCMR: /MCMember/,
  SR: /^/,
  IIR: /^/,
  GIR: /GUIDInfo/,
};
/** The flows of osmtest that pass on a healthy subnet. */
const FLOWS: Readonly<Record<string, string>> = { c: 'inventory', e: 'events', f: 'flood of queries' };

/** The flow f asks 75,000 times, so `flows` leaves it out where the answers are not ours. */
export async function runRecords({ board, judges }: FabricFixture, flows = 'cef'): Promise<void> {
  await board.check('saquery: every kind of record', async () => {
    const folder = judges.newFolder('saquery');
    for (const [record, pattern] of Object.entries(RECORDS)) {
      const { stdout } = await judges.run(`saquery ${record}`, { folder });
      expect(pattern.test(stdout), `saquery ${record} says:\n${stdout.slice(0, 500)}`);
    }
    return `${Object.keys(RECORDS).length} kinds`;
  });
  for (const flow of flows) {
    await board.check(`osmtest -f ${flow}: ${FLOWS[flow]}`, async () => {
      const { stdout } = await judges.run(`osmtest -f ${flow} -l osmtest.log`);
      expect(/ PASS/.test(stdout), `osmtest says:\n${stdout.slice(-500)}`);
      return undefined;
    });
  }
}
