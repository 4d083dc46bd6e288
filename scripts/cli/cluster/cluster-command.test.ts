// SPDX-License-Identifier: Apache-2.0
/** Calls of `vuhca cluster` that need no cluster: mistakes, and that none runs. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { claimPlace, findClusters, placeOf } from '../cluster-client/cluster-place.ts';
import { makeDirectory } from '../testing/directory.ts';
import { runWords } from '../testing/run-words.ts';

const folder = makeDirectory(t);
const environment = { XDG_RUNTIME_DIR: folder };

t.test('words that do not fit get a sentence', async (t) => {
  const mistakes: [words: string[], stderr: RegExp][] = [
    [[], /argument <ACTION> is missing|ACTION/],
    [['dance'], /dance is not understood; say up, list, exec/],
    [['up', 'a', 'b'], /b is one argument too many: vuhca cluster up \[FILE\]/],
    [['up', '--nodes', '0'], /option --nodes is 0; it must be a whole number from 1 to 1000/],
    [['up', '--all'], /option --all does not belong to up/],
    [['list', '--nodes', '2'], /option --nodes does not belong to list/],
    [['up', '--fabric', 'none'], /cluster none: it cannot be read/],
    [['up', 'x.json', '--fabric', 'y.json'], /--fabric names y\.json, and FILE is x\.json: give one of them/],
    [['up', '--personality', 'cx9'], /--personality/],
    [['up', '--spin', 'on'], /option --spin is on; it must be auto, off, or microseconds from 1 to 10000/],
    [['plan', '--spin', 'off'], /option --spin does not belong to plan/],
    [['up', '--name', 'a/b'], /option --name is a\/b; it must have 1 to 31 letters, digits and hyphens/],
    [['up', '--record', 'x', '--ibsim', '7'], /--record cannot be given with --ibsim/],
    [['up', '--packages', 'a b'], /option --packages is a b; a b is no name: it must be names of Debian packages/],
    [['up', '--disk', 'x', '--packages', 'fio'], /option --packages cannot be given with --disk, which has its own/],
    [['up', '--disk', 'x', '--kernel', 'trixie'], /option --kernel cannot be given with --disk, which has its own/],
    [['exec', 'node1'], /the command is missing: vuhca cluster exec NODE\.\.\. -- COMMAND/],
    [['exec', '--', 'true'], /a node is missing: name one, or give --all/],
    [['exec', 'node1', '--all', '--', 'true'], /give --all or node1, not both/],
    [['list', '--', 'x'], /nothing may follow -- in list/],
    [['copy', 'a'], /a word is missing: vuhca cluster copy SOURCE TARGET/],
    [['copy', 'a', 'b'], /one of SOURCE and TARGET must be NODE:PATH/],
    [['copy', 'a:b', 'c:d'], /one of SOURCE and TARGET must be NODE:PATH/],
    [['copy', 'a', ':b'], /a node is missing before the colon; or give --all/],
    [['copy', '--all', 'a', 'b:c'], /with --all, TARGET is b:c; it must be :PATH/],
    [['fault', 'node1'], /a word is missing: vuhca cluster fault LINK KEY=VALUE/],
  ];
  for (const [words, stderr] of mistakes)
    t.match(await runWords(['cluster', ...words], environment), { status: 2, stdout: '', stderr }, words.join(' '));
});

t.test('commands without a cluster say how to get one', async (t) => {
  const none = /no cluster default is running; `vuhca cluster up` starts one/;
  const calls = [['list'], ['exec', 'n', '--', 'true'], ['copy', 'a', 'n:'], ['stop', 'n'], ['cut', 'n'], ['down']];
  for (const words of calls)
    t.match(
      await runWords(['cluster', ...words], environment),
      { status: 1, stdout: '', stderr: none },
      words.join(' '),
    );
  const named = await runWords(['cluster', 'list'], { ...environment, VUHCA_CLUSTER: 'other' });
  t.match(named, { status: 1, stderr: /no cluster other is running/ });
});

t.test('the folder of a dead cluster gives way, that of a living one does not', async (t) => {
  const before = process.env.XDG_RUNTIME_DIR;
  process.env.XDG_RUNTIME_DIR = folder;
  t.teardown(() => {
    if (before === undefined) delete process.env.XDG_RUNTIME_DIR;
    else process.env.XDG_RUNTIME_DIR = before;
  });
  const place = placeOf('one');
  mkdirSync(place.folder, { recursive: true });
  writeFileSync(join(place.folder, 'rest'), '');
  const server = createServer();
  await claimPlace(place, () => new Promise<void>((resolve) => server.listen(place.socketPath, resolve)));
  t.notOk(existsSync(join(place.folder, 'rest')), 'what the dead one left is removed');
  t.same(await findClusters(), ['one']);
  await t.rejects(
    claimPlace(place, async () => {}),
    { message: /cluster one is running: `vuhca cluster down` ends it/ },
  );
  t.ok(existsSync(place.socketPath), 'the living one keeps its socket');
  t.match(await runWords(['cluster', 'list']), { stderr: /no cluster default is running; these run: one/ });
  await new Promise((resolve) => server.close(resolve));
  await t.rejects(
    claimPlace(place, () => Promise.reject(new Error('no'))),
    { message: 'no' },
  );
  t.notOk(existsSync(place.folder), 'a start that fails leaves nothing');
});
