// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca view` as a user calls it, in this process: one sentence for each obstacle, and the opening
 * of the address in a browser. view-command.long.ts has real processes.
 */
import { chmodSync, statSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { hasDesktop, leadTo } from '../session/open-browser.ts';
import { makeDirectory } from '../testing/directory.ts';
import { answer, makeTruth, serveFalsely } from '../testing/false-adapter.ts';
import { readCommand } from '../testing/read-command.ts';
import { runWords } from '../testing/run-words.ts';
import { lessonEntries } from '../view/lesson.ts';
import type { ViewArguments } from './view-command.ts';

t.test('options', async (t) => {
  const read = async (...words: readonly string[]): Promise<ViewArguments> =>
    (await readCommand('view', ...words)).opts<ViewArguments>();
  t.same(await read(), { open: true });
  t.same(await read('--read', '--port', '8080', '--no-open', '--control=/x'), {
    ...{ read: true, port: 8080, open: false, control: '/x' },
  });
  for (const words of [['--port', '0'], ['--port=65536'], ['--port=x'], ['--open'], ['--read=1']])
    await t.rejects(readCommand('view', ...words), { name: 'UsageError' }, words.join(' '));
  t.match(await runWords(['view', 'x.rec', '--control', '/x']), {
    status: 2,
    stderr: /give FILE or --control, not both/,
  });
  for (const [words, mode] of [
    [['device', '--socket', 'x', '--view'], 'act'],
    [['run', '--view'], 'act'],
    [['run', '--view=read'], 'read'],
    [['test', 'x', '--view=read'], 'read'],
  ] as const)
    t.match((await readCommand(...words)).opts(), { view: mode }, words.join(' '));
  await t.rejects(readCommand('run', '--view=write'), { message: /^option --view is write; it must be act, read$/ });
});

t.test('lessons are listed, and one is chosen by its name', async (t) => {
  const { status, stdout, stderr } = await runWords(['view', '--lessons']);
  t.match({ status, stderr }, { status: 0, stderr: '' });
  t.equal(stdout.split('\n').length, lessonEntries.length + 1);
  for (const { name, title, summary } of lessonEntries)
    t.match(stdout, new RegExp(`^${name} +${title} +${summary}$`, 'm'));
  t.match((await readCommand('view', '--lesson', 'guarantees')).opts(), { lesson: 'guarantees' });
  await t.rejects(readCommand('view', '--lesson', 'x'), { name: 'UsageError', message: /doorbell-overflow/ });
  for (const words of [['--control', '/x'], ['x.rec']])
    t.match(await runWords(['view', '--lesson', 'guarantees', ...words]), {
      status: 2,
      stderr: /give \S+ or --lesson, not both/,
    });
});

t.test('obstacles have a sentence each', async (t) => {
  const directory = makeDirectory(t);
  const none = await runWords(['view'], { XDG_RUNTIME_DIR: directory });
  t.match(none, {
    status: 1,
    stdout: '',
    stderr: /^vuhca view: no adapter is running: start one with .vuhca run. or /,
  });
  const path = (name: string): string => join(directory, name);
  const fail = async (control: string, stderr: RegExp, ...words: readonly string[]): Promise<void> => {
    const result = await runWords(['view', '--no-open', '--control', control, ...words]);
    t.match(result, { status: 1, stdout: '', stderr }, control);
  };
  await fail(path('x'), /^vuhca view: control socket \S+: no adapter listens there; start one with .*\n$/);
  const truth = makeTruth();
  await serveFalsely(t, path('mail'), (socket) => void socket.end('220 mail ESMTP\n'), truth);
  await fail(path('mail'), /^vuhca view: what listens at \S+ is no adapter: it answers with something else\n$/);
  await serveFalsely(t, path('old'), (socket, request) => answer(socket, request, {}), truth);
  await fail(path('old'), /^vuhca view: the adapter at \S+ answers status with what this command does not understand/);
  await serveFalsely(t, path('good'), (socket, request) => answer(socket, request, truth(request)), truth);
  const server = createServer();
  t.teardown(() => server.close());
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  await fail(
    path('good'),
    new RegExp(`^vuhca view: port ${port} is in use: choose another one by --port, `),
    `--port=${port}`,
  );
  if (process.geteuid?.() === 0) return;
  chmodSync(path('good'), 0);
  await fail(path('good'), /nobody can be asked there \(EACCES\): this user may not/);
  t.equal(statSync(path('good')).mode & 0o777, 0);
});

t.test('the process ends before the page is asked for', async (t) => {
  const directory = makeDirectory(t);
  const control = join(directory, 'c');
  const truth = makeTruth();
  await serveFalsely(
    t,
    control,
    (socket, request) => {
      answer(socket, request, truth(request));
      socket.end();
    },
    truth,
  );
  const ended = await runWords(['view', '--no-open', '--read', '--control', control]);
  t.match(ended, {
    status: 0,
    stdout: /^the page is at http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]{43}\n$/,
    stderr: `the adapter at ${control} has ended\n`,
  });
});

t.test('a browser is opened where a person sits at a desktop, and no command line has the token', (t) => {
  t.ok(hasDesktop({ DISPLAY: ':0' }, true));
  t.ok(hasDesktop({ WAYLAND_DISPLAY: 'wayland-0' }, true));
  t.notOk(hasDesktop({ DISPLAY: ':0' }, false), 'the output goes to a program');
  t.notOk(hasDesktop({}, true), 'no desktop');
  t.notOk(hasDesktop({ DISPLAY: '' }, true));
  const address = 'http://127.0.0.1:1/?token=a-b_c';
  t.match(leadTo(address), `<meta http-equiv="refresh" content="0;url=${address}">`);
  t.end();
});
