// SPDX-License-Identifier: Apache-2.0
/** Nodes that join and leave a running fabric: who runs, and who is woken. */
import t from 'tap';
import { LinkEnd } from '../port/link.ts';
import { Fabric, type FabricNode } from './fabric.ts';

class Node implements FabricNode {
  readonly functions = [];
  readonly ports = [new LinkEnd(1, new Uint8Array(8), 4, 1)];
  runs = 0;
  more = false;
  run(): boolean {
    this.runs++;
    return this.more;
  }
}

t.test('a node that joins is run, and its port wakes the fabric', (t) => {
  const [first, second] = [new Node(), new Node()];
  const fabric = new Fabric([first]);
  t.equal(fabric.run(10), false);
  fabric.add(second);
  second.more = true;
  t.equal(fabric.run(10), true);
  t.same([first.runs, second.runs], [1, 1], 'a node without work waits for the one with work');
  second.more = false;
  t.equal(fabric.run(10), false);
  t.same([first.runs, second.runs], [2, 2]);
  t.same(fabric.nodes, [first, second]);
  t.end();
});

t.test('a node that leaves is not run; another one takes its place', (t) => {
  const [first, second, third] = [new Node(), new Node(), new Node()];
  const fabric = new Fabric([first, second]);
  first.more = true;
  fabric.run(10);
  fabric.remove(first);
  fabric.remove(first);
  t.equal(fabric.run(10), false, 'the work of the node that left does not count');
  t.same([first.runs, second.runs], [1, 2]);
  t.equal(first.ports[0].onWork, undefined);
  fabric.add(third);
  fabric.run(10);
  t.same([first.runs, second.runs, third.runs], [1, 3, 1]);
  t.same(fabric.nodes, [third, second], 'the order is that of the places');
  second.run = () => {
    second.ports[0].onWork?.();
    third.ports[0].onWork?.();
    return false;
  };
  t.equal(fabric.run(10), true, 'the new node can be woken');
  t.end();
});
