// SPDX-License-Identifier: Apache-2.0
/** Tests of --fabric: the links of the ports of a lone adapter, and the options that go with it. */
import t from 'tap';
import { defaultAdapterOptions } from '../../../device/hca/adapter/options.ts';
import { findTopologyError, loneAdapter } from '../../../device/process/host/topology.ts';
import { loneFabrics } from '../../../device/topology/lone-fabric.ts';
import type { AdapterArguments } from './adapter-arguments.ts';
import { readFabric } from './adapter-options.ts';

const given = (options: Partial<AdapterArguments>) => options as AdapterArguments;

t.test('the usual fabric, unless a link takes its place', async (t) => {
  t.equal(readFabric(given({}), 'switch'), 'switch');
  t.equal(readFabric(given({ fault: 'drop=1' }), 'switch'), 'cable');
  t.equal(readFabric(given({ link: ['1=listen:x'] }), 'switch'), 'cable');
  t.equal(readFabric(given({ fabric: 'none' }), 'switch'), 'none');
  t.equal(readFabric(given({ fabric: 'cable', fault: 'drop=1' }), 'switch'), 'cable');
  const message = 'option --fabric is switch; with --fault it must be cable';
  t.throws(() => readFabric(given({ fabric: 'switch', fault: 'drop=1' }), 'cable'), { message });
});

t.test('each of them is a topology without mistakes', async (t) => {
  for (const fabric of loneFabrics) {
    const topology = loneAdapter('/tmp/x', defaultAdapterOptions, [], fabric);
    t.equal(findTopologyError(topology), undefined, fabric);
    t.equal(topology.subnet, fabric === 'switch' ? 'managed' : 'fixed');
    t.equal(topology.links.length, fabric === 'switch' ? 2 : 0);
  }
  t.equal(loneAdapter('/tmp/x').subnet, 'fixed', 'programs that name none have a cable');
  for (const fabric of loneFabrics) {
    const options = { ...defaultAdapterOptions, functionCount: 2, portModel: 'vswitch' as const };
    const topology = loneAdapter('/tmp/x', options, [], fabric);
    t.equal(findTopologyError(topology), undefined, `${fabric}, embedded switches`);
    t.equal(topology.subnet, 'managed', 'ports behind embedded switches need a manager');
  }
});
