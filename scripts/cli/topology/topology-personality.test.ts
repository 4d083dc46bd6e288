// SPDX-License-Identifier: Apache-2.0
/**
 * Topologies with adapters of personalities beside those with our own front end: the file,
 * its description, and a live process of all kinds whose recording replays.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { ControlClient } from '../../../device/process/control/control-client.ts';
import { VfioUserClient } from '../../../protocol/vfio-user/client/client.ts';
import { makeDirectory } from '../testing/directory.ts';
import { CliProcess } from '../testing/run-cli.ts';
import { runWords } from '../testing/run-words.ts';
import { readTopologyFile } from './topology-file.ts';
import { drawTopology } from './topology-picture.ts';
import { describeTopology } from './topology-text.ts';

t.setTimeout(0);
const CONFIG_REGION = 7;
const MIXED = {
  adapters: {
    a: { sockets: ['a.sock'] },
    m: { sockets: ['m.sock'], personality: 'mthca' },
    o: { sockets: ['o.sock'], personality: 'mthca-one-port', nodeGuid: '0056554843415000', portQueuePackets: 8 },
    x: { sockets: ['x.sock'], personality: 'mlx5' },
    f: { sockets: ['f.sock', 'g.sock'], personality: 'mlx5' },
  },
  switches: { s: { ports: 5 } },
  links: [
    { ports: ['a:1', 's'] },
    { ports: ['m:1', 's'] },
    { ports: ['o:1', 's'] },
    { ports: ['x:1', 's'] },
    { ports: ['f/1:1', 's'] },
    { ports: ['a:2', 'm:2'] },
  ],
};

function write(t: Test, content: unknown): string {
  const path = join(makeDirectory(t), 'topology.json');
  writeFileSync(path, JSON.stringify(content));
  return path;
}

t.test('a file with adapters of all kinds', async (t) => {
  const topology = readTopologyFile(write(t, MIXED));
  t.match(topology.adapters, [
    { name: 'a', personality: undefined, options: { portLids: [1, 2], functionCount: 1 } },
    {
      name: 'm',
      personality: 'mthca',
      options: { portCount: 2, portLids: [3, 4], nodeGuid: '0056554843410010', portQueuePackets: 64 },
    },
    {
      name: 'o',
      personality: 'mthca',
      options: { portCount: 1, portLids: [5, 6], nodeGuid: '0056554843415000', portQueuePackets: 8 },
    },
    { name: 'x', personality: 'mlx5', options: { portCount: 1, nodeGuid: '0056554843410030', nodeDescription: 'x' } },
    { name: 'f', options: { nodeGuid: '0056554843410040', nodeDescription: 'f', portLids: [9, 10] } },
    {
      name: 'f/1',
      functionOf: 'f',
      options: {
        nodeGuid: '0056554843410042',
        systemImageGuid: '0056554843410040',
        nodeDescription: 'f/1',
        portLids: [10, 10],
      },
    },
  ]);
  t.match(
    topology.adapters.slice(4).map(({ sockets }) => sockets),
    [[/\/f\.sock$/], [/\/g\.sock$/]],
  );
  const text = describeTopology(topology);
  t.match(text, /^a +adapter +2 +0056554843410000 +1$/m);
  t.match(text, /^m +adapter, mthca +2 +0056554843410010 +1$/m);
  t.match(text, /^o +adapter, mthca +1 +0056554843415000 +1$/m);
  t.match(text, /^x +adapter, mlx5 +1 +0056554843410030 +1$/m);
  t.match(text, /^f\/1 +adapter, mlx5 +1 +0056554843410042 +1$/m);
  t.match(await drawTopology(topology), /adapter of a personality/);
});

t.test('each mistake has its sentence', async (t) => {
  const one = (adapter: object) => ({ adapters: { m: { sockets: ['m.sock'], personality: 'mthca', ...adapter } } });
  const mistakes: [content: unknown, message: RegExp][] = [
    [one({ personality: 'cx3' }), /: adapter m: personality is "cx3"; it must be vuhca, mthca, mthca-one-port, mlx5$/],
    [one({ personality: 4 }), /: adapter m: personality is 4; it must be/],
    [one({ vcbCount: 4 }), /: adapter m: unknown name vcbCount; known are sockets, nodeGuid, /],
    [one({ sockets: ['x', 'y'] }), /: adapter m has 2 sockets for 1 functions; it needs one for each$/],
    [one({ portLids: [0, 1] }), /: adapter m: option portLids is 0,1; a unicast LID is 1 to 49151$/],
    [one({ nodeGuid: 'x' }), /: adapter m: option nodeGuid is x; it must be 16 hex digits$/],
    [
      one({ personality: 'mlx5', sockets: ['x', 'y', 'z'] }),
      /: adapter m has 3 sockets for 1 or 2 functions; it needs one for each$/,
    ],
    [one({ personality: 'mlx5', sockets: [] }), /: adapter m has no socket; it needs one for each function$/],
    [
      one({ personality: 'mlx5', sockets: ['x', 'x'] }),
      /: adapter m\/1: socket \S+x is named twice; sockets must differ$/,
    ],
    [one({ personality: 'mlx5', sockets: ['x', 'y'], portLids: [4, 4] }), /: adapters m and m\/1 both have LID 4; /],
    [{ adapters: { 'm/1': { sockets: ['m'], personality: 'mlx5' } } }, /: adapter name "m\/1" must be 1 to 32 letters/],
    [
      { ...one({ personality: 'mlx5', sockets: ['x', 'y'] }), links: [{ ports: ['m:1', 'm:2'] }] },
      /: link m:1 - m:2: port m:2 must end in :1; the port of its function 1 is m\/1:1$/,
    ],
    [one({ portQueuePackets: 1 }), /: adapter m: option portQueuePackets is 1; it must be 2 to 1024$/],
    ...['mthca-one-port', 'mlx5'].map((personality): [object, RegExp] => [
      { ...one({ personality }), links: [{ ports: ['m:1', 'm:2'] }] },
      /: link m:1 - m:2: port m:2 must end in :1$/,
    ]),
    [
      {
        adapters: { a: { sockets: ['a'], virtualLanes: 4 }, ...one({}).adapters },
        links: [{ ports: ['a:1', 'm:1'] }],
      },
      /it joins ports of 4 and 1 virtualLanes; both must have the same$/,
    ],
  ];
  for (const [content, message] of mistakes) t.throws(() => readTopologyFile(write(t, content)), { message });
});

t.test('the links of a device of two functions', async (t) => {
  const f = { sockets: ['f', 'g'], personality: 'mlx5' };
  const links = (content: object): string[] =>
    readTopologyFile(write(t, content)).links.map((link) => ('ports' in link ? link.ports.join(' ') : link.port));
  t.same(links({ adapters: { f } }), ['f:1 f/1:1'], 'a cable, as between the ports of other adapters');
  t.same(links({ adapters: { f, a: { sockets: ['a'] } }, links: [{ ports: ['f:1', 'a:1'] }] }), ['f:1 a:1']);
  t.same(links({ adapters: { f }, links: [{ port: 'f/1:1', listen: 'y' }] }), ['f/1:1']);
  const star = { generate: { star: { adapters: 2 } }, adapters: { f, a: { sockets: ['a'] } } };
  t.same(links(star), ['f:1 s1:1', 'a:1 s1:2'], 'a device takes one place');
  t.same(links({ ...star, links: [{ ports: ['f/1:1', 'a:2'] }] }), ['f:1 s1:1', 'a:1 s1:2', 'f/1:1 a:2']);
});

t.test('a process with adapters of all kinds, and its recording', async (t) => {
  const path = write(t, MIXED);
  const folder = join(path, '..');
  const recording = join(folder, 'x.rec');
  const device = new CliProcess(['device', '--topology', path, '--record', recording], { XDG_RUNTIME_DIR: folder });
  t.teardown(() => device.child.kill('SIGKILL'));
  const [, slot] = await device.until(/^one slot for (.*)$/m);
  t.equal(slot, `${join(folder, 'f.sock')} ${join(folder, 'g.sock')}`);
  const [, , controlPath] = await device.until(/^listening on (.*) control (\S+)$/m);
  for (const [name, identity] of [
    ['m', 0x628215b3],
    ['o', 0x627415b3],
    ['x', 0x101715b3],
    ['f', 0x101715b3],
    ['g', 0x101715b3],
  ] as const) {
    const guest = new VfioUserClient(join(folder, `${name}.sock`));
    guest.negotiate();
    t.equal(guest.read32(CONFIG_REGION, 0), identity, name);
    guest.close();
  }
  const client = await ControlClient.connect(controlPath);
  const active = async () => {
    const { links } = await client.request('status');
    return links.filter(({ up }) => up).map(({ ends }) => ends.join(' '));
  };
  // The driver of the personality switches its ports on; no guest has one here.
  let up = await active();
  while (up.length === 0) up = await active();
  t.same(up, ['a:1 s:1']);
  t.match(await client.request('fabric'), {
    nodes: ['a', 'm', 'o', 'x', 'f', 'f/1', 's'].map((name) => ({ name })),
  });
  const fail = (adapter: string) => client.request('fail', { adapter, cause: 'internal' });
  for (const name of ['o', 'x', 'f/1']) t.same(await fail(name), { cause: 'internal' }, 'the recording has it');
  await t.rejects(fail('a'), /adapter a has no personality, and only those have this/);
  await t.rejects(client.request('show', { view: 'vcbs' }), /name an adapter; there are a, m, o, x, f, f\/1$/);
  t.match((await client.request('status')).personalities, [
    { name: 'm', state: 'reset' },
    { name: 'o', state: 'failed' },
    { name: 'x', state: 'failed' },
    { name: 'f', state: 'reset' },
    { name: 'f/1', state: 'failed', functionOf: 'f' },
  ]);
  client.close();
  device.child.kill('SIGTERM');
  t.equal(await device.whenExited, 0);
  t.match(await runWords(['replay', recording]), { status: 0, stdout: /: identical: \d+ steps/ });
});
