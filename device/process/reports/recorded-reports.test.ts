// SPDX-License-Identifier: Apache-2.0
/**
 * Reports leave no trace in a recording: whatever a host asks, and when, the recording replays. A
 * report that read the clock of a node, or memory of a guest through its adapter, would be in it.
 */
import t from 'tap';
import { SendOpcode } from '../../../protocol/mlx5/gen/values.gen.ts';
import type { Adapter } from '../../hca/adapter/adapter.ts';
import { ThreeKinds } from '../../rig/mixed/three-kinds.ts';
import { BYTES } from '../../rig/mthca/driver/mixed-fabric.ts';
import { listNodes } from '../../topology/named-nodes.ts';
import type { PersonalityAdapter } from '../../topology/personalities.ts';
import { reportFabric } from './fabric-report.ts';
import { reportLinks } from './link-report.ts';
import { reportManagers } from './manager-report.ts';
import { reportPersonality } from './personality-report.ts';
import { listQueuePairs } from './queue-pair-report.ts';
import { reportResources } from './resource-report.ts';
import { reportRoute } from './route-report.ts';
import { reportAdapter, reportSwitch } from './status-report.ts';

t.test('all reports, before traffic, within it and behind it', (t) => {
  const fixture = new ThreeKinds();
  const { machine, built, m, v } = fixture;
  const { adapters, joints, managers } = built;
  const served = ['m', 'v', 'n'].map((name, index) => ({ name, core: adapters[index] }));
  const switches = built.switches.map((core) => ({ name: 's', core }));
  const nodes = listNodes(served, switches);
  const [first, own, last] = adapters;
  const ask = () => [
    reportFabric(nodes),
    reportManagers(managers, machine.clock.now()),
    reportRoute(nodes, nodes[0], nodes[2]),
    reportLinks({ served, switches, joints, socketLinks: [] }),
    reportAdapter(own as Adapter),
    reportResources(own as Adapter),
    ...[first, last].map((core) => reportPersonality(core as PersonalityAdapter)),
    ...switches.map(reportSwitch),
    ...adapters.map((core) => listQueuePairs(core, 0)),
  ];
  const before = JSON.stringify(ask());
  fixture.connectOwn();
  m.qp.post({ opcode: SendOpcode.WRITE, pieces: [m.memory], remote: { address: v.memory.address, key: v.rkey } });
  let runs = 0;
  machine.runUntil(() => {
    ask();
    runs++;
    return m.qp.setup.cq.peek() !== undefined;
  }, 'the WRITE');
  t.ok(runs > 1, 'asked within the traffic');
  t.not(JSON.stringify(ask()), before, `${BYTES} bytes were counted`);
  t.match(fixture.replay(), { divergence: undefined, truncated: false });
  t.end();
});
