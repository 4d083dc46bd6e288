// SPDX-License-Identifier: Apache-2.0
/** The trees have the nodes and links that their numbers say, and their switches can be built. */
import t from 'tap';
import { SWITCH_PORTS_MAX } from '../../device/fabric/switch/switch.ts';
import { planFatTree, TREES } from './fat-trees.ts';

for (const tree of TREES)
  t.test(`${tree.adapters} adapters, ${tree.levels} levels`, async (t) => {
    const { switches, adapters, links } = planFatTree(tree);
    const ends = links.flat();
    const count = (name: string): number => ends.filter((end) => end === name).length;
    t.ok(
      switches.every((ports) => ports <= SWITCH_PORTS_MAX),
      'no switch is too large',
    );
    t.same(
      switches.map((_, index) => count(`s${index}`)),
      switches,
      'no port is left over, and none is missing',
    );
    t.ok(Array.from({ length: adapters }, (_, index) => count(`a${index}`)).every((links) => links === 1));
    t.equal(new Set(links.map((link) => link.join())).size, links.length, 'no two links join the same nodes');
  });
