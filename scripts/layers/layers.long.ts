// SPDX-License-Identifier: Apache-2.0
/** The check of layers finds a reversed import, even of a type, a circle, and a wrong table. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { cruiseLayers } from './cruise.ts';
import type { Layer } from './layer.ts';
import { layers } from './layers.ts';
import { resolveNames, shortName } from './names.ts';
import { checkTable, checkUnused, checkWings, fillIn, renderPicture, renderTable, renderWings } from './table.ts';

const small: readonly Layer[] = [
  { path: 'house/ground', holds: 'the ground floor', uses: [] },
  { path: 'house/ground/cellar', holds: 'below it', uses: ['house/ground'] },
  { path: 'house/first', holds: 'the first floor', uses: ['house/ground'] },
  { path: 'house/roof', holds: 'the roof', uses: ['house/ground', 'house/first'] },
];

const sound = {
  'house/ground/floor.ts': 'export interface Floor { a: number }\nexport const floor: Floor = { a: 1 };\n',
  'house/ground/cellar/cellar.ts': "import { floor } from '../floor.ts';\nexport const cellar = floor.a;\n",
  'house/first/room.ts': "import type { Floor } from '../ground/floor.ts';\nexport const room: Floor = { a: 2 };\n",
  'house/roof/roof.ts':
    "import { room } from '../first/room.ts';\nimport { floor } from '../ground/floor.ts';\nexport const roof = room.a + floor.a;\n",
  'house/ground/floor.test.ts': "import { roof } from '../roof/roof.ts';\nexport const tested = roof;\n",
};

/** Checks a house of these files. */
function check(test: Test, files: Readonly<Record<string, string>>) {
  const root = mkdtempSync(join(tmpdir(), 'vuhca-house-'));
  test.teardown(() => rmSync(root, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  writeFileSync(join(root, 'package.json'), '{ "type": "module" }\n');
  const { violations, used } = cruiseLayers(small, root, ['house']);
  return { messages: violations.map(({ from, message }) => `${from}: ${message}`), used };
}

t.test('a sound house has no violation, and its tests may use every floor', async (test) => {
  const { messages, used } = check(test, sound);
  test.same(messages, []);
  test.same([...(used.get('house/roof') ?? [])].sort(), ['house/first', 'house/ground']);
  test.same(checkUnused(small, used), []);
});

t.test('an import that is turned round is found, of a value and of a type', async (test) => {
  for (const kind of ['import', 'import type']) {
    const turned = {
      ...sound,
      'house/first/room.ts': 'export interface Room { a: number }\nexport const room: Room = { a: 2 };\n',
      'house/ground/floor.ts': `${kind} { Room } from '../first/room.ts';\nexport type Floor = Room;\nexport const floor = { a: 1 };\n`,
    };
    const { messages } = check(test, turned);
    test.same(
      messages,
      ['house/ground/floor.ts: house/ground must not import from house/first: house/first/room.ts'],
      kind,
    );
  }
});

t.test('a layer inside another one is a layer of its own', async (test) => {
  const { messages } = check(test, {
    ...sound,
    'house/ground/door.ts': "import { cellar } from './cellar/cellar.ts';\nexport const door = cellar;\n",
  });
  test.same(messages, [
    'house/ground/door.ts: house/ground must not import from house/ground/cellar: house/ground/cellar/cellar.ts',
  ]);
});

t.test('a circle of files in one layer is found, although only types go round', async (test) => {
  const { messages } = check(test, {
    ...sound,
    'house/first/a.ts': "import type { B } from './b.ts';\nexport interface A { b: B }\n",
    'house/first/b.ts': "import type { A } from './a.ts';\nexport interface B { a: A }\n",
  });
  test.equal(messages.length, 1);
  test.match(messages[0], /files import each other in a circle: house\/first\/[ab]\.ts -> house\/first\/[ab]\.ts/);
});

t.test('a program of a higher floor that is started by its path is found', async (test) => {
  const { messages } = check(test, {
    ...sound,
    'house/ground/bell.ts': "export const bell = new URL('../roof/roof.ts', import.meta.url);\n",
    'house/roof/ladder.ts': "export const ladder = new URL('../first/room.ts', import.meta.url);\n",
  });
  test.same(messages, ['house/ground/bell.ts: house/ground must not reach house/roof/roof.ts by its path']);
});

t.test('a file in no layer, and a use that is not made, are found', async (test) => {
  const { 'house/roof/roof.ts': _roof, ...roofless } = sound;
  const { messages, used } = check(test, {
    ...roofless,
    'house/garden/tree.ts': 'export const tree = 1;\n',
    'house/ground/floor.test.ts': '',
  });
  test.same(messages, ['house/garden/tree.ts: the file lies in no layer; add its folder to scripts/layers/layers.ts']);
  test.same(checkUnused(small, used).length, 2);
});

t.test('files with JSX have layers, uses and circles as all others', async (test) => {
  const page = "import { roof } from '../roof/roof.ts';\nexport const page = <p>{roof}</p>;\n";
  const wall = "import type { Door } from './door.tsx';\nexport const wall = (door: Door) => <p>{door}</p>;\n";
  const door =
    "import {\n  wall,\n} from './wall.tsx';\nexport type Door = string;\nexport const door = <p>{wall}</p>;\n";
  const { messages, used } = check(test, {
    ...sound,
    'house/ground/page.tsx': page,
    'house/roof/page.tsx': page,
    'house/garden/page.tsx': 'export const page = <p />;\n',
    'house/first/wall.tsx': wall,
    'house/first/door.tsx': door,
  });
  test.same(messages, [
    'house/garden/page.tsx: the file lies in no layer; add its folder to scripts/layers/layers.ts',
    'house/ground/page.tsx: house/ground must not import from house/roof: house/roof/roof.ts',
    'house/first/door.tsx: files import each other in a circle: house/first/door.tsx -> house/first/wall.tsx -> house/first/door.tsx',
  ]);
  test.same([...(used.get('house/ground') ?? [])], ['house/roof']);
});

t.test('rows that point up, or use what is for tests, are found', async (test) => {
  test.same(checkTable(layers), [], 'the table itself has none');
  test.same(
    checkTable([
      { path: 'a', holds: '', uses: ['b'] },
      { path: 'b', holds: '', uses: [] },
    ]),
    ['a uses b, which does not stand above it'],
  );
  const forTests = { path: 'a', holds: '', uses: [], forTests: true };
  test.same(checkTable([forTests, { path: 'b', holds: '', uses: ['a'] }]), ['b uses a, which is for tests']);
});

t.test('the document gets a table and a picture without implied arrows', async (test) => {
  test.match(renderTable(small, small), /\| `house\/roof` \| the roof \| `ground`, `first` \|/);
  const picture = renderPicture(small, 'house');
  test.match(picture, /house_roof --> house_first/);
  test.notMatch(picture, /house_roof --> house_ground\b/);
  test.equal(
    fillIn('x\n<!-- a: begin -->\nold\n<!-- a: end -->\ny\n', { a: 'new' }),
    'x\n<!-- a: begin -->\n\nnew\n\n<!-- a: end -->\ny\n',
  );
  test.throws(() => fillIn('x', { a: 'new' }), /no section "a"/);
});

t.test('wings have an order, and a picture of their own', async (test) => {
  const rows = [
    { path: 'house/ground/hall', holds: '', uses: [] },
    { path: 'house/first/room', holds: '', uses: ['house/ground/hall'] },
    { path: 'house/roof', holds: '', uses: ['house/ground/hall', 'house/first/room'] },
  ];
  test.same(checkWings(rows, 'house'), []);
  test.same(checkWings([...rows, { path: 'house/ground/door', holds: '', uses: [] }], 'house'), [
    'the rows of house/ground do not stand together',
  ]);
  const picture = renderWings(rows, 'house', []);
  test.match(picture, /house_first --> house_ground/);
  test.notMatch(picture, /house_roof --> house_ground/, 'it follows from others');
});

t.test('a short name means one path, or is refused', async (test) => {
  const rows = [
    { path: 'a/trace', holds: '', uses: '' },
    { path: 'b/trace', holds: '', uses: 'a/trace' },
    { path: 'b/port', holds: '', uses: 'b/trace' },
    { path: 'c', holds: '', uses: 'port' },
  ];
  test.same(
    resolveNames(rows).map(({ uses }) => uses),
    [[], ['a/trace'], ['b/trace'], ['b/port']],
  );
  test.throws(() => resolveNames([...rows, { path: 'd', holds: '', uses: 'trace' }]), /a\/trace or b\/trace/);
  test.throws(() => resolveNames([{ path: 'd', holds: '', uses: 'none' }]), /means no layer/);
  const paths = rows.map(({ path }) => path);
  test.same(
    paths.map((path) => shortName(path, paths)),
    ['a/trace', 'b/trace', 'port', 'c'],
  );
});
