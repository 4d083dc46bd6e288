// SPDX-License-Identifier: Apache-2.0
/**
 * Scenarios in which Debian's opensm is the subnet manager: SUBNET UP on several topologies, the
 * diagnostics, the records of its administration, osmtest. main.ts performs them.
 */
import type { Bench } from './bench.ts';
import { runDiagnostics } from './diagnostics.ts';
import { runRecords } from './records.ts';
import { expect } from './scoreboard.ts';

/** A host of its own runs the manager, another one the diagnostics. */
const MANAGER = 'sm';

/** Brings the subnet up by opensm, and performs `work` meanwhile. */
export async function withOpensm(bench: Bench, work: () => Promise<void>): Promise<void> {
  const { board, judges } = bench;
  const opensm = judges.startOpensm(MANAGER);
  try {
    const isUp = await board.check('opensm: SUBNET UP', async () => {
      await opensm.whenUp();
      const { nodes } = bench.report();
      return `${nodes.length} nodes`;
    });
    if (isUp) await work();
    await board.check('opensm logs no error', () => {
      const { errors } = opensm;
      expect(errors.length === 0, `${opensm.folder}/opensm.log:\n${errors.slice(0, 10).join('\n')}`);
      return undefined;
    });
  } finally {
    await opensm.stop();
  }
}

/** Every diagnostic, record and flow. */
export async function judgeAll(bench: Bench): Promise<void> {
  await withOpensm(bench, async () => {
    await runDiagnostics(bench);
    await runRecords(bench);
  });
}

/** SUBNET UP, and the whole subnet seen. */
export async function judgeDiscovery(bench: Bench): Promise<void> {
  await withOpensm(bench, () => runDiagnostics(bench));
}
