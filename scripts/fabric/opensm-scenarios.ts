// SPDX-License-Identifier: Apache-2.0
/**
 * Scenarios in which Debian's opensm is the subnet manager: SUBNET UP on several topologies, the
 * diagnostics, the records of its administration, osmtest. main.ts performs them.
 */
import { join } from 'node:path';
import { tryRun } from '../../qemu/setup/tools/command.ts';
import { findTshark } from '../../qemu/setup/tshark.ts';
import { startCapture } from '../cli/session/remote-capture.ts';
import { runDiagnostics, runDiscovery } from './diagnostics.ts';
import type { DeviceFixture, FabricFixture } from './fabric-fixture.ts';
import { runRecords } from './records.ts';
import { CheckError, expect } from './scoreboard.ts';

/** A host of its own runs the manager, another one the diagnostics. */
const MANAGER = 'sm';

/** Brings the subnet up by opensm, and performs `work` meanwhile. */
async function withOpensm(fixture: FabricFixture, work: () => Promise<void>, host = MANAGER): Promise<void> {
  const { board, judges } = fixture;
  const opensm = judges.startOpensm(host);
  try {
    const isUp = await board.check('opensm: SUBNET UP', async () => {
      await opensm.whenUp();
      const { nodes } = await fixture.report();
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
export async function judgeAll(fixture: FabricFixture): Promise<void> {
  await withOpensm(fixture, async () => {
    await runDiagnostics(fixture);
    await runRecords(fixture, 'ce');
  });
}

/** SUBNET UP, and the whole subnet seen. */
export async function judgeDiscovery(fixture: FabricFixture): Promise<void> {
  await withOpensm(fixture, () => runDiagnostics(fixture));
}

/** A large subnet comes up, and every node of it is seen. */
export async function judgeLarge(fixture: FabricFixture): Promise<void> {
  await withOpensm(fixture, async () => void (await runDiscovery(fixture)));
}

/** Ports of virtual functions are hosts like others, and embedded switches are switches. */
export async function judgeFunctions(fixture: DeviceFixture): Promise<void> {
  await judgeAdapters(fixture, 'a1/1:1');
  const { board } = fixture;
  await board.check('every function has LIDs of its own', async () => {
    const { nodes } = await fixture.report();
    const functions = nodes.filter(({ name }) => /^a\d(\/\d)?$/.test(name));
    const lids = functions.flatMap(({ ports }) => ports.map(({ lid }) => lid));
    expect(functions.length === 4 && new Set(lids).size === 8, `LIDs ${lids}`);
    return `LIDs ${lids}`;
  });
}

/** opensm at port 0 of a switch, and real adapters; the switch passes no malformed packet. */
export async function judgeAdapters(fixture: DeviceFixture, host = 'a1:1'): Promise<void> {
  const { board, judges, client } = fixture;
  const path = join(judges.folder, 'switch.erf');
  const capture = await startCapture(client, { path, adapter: 's1' });
  await withOpensm(fixture, () => runDiagnostics(fixture, host), 's1');
  const { packets, lost } = await capture.stop();
  await board.check('tshark: no datagram of the capture is malformed', async () => {
    expect(lost === 0, `${lost} packets are not in the capture`);
    return judgeCapture(path, packets);
  });
}

async function judgeCapture(path: string, packets: number): Promise<string> {
  const tshark = findTshark();
  if (tshark === undefined) throw new CheckError('tshark is not installed; run: apt-get install tshark');
  const count = async (filter: string): Promise<number> => {
    const { stdout } = await tryRun(tshark, ['-r', path, '-Y', filter, '-T', 'fields', '-e', 'frame.number']);
    return stdout.trim() === '' ? 0 : stdout.trim().split('\n').length;
  };
  const [datagrams, malformed] = await Promise.all([count('infiniband.mad'), count('_ws.malformed')]);
  expect(malformed === 0, `${malformed} of ${packets} packets are malformed; see ${path}`);
  expect(datagrams === packets, `${datagrams} of ${packets} packets are management datagrams; see ${path}`);
  return `${datagrams} datagrams`;
}
