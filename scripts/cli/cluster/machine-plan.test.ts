// SPDX-License-Identifier: Apache-2.0
/**
 * The split of clusters between machines: random ones, whose parts together are the whole, and what
 * cannot be split. The parts are read as `vuhca cluster up` reads them.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { LinkPlan, Topology } from '../../../device/process/host/topology.ts';
import { Random } from '../../../device/random.ts';
import { makeDirectory } from '../testing/directory.ts';
import { runWords } from '../testing/run-words.ts';
import { readTopologyValue } from '../topology/topology-file.ts';
import { type ClusterChoice, type ClusterShape, readCluster } from './cluster-file.ts';
import { hostWord, keyFileOf, type MachinePlan, NODE_KEY_FILE, splitCluster } from './machine-plan.ts';

const defaults = { personality: 'mlx5', cpus: 1, tcgThread: 'multi', packages: [] } as const;
const directory = makeDirectory(t);
const SEEDS = 60;
const FIRST_PORT = 7000;

function read(content: unknown, choice: Partial<ClusterChoice> = {}): { shape: ClusterShape; topology: Topology } {
  const file = join(directory, 'cluster.json');
  writeFileSync(file, JSON.stringify(content));
  const shape = readCluster({ ...defaults, file, ...choice });
  return { shape, topology: readTopologyValue(shape.topology, directory) };
}

function split(content: unknown, machines: number, nodesPerMachine: number, firstPort = FIRST_PORT): MachinePlan {
  const { shape, topology } = read(content);
  return splitCluster(shape, topology, { machines, nodesPerMachine, firstPort });
}

/** The part as its machine reads it, with the keys beside its file. */
function readPart(plan: MachinePlan, machine: number): { shape: ClusterShape; topology: Topology } {
  const folder = join(directory, `machine${machine}`);
  mkdirSync(folder, { recursive: true });
  for (const name of [NODE_KEY_FILE, ...plan.trunks.map(keyFileOf)])
    writeFileSync(join(folder, name), '5a'.repeat(32), { mode: 0o600, flag: 'w' });
  const text = JSON.stringify(plan.parts[machine].file).replaceAll(/@MACHINE(\d+)@/g, 'machine$1');
  const file = join(folder, 'cluster.json');
  writeFileSync(file, text);
  const shape = readCluster({ ...defaults, file });
  return { shape, topology: readTopologyValue(shape.topology, folder) };
}

/** A cluster of switches, nodes, doors and links, drawn by the seed. */
function draw(random: Random): object {
  const below = (limit: number): number => random.next() % limit;
  const names = (what: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${what}${i + 1}`);
  const switches = names('s', 1 + below(6));
  const nodes = names('n', 1 + below(12));
  const doors = names('door', below(3));
  const faults = (): object => (below(4) === 0 ? { seed: below(100), faults: { drop: 0.25 } } : {});
  const one = (list: readonly string[]): string => list[below(list.length)];
  const two = below(3) === 0 ? nodes.slice(0, 2) : [];
  return {
    nodes: Object.fromEntries(
      nodes.map((name) => [name, below(3) === 0 ? { personality: 'mthca', disk: '/d.img' } : {}]),
    ),
    adapters: Object.fromEntries([
      ...doors.map((name) => [name, {}]),
      ...two.map((name) => [name, { personality: 'mlx5', sockets: ['a', 'b'] }]),
    ]),
    switches: Object.fromEntries(switches.map((name) => [name, { ports: 36 }])),
    links: [
      ...[...nodes, ...doors].map((name) => ({ ports: [`${name}:1`, one(switches)], ...faults() })),
      ...(two.length > 0 && below(2) === 0 ? [{ ports: [`${two[0]}/1:1`, one(switches)] }] : []),
      ...Array.from({ length: switches.length < 2 ? 0 : below(12) }, () => {
        const from = below(switches.length);
        const to = (from + 1 + below(switches.length - 1)) % switches.length;
        return { ports: [switches[from], switches[to]], ...faults() };
      }),
    ],
  };
}

/** What a link is, whatever the order of its ends. */
function describe(link: LinkPlan): string {
  if (!('ports' in link)) return '';
  const { kind: _, ...properties } = link.link;
  return `${[...link.ports].sort().join(' ')} ${JSON.stringify(properties)}`;
}

function checkWhole(t: Test, content: object, random: Random): void {
  const { shape, topology } = read(content);
  const nodesPerMachine = 1 + (random.next() % 4);
  const machines = Math.ceil(shape.nodes.length / nodesPerMachine);
  const plan = splitCluster(shape, topology, { machines, nodesPerMachine, firstPort: FIRST_PORT });
  const parts = plan.parts.map((_, machine) => readPart(plan, machine));
  const whole = (list: readonly (readonly unknown[])[], what: string, all: readonly unknown[]): void => {
    t.same(list.flat().map(String).sort(), all.map(String).sort(), `${what} are on one machine each`);
  };
  const namesOf = ({ adapters, switches }: Topology): string[] =>
    [...adapters, ...switches].map(
      ({ name, ...node }) =>
        // GUIDs decide who is who in the subnet.
        `${name} ${'options' in node ? `${node.options.nodeGuid} ${node.options.portLids}` : node.nodeGuid}`,
    );
  whole(
    parts.map((part) => namesOf(part.topology)),
    'nodes of the fabric',
    namesOf(topology),
  );
  const nodeOf = ({ nodes }: ClusterShape): string[] => nodes.map((node) => JSON.stringify(node));
  whole(
    parts.map((part) => nodeOf(part.shape)),
    'nodes, with their numbers and addresses,',
    nodeOf(shape),
  );
  for (const { shape: part } of parts) {
    t.ok(part.nodes.length >= 1 && part.nodes.length <= nodesPerMachine, `${part.nodes.length} nodes on a machine`);
    t.same(
      [...part.nodes, ...(part.others ?? [])].map(({ address }) => address).sort(),
      shape.nodes.map(({ address }) => address).sort(),
    );
    t.equal(part.isUnmanaged, false, 'nodes wait until their ports are active');
  }
  const joined = plan.trunks.map(({ tcpPort, listens, connects }) => {
    const [near, far] = [listens, connects].map(({ machine, port }) =>
      parts[machine].topology.links.find((link) => 'port' in link && link.port === port),
    );
    if (near === undefined || far === undefined || 'ports' in near || 'ports' in far)
      throw new Error('an end is missing');
    t.match(
      [near, far],
      [
        { role: 'listen', endpoint: { host: '0.0.0.0', port: tcpPort }, key: {} },
        { role: 'connect', endpoint: { host: `machine${listens.machine + 1}`, port: tcpPort }, key: {} },
      ],
    );
    t.same(near.link, far.link, 'what goes out has the same faults at both ends');
    return `${[near.port, far.port].sort().join(' ')} ${JSON.stringify(near.link?.outgoing ?? {})}`;
  });
  const inside = parts.map((part) => part.topology.links.map(describe).filter((text) => text !== ''));
  whole([...inside, joined], 'links', topology.links.map(describe));
  const ends = parts.flatMap((part) => part.topology.links.filter((link) => 'port' in link));
  t.equal(ends.length, 2 * plan.trunks.length, 'a trunk has two ends');
  t.equal(new Set(plan.trunks.map(({ tcpPort }) => tcpPort)).size, plan.trunks.length, 'no TCP port is used twice');
  const ports = parts.flatMap((part) =>
    part.topology.links.flatMap((link) => ('ports' in link ? link.ports : [link.port])),
  );
  t.equal(new Set(ports).size, ports.length, 'no port is used twice');
  t.ok(
    parts.some((part) => part.topology.subnet === 'managed'),
    'a subnet manager is there',
  );
}

t.test('the parts of random clusters are the whole', async (t) => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = new Random(seed);
    await t.test(`seed ${seed}`, async (t) => checkWhole(t, draw(random), random));
  }
});

t.test('switches are near their nodes', async (t) => {
  const tree = { nodes: 4, generate: { 'fat-tree': { leaves: 2, spines: 2, adaptersPerLeaf: 2 } } };
  const { parts, trunks } = split(tree, 2, 2);
  t.match(parts, [
    { nodes: [{ name: 'node1' }, { name: 'node2' }], switches: ['leaf1', 'spine1'], file: { subnet: 'managed' } },
    { nodes: [{ name: 'node3' }, { name: 'node4' }], switches: ['leaf2', 'spine2'], file: { subnet: 'external' } },
  ]);
  t.equal(trunks.length, 2);
  t.equal(hostWord(1), '@MACHINE2@');
});

t.test('each separate part of the fabric has a subnet manager', async (t) => {
  const links = [{ ports: ['a:1', 's'] }, { ports: ['b:1', 'r'] }];
  const { parts } = split({ nodes: ['a', 'b'], switches: { s: { ports: 2 }, r: { ports: 2 } }, links }, 2, 1);
  t.match(parts, [{ file: { subnet: 'managed' } }, { file: { subnet: 'managed' } }]);
});

t.test('what cannot be split gets a sentence', async (t) => {
  const two = { nodes: 2 };
  const between = (link: object) => ({
    nodes: ['a', 'b'],
    switches: { s: { ports: 4 } },
    links: [{ ports: ['a:1', 's'] }, { ports: ['b:1', 's'], ...link }],
  });
  const mistakes: [content: unknown, firstPort: number, message: RegExp][] = [
    [{ nodes: 3 }, FIRST_PORT, /^3 nodes, 1 on each machine, need 3 machines, and --machines is 2$/],
    [{ nodes: 1 }, FIRST_PORT, /^1 nodes, 1 on each machine, need 1 machines/],
    [between({ speed: 'SDR' }), FIRST_PORT, /^the link between b:1 and s:2 would be one between machines, which can/],
    [between({ flapEveryNs: 5 }), FIRST_PORT, /would be one between machines, which can have no flaps$/],
    [between({ ports: undefined, port: 'b:1', listen: 'x' }), FIRST_PORT, /^the link of b:1 leads to another process/],
    [{ ...two, generate: { 'fat-tree': { adaptersPerLeaf: 1 } } }, 65_535, /^2 trunks need ports up to 65536; the/],
  ];
  for (const [content, firstPort, message] of mistakes)
    t.throws(() => split(content, 2, 1, firstPort), { message }, JSON.stringify(content));
});

t.test('options that are missing, or do not fit', async (t) => {
  const two = ['--machines', '2', '--nodes-per-machine', '1'];
  const mistakes: [words: string[], stderr: RegExp][] = [
    [['--nodes-per-machine', '1', '--format', 'slurm'], /option --machines is missing/],
    [['--machines', '2', '--format', 'slurm'], /option --nodes-per-machine is missing/],
    [two, /option --format is missing; it must be slurm or ssh/],
    [[...two, '--format', 'ssh'], /option --hosts is missing: with --format ssh it names all machines/],
    [[...two, '--format', 'ssh', '--hosts', 'a'], /option --hosts names 1 machines, and --machines is 2/],
    [[...two, '--format', 'ssh', '--hosts', 'a,-b'], /option --hosts is a,-b; "-b" is no name of a machine/],
    [[...two, '--format', 'slurm', '--record', 'x'], /option --record does not belong to plan/],
    [[...two, '--format', 'slurm', '--name', 'x'.repeat(30)], /it must have 1 to 31 letters/],
  ];
  for (const [words, stderr] of mistakes)
    t.match(await runWords(['cluster', 'plan', ...words]), { status: 2, stdout: '', stderr }, words.join(' '));
  const slurm = await runWords(['cluster', 'plan', ...two, '--format', 'slurm', '--hosts', 'a,b', '--cpus', '3']);
  t.match(slurm, { status: 0, stdout: /^#!\/bin\/sh\n#SBATCH .*\n#SBATCH --cpus-per-task=4\n.*--nodelist=a,b\n/s });
});
