// SPDX-License-Identifier: Apache-2.0
/**
 * Two processes with a subnet manager each, joined by a socket link between their switches: one
 * manager stays master, LIDs that both had given change, and ports are active again. With equal
 * GUIDs the subnets stay apart, and a counter shows the reason.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { ControlClient } from '../../../device/process/control/control-client.ts';
import type { FabricReport } from '../../../device/process/reports/fabric-report.ts';
import { DeviceChild } from '../../../qemu/device-child.ts';
import { runWords } from '../testing/run-words.ts';

/** A process with an adapter and a switch; the second port of the switch has the link. */
async function start(
  t: Test,
  guidDigit: string,
  link: object,
): Promise<{ report(): Promise<FabricReport>; client: ControlClient; child: DeviceChild }> {
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
  return { child, client, report: async () => await client.request('fabric') };
}

/** Waits for a state of both processes; the bound of the test ends a wait that would never end. */
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
  const link = (port: string, ...words: string[]) => second.client.request('link', { port, words });
  t.same(await link('s:2', 'down'), { text: 'the link of s:2 is down' });
  await until(both, (all) => all.every((report) => stateOf(report) === 'MASTER'));
  t.same(await link('s:2', 'up'), { text: 'the link of s:2 is plugged in' });
  await until(both, (all) => all.map(stateOf).join() === 'MASTER,STANDBY' && all.every(isActive));
  t.same(await link('s:2', 'set', 'drop=1'), { text: 'the link of s:2 has drop=1' });
  const lostOf = async () => (await second.client.request('status')).links[1].lost;
  const lost = await lostOf();
  while ((await lostOf()) === lost) await new Promise((resolve) => setTimeout(resolve, 10));
  t.same(await link('s:2', 'set', 'drop=0', 'delayNs=1000'), { text: 'the link of s:2 has drop=0, delayNs=1000' });
  await t.rejects(link('s:2', 'set', 'lateNs=0'), /link option lateNs is 0; it must be 1 to/);
  await until(both, (all) => all.map(stateOf).join() === 'MASTER,STANDBY' && all.every(isActive));
  t.same(await link('a:1', 'down'), { text: 'the link of a:1 is down' }, 'a link of the process itself');
  const links = async () => (await second.client.request('status')).links;
  t.match(await links(), [
    { ends: ['a:1', 's:1'], kind: 'cut', up: false },
    { kind: 'socket', up: true },
  ]);
  t.same(await link('s:1', 'up'), { text: 'the link of s:1 is plugged in' });
  await until(both, (all) => all.every(isActive));
  await t.rejects(link('a:2', 'up'), /no link is at port a:2; there are a:1, s:1, s:2/);
  await t.rejects(link('a:1', 'flap'), /a link takes down, up, or set with properties, not flap/);
  t.match(await runWords(['link', 'set', 'a:1', 'delayNs=5000,drop=0', '--control', second.child.controlPath]), {
    status: 0,
    stdout: 'the link of a:1 has delayNs=5000, drop=0; it trains\n',
  });
  const listed = await runWords(['link', '--control', second.child.controlPath]);
  t.match(listed.stdout, /^link +a:1 - s:1, faulty up, .*\nlink .*, socket up, /);
  for (const words of [['sideways'], ['down']])
    t.match(await runWords(['link', ...words, '--control', second.child.controlPath]), {
      status: 2,
      stderr: /link|VERB/,
    });
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
