// SPDX-License-Identifier: Apache-2.0
/** The screen of `vuhca fabric`: managers, ports up and down, errors. */
import t from 'tap';
import type {
  FabricLinkReport,
  FabricNodeReport,
  FabricReport,
} from '../../../device/process/reports/fabric-report.ts';
import { renderFabric } from './fabric-screen.ts';

const LINK = {
  ...{ state: 'ACTIVE', physicalState: 'LINK_UP', width: '4x', speed: 'QDR' },
  ...{ sent: 7, received: 5, sentBytes: 700, receivedBytes: 500, errors: {} },
};

function adapter(name: string, lid: number, managerLid: number, link?: Partial<FabricLinkReport>): FabricNodeReport {
  const port = { number: 1, guid: '1', lid, managerLid, isManager: lid === managerLid, link: { ...LINK, ...link } };
  return { name, type: 'adapter', guid: '0', description: name, ports: [port] };
}

const relay: FabricNodeReport = {
  ...{ name: 's', type: 'switch', guid: '9', description: 's' },
  ports: [
    { number: 0, guid: '9', lid: 3, managerLid: 1, isManager: true },
    { number: 1, guid: '10', link: { ...LINK, peer: 'a:1' } },
    { number: 2, guid: '11', link: { ...LINK, peer: 'b:1', state: 'DOWN', physicalState: 'POLLING' } },
    { number: 3, guid: '12', link: { ...LINK, state: 'DOWN', physicalState: 'POLLING' } },
  ],
};

const rowsOf = (report: FabricReport): string[] => renderFabric(report).split('\n');

t.test('the master, the standby, and each port with its link', async (t) => {
  const report = { nodes: [adapter('a', 1, 1, { peer: 's:1' }), relay] };
  const [manager, subnet, , , first, zero, one, two, unplugged] = rowsOf(report);
  t.match(manager, /^manager +a:1 at LID 1, master of 2 of 2 ports, standby s$/);
  t.match(subnet, /1 adapters, 1 switches, 2 of 3 plugged ports up/);
  t.match(first, /^a +1 +1 +ACTIVE +4x +QDR +s:1 +7 +5$/);
  t.match(zero, /^s +0 +3$/);
  t.match(one, /^ +1 +ACTIVE +4x +QDR +a:1/);
  t.match(two, /^ +2 +DOWN \(polling\) +b:1/, 'a link that is down has no width');
  t.match(unplugged, /^ +1 unplugged$/);
});

t.test('no manager, two managers, a manager elsewhere, errors', async (t) => {
  t.match(rowsOf({ nodes: [adapter('a', 0, 0, { peer: 's:1' })] })[0], /none: no port has been told of one/);
  const two = { nodes: [adapter('a', 1, 1, { peer: 'b:1' }), adapter('b', 2, 2, { peer: 'a:1' })] };
  t.match(rowsOf(two)[0], /!2 masters: a:1 at LID 1, b:1 at LID 2/);
  t.match(rowsOf({ nodes: [adapter('a', 1, 77, { peer: 'elsewhere' })] })[0], /elsewhere at LID 77/);
  const unplugged = rowsOf({ nodes: [adapter('a', 0, 0)] });
  t.match(unplugged[4], /^a +1 unplugged$/, 'a node without any link is still there');
  const errors = { peer: 'elsewhere', errors: { vl15Dropped: 3, linkDowned: 1 } };
  t.match(rowsOf({ nodes: [adapter('a', 1, 1, errors)] })[4], /3 vl15 dropped, 1 link downed$/);
});

t.test('the built-in manager: its place, state, sweeps and problems', async (t) => {
  const manager = {
    guid: '9',
    state: 'MASTER',
    priority: 2,
    heavySweeps: 3,
    lightSweeps: 8,
    isSettled: true,
    datagrams: 40,
  };
  const problems = { lidsThatClashed: 1 };
  const managers = [{ ...manager, problems, duplicates: ['0056'] }];
  const [, row, more] = rowsOf({ nodes: [relay], managers });
  t.match(row, /^built-in +s MASTER, priority 2, 3 sweeps, 8 looks, !1 lids that clashed$/);
  t.match(more, /^ +!node GUID 0056 twice$/);
});
