// SPDX-License-Identifier: Apache-2.0
/** Which nodes of a fabric run in a pass: those with work first, and all of them soon. */
import t from 'tap';
import type { FunctionPort, ResourceAnswer } from '../../host.ts';
import { LinkEnd } from '../port/link.ts';
import { Fabric, type FabricNode } from './fabric.ts';

const ANSWER: ResourceAnswer = { status: 1, index: 2, offset: 3, limit: 4 };
const NO_WORDS = new Uint8Array(0);

/** What hosts call, and what a node gets, in the order of the calls. */
class CountedFunction implements FunctionPort {
  readonly calls: (readonly unknown[])[] = [];
  readHigh = 7;
  takesAccess = false;
  readRegister = (...values: unknown[]): number => this.#note('readRegister', values, 5);
  writeRegister = (...values: unknown[]): void => this.#note('writeRegister', values, undefined);
  writeCollect = (...values: unknown[]): void => this.#note('writeCollect', values, undefined);
  writePio = (...values: unknown[]): void => this.#note('writePio', values, undefined);
  reset = (...values: unknown[]): void => this.#note('reset', values, undefined);
  setBusMaster = (...values: unknown[]): void => this.#note('setBusMaster', values, undefined);
  memoryMapped = (...values: unknown[]): void => this.#note('memoryMapped', values, undefined);
  memoryUnmapped = (...values: unknown[]): void => this.#note('memoryUnmapped', values, undefined);
  requestResources = (...values: unknown[]): ResourceAnswer => this.#note('requestResources', values, ANSWER);
  requestTrace = (...values: unknown[]): number => this.#note('requestTrace', values, 6);
  plantFault = (...values: unknown[]): void => this.#note('plantFault', values, undefined);

  #note<Value>(name: string, values: readonly unknown[], value: Value): Value {
    this.calls.push([name, ...values]);
    return value;
  }
}

class Node implements FabricNode {
  readonly counted = new CountedFunction();
  readonly functions = [this.counted];
  readonly ports = [new LinkEnd(1, new Uint8Array(8), 4, 1)];
  readonly name: string;
  readonly #runs: string[];
  /** Its work in a pass; returns true while it has more. */
  work: () => boolean = () => false;

  constructor(name: string, runs: string[]) {
    this.name = name;
    this.#runs = runs;
  }

  run(): boolean {
    this.#runs.push(this.name);
    return this.work();
  }

  wake(): void {
    this.ports[0].onWork?.();
  }
}

/** Nodes a, b, c and d, which have run once, and the names of those that run from then on. */
function makeFabric() {
  const runs: string[] = [];
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => new Node(name, runs));
  const fabric = new Fabric([a, b, c, d]);
  fabric.run(64);
  runs.length = 0;
  const takeRuns = (): string => runs.splice(0).join('');
  return { fabric, nodes: [a, b, c, d] as const, takeRuns };
}

t.test('a message passes the nodes on its way, before the others run', async (t) => {
  const { fabric, nodes, takeRuns } = makeFabric();
  const [a, , c, d] = nodes;
  const wakes = (node: Node, next: Node): void => {
    node.work = () => {
      next.wake();
      node.work = () => false;
      return false;
    };
  };
  wakes(c, d);
  wakes(d, a);
  fabric.functions[2].writeRegister(0, 4, 1, 0);
  t.equal(fabric.run(64), true);
  t.equal(takeRuns(), 'cd', 'as far as the order of the nodes allows');
  t.equal(fabric.run(64), false);
  t.equal(takeRuns(), 'abcd', 'the last node, and then each of the others once');
  t.equal(fabric.run(64), false);
  t.equal(takeRuns(), 'abcd', 'without known work');
});

t.test('each call of a host makes its node the first, and reaches the function as it is', async (t) => {
  const calls = [
    ['readRegister', 4, 8],
    ['writeRegister', 8, 4, -1, 0],
    ['writeCollect', 12, 8, 1, 2],
    ['writePio', 16, 8, 3, 4],
    ['reset', 'device'],
    ['setBusMaster', true],
    ['memoryMapped', 0x1000, 0x2000],
    ['memoryUnmapped', 0x3000, 0x4000],
    ['requestResources', NO_WORDS],
    ['requestTrace', 9, NO_WORDS],
    ['plantFault', NO_WORDS],
  ] as const;
  const { fabric, nodes, takeRuns } = makeFabric();
  const port = fabric.functions[3] as unknown as Record<string, (...values: readonly unknown[]) => unknown>;
  const values = calls.map(([name, ...parameters]) => {
    const value = port[name]?.(...parameters);
    fabric.run(64);
    t.equal(takeRuns(), 'dabc', name);
    return value;
  });
  t.same(nodes[3].counted.calls, calls);
  t.same([values[0], values[8], values[9]], [5, ANSWER, 6]);
  t.same([fabric.functions[3].readHigh, fabric.functions[3].takesAccess], [7, false]);
});

t.test('a node that always has work leaves the others their passes', async (t) => {
  const { fabric, nodes, takeRuns } = makeFabric();
  nodes[1].work = () => true;
  fabric.functions[1].writeCollect(0, 8, 0, 0);
  const passes: string[] = [];
  for (let pass = 0; pass < 10; pass++) {
    t.equal(fabric.run(64), true);
    passes.push(takeRuns());
  }
  t.same(passes, ['b', 'b', 'b', 'b', 'abcd', 'b', 'b', 'b', 'b', 'abcd']);
});

t.test('work that another node has made in the last run is not forgotten', async (t) => {
  const { fabric, nodes, takeRuns } = makeFabric();
  const [a, b, c] = nodes;
  // An alarm of c, of which the fabric does not know.
  c.work = () => {
    a.wake();
    return false;
  };
  fabric.functions[1].writeRegister(0, 4, 0, 0);
  t.equal(fabric.run(64), true, 'a runs again');
  t.equal(takeRuns(), 'bacd');
  c.work = () => false;
  b.work = () => false;
  t.equal(fabric.run(64), false);
  t.equal(takeRuns(), 'abcd');
});

t.test('a node that nothing has woken is asked whether it may be left out', async (t) => {
  const { fabric, nodes, takeRuns } = makeFabric();
  const [a, b, c] = nodes;
  const asked: string[] = [];
  const answer = (node: Node, isLeftOut: boolean): void => {
    Object.assign(node, { skip: () => asked.push(node.name) > 0 && isLeftOut });
  };
  answer(a, true);
  answer(b, false);
  answer(c, true);
  fabric.functions[2].writeRegister(0, 4, 1, 0);
  t.equal(fabric.run(64), false);
  t.equal(takeRuns(), 'cbd', 'c is woken, b may have work, d is not asked');
  t.same(asked, ['a', 'b']);
  b.work = () => {
    c.wake();
    return false;
  };
  t.equal(fabric.run(64), false);
  t.equal(takeRuns(), 'bcd', 'c is woken before it is asked');
});
