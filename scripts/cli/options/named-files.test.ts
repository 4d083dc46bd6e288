// SPDX-License-Identifier: Apache-2.0
/**
 * Paths that users name, of every kind: each is read or written, or refused with one sentence that
 * names a remedy; nothing blocks, and nothing else is changed.
 */
import { execFileSync, spawn } from 'node:child_process';
import {
  closeSync,
  constants,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { makeDirectory } from '../testing/directory.ts';
import { runWords } from '../testing/run-words.ts';
import { checkInput, checkOutput, readNamedFile } from './named-files.ts';
import { nothing, wholeLines, writeOutput } from './write-output.ts';

// No bound holds on a busy machine.
t.setTimeout(0);

/** A folder with a file of each kind. */
async function makeKinds(t: Test): Promise<(name: string) => string> {
  const directory = makeDirectory(t);
  const path = (name: string): string => (name.startsWith('/') ? name : join(directory, name));
  writeFileSync(path('file'), 'text');
  writeFileSync(path('two\nlines'), 'text');
  mkdirSync(path('folder'));
  execFileSync('mkfifo', [path('fifo')]);
  symlinkSync('file', path('link'));
  symlinkSync('made-by-a-link', path('dangling'));
  symlinkSync('circle', path('circle'));
  linkSync(path('file'), path('hard-link'));
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(path('socket'), resolve));
  t.teardown(() => void server.close());
  return path;
}

const LONG = 'x'.repeat(300);
const FOLDER = /it is a folder; name a file$|\(EISDIR\): it is a folder; name a file in it$/;
const SOCKET = /it is a socket; name a file$|\(ENXIO\): it is a socket or a device, /;
const MISSING = /\(ENOENT\): it does not exist, or its folder does not; /;

/** Paths that are refused both as input and as output. */
const common: readonly [name: string, sentence: RegExp][] = [
  ['folder', FOLDER],
  ['socket', SOCKET],
  ['circle', /\(ELOOP\): its links lead in a circle; /],
  ['file/x', /\(ENOTDIR\): a part of the path is no folder; /],
  ['none/x', MISSING],
  [LONG, /\(ENAMETOOLONG\): the name is too long; /],
];

t.test('reading', async (t) => {
  const path = await makeKinds(t);
  for (const name of ['file', 'link', 'hard-link', 'two\nlines'])
    t.equal(`${readNamedFile('it', path(name))}`, 'text', name);
  const refused: typeof common = [
    ...common,
    ['dangling', MISSING],
    ['fifo', /nobody writes to this FIFO$/],
    ['/dev/null', /it is a device; name a file$/],
    ['/dev/zero', /it is a device; name a file$/],
    ['/dev/tty', /it is a device; name a file$|\(ENXIO\)/],
  ];
  for (const [name, message] of refused)
    t.throws(() => readNamedFile('it', path(name)), { name: 'SetupError', message }, name);
  // This process has the FIFO open, so its writer need not wait for a reader.
  const own = openSync(path('fifo'), constants.O_RDWR);
  const program = 'printf one; exec 2>&-; read go; head -c 200000 /dev/zero; printf two';
  const writer = spawn('sh', ['-c', `{ ${program}; } > "$0"`, path('fifo')], { stdio: ['pipe', 'ignore', 'pipe'] });
  await new Promise((resolve) => writer.stderr.resume().once('close', resolve));
  // Without any reader the writer would end before the file is opened for reading.
  const reader = openSync(path('fifo'), constants.O_RDONLY | constants.O_NONBLOCK);
  closeSync(own);
  writer.stdin.write('go\n');
  const text = `${readNamedFile('it', path('fifo'))}`;
  closeSync(reader);
  t.equal(text.length, 200_006, 'a pipe is read until its writer has closed it');
  t.match(text, /^one.*two$/s);
});

t.test('inputs are checked without being read', async (t) => {
  const path = await makeKinds(t);
  for (const name of ['file', 'link', 'two\nlines']) t.doesNotThrow(() => checkInput('option --x', path(name)), name);
  t.doesNotThrow(() => checkInput('option --x', path('folder'), { folder: true }));
  const refused: [string, RegExp][] = [
    ['folder', /^option --x names \S+, but it is a folder; name a file$/],
    ['fifo', /but it is a FIFO; name a file$/],
    ['socket', /but it is a socket; name a file$/],
    ['/dev/zero', /but it is a device; name a file$/],
    ['none', /which does not exist$/],
    ['dangling', /which does not exist$/],
    ['circle', /which cannot be read \(ELOOP\): /],
    [LONG, /which cannot be read \(ENAMETOOLONG\): /],
  ];
  for (const [name, message] of refused)
    t.throws(() => checkInput('option --x', path(name)), { name: 'UsageError', message }, name);
});

t.test('writing', async (t) => {
  const path = await makeKinds(t);
  for (const name of ['new', 'file', 'link', 'two\nlines', 'dangling', '/dev/null']) {
    checkOutput('option --x', path(name), []);
    writeOutput('it', path(name), 'written', nothing);
    if (name !== '/dev/null') t.equal(readFileSync(path(name), 'utf8'), 'written', name);
  }
  t.ok(lstatSync(path('link')).isSymbolicLink(), 'a link stays a link');
  t.equal(readFileSync(path('made-by-a-link'), 'utf8'), 'written');
  for (const [name, message] of [
    ...common,
    ['fifo', /\(ENXIO\): .* a FIFO that nobody reads; start the reader first/],
  ] as const)
    t.throws(() => writeOutput('it', path(name), 'x', nothing), { name: 'SetupError', message }, name);
  for (const [name, message] of [...common, ['fifo', /it is a FIFO; name a file$/]] as const)
    t.throws(() => checkOutput('option --x', path(name), []), { message }, name);
  t.throws(() => writeOutput('it', '/dev/full', 'one\n', wholeLines), {
    message: /^it ends with the first 0 of its 4 bytes: it cannot be written any more \(ENOSPC\): the disk is full; /,
  });
});

t.test('a FIFO with a reader', async (t) => {
  const path = await makeKinds(t);
  const reader = openSync(path('fifo'), constants.O_RDONLY | constants.O_NONBLOCK);
  writeOutput('it', path('fifo'), 'text', nothing);
  const bytes = Buffer.alloc(10);
  t.equal(readSync(reader, bytes), 4);
  const message = /^it ends with the first 0 of its 200000 bytes: .* \(EAGAIN\): its reader does not take the data; /;
  t.throws(
    () => writeOutput('it', path('fifo'), Buffer.alloc(200_000), nothing),
    { message },
    'a reader that reads nothing',
  );
  closeSync(reader);
});

t.test('an output is none of the inputs', async (t) => {
  const path = await makeKinds(t);
  const refused: [output: string, input: string][] = [
    ['file', 'file'],
    ['link', 'file'],
    ['file', 'link'],
    ['hard-link', 'file'],
    ['folder/../file', 'file'],
    ['new', 'folder/../new'],
  ];
  for (const [output, input] of refused) {
    const check = (): void => checkOutput('option --x', path(output), [path('two\nlines'), path(input)]);
    t.throws(check, { message: /which this command also uses as \S+; name another file$/ }, `${output} ${input}`);
  }
  t.doesNotThrow(() => checkOutput('option --x', '/dev/null', ['/dev/null']));
  t.doesNotThrow(() => checkOutput('option --x', path('new'), [path('file'), path('other')]));
  t.equal(readFileSync(path('file'), 'utf8'), 'text');
});

/** Calls that must be refused before anything starts; FILE is a file that must stay as it is. */
const calls = [
  'topology FIFO',
  'topology FOLDER',
  'topology FILE --picture FILE',
  'replay FIFO',
  'replay FOLDER',
  'replay FILE --export FILE --format json',
  'run --case FIFO',
  'run --initramfs FOLDER',
  'run --disk SOCKET',
  'run --disk FILE --record FILE',
  'run --disk FILE --capture LINK',
  'run --case FILE --console-log FILE',
  'run --files FILE:/x --record HARD-LINK',
  'run --record NEW --capture NEW',
  'run --record FIFO',
  'run --record FOLDER',
  'run --console-log FIFO',
  'run --console-log NONE/X',
  'run --capture SOCKET',
  'run --files FIFO:/x',
  'run --module FIFO',
  'run --topology FIFO',
  'test --script FIFO',
  'test --script FILE --junit FILE',
  'test --script FILE --record LINK',
  'test --script FILE --files SOCKET:/x',
  'test --script FILE --junit FOLDER',
  'test --script FILE --junit NONE/X',
  'test --driver FIFO',
  'device --topology FIFO',
  'device --topology FILE --record FILE',
];

t.test('commands refuse such paths before they start anything', async (t) => {
  const path = await makeKinds(t);
  writeFileSync(path('file'), '{}');
  for (const call of calls) {
    const words = call
      .split(' ')
      .map((word) => word.replace(/^[A-Z-]+(?=$|:)|^NONE\/X$/, (name) => path(name.toLowerCase())));
    const ended = await runWords(words);
    t.ok(ended.status === 1 || ended.status === 2, `${call}: ${ended.status}`);
    t.match(ended.stderr, /^vuhca \w+: [^\n]+\n$/, call);
    t.notMatch(ended.stderr, /Error:/, call);
    t.equal(readFileSync(path('file'), 'utf8'), '{}', call);
  }
});
