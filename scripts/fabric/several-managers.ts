// SPDX-License-Identifier: Apache-2.0
/**
 * Scenario with four subnet managers in one subnet: the built-in one and three opensm. Priority and
 * GUID elect one, others stand by, a master that dies in the middle of a sweep has a successor, and
 * the built-in manager is master again once all opensm have ended. main.ts performs it.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FabricReport } from '../../device/process/reports/fabric-report.ts';
import { waitForBuiltIn } from './built-in-scenarios.ts';
import type { LocalFixture } from './fabric-fixture.ts';
import type { Opensm } from './opensm.ts';
import { expect } from './scoreboard.ts';

/** A standby polls its master twice a second, and takes over after three missing answers. */
const OPTIONS = ['sminfo_polling_timeout 500', 'polling_retry_number 3', ''].join('\n');
const MASTER = /Entering MASTER state/;
const STANDBY = /Entering STANDBY state/;

export async function judgeSeveral(fixture: LocalFixture): Promise<void> {
  const { board, judges } = fixture;
  const options = join(judges.newFolder('several'), 'opensm.conf');
  writeFileSync(options, OPTIONS);
  const start = (host: string, priority: number): Opensm =>
    judges.startOpensm(host, ['-F', options, '-p', `${priority}`]);
  await waitForBuiltIn(fixture, 'the built-in manager is master');
  const running: Opensm[] = [];
  try {
    running.push(start('one', 1), start('two', 1));
    const [one, two] = running;
    let [better, lesser] = [one, two];
    await board.check('of two opensm at once the one with the lower GUID is master', async () => {
      const isFirst = guidOf(await fixture.until('both hosts', hasBoth), 'one') < guidOf(await fixture.report(), 'two');
      [better, lesser] = isFirst ? [one, two] : [two, one];
      await better.whenLogged(MASTER);
      await Promise.all([better.whenUp(), lesser.whenLogged(STANDBY)]);
      return isFirst ? 'one' : 'two';
    });
    const third = start('three', 5);
    running.push(third);
    const upBefore = better.log.length;
    await board.check('a third one of a higher priority takes over, and is killed in its sweep', async () => {
      await third.whenLogged(MASTER);
      const isUp = /SUBNET UP/.test(third.log);
      await third.kill();
      return isUp ? 'its first sweep was over' : 'it never came to SUBNET UP';
    });
    await board.check('the better of the others is master again', async () => {
      await better.whenLogged(MASTER, upBefore);
      await better.whenLogged(/SUBNET UP/, upBefore);
      return checkSubnet(fixture);
    });
    const lesserBefore = lesser.log.length;
    await better.kill();
    await board.check('then the last one', async () => {
      await lesser.whenLogged(MASTER, lesserBefore);
      await lesser.whenLogged(/SUBNET UP/, lesserBefore);
      return checkSubnet(fixture);
    });
  } finally {
    for (const opensm of running) await opensm.kill();
  }
  await waitForBuiltIn(fixture, 'and at last the built-in manager');
  await board.check('all ports are active, and LIDs differ', () => checkSubnet(fixture));
}

function hasBoth({ nodes }: FabricReport): boolean {
  return ['one', 'two'].every((name) => nodes.some((node) => node.name === name));
}

function guidOf({ nodes }: FabricReport, name: string): string {
  return nodes.find((node) => node.name === name)?.guid ?? '';
}

/** Waits until all plugged ports are active; LIDs must differ then. */
async function checkSubnet({ until }: LocalFixture): Promise<string> {
  const { nodes } = await until('active ports', (report) =>
    report.nodes.every(({ ports }) => ports.every(({ link }) => link?.peer === undefined || link.state === 'ACTIVE')),
  );
  const lids = nodes.flatMap(({ ports }) => ports.flatMap(({ lid = 0, link }) => (link?.peer || lid ? [lid] : [])));
  const given = lids.filter((lid) => lid > 0);
  expect(new Set(given).size === given.length, `LIDs ${given.join(' ')}`);
  return `${given.length} LIDs`;
}
