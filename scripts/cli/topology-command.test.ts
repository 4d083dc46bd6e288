// SPDX-License-Identifier: Apache-2.0
/** `vuhca topology`: the text, the picture, and what cannot be shown. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { makeDirectory } from './testing/directory.ts';
import { runCli } from './testing/run-cli.ts';
import { readTopologyFile } from './topology-file.ts';
import { BOX_HEIGHT, layOut } from './topology-layout.ts';
import { drawTopology } from './topology-picture.ts';
import { describeTopology } from './topology-text.ts';

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

t.test('the picture has a box for each node, and a curve with a tooltip for each link', async (t) => {
  const svg = drawTopology(readTopologyFile(write(t, MIXED)));
  const titles = [...svg.matchAll(/<title>(.*?)<\/title>/g)].map((match) => match[1]);
  t.same(titles, [
    'a:1 - s:1: 4x QDR, 40 Gb/s; cable',
    'b:1 - r:1: 1x DDR, 5 Gb/s; cable',
    's:2 - r:2: 4x QDR, 40 Gb/s; cable',
    's:3 - r:3: 4x QDR, 40 Gb/s; cable',
    'r:4 - q:1: 4x QDR, 1 Gb/s; seed 1, faults {drop:0.5}',
    'a:2 - b:2: 4x QDR, 40 Gb/s; cable',
    'c:1 - listen /tmp/&lt;x&gt;: socket',
  ]);
  t.equal([...svg.matchAll(/<rect class="switch"/g)].length, 3);
  t.equal([...svg.matchAll(/<rect class="adapter"/g)].length, 3);
  t.equal([...svg.matchAll(/class="link faulty"/g)].length, 1);
  t.match(svg, /2 x 40 Gb\/s/, 'links of the same two nodes have one word');
  const curves = [...svg.matchAll(/ d="(.*?)"/g)].map((match) => match[1]);
  t.equal(new Set(curves).size, curves.length, 'no two links coincide');
});

t.test('boxes lie in the picture and apart from each other', async (t) => {
  for (const generate of [
    { star: { adapters: 5 } },
    { ring: { switches: 5, adaptersPerSwitch: 3 } },
    { 'fat-tree': { leaves: 8, spines: 4, adaptersPerLeaf: 8 } },
  ]) {
    const { places, width, height } = layOut(readTopologyFile(write(t, { generate })));
    const boxes = [...places.values()];
    for (const [index, one] of boxes.entries()) {
      const isInside = one.x - one.width / 2 >= 0 && one.x + one.width / 2 <= width;
      if (!isInside || one.y < BOX_HEIGHT || one.y > height - BOX_HEIGHT) t.fail(`${one.name} is outside`);
      for (const other of boxes.slice(index + 1)) {
        const isApart =
          Math.abs(one.x - other.x) >= (one.width + other.width) / 2 || Math.abs(one.y - other.y) >= BOX_HEIGHT;
        if (!isApart) t.fail(`${one.name} and ${other.name} overlap`);
      }
    }
  }
});

t.test('the command prints, draws, and says what is wrong', async (t) => {
  const path = write(t, { generate: { star: { adapters: 2 } } });
  t.match(await runCli(['topology', path], {}), { status: 0, stdout: /^s1 +switch +2 /m, stderr: '' });
  const picture = `${path}.svg`;
  t.match(await runCli(['topology', path, '--picture', picture], {}), { status: 0, stdout: '' });
  t.match(readFileSync(picture, 'utf8'), /^<svg .*\n.*<\/svg>\n$/s);
  t.match(await runCli(['topology', write(t, {})], {}), { status: 2, stderr: /: adapters is missing/ });
  t.match(await runCli(['topology', path, '--picture', '/none/x'], {}), {
    status: 1,
    stderr: /the picture \/none\/x cannot be written \(ENOENT\)/,
  });
});
