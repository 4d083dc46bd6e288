// SPDX-License-Identifier: Apache-2.0
/**
 * The command line of each act makes the same request: bash splits it into words, the program of
 * `vuhca` performs them at a false control socket, and the arriving requests are compared. Each
 * command of the control socket is an act or only reads.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { FILE_LIMIT_BYTES } from '../../../device/hosts/file-limits.ts';
import { answerShapes } from '../../../device/process/control/control-answers.ts';
import type { ControlRequest } from '../../../device/process/control/control-protocol.ts';
import { makeFabricCommands } from '../../../device/rig/live/served-fabric.ts';
import { ThreeKinds } from '../../../device/rig/mixed/three-kinds.ts';
import { hostileTexts } from '../../../protocol/system/testing/hostile-text.ts';
import { makeDirectory } from '../testing/directory.ts';
import { answer, makeTruth, serveFalsely } from '../testing/false-adapter.ts';
import { runWords } from '../testing/run-words.ts';
import { actNames, describeAct, quote } from './act-lines.ts';
import type { Act } from './view-protocol.ts';

const act = (command: string, parameters: Act['parameters'] = {}): Act => ({ command, parameters });

/** The words of a command line, as a shell passes them on. */
function splitLine(line: string): string[] {
  return execFileSync('bash', ['--norc', '-c', `printf '%s\\0' ${line}`], { encoding: 'utf8' })
    .split('\0')
    .slice(0, -1);
}

const truth = makeTruth();
const NS = 1e9;
const acts: readonly Act[] = [
  act('link', { port: 'a:1', words: ['down'] }),
  act('link', { port: 'it\'s $HOME `x` \\ "y" *:1', words: ['up'] }),
  act('link', { port: '1', words: ['set', 'drop=0.01', 'seed=7', 'bitsPerSecond=1e9'] }),
  act('inject', { words: ['fatal', 'cause=parity'] }),
  act('inject', { adapter: 'm', words: ['lost-completions', 'count=3', 'qp=0x414'] }),
  act('inject', { adapter: '-m n', words: ['link-flap'] }),
  act('step', { count: 10 }),
  act('step', { until: 'qp 5 leaves RTS at a' }),
  act('step', { go: true }),
  act('step', { stop: true }),
  act('resources', { adapter: 'v' }),
  act('resources', {}),
  act('set-resources', { words: ['function', '0', 'pcbs=3', 'lanes=0-2,4'] }),
  act('set-resources', { adapter: 'v', words: ['adapter', 'lend=on'] }),
  act('trace-status', { adapter: 'v' }),
  act('trace-pause', {}),
  act('trace-resume', { adapter: 'v' }),
  act('trace-on', { qp: 2 }),
  act('trace-on', { adapter: 'v', qp: 0xffffff, blocksLog2: 8, snapLength: 0, stopOnError: true, keepNs: 10 * NS }),
  act('trace-on', { process: 711, bytes: 1 << 20, stopOnError: false }),
  act('trace-on', { rule: {} }),
  act('trace-on', { rule: { service: 'RC', functionNumber: 1, peerLid: 3, peerQp: 4, process: 5 } }),
  act('trace-off', { qp: 2 }),
  act('trace-off', { adapter: 'v', process: 711 }),
  act('trace-off', { rules: true }),
  act('timeline-on', { adapter: 'v', stepsLog2: 12, keepNs: 3 * NS }),
  act('timeline-on', {}),
  act('timeline-off', { adapter: 'v' }),
  act('capture-start', { path: '/x/y z.pcap' }),
  act('capture-start', {
    ...{ path: '/x', port: 1, direction: 'sent', count: 9, limitBytes: 3 * 2 ** 20, adapter: 'v' },
  }),
];

/** Parameters as an adapter reads them: without those that have their default. */
function normalise({ command, parameters }: Pick<ControlRequest, 'command' | 'parameters'>): Act {
  const { stopOnError, limitBytes, ...rest } = parameters;
  const limit = limitBytes === undefined || limitBytes === FILE_LIMIT_BYTES ? {} : { limitBytes };
  return JSON.parse(
    JSON.stringify({ command, parameters: { ...rest, ...limit, ...(stopOnError === true && { stopOnError }) } }),
  );
}

/** The first request that the call makes. */
async function firstRequest(t: Test, line: string, path: string): Promise<Act | undefined> {
  const requests: ControlRequest[] = [];
  const server = await serveFalsely(
    t,
    path,
    (socket, request) => {
      requests.push(request);
      answer(socket, request, truth(request));
    },
    truth,
  );
  const [program, ...words] = splitLine(line);
  t.equal(program, 'vuhca');
  const { stderr } = await runWords(words);
  server.close();
  if (requests.length === 0) t.fail(`${line}: ${stderr}`);
  return requests[0] && normalise(requests[0]);
}

t.test('the command line of an act makes the same request', async (t) => {
  const directory = makeDirectory(t);
  for (const [index, one] of acts.entries()) {
    const path = join(directory, `${index}'s`);
    const line = describeAct(one, path);
    t.match(line, /^vuhca [a-z]/);
    t.same(await firstRequest(t, line, path), normalise(one), line);
  }
  const path = join(directory, 'f');
  for (const [parameters, cause] of [
    [{}, 'internal'],
    [{ cause: 'bus', adapter: 'n' }, 'bus'],
  ] as const) {
    const line = describeAct(act('fail', parameters), path);
    t.match(await firstRequest(t, line, path), {
      command: 'inject',
      parameters: { words: ['fatal', `cause=${cause}`, 'firmware=refuses'] },
    });
  }
});

t.test('every command of the control socket is an act, or only reads', (t) => {
  const readers = [
    ...['status', 'fabric', 'route', 'queue-pairs', 'failed-queue-pairs', 'show', 'objects'],
    ...['trace-read', 'trace-snapshot', 'trace-part', 'timeline-read'],
  ];
  const { machine, built } = new ThreeKinds();
  const commands = makeFabricCommands({ machine, built, adapterNames: ['m', 'v', 'n'], switchNames: ['s'] });
  t.same([...commands.keys()].sort(), [...actNames, ...readers].sort());
  t.same(Object.keys(answerShapes).sort(), [...actNames, ...readers].sort());
  const tested = new Set(acts.map(({ command }) => command));
  t.same(
    actNames.filter((name) => !tested.has(name)),
    ['fail', 'capture-progress', 'capture-stop'],
  );
  for (const name of readers) t.throws(() => describeAct(act(name), '/x'), { message: /is no act; there are link, / });
  for (const name of ['constructor', '__proto__', 'toString', '', 'Link', 'view'])
    t.throws(() => describeAct(act(name), '/x'), { name: 'ViewRefusal', status: 400 }, name);
  for (const name of ['capture-progress', 'capture-stop'])
    t.equal(describeAct(act(name), '/x'), '# Ctrl-C ends `vuhca capture`');
  t.end();
});

t.test('what no command line says is refused', (t) => {
  const wrong: readonly Act[] = [
    ...[{}, { port: 'a:1' }, { words: ['down'] }, { port: 'a:1', words: 'down' }, { port: 'a:1', words: [] }].map(
      (one) => act('link', one),
    ),
    act('link', { port: 'a:1', words: ['flap'] }),
    act('link', { port: 'a:1', words: ['set', 'drop=0.1,seed=7'] }),
    act('link', { port: '--json', words: ['down'] }),
    act('link', { port: 'a:1', words: ['set', '--help'] }),
    act('link', { port: 'a:1', words: ['down'], control: '/other' }),
    act('link', { port: 1, words: ['down'] }),
    act('inject', { words: ['fatal', 7] }),
    act('inject', { words: ['fatal', ''] }),
    act('inject', { words: ['fatal'], adapter: '' }),
    act('set-resources', { words: ['--'] }),
    act('trace-on', {}),
    act('trace-on', { qp: 1, process: 2 }),
    act('trace-on', { qp: 1, rule: {} }),
    act('trace-on', { rule: [] }),
    act('trace-on', { rule: { service: 'RC', x: 1 } }),
    act('trace-on', { qp: 1, bytes: 1, blocksLog2: 1 }),
    act('trace-on', { qp: 1, keepNs: 5 }),
    act('trace-on', { qp: 1.5 }),
    act('trace-on', { qp: -1 }),
    act('trace-on', { qp: '1' }),
    act('trace-on', { qp: 1, stopOnError: 'yes' }),
    act('trace-off', { rules: false }),
    act('trace-off', {}),
    act('trace-status', { x: null }),
    act('capture-start', {}),
    act('capture-start', { path: '/x', limitBytes: 7 }),
    act('capture-stop', { path: '/x' }),
  ];
  for (const one of wrong)
    t.throws(() => describeAct(one, '/x'), { name: 'ViewRefusal', status: 400 }, JSON.stringify(one));
  for (const [title, text] of Object.entries(hostileTexts)) {
    if (text === '') continue;
    t.throws(() => describeAct(act('inject', { words: [text] }), '/x'), { name: 'ViewRefusal', status: 400 }, title);
    t.throws(() => describeAct(act('resources', { adapter: text }), '/x'), { name: 'ViewRefusal', status: 400 }, title);
    t.throws(() => describeAct(act(text), '/x'), { name: 'ViewRefusal', status: 400 }, title);
  }
  t.end();
});

t.test('words are quoted for a shell', (t) => {
  const words = [
    "'",
    "''",
    'a b',
    '$x',
    '~',
    '#x',
    '!x',
    '*',
    'a;b',
    'a&b',
    '`x`',
    '"',
    '\\',
    '{a,b}',
    '(',
    'é',
    'x=1',
    '/a.b:1',
  ];
  t.same(splitLine(words.map(quote).join(' ')), words);
  t.equal(quote('a.b:1=2,3'), 'a.b:1=2,3');
  t.end();
});
