// SPDX-License-Identifier: Apache-2.0
/** `vuhca topology`: the text, the picture, and files that cannot be shown. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { defaultFaultyLinkOptions } from '../../../device/fabric/link/link-options.ts';
import { layOutGraph } from '../../picture/graph-layout.ts';
import { findGraphFaults } from '../../picture/testing/graph-faults.ts';
import { placeTexts } from '../../picture/testing/read-svg.ts';
import { makeDirectory } from '../testing/directory.ts';
import { runWords } from '../testing/run-words.ts';
import { linkWords } from '../topology/link-text.ts';
import { readTopologyFile } from '../topology/topology-file.ts';
import { drawTopology, graphOf } from '../topology/topology-picture.ts';
import { describeTopology } from '../topology/topology-text.ts';

const MIXED = {
  adapters: { a: { sockets: ['a'] }, b: { sockets: ['b'] }, c: { sockets: ['c'] } },
  switches: { s: { ports: 4 }, r: { ports: 4 }, q: { ports: 4 } },
  links: [
    { ports: ['a:1', 's'] },
    { ports: ['b:1', 'r'], width: '1x', speed: 'DDR' },
    { ports: ['s', 'r'] },
    { ports: ['s', 'r'] },
    { ports: ['r', 'q'], bitsPerSecond: 1e9, faults: { drop: 0.5 } },
    { ports: ['a:2', 'b:2'] },
    { port: 'c:1', listen: '/tmp/<x>' },
  ],
};

function write(t: Test, content: unknown): string {
  const path = join(makeDirectory(t), 'topology.json');
  writeFileSync(path, JSON.stringify(content));
  return path;
}

t.test('the text has every node, link, rate and property', async (t) => {
  const text = describeTopology(readTopologyFile(write(t, MIXED)));
  t.equal(
    text,
    `node  kind     ports  node GUID         lanes
s     switch       4  0056554853570000      1
r     switch       4  0056554853570040      1
q     switch       4  0056554853570080      1
a     adapter      2  0056554843410000      1
b     adapter      2  0056554843410010      1
c     adapter      2  0056554843410020      1

link  to               rate             properties
a:1   s:1              4x QDR, 40 Gb/s  cable
b:1   r:1              1x DDR, 5 Gb/s   cable
s:2   r:2              4x QDR, 40 Gb/s  cable
s:3   r:3              4x QDR, 40 Gb/s  cable
r:4   q:1              4x QDR, 1 Gb/s   seed 1, faults {drop:0.5}
a:2   b:2              4x QDR, 40 Gb/s  cable
c:1   listen /tmp/<x>                   socket

The subnet is managed by the built-in subnet managers at s, a:2, c:1.
`,
  );
});

t.test('the text shows embedded switches', async (t) => {
  const text = describeTopology(
    readTopologyFile(write(t, { adapters: { a: { sockets: ['a', 'b'], portModel: 'vswitch' } } })),
  );
  t.match(text, /^a +adapter, 2 behind switches +2 /m);
  t.match(text, /The subnet is managed by the built-in subnet manager at a\/s1\.$/m);
});

t.test('the picture has a box for each node, a line with its words for each link, and a legend', async (t) => {
  const svg = await drawTopology(readTopologyFile(write(t, MIXED)));
  const titles = [...svg.matchAll(/<title>(.*?)<\/title>/g)].map((match) => match[1]);
  t.match(titles[0], /^3 switches, 3 adapters, 7 links\. The subnet is managed by /);
  t.same(titles.slice(1).sort(), [
    'a:1 - s:1: 4x QDR, 40 Gb/s; cable',
    'a:2 - b:2: 4x QDR, 40 Gb/s; cable',
    'b:1 - r:1: 1x DDR, 5 Gb/s; cable',
    'c:1 - listen /tmp/&lt;x&gt;: socket',
    'r:4 - q:1: 4x QDR, 1 Gb/s; seed 1, faults {drop:0.5}',
    's:2 - r:2: 4x QDR, 40 Gb/s; cable',
    's:3 - r:3: 4x QDR, 40 Gb/s; cable',
  ]);
  for (const [kind, count] of Object.entries({ switch: 3, adapter: 3, outside: 1 }))
    t.equal([...svg.matchAll(new RegExp(`<g class="node ${kind}"`, 'g'))].length, count, kind);
  for (const [kind, count] of Object.entries({ cable: 5, impaired: 1, socket: 1 }))
    t.equal([...svg.matchAll(new RegExp(`<g class="link ${kind}"`, 'g'))].length, count, kind);
  const texts = placeTexts(svg).map(({ text }) => text);
  t.equal(texts.filter((text) => text === '4x QDR, 40 Gb/s').length, 4, 'every cable has its rate');
  for (const text of ['4x QDR, 1 Gb/s', 'drop 50 %', '1x DDR, 5 Gb/s', 'listen /tmp/<x>', 'another process'])
    t.ok(texts.includes(text), text);
});

t.test('LIDs stand beside ports where the file decides them', async (t) => {
  const two = { adapters: { a: { sockets: ['a'] }, b: { sockets: ['b'], portLids: [7, 8] } } };
  const links = [{ ports: ['a:1', 'b:1'] }, { ports: ['a:2', 'b:2'], delayNs: 5000 }];
  const textsOf = async (content: object): Promise<string[]> =>
    placeTexts(await drawTopology(readTopologyFile(write(t, content)))).map(({ text }) => text);
  const texts = await textsOf({ ...two, links });
  for (const text of ['1: LID 1', '2: LID 2', '1: LID 7', '2: LID 8', 'takes 5 us']) t.ok(texts.includes(text), text);
  t.notMatch((await textsOf(MIXED)).join('\n'), /: LID /, 'a manager gives them');
});

t.test('every option of a link that the file sets stands on the link', async (t) => {
  const flaps = [{ atNs: 1, lengthNs: 2 }];
  const schedule = [{ fault: 'drop' as const, direction: 0 as const, packet: 1 }];
  const all = { ...defaultFaultyLinkOptions, faults: { drop: 0.001, delay: 1 }, delayNs: 1500, flaps, schedule };
  t.equal(linkWords({ ...all, flapEveryNs: 2e9, flapLengthNs: 3e6 }).length, Object.keys(all).length, 'the rate apart');
  t.same(linkWords({ ...all, flaps: [], schedule: [] }).slice(0, 3), ['drop 0.1 %', 'delay 100 %', 'takes 1.5 us']);
  t.same(linkWords({}), []);
});

t.test('generated topologies are legible: nothing lies on anything else', async (t) => {
  for (const generate of [
    { star: { adapters: 5 } },
    { ring: { switches: 5, adaptersPerSwitch: 2, trunks: 2 } },
    { 'fat-tree': { leaves: 3, spines: 2, adaptersPerLeaf: 2, trunks: 2 } },
  ]) {
    const graph = graphOf(readTopologyFile(write(t, { generate })));
    t.same(findGraphFaults(await layOutGraph(graph)), [], JSON.stringify(generate));
  }
});

t.test('the command prints, draws, and says what is wrong', async (t) => {
  const path = write(t, { generate: { star: { adapters: 2 } } });
  t.match(await runWords(['topology', path]), { status: 0, stdout: /^s1 +switch +2 /m, stderr: '' });
  const picture = `${path}.svg`;
  t.match(await runWords(['topology', path, '--picture', picture]), { status: 0, stdout: '' });
  t.match(readFileSync(picture, 'utf8'), /^<svg .*\n.*<\/svg>\n$/s);
  t.match(await runWords(['topology', write(t, {})]), { status: 2, stderr: /: adapters is missing/ });
  t.match(await runWords(['topology', path, '--picture', '/none/x']), {
    status: 1,
    stderr: /option --picture names \/none\/x, which cannot be written \(ENOENT\): /,
  });
});
