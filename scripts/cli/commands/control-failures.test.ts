// SPDX-License-Identifier: Apache-2.0
/**
 * Every command that talks to a running adapter, against one that refuses, dies, answers nonsense,
 * or never answers: it ends with the status that its help names, prints one sentence, and nothing
 * that it cannot know.
 */
import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { controlBounds } from '../../../device/process/control/control-client.ts';
import { Random } from '../../../device/random.ts';
import { partOf } from '../../../device/rig/fixtures/seeds.ts';
import { inspectorBounds } from '../debugger/inspector-client.ts';
import { defineCommands, makeProgram } from '../program.ts';
import { ExitStatus } from '../session/exit-statuses.ts';
import { makeDirectory } from '../testing/directory.ts';
import { answer, type Behaviour, makeTruth, serveFalsely } from '../testing/false-adapter.ts';
import type { CliResult } from '../testing/run-cli.ts';
import { runWords } from '../testing/run-words.ts';

/** Calls of each command; FILE is a path in the folder of the test. */
const calls: Readonly<Record<string, readonly string[]>> = {
  status: ['', '--json', '--qp', '--qp=2 --json', '--function=0'],
  top: ['--count=1'],
  show: ['queues', 'commands --json', 'vcbs --qp=2'],
  fabric: ['', '--json'],
  resources: ['show', 'show --json', 'set function 0 pcbs=3'],
  capture: ['--output FILE'],
  trace: [
    'status --json',
    'on --qp=2 --timeline',
    'on --new',
    'off --qp=2',
    'pause',
    'resume',
    'read',
    'read --follow',
    'show',
    'export --format=json FILE',
    'export --format=erf FILE',
    'export --format=perfetto FILE',
  ],
  explain: ['--qp=2', ''],
  inject: ['fatal'],
  link: ['', '--json', 'down a:1', 'set a:1 drop=0.1'],
  step: ['', '10', '--until fault', '--go', '--stop'],
};

// No bound holds on a busy machine.
t.setTimeout(0);

const truth = makeTruth();
const bounds = { ...controlBounds };
const inspectorMs = inspectorBounds.answerMs;
/** Other test files of this process have the usual bounds. */
function restoreBounds(): void {
  Object.assign(controlBounds, bounds);
  inspectorBounds.answerMs = inspectorMs;
}

const write =
  (text: string): Behaviour =>
  (socket) =>
    void socket.write(text);
const result =
  (value: unknown): Behaviour =>
  (socket, request) =>
    answer(socket, request, value);

/** Writes the text again and again, as long as there is a reader. */
const flood =
  (text: string): Behaviour =>
  (socket) => {
    const more = (): void => {
      while (!socket.destroyed && socket.write(text));
    };
    socket.on('drain', more);
    more();
  };

const NO_ADAPTER = /is no adapter: it answers with something else$/;
const NOT_UNDERSTOOD = /answers [a-z-]+ with what this command does not understand \(.+\): use the version of vuhca/;
const GONE = /^the adapter at \S+ has ended$/;
const SILENT = /does not answer within [\d.]+ s: it may stand at a breakpoint$/;

const behaviours: Readonly<Record<string, readonly [Behaviour, sentence: RegExp]>> = {
  refuses: [
    (socket, { id }) => void socket.write(`{"id":${id},"error":"not \\u001b[1mtoday"}\n`),
    /^the adapter refuses: not today$/,
  ],
  'refuses the connection': [
    (socket) => void socket.end('{"id":0,"error":"it has 16 clients"}\n'),
    /^the adapter at \S+ refuses: it has 16 clients$/,
  ],
  ends: [(socket) => void socket.end(), GONE],
  dies: [(socket) => void socket.destroy(), GONE],
  'ends in an answer': [(socket, { id }) => void socket.end(`{"version":1,"id":${id},"res`), GONE],
  'no JSON': [write('220 mail.example.org ESMTP\n'), NO_ADAPTER],
  'an empty line': [write('\n'), NO_ADAPTER],
  'deep JSON': [write(`${'['.repeat(100_000)}\n`), NO_ADAPTER],
  'JSON that is no answer': [write('[]\nnull\n7\n'), NO_ADAPTER],
  'no result': [(socket, { id }) => void socket.write(`{"version":1,"id":${id}}\n`), NO_ADAPTER],
  'an error that is no sentence': [
    (socket, { id }) => void socket.write(`{"id":${id},"error":{"code":5}}\n`),
    NO_ADAPTER,
  ],
  'null as result': [result(null), NOT_UNDERSTOOD],
  'a number': [result(42), NOT_UNDERSTOOD],
  'a string': [result('fine'), NOT_UNDERSTOOD],
  'a list': [result([null]), NOT_UNDERSTOOD],
  'an object of others': [result({ name: 'x', adapters: 5 }), NOT_UNDERSTOOD],
  'an endless line': [flood('x'.repeat(65536)), NO_ADAPTER],
};
const slowBehaviours: typeof behaviours = {
  'no answer': [() => {}, SILENT],
  'answers to others, without end': [flood('{"id":12345,"result":1}\n'.repeat(100)), SILENT],
};

/** A call that has ended, and the path in place of FILE. */
interface EndedCall extends CliResult {
  readonly call: string;
  readonly file: string;
}

/** Performs each call of each command, all at the same time. */
async function performAll(t: Test, behaviour: Behaviour, good = 0): Promise<EndedCall[]> {
  const directory = makeDirectory(t);
  const control = join(directory, 'control');
  const server = await serveFalsely(t, control, behaviour, truth, good);
  const all = Object.entries(calls).flatMap(([name, more]) => more.map((words) => `${name} ${words}`.trim()));
  const ended = all.map(async (call, index) => {
    const file = join(directory, `${index}`);
    const words = call.split(' ').map((word) => (word === 'FILE' ? file : word));
    return { ...(await runWords([...words, '--control', control])), call, file };
  });
  return Promise.all(ended).finally(() => server.close());
}

/** The sentence that a failed call printed; throws when it printed something else. */
function sentenceOf({ call, stderr }: EndedCall): string {
  const lines = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('capturing to '));
  const start = `vuhca ${call.split(' ')[0]}: `;
  if (lines.length !== 1 || !lines[0].startsWith(start)) throw new Error(`${call} said ${stderr}`);
  return lines[0].slice(start.length);
}

/**
 * Describes what is wrong with the end of a call whose adapter misbehaved after some good answers.
 */
function findFault(ended: EndedCall, good: number, sentence: RegExp): string | undefined {
  const { call, status, stderr, stdout, file } = ended;
  // The call made fewer requests than that, or follows an adapter that has ended.
  const isDone = good > 0 && status === ExitStatus.DONE;
  if (isDone) return stderr.replace(/^capturing.*\n.*\n$/, '') === '' ? undefined : `${call} said ${stderr}`;
  if (status !== ExitStatus.FAILED) return `${call} ended with ${status}`;
  if (!sentence.test(sentenceOf(ended))) return `${call} said ${stderr}`;
  if (good === 0 && stdout !== '') return `${call} printed ${stdout}`;
  return lstatSync(file, { throwIfNoEntry: false }) && `${call} wrote a file`;
}

t.test('the table has every command that talks to an adapter', async (t) => {
  t.teardown(restoreBounds);
  const commands = await defineCommands(makeProgram(async () => {}));
  const talking = commands.filter(({ options }) => options.some(({ long }) => long === '--control'));
  // The first two start an adapter, and `view` keeps asking one: view-command.test.ts.
  const others = ['run', 'device', 'view'];
  const names = talking.map((command) => command.name()).filter((name) => !others.includes(name));
  t.same(names.sort(), Object.keys(calls).sort());
});

/** Performs all calls against an adapter that misbehaves after `good` answers. */
async function checkBehaviour(t: Test, name: string, good: number): Promise<void> {
  const [behaviour, sentence] = name in behaviours ? behaviours[name] : slowBehaviours[name];
  const ended = await performAll(t, behaviour, good);
  const faults = ended.flatMap((one) => findFault(one, good, sentence) ?? []);
  t.same(faults, [], `${name}, after ${good} answers`);
}

t.test('an adapter that misbehaves', async (t) => {
  t.teardown(restoreBounds);
  controlBounds.answerCharacters = 1 << 18;
  await Promise.all(Object.keys(behaviours).map((name) => checkBehaviour(t, name, 0)));
  const later = ['refuses', 'ends', 'dies', 'no JSON', 'null as result', 'an endless line'];
  await Promise.all(later.map((name) => checkBehaviour(t, name, 1)));
  await Promise.all(['ends', 'a list'].map((name) => checkBehaviour(t, name, 3)));
});

t.test('an adapter that does not answer', async (t) => {
  t.teardown(restoreBounds);
  // A bound that is never reached before an arriving answer, which is read within milliseconds.
  controlBounds.answerMs = 100;
  await Promise.all(Object.keys(slowBehaviours).map((name) => checkBehaviour(t, name, 0)));
  controlBounds.answerMs = bounds.answerMs;
});

t.test('answers as they should be', async (t) => {
  t.teardown(restoreBounds);
  const ended = await performAll(t, (socket) => void socket.end(), 100);
  for (const { call, status, stderr } of ended) t.equal(status, ExitStatus.DONE, `${call}: ${stderr}`);
});

/** A replacement for a value: of another kind, too large, negative, or missing. */
const others = [null, -1, 2 ** 53, 0.5, 'x', '', true, [], {}, undefined];

/** The value with one member, at any depth, replaced. */
function damage(random: Random, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || random.below(8) === 0) return others[random.below(others.length)];
  const names = Object.keys(value);
  if (names.length === 0) return others[random.below(others.length)];
  const name = random.pick(names);
  const copy = (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>;
  copy[name] = damage(random, copy[name]);
  return copy;
}

t.test('answers with one wrong member', async (t) => {
  t.teardown(restoreBounds);
  const seeds = partOf(
    Array.from({ length: 60 }, (_, seed) => seed),
    3,
  );
  controlBounds.answerMs = 2000;
  for (const seed of seeds) {
    const random = new Random(seed);
    const worse: Behaviour = (socket, request) => answer(socket, request, damage(random, truth(request)));
    const ended = await performAll(t, worse, random.below(3));
    const faults = ended.flatMap((one) => {
      if (one.status === ExitStatus.DONE) return [];
      const isSentence = one.status === ExitStatus.FAILED && !/^\w*Error: /.test(sentenceOf(one));
      return isSentence ? [] : [one];
    });
    t.same(faults, [], `seed ${seed}`);
  }
  controlBounds.answerMs = bounds.answerMs;
});

t.test('parts without end', async (t) => {
  t.teardown(restoreBounds);
  controlBounds.parts = 20;
  const row = { qp: 1 };
  const answers: [call: string, command: string, result: (parameters: { first?: number }) => unknown][] = [
    ['show queues', 'show', ({ first = 0 }) => ({ rows: [row], next: first + 1 })],
    ['show queues', 'show', () => ({ rows: [row], next: 5 })],
    ['show queues', 'show', () => ({ rows: [], next: 0 })],
    ['status --qp', 'queue-pairs', ({ first = 0 }) => ({ queuePairs: [], next: first + 1 })],
    ['explain', 'queue-pairs', () => ({ queuePairs: [], next: -1 })],
    ['trace read', 'trace-snapshot', () => ({ parts: 1e15, nowNs: 0, adapters: [] })],
    ['trace read', 'trace-part', () => ({ adapter: 7, count: 0 })],
    ['trace read', 'trace-part', () => ({ adapter: 0, count: 1e9, blocks: 'AAAA' })],
    ['trace read --follow', 'timeline-read', () => [{ ...step, index: 3 }]],
    ['trace read --follow', 'trace-read', () => ({ count: 5, next: 1, blocks: '' })],
  ];
  const directory = makeDirectory(t);
  for (const [index, [call, command, result]] of answers.entries()) {
    const control = join(directory, `${index}`);
    const never: Behaviour = (socket, request) =>
      answer(socket, request, request.command === command ? result(request.parameters) : truth(request));
    const server = await serveFalsely(t, control, never, truth);
    const ended = await runWords([...call.split(' '), '--control', control]);
    server.close();
    t.equal(ended.status, ExitStatus.FAILED, `${call}: ${command} ${index}`);
    t.match(sentenceOf({ ...ended, call, file: '' }), NOT_UNDERSTOOD);
  }
  Object.assign(controlBounds, bounds);
});

const step = { index: 0, timeNs: 0, step: 0, functionNumber: 0, object: 0, a: 0, b: 0, c: 0, d: 0, e: 0 };

t.test('a control socket that is none', async (t) => {
  t.teardown(restoreBounds);
  const directory = makeDirectory(t);
  const path = (name: string): string => join(directory, name);
  mkdirSync(path('folder'));
  writeFileSync(path('file'), 'kept');
  execFileSync('mkfifo', [path('fifo')]);
  symlinkSync(path('circle'), path('circle'));
  symlinkSync(path('nothing'), path('dangling'));
  symlinkSync(path('file'), path('link'));
  const server = createServer();
  const listening = path('socket');
  await new Promise<void>((resolve) => server.listen(listening, resolve));
  renameSync(listening, path('dead'));
  await new Promise((resolve) => server.close(resolve));
  const cases: [name: string, sentence: RegExp][] = [
    ['nothing', /no adapter listens there; start one with/],
    ['dangling', /no adapter listens there; start one with/],
    ['folder', /no adapter listens there any more; start one with/],
    ['file', /no adapter listens there any more; start one with/],
    ['link', /no adapter listens there any more; start one with/],
    ['fifo', /no adapter listens there any more; start one with/],
    ['dead', /no adapter listens there any more; start one with/],
    ['circle', /\(ELOOP\): its links lead in a circle; /],
    ['file/x', /\(ENOTDIR\): a part of the path is no folder; /],
    ['x'.repeat(200), /it has \d+ bytes, at most 107 fit$/],
    ['two\nlines', /two.*lines: no adapter listens there; start one with/],
  ];
  for (const [name, sentence] of cases) {
    const ended = await runWords(['status', '--control', path(name)]);
    t.equal(ended.status, ExitStatus.FAILED, name);
    t.match(ended.stderr.replace(/\n$/, '').replaceAll('\n', ' '), sentence, name);
    t.equal(ended.stdout, '', name);
  }
  t.equal(readFileSync(path('file'), 'utf8'), 'kept');
  for (const name of ['fifo', 'dead', 'circle', 'dangling', 'link']) t.ok(lstatSync(path(name)), `${name} stays`);
});

t.test('`vuhca break` at a port that is no debugger', async (t) => {
  t.teardown(restoreBounds);
  inspectorBounds.answerMs = 200;
  const answers: [text: string, sentence: RegExp][] = [
    ['HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nfoo', /what answers there is no debugger; begin with/],
    ['HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]', /what answers there is no debugger; begin with/],
    ['HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n[', /aborted|ECONNRESET/],
    ['SSH-2.0-OpenSSH_9.2\r\n', /no debugger's port at/],
    ['', /it does not answer; begin with/],
  ];
  for (const [text, sentence] of answers) {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => (text === '' ? undefined : socket.end(text)));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const ended = await runWords(['break', 'x.ts:1', `--inspect=${port}`]);
    t.equal(ended.status, ExitStatus.FAILED, text);
    t.match(sentenceOf({ ...ended, call: 'break', file: '' }), sentence, text);
    server.close();
  }
});
