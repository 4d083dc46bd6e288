// SPDX-License-Identifier: Apache-2.0
/** The picture of a running subnet: LIDs, managers, states, load and errors of its links. */
import t from 'tap';
import type {
  FabricLinkReport,
  FabricNodeReport,
  FabricReport,
} from '../../../device/process/reports/fabric-report.ts';
import { layOutGraph } from '../../picture/graph-layout.ts';
import { findGraphFaults } from '../../picture/testing/graph-faults.ts';
import { findCollisions, placeTexts } from '../../picture/testing/read-svg.ts';
import { drawFabric, fabricGraph } from './fabric-picture.ts';

const LINK: FabricLinkReport = {
  ...{ state: 'ACTIVE', physicalState: 'LINK_UP', width: '4x', speed: 'QDR' },
  ...{ sent: 7, received: 5, sentBytes: 1000, receivedBytes: 500, errors: {} },
};

function adapter(name: string, lid: number, link: Partial<FabricLinkReport>): FabricNodeReport {
  const port = { number: 1, guid: '1', lid, managerLid: 3, isManager: lid === 2, link: { ...LINK, ...link } };
  return { name, type: 'adapter', guid: '0', description: name, ports: [port, { number: 2, guid: '2', lid: 0 }] };
}

/** A switch with adapters a to c, a link to another process, a free port; `bytes` are sent by a. */
function reportOf(timeNs: number, bytes: number): FabricReport {
  const plugged = (number: number, link: Partial<FabricLinkReport>) => {
    return { number, guid: `${number}`, link: { ...LINK, ...link } };
  };
  const relay: FabricNodeReport = {
    ...{ name: 's', type: 'switch', guid: '9', description: 'core' },
    ports: [
      { number: 0, guid: '9', lid: 3, managerLid: 3, isManager: true },
      plugged(1, { peer: 'a:1', errors: { symbolErrors: 4 } }),
      plugged(2, { peer: 'b:1', state: 'INITIALIZE' }),
      plugged(3, { peer: 'c:1', state: 'DOWN', physicalState: 'POLLING' }),
      plugged(4, { peer: 'elsewhere', sentBytes: bytes / 2, width: '1x', speed: 'SDR' }),
      plugged(5, { state: 'DOWN', physicalState: 'POLLING' }),
    ],
  };
  const nodes = [
    adapter('a', 1, { peer: 's:1', sentBytes: 1000 + bytes }),
    adapter('b', 2, { peer: 's:2', state: 'INITIALIZE' }),
    adapter('c', 0, { peer: 's:3', state: 'DOWN', physicalState: 'DISABLED' }),
    relay,
  ];
  return { timeNs, nodes };
}

// Port a:1 sends 1 GB in two seconds: 4 Gb/s of 40.
const REPORTS = [reportOf(5e9, 0), reportOf(7e9, 1e9)] as const;

t.test('nodes with LIDs, managers and free ports; links with state, load and errors', async (t) => {
  const { title, notes, nodes, links } = fabricGraph(...REPORTS);
  t.equal(title, '1 switch, 3 adapters, 3 of 7 plugged ports active');
  t.match(notes, [/^Subnet manager: s at LID 3, .*standby b:1\.$/, /^Load is that of 2\.0 s/]);
  const linesOf = (id: string) => nodes.find((node) => node.id === id)?.lines;
  t.same(linesOf('s'), ['core', 'LID 3', 'master SM', '1 free port']);
  t.same(linesOf('b'), ['standby SM at port 1']);
  t.same(linesOf('a'), []);
  t.same(
    nodes.slice(0, 3).map(({ ports }) => ports),
    [[{ id: 'a:1', label: '1: LID 1' }], [{ id: 'b:1', label: '1: LID 2' }], [{ id: 'c:1', label: '1: no LID' }]],
  );
  t.match(links, [
    { ends: ['a:1', 's:1'], kind: 'cable', lines: ['4x QDR', '!4 symbol errors at s:1'], there: '4 Gb/s, 10 %' },
    { ends: ['b:1', 's:2'], kind: 'cable', lines: ['4x QDR', 'INITIALIZE'], there: undefined, back: undefined },
    { ends: ['c:1', 's:3'], kind: 'down', lines: ['DOWN', 'c:1 disabled', 's:3 polling'] },
    { ends: ['s:4', 'elsewhere s:4'], kind: 'socket', lines: ['1x SDR'], there: '2 Gb/s, 80 %' },
  ]);
  t.ok(Math.abs((links[0].used ?? 0) - 0.1) < 1e-9);
  const [slow] = fabricGraph(REPORTS[0], reportOf(7e9, 1e6)).links;
  t.equal(slow.there, '4 Mb/s, 0.01 %');
  t.equal(fabricGraph(REPORTS[0], reportOf(7e9, 100)).links[0].there, '0.4 kb/s, 0.000001 %');
  t.equal(links[0].description, 'a:1 - s:1: 4x QDR; !4 symbol errors at s:1; 4 Gb/s, 10 %');
});

t.test('the picture is legible, with arrows that follow the links', async (t) => {
  t.same(findGraphFaults(await layOutGraph(fabricGraph(...REPORTS))), []);
  const svg = await drawFabric(...REPORTS);
  t.same(findCollisions(svg), []);
  const texts = placeTexts(svg).map(({ text }) => text);
  t.ok(texts.includes('← 4 Gb/s, 10 %'), 'adapters are right of switches');
  t.ok(texts.includes('→ 2 Gb/s, 80 %'));
});

t.test('without a first report of a port there is no load; a cable between two ports of a node is drawn', async (t) => {
  const [before, now] = REPORTS;
  t.same(fabricGraph({ ...before, nodes: [] }, now).links[0].there, undefined);
  const ports = [1, 2].map((number) => ({
    number,
    guid: '1',
    lid: number,
    link: { ...LINK, peer: `a:${3 - number}` },
  }));
  const alone: FabricReport = { timeNs: 1, nodes: [{ ...now.nodes[0], ports }] };
  t.same(
    fabricGraph(alone, alone).links.map(({ ends }) => ends),
    [['a:1', 'a:2']],
  );
  t.same(findGraphFaults(await layOutGraph(fabricGraph(alone, alone))), []);
});
