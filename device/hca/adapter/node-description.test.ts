// SPDX-License-Identifier: Apache-2.0
/** NodeDescription (IBTA 14.2.5.2): nodes of adapters have their names in topologies. */
import t from 'tap';
import { SimulatedClock } from '../../rig/machine/simulated-clock.ts';
import { type AdapterOptions, defaultAdapterOptions } from './options.ts';
import { createPortModel } from './port-model.ts';

function describe(options: Partial<AdapterOptions>): string[] {
  const { channels, switches } = createPortModel({ ...defaultAdapterOptions, ...options }, new SimulatedClock());
  const own = switches.map(({ description }) => new TextDecoder().decode(description).replace(/\0.*$/s, ''));
  return [...channels.map(({ description }) => description), ...own];
}

t.test('one node, or one for each function and each embedded switch', async (t) => {
  t.same(describe({ nodeDescription: 'rack 7' }), ['rack 7']);
  t.same(describe({}), ['vuhca']);
  const own = { functionCount: 3, portModel: 'vswitch' } as const;
  t.same(describe({ nodeDescription: 'a', ...own }), ['a', 'a/1', 'a/2', 'a/s1', 'a/s2']);
  t.same(describe(own), ['vuhca', 'vuhca/1', 'vuhca/2', 'vuhca/s1', 'vuhca/s2']);
  const [long] = describe({ nodeDescription: 'x'.repeat(70), ...own }).slice(-1);
  t.equal(long, 'x'.repeat(64), 'cut');
});
