// SPDX-License-Identifier: Apache-2.0
/** Nodes and fabric that options and files of `vuhca cluster up` ask for, and mistakes in them. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { makeDirectory } from '../testing/directory.ts';
import { readTopologyValue } from '../topology/topology-file.ts';
import { type ClusterChoice, FABRIC_RULES, readCluster } from './cluster-file.ts';
import { addressOf, NODES_MAX } from './cluster-spec.ts';

const defaults = { personality: 'mlx5', cpus: 1, tcgThread: 'multi', packages: [] } as const;
const directory = makeDirectory(t);

function readFile(content: unknown, choice: Partial<ClusterChoice> = {}) {
  const file = join(directory, 'cluster.json');
  writeFileSync(file, JSON.stringify(content));
  return readCluster({ ...defaults, file, ...choice });
}

t.test('each rule has a place for every node, whatever their number', async (t) => {
  for (const fabric of FABRIC_RULES)
    for (const nodes of [1, 2, 3, 5, 16, 31]) {
      const shape = readCluster({ ...defaults, fabric, nodes });
      const { adapters, links } = readTopologyValue(shape.topology, '/');
      const names = adapters.map(({ name }) => name);
      t.same(
        names,
        Array.from({ length: nodes }, (_, index) => `node${index + 1}`),
      );
      const ends = links.flatMap((link) => ('ports' in link ? link.ports : []));
      for (const name of names) t.ok(ends.includes(`${name}:1`), `${fabric} of ${nodes} links ${name}`);
    }
});

t.test('addresses are those of a network, and differ', async (t) => {
  const addresses = Array.from({ length: NODES_MAX }, (_, index) => addressOf(index + 1));
  t.equal(new Set(addresses).size, NODES_MAX);
  t.equal(addresses[0], '10.77.0.1');
  t.equal(addresses[250], '10.77.1.1');
  for (const address of addresses)
    t.ok(address.split('.').every((part) => Number(part) < 255 && part !== '') && !address.endsWith('.0'), address);
});

t.test('a file with nodes, adapters and a fabric', async (t) => {
  const shape = readFile(
    {
      nodes: { head: {}, worker: { memory: 512, cpus: 2, packages: ['fio'], personality: 'vuhca' } },
      adapters: { worker: { portLids: [9, 10] }, door: { personality: 'mthca' } },
      switches: { s: { ports: 8 } },
      links: [{ ports: ['head:1', 's'] }, { ports: ['worker:1', 's'] }, { ports: ['door:1', 's'] }],
    },
    { packages: ['iperf'] },
  );
  t.match(shape.nodes, [
    { name: 'head', number: 1, address: '10.77.0.1', personality: 'mlx5', cpus: 1, packages: ['iperf'] },
    { name: 'worker', number: 2, memoryMiB: 512, cpus: 2, personality: 'vuhca', packages: ['fio', 'iperf'] },
  ]);
  t.same(shape.free, ['door']);
  const { adapters } = readTopologyValue(shape.topology, '/');
  t.match(adapters, [
    { name: 'head', personality: 'mlx5', sockets: ['/head.sock'] },
    { name: 'worker', options: { portLids: [9, 10] }, sockets: ['/worker.sock'] },
    { name: 'door', personality: 'mthca', sockets: ['/door.sock'] },
  ]);
});

t.test('nodes take turns by option, by member, or by their adapter, which our provider is told', async (t) => {
  const turns = ({ nodes, topology }: ReturnType<typeof readFile>): string[] => {
    const adapters = readTopologyValue(topology, '/').adapters;
    return adapters.map(({ name, options }) => {
      const node = nodes.find((one) => one.name === name);
      return `${name} ${node?.tcgThread} ${'pollsPause' in options && options.pollsPause}`;
    });
  };
  const file = {
    nodes: { a: {}, b: { tcgThread: 'single' }, c: { personality: 'mlx5', tcgThread: 'single' }, d: {} },
    adapters: { d: { pollsPause: true }, door: {} },
  };
  const usual = readFile(file, { personality: 'vuhca' });
  t.same(turns(usual), ['a multi false', 'b single true', 'c single false', 'd single true', 'door undefined false']);
  const all = readFile(file, { personality: 'vuhca', tcgThread: 'single' });
  t.same(turns(all), ['a single true', 'b single true', 'c single false', 'd single true', 'door undefined true']);
});

t.test('a disk belongs to a node or to all, and has the packages', async (t) => {
  const shape = readFile(
    { nodes: { own: { disk: 'own.img' }, given: {} } },
    { disk: '/images/given.img', packages: ['fio'] },
  );
  t.match(shape.nodes, [
    { disk: join(directory, 'own.img'), packages: [] },
    { disk: '/images/given.img', packages: [] },
  ]);
  const [{ disk, packages }] = readFile({ nodes: 1 }, { packages: ['fio'] }).nodes;
  t.same([disk, packages], [undefined, ['fio']]);
});

t.test('without nodes, those of the topology', async (t) => {
  const names = ({ nodes }: { nodes: readonly { name: string }[] }) => nodes.map(({ name }) => name);
  const star = { generate: { star: { adapters: 3 } } };
  t.same(names(readFile(star)), ['node1', 'node2', 'node3']);
  t.same(names(readFile({ ...star, nodes: 2 })), ['node1', 'node2']);
  t.same(names(readFile({ adapters: { a: { sockets: ['x.sock', 'y.sock'] }, b: {} } })), ['a', 'b']);
  t.same(names(readFile({}, { nodes: 4 })), ['node1', 'node2', 'node3', 'node4']);
  t.equal(readFile({ ...star, subnet: 'external' }).isUnmanaged, true);
  t.equal(readFile(star).isUnmanaged, false);
});

t.test('each function of an adapter has a socket that its name tells', async (t) => {
  const { topology } = readFile({ adapters: { a: { sockets: ['x', 'y'], personality: 'vuhca' } } });
  t.match(topology, { adapters: { a: { sockets: ['a.sock', 'a.1.sock'] } } });
});

t.test('links to other processes keep their places', async (t) => {
  const links = [
    { port: 'node1:1', listen: 'cable' },
    { port: 'node2:1', connect: '/tmp/cable' },
  ];
  const { topology } = readFile({ nodes: 2, links });
  t.match(topology, { links: [{ listen: join(directory, 'cable') }, { connect: '/tmp/cable' }] });
});

t.test('a mistake gets a sentence', async (t) => {
  const mistakes: [content: unknown, message: RegExp, choice?: Partial<ClusterChoice>][] = [
    [7, /the file is 7; it must be an object/],
    [{ nodes: 0 }, /nodes is 0; it must be an object, or a whole number from 1 to 1000/],
    [{ nodes: {} }, /0 nodes are asked for; a cluster has 1 to 1000/],
    [{ nodes: 1001 }, /nodes is 1001/],
    [{ nodes: { 'a b': {} } }, /node a b: a name must be a letter, then at most 30 letters/],
    [{ nodes: { localhost: {} } }, /node localhost: a name must be/],
    [{ nodes: { a: 3 } }, /node a is 3; it must be an object/],
    [
      { nodes: { a: { memroy: 3 } } },
      /node a: unknown name memroy; known are personality, memory, cpus, tcgThread, packages, disk/,
    ],
    [{ nodes: { a: { disk: 7 } } }, /node a: disk is 7; it must be/],
    [
      { nodes: { a: { disk: 'x', packages: ['fio'] } } },
      /node a: packages cannot be given with disk, which has its own/,
    ],
    [{ nodes: { a: { memory: 8 } } }, /node a: memory is 8; it must be a whole number from 256/],
    [{ nodes: { a: { tcgThread: 'two' } } }, /node a: tcgThread is two; it must be multi, single/],
    [{ nodes: { a: { cpus: 1.5 } } }, /node a: cpus is 1.5; it must be a whole number from 1 to 64/],
    [{ nodes: { a: { personality: 'cx9' } } }, /node a: personality is cx9; it must be vuhca, mthca/],
    [{ nodes: { a: { packages: ['$(x)'] } } }, /node a: "\$\(x\)" is no name of a Debian package/],
    [{ adapters: 3 }, /adapters is 3; it must be an object/],
    [{ adapters: { a: 3 } }, /adapter a is 3; it must be an object/],
    [{ links: 3 }, /links is 3; it must be a list/],
    [{ nodes: 2, switchs: {} }, /unknown name switchs/],
    [{ nodes: 3, generate: { star: { adapters: 2 } } }, /places for 2 adapters, and there are 3/],
    [{ generate: { star: {} } }, /option --fabric is ring, and the file has a fabric/, { fabric: 'ring' }],
  ];
  for (const [content, message, choice] of mistakes)
    t.throws(() => readFile(content, choice), { name: 'UsageError', message }, JSON.stringify(content));
  t.throws(() => readCluster({ ...defaults, file: join(directory, 'none') }), {
    name: 'UsageError',
    message: /cluster \S+none: it cannot be read/,
  });
});
