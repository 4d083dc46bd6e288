// SPDX-License-Identifier: Apache-2.0
/**
 * Two processes with a subnet manager each, joined by a socket link between their switches: one
 * manager stays master, LIDs that both had given change, and ports are active again. With equal
 * GUIDs the subnets stay apart, and a counter says why.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { ControlClient } from '../../device/main/control-client.ts';
import type { FabricReport } from '../../device/main/fabric-report.ts';
import { DeviceChild } from '../../qemu/device-child.ts';

/** A process with an adapter and a switch; the second port of the switch has the link. */
async function start(
  t: Test,
  guidDigit: string,
  link: object,
): Promise<{ report(): Promise<FabricReport>; child: DeviceChild }> {
  const topology = {
    adapters: { a: { sockets: ['a.sock'], nodeGuid: `005655484341${guidDigit}000` } },
    switches: { s: { ports: 4, nodeGuid: `005655485357${guidDigit}000` } },
    links: [{ ports: ['a:1', 's:1'] }, { port: 's:2', ...link }],
  };
  const child = await DeviceChild.start({ topology, onLogLine: () => {} });
  const client = await ControlClient.connect(child.controlPath);
  t.teardown(async () => {
    client.close();
    await child.stop();
  });
  return { child, report: async () => (await client.request('fabric')) as FabricReport };
}

/** Waits for a state of both processes; the bound of the test ends what never comes. */
async function until(
  processes: readonly { report(): Promise<FabricReport> }[],
  isDone: (reports: readonly FabricReport[]) => boolean,
): Promise<readonly FabricReport[]> {
  for (;;) {
    const reports = await Promise.all(processes.map(({ report }) => report()));
    if (isDone(reports)) return reports;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const stateOf = ({ managers = [] }: FabricReport): string | undefined => managers[0]?.state;
const lidsOf = ({ nodes }: FabricReport): number[] =>
  nodes.flatMap(({ ports }) => ports.flatMap(({ lid = 0 }) => (lid > 0 ? [lid] : [])));
const isActive = ({ nodes }: FabricReport): boolean =>
  nodes.every(({ ports }) => ports.every(({ link }) => link?.peer === undefined || link.state === 'ACTIVE'));

function folderOf(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'vuhca-subnets-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  return folder;
}

t.test('two managers elect one, and LIDs that clash change', async (t) => {
  const path = join(folderOf(t), 'link');
  const first = await start(t, '1', { listen: path });
  await until([first], ([report]) => stateOf(report) === 'MASTER' && lidsOf(report).length === 2);
  const [alone] = await until([first], ([report]) => report.nodes[0].ports[0].link?.state === 'ACTIVE');
  const second = await start(t, '2', { connect: path });
  const both = [first, second];
  const reports = await until(both, (all) => {
    const states = all.map(stateOf).sort();
    const lids = all.flatMap(lidsOf);
    return states.join() === 'MASTER,STANDBY' && all.every(isActive) && lids.length === 4 && new Set(lids).size === 4;
  });
  t.equal(stateOf(reports[0]), 'MASTER', 'the lower GUID wins');
  t.same(lidsOf(reports[0]), lidsOf(alone), 'its LIDs stay');
  const masters = reports.flatMap(({ nodes }) => nodes.flatMap(({ ports }) => ports.map((port) => port.managerLid)));
  t.equal(new Set(masters.filter((lid) => lid !== undefined && lid > 0)).size, 1, 'all ports know one master');
  await first.child.kill();
  await until([second], ([report]) => stateOf(report) === 'MASTER');
  t.pass('the other one is master when the first process has died');
});

t.test('equal GUIDs in both: each keeps its own subnet, and says why', async (t) => {
  const path = join(folderOf(t), 'link');
  const both = [await start(t, '3', { listen: path }), await start(t, '3', { connect: path })];
  const reports = await until(both, (all) =>
    all.every(
      (report) =>
        stateOf(report) === 'MASTER' &&
        (report.managers?.[0]?.duplicates.length ?? 0) > 0 &&
        report.nodes[0].ports[0].link?.state === 'ACTIVE',
    ),
  );
  for (const { managers } of reports) t.same(managers?.[0]?.duplicates, ['0056554853573000']);
});
