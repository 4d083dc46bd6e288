// SPDX-License-Identifier: Apache-2.0
/**
 * Scenarios in which the built-in subnet manager is master: the diagnostics, the records of its
 * administration and osmtest, as for opensm, then takeover by opensm and back. main.ts performs
 * them.
 */

import { runDiagnostics } from './diagnostics.ts';
import type { LocalFixture } from './fabric-fixture.ts';
import { runRecords } from './records.ts';
import { CheckError, expect } from './scoreboard.ts';

/** The host of opensm: its GUID is lower than those of switches, so it wins a tie. */
const MANAGER = 'sm';

/** Waits until the built-in manager is master and has configured the subnet. */
export async function waitForBuiltIn({ board, fabric, until }: LocalFixture, what: string): Promise<void> {
  await board.check(what, async () => {
    await until('the built-in manager', () => fabric.manager?.isMaster === true && fabric.manager.isSettled);
    return `${fabric.manager?.sweeper.subnet.nodes.size} nodes`;
  });
}

/** Every diagnostic, record and flow. */
export async function judgeBuiltIn(fixture: LocalFixture): Promise<void> {
  await judgeBuiltInDiscovery(fixture);
  await runRecords(fixture);
}

/** The whole subnet seen. */
export async function judgeBuiltInDiscovery(fixture: LocalFixture): Promise<void> {
  await waitForBuiltIn(fixture, 'the built-in manager is master');
  await runDiagnostics(fixture);
}

/** opensm takes over from the built-in manager, which comes back when opensm dies. */
export async function judgeTakeover(fixture: LocalFixture): Promise<void> {
  const { board, judges, fabric, until } = fixture;
  await waitForBuiltIn(fixture, 'the built-in manager is master');
  for (const round of [1, 2]) {
    const opensm = judges.startOpensm(MANAGER);
    try {
      await board.check(`opensm takes over, round ${round}`, async () => {
        await opensm.whenLogged(/Entering MASTER state/);
        await opensm.whenUp();
        await until('a built-in manager that stands by', () => fabric.manager?.isMaster === false);
        const { errors } = opensm;
        expect(errors.length === 0, `${opensm.folder}/opensm.log:\n${errors.slice(0, 10).join('\n')}`);
        return undefined;
      });
    } finally {
      await (round === 1 ? opensm.kill() : opensm.stop());
    }
    await waitForBuiltIn(fixture, `the built-in manager is master again, round ${round}`);
    await board.check('LIDs stay, and all ports are active', async () => {
      const report = await until('active ports', ({ nodes }) =>
        nodes.every(({ ports }) => ports.every(({ link }) => link?.peer === undefined || link.state === 'ACTIVE')),
      );
      if (report.nodes.length === 0) throw new CheckError('there are no nodes');
      return undefined;
    });
  }
}
