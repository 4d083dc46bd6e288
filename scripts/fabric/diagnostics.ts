// SPDX-License-Identifier: Apache-2.0
/**
 * Debian's diagnostics on a subnet that is up, each compared with the process's own view of it.
 * They must end without an error and see every node, link and LID. Scenarios call it.
 */
import type { FabricNodeReport, FabricReport } from '../../device/process/reports/fabric-report.ts';
import { expectDiscovery, readDiscovery } from './discovery-text.ts';
import type { FabricFixture } from './fabric-fixture.ts';
import { expect, expectSame } from './scoreboard.ts';

interface End {
  readonly node: FabricNodeReport;
  readonly number: number;
  readonly lid: number;
}

/**
 * All diagnostics, from the host `judge`. On a subnet of many nodes the queries of single nodes go
 * to the first `QUERIED` of each type.
 */
export async function runDiagnostics(fixture: FabricFixture, host?: string): Promise<void> {
  if (host !== undefined) fixture.judges.host = host;
  const { board } = fixture;
  const whole = await runDiscovery(fixture);
  const report = { nodes: (['switch', 'adapter'] as const).flatMap((type) => firstOf(whole, type)) };
  await board.check('smpquery: every attribute', () => queryNodes(fixture, report));
  await board.check('perfquery: counters of ports', () => queryCounters(fixture, report));
  await board.check('ibtracert: a path from each adapter to each', () => tracePaths(fixture, whole));
  await board.check('dump_fts, ibportstate, ibaddr', () => queryTables(fixture, whole));
  await board.check('ibqueryerrors: no port has errors', () => checkErrors(fixture));
  await board.check('ibdiagnet: no stage has errors', () => diagnose(fixture, whole));
}

/** The whole subnet is seen: nodes, links, LIDs, the master. Returns the process's own view. */
export async function runDiscovery(fixture: FabricFixture): Promise<FabricReport> {
  const { board } = fixture;
  await board.check('ibstat: the port is active', () => checkStat(fixture));
  const report = await fixture.report();
  await board.check('ibnetdiscover: nodes, links, LIDs', () => checkDiscovery(fixture, report));
  await board.check('iblinkinfo: links active, as wide and fast as they can be', () => checkLinkInfo(fixture, report));
  await board.check('sminfo: a master', () => checkManager(fixture));
  return report;
}

const QUERIED = 2;
const PATHS = 3;

function firstOf({ nodes }: FabricReport, type: FabricNodeReport['type']): FabricNodeReport[] {
  return nodes.filter((node) => node.type === type).slice(0, QUERIED);
}

async function checkStat({ judges }: FabricFixture): Promise<undefined> {
  const { stdout } = await judges.run('ibstat');
  expect(/State: Active/.test(stdout), `ibstat says:\n${stdout}`);
}

async function checkDiscovery({ judges }: FabricFixture, report: FabricReport): Promise<string> {
  const found = readDiscovery((await judges.run('ibnetdiscover')).stdout);
  const wanted = expectDiscovery(report);
  expectSame(found.nodes, wanted.nodes, 'nodes');
  expectSame(found.links, wanted.links, 'links');
  expectSame(found.lids, wanted.lids, 'LIDs');
  return `${found.nodes.length} nodes, ${found.links.length} links`;
}

async function checkLinkInfo({ judges }: FabricFixture, report: FabricReport): Promise<string> {
  const { stdout } = await judges.run('iblinkinfo');
  const lines = stdout.split('\n').filter((line) => line.includes('==('));
  const slower = lines.filter((line) => line.includes('Could be'));
  expect(slower.length === 0, `links could be better:\n${slower.join('\n')}`);
  const plugged = report.nodes.flatMap(({ ports }) => ports.filter(({ link }) => link?.peer !== undefined));
  const active = lines.filter((line) => /Active\/\s*LinkUp/.test(line));
  expect(active.length === plugged.length, `${active.length} active ports of ${plugged.length}:\n${stdout}`);
  return `${active.length} ports`;
}

async function checkManager({ judges }: FabricFixture): Promise<undefined> {
  const { stdout } = await judges.run('sminfo');
  expect(/SMINFO_MASTER/.test(stdout), `sminfo says: ${stdout}`);
}

/** Ends of paths that have a LID. */
function endsOf({ nodes }: FabricReport): End[] {
  return nodes.flatMap((node) =>
    node.ports.flatMap(({ number, lid = 0, link }) =>
      lid > 0 && link?.state !== 'DOWN' ? [{ node, number, lid }] : [],
    ),
  );
}

async function queryNodes({ judges }: FabricFixture, report: FabricReport): Promise<string> {
  const folder = judges.newFolder('smpquery');
  let count = 0;
  for (const { node, number, lid } of endsOf(report)) {
    const words = [`ni ${lid}`, `nd ${lid}`, `pi ${lid} ${number}`, `pkeys ${lid} ${number}`, `gi ${lid}`];
    if (node.type === 'switch') words.push(`si ${lid}`, `pi ${lid} 1`, `sl2vl ${lid} 1`, `vlarb ${lid} 1`);
    else words.push(`sl2vl ${lid}`, `vlarb ${lid} ${number}`);
    for (const attribute of words) {
      const { stdout } = await judges.run(`smpquery ${attribute}`, { folder });
      const guid = /^Guid:\.*0x([0-9a-f]{16})$/m.exec(stdout)?.[1];
      if (attribute.startsWith('ni')) expect(guid === node.guid, `LID ${lid} is ${node.name}, not ${guid}:\n${stdout}`);
      count++;
    }
  }
  return `${count} queries`;
}

async function queryCounters({ judges }: FabricFixture, report: FabricReport): Promise<string> {
  const folder = judges.newFolder('perfquery');
  let count = 0;
  for (const { node, number, lid } of endsOf(report)) {
    const ports = node.type === 'switch' ? node.ports.filter(({ link }) => link?.peer !== undefined) : [{ number }];
    for (const port of ports) {
      await judges.run(`perfquery ${lid} ${port.number}`, { folder });
      const { stdout } = await judges.run(`perfquery -x ${lid} ${port.number}`, { folder });
      const sent = Number(/PortXmitPkts:\.*(\d+)/.exec(stdout)?.[1]);
      expect(sent > 0, `${node.name} port ${port.number} has sent ${sent} packets:\n${stdout}`);
      count++;
    }
  }
  return `${count} ports`;
}

async function tracePaths({ judges }: FabricFixture, report: FabricReport): Promise<string> {
  const folder = judges.newFolder('ibtracert');
  const lids = endsOf(report).flatMap(({ node, lid }) => (node.type === 'adapter' ? [lid] : []));
  // From the first to the last ones, and back.
  const [first, ...others] = lids;
  const paths = others.slice(-PATHS).flatMap((lid) => [
    [first, lid],
    [lid, first],
  ]);
  for (const [from, to] of paths) {
    const { stdout } = await judges.run(`ibtracert ${from} ${to}`, { folder });
    expect(new RegExp(`^To .*lid ${to}-`, 'm').test(stdout), `no path from ${from} to ${to}:\n${stdout}`);
  }
  return `${paths.length} paths`;
}

async function queryTables({ judges }: FabricFixture, report: FabricReport): Promise<string> {
  const { stdout } = await judges.run('dump_fts');
  const folder = judges.newFolder('tables');
  for (const { node, number, lid } of endsOf(report).slice(0, PATHS)) {
    await judges.run(`ibaddr ${lid}`, { folder });
    await judges.run(`ibportstate ${lid} ${node.type === 'switch' ? 1 : number}`, { folder });
  }
  const switches = report.nodes.filter(({ type }) => type === 'switch').length;
  const tables = stdout.split('\n').filter((line) => line.startsWith('Unicast lids')).length;
  expect(tables === switches, `dump_fts has tables of ${tables} switches of ${switches}:\n${stdout}`);
  return `${tables} forwarding tables`;
}

async function checkErrors({ judges }: FabricFixture): Promise<undefined> {
  const { stdout } = await judges.run('ibqueryerrors');
  const isGood = / 0 bad nodes found/.test(stdout) && / 0 ports have errors/.test(stdout);
  expect(isGood, `ibqueryerrors says:\n${stdout}`);
}

/** The stages of ibdiagnet: errors and warnings of each. */
async function diagnose({ judges }: FabricFixture, { nodes }: FabricReport): Promise<string> {
  const folder = judges.newFolder('ibdiagnet');
  const { stdout } = await judges.run(`ibdiagnet -o ${folder}`, { folder });
  const found = [...stdout.matchAll(/(\d+) nodes \((\d+) Switches & (\d+) CA-s\) discovered/g)].at(-1)?.[1];
  expect(found === `${nodes.length}`, `ibdiagnet found ${found} of ${nodes.length} nodes:\n${stdout}`);
  const stages = [...stdout.matchAll(/^ {4}(\w[\w/ ]*?) {2,}(\d+) +(\d+)/gm)];
  const bad = stages.filter(([, , errors]) => errors !== '0').map(([, name]) => name);
  expect(stages.length > 0 && bad.length === 0, `stages with errors: ${bad.join(', ')}\n${stdout}`);
  return `${stages.length} stages`;
}
