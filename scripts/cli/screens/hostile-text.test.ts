// SPDX-License-Identifier: Apache-2.0
/**
 * Text of others in the output of commands: answers of a false adapter, names of files, a topology,
 * a log, reports of tests. Text of guests is tested where it enters (qemu/line-splitter.test.ts,
 * qemu/kernel-records.test.ts).
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { ControlClient } from '../../../device/process/control/control-client.ts';
import { findHarmful, HOSTILE_LINE, hostileTexts } from '../../../protocol/system/testing/hostile-text.ts';
import { makeLog } from '../session/log.ts';
import { toJunit, toTap } from '../test/test-files.ts';
import type { JobReport } from '../test/test-report.ts';
import { describeJob, resultLine } from '../test/test-screen.ts';
import { makeDirectory } from '../testing/directory.ts';
import { runWords } from '../testing/run-words.ts';
import { readTopologyFile } from '../topology/topology-file.ts';
import { drawTopology } from '../topology/topology-picture.ts';

/** Commands that talk to an adapter. */
const CLIENTS = [
  ['status'],
  ['top', '--count', '1'],
  ['show', 'commands'],
  ['fabric'],
  ['resources', 'show'],
  ['capture', '--output', 'CAPTURE'],
  ['trace', 'show', '--qp', '2'],
  ['explain'],
  ['inject', 'x'],
  ['link', 'down', 'x'],
  ['view', '--no-open'],
];
/** Commands that name a file in a message. A file name has no NUL. */
const PATHS = [
  ['replay', 'FILE'],
  ['topology', 'FILE'],
  ['test', 'FILE'],
  ['device', '--topology', 'FILE'],
  ['run', '--case', 'FILE'],
];
const NAME = HOSTILE_LINE.replaceAll(/[\0/]/g, '').slice(0, 60);

// No bound holds on a busy machine.
t.setTimeout(0);

/** A server that answers every line with `answer`, in which ID is the number of the request. */
async function serve(t: Test, answer: string): Promise<string> {
  const path = join(makeDirectory(t), 'false.control');
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (data) => {
      for (const [, id] of data.toString().matchAll(/"id":(\d+)/g))
        socket.write(`${answer.replace('ID', String(id))}\n`);
    });
  });
  await new Promise<void>((done) => server.listen(path, done));
  t.teardown(() => server.close());
  return path;
}

function checkHarmless(t: Test, { stdout, stderr }: { stdout: string; stderr: string }, title: string): void {
  t.equal(findHarmful(stdout), undefined, `${title}: output`);
  t.equal(findHarmful(stderr), undefined, `${title}: errors`);
}

t.test('errors of a false adapter', async (t) => {
  const control = await serve(
    t,
    JSON.stringify({ version: 1, id: 0, error: HOSTILE_LINE }).replace('"id":0', '"id":ID'),
  );
  const capture = join(makeDirectory(t), 'x.pcap');
  await Promise.all(
    CLIENTS.map(async (words) => {
      const command = words.map((word) => (word === 'CAPTURE' ? capture : word));
      const result = await runWords([...command, '--control', control]);
      checkHarmless(t, result, words.join(' '));
      if (words[0] !== 'inject') t.match(result.stderr, 'the adapter refuses: a', words.join(' '));
    }),
  );
});

t.test('answers of a false adapter', async (t) => {
  const hostile = { [HOSTILE_LINE]: [{ deep: HOSTILE_LINE }] };
  const result = JSON.stringify({ version: 1, id: 0, result: hostile }).replace('"id":0', '"id":ID');
  const client = await ControlClient.connect(await serve(t, result));
  t.equal(findHarmful(JSON.stringify(await client.request('any'))), undefined);
  const misfit = await client.request('objects').catch((error: Error) => error.message);
  t.match(misfit, /does not understand/);
  t.equal(findHarmful(`${misfit}`), undefined);
  client.close();
  for (const answer of [HOSTILE_LINE.replaceAll('\n', ''), '{"id":', 'null', '3', '[]']) {
    const other = await ControlClient.connect(await serve(t, answer));
    const said = await other.request('status').catch((error: Error) => error.message);
    t.match(said, /is no adapter/, answer.slice(0, 1));
  }
});

t.test('names of files', async (t) => {
  const directory = makeDirectory(t);
  const file = join(directory, NAME);
  mkdirSync(file);
  await Promise.all(
    PATHS.flatMap((words) =>
      [file, `${file}-absent`].map(async (path) => {
        const result = await runWords(words.map((word) => (word === 'FILE' ? path : word)));
        checkHarmless(t, result, words.join(' '));
        t.match(result.stderr, /^vuhca[ :]/, words.join(' '));
      }),
    ),
  );
});

t.test('a topology', async (t) => {
  const directory = makeDirectory(t);
  const path = join(directory, 'topology.json');
  const socket = join(directory, NAME.slice(0, 20));
  writeFileSync(
    path,
    JSON.stringify({ adapters: { a: { sockets: [join(directory, 'a')] } }, links: [{ port: 'a:1', listen: socket }] }),
  );
  checkHarmless(t, await runWords(['topology', path]), 'text');
  t.equal(findHarmful(await drawTopology(readTopologyFile(path))), undefined, 'picture');
  writeFileSync(path, JSON.stringify({ [HOSTILE_LINE]: 1, adapters: { [HOSTILE_LINE]: {} } }));
  checkHarmless(t, await runWords(['topology', path]), 'a mistake');
});

t.test('a log', (t) => {
  for (const [title, text] of Object.entries(hostileTexts)) {
    const lines: string[] = [];
    const log = makeLog('info', (line) => lines.push(line));
    log.info({ [text]: text, deep: { text }, err: new Error(text) }, text);
    t.equal(findHarmful(lines.join('')), undefined, title);
  }
  t.end();
});

t.test('reports of tests', (t) => {
  for (const [title, text] of Object.entries(hostileTexts)) {
    const common = { seconds: 1, diagnostics: [text], parent: false, atLine: 0 };
    const results = [true, false].map((ok) => ({ ...common, ok, path: [text, text], skipped: ok ? text : undefined }));
    const run = {
      results,
      faults: [{ kind: 'results', text, seconds: 1, atLine: 0 }],
      seconds: 1,
      kernelLog: () => [text],
      logBetween: () => [text],
    };
    const report = { name: text, run, adapter: new Map() } as unknown as JobReport;
    t.equal(findHarmful(toTap([report, report])), undefined, `${title}: TAP`);
    t.equal(findHarmful(toJunit([report])), undefined, `${title}: JUnit`);
    t.type(describeJob(report) + resultLine(report.run.results[0] as never), 'string');
  }
  t.end();
});
