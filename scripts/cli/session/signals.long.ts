// SPDX-License-Identifier: Apache-2.0
/**
 * Signals, in each phase of a command that talks to an adapter: the first one ends it, with the
 * status of docs/DEBUGGING.md, even when the adapter does not answer; a second one needs no answer.
 */
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { makeDirectory } from '../testing/directory.ts';
import { answer, makeTruth, serveFalsely, type Truth } from '../testing/false-adapter.ts';
import { CliProcess } from '../testing/run-cli.ts';

// No bound holds on a busy machine.
t.setTimeout(0);

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const known = makeTruth();
/** A capture that runs until it is stopped. */
const truth: Truth = (request) => {
  const progress = known(request);
  return request.command === 'capture-progress' ? { ...(progress as object), active: true } : progress;
};

interface Asked {
  readonly command: CliProcess;
  /** Resolves with the next command that the false adapter does not answer. */
  whenUnanswered(): Promise<string>;
}

/** A command whose adapter answers only the requests that `isAnswered` accepts. */
async function ask(t: Test, words: string, isAnswered: (command: string) => boolean): Promise<Asked> {
  const directory = makeDirectory(t);
  const control = join(directory, 'control');
  const unanswered: string[] = [];
  await serveFalsely(
    t,
    control,
    (socket, request) => {
      if (isAnswered(request.command)) answer(socket, request, truth(request));
      else unanswered.push(request.command);
    },
    truth,
  );
  const named = words.replace('FILE', join(directory, 'x'));
  const command = new CliProcess([...named.split(' '), '--control', control], { XDG_RUNTIME_DIR: directory });
  t.teardown(() => command.child.kill('SIGKILL'));
  const whenUnanswered = async (): Promise<string> => {
    while (unanswered.length === 0) await new Promise((done) => setTimeout(done, 5));
    return unanswered.shift() ?? '';
  };
  return { command, whenUnanswered };
}

const CALLS = ['status', 'status --watch', 'top', 'show queues', 'fabric', 'resources show', 'trace read --follow'];

t.test('an adapter that never answers', async (t) => {
  for (const [index, call] of [...CALLS, 'explain', 'inject fatal', 'capture --output FILE'].entries()) {
    const signal = SIGNALS[index % SIGNALS.length];
    const { command, whenUnanswered } = await ask(t, call, () => false);
    await whenUnanswered();
    command.child.kill(signal);
    t.equal(await command.whenExited, signal, call);
    t.equal(command.stderr, '', call);
  }
});

t.test('screens that follow', async (t) => {
  for (const [index, call] of ['status --watch --json', 'top --json', 'fabric --watch --json'].entries()) {
    const { command } = await ask(t, call, () => true);
    await command.until(/\{.*\}\n/);
    command.child.kill(SIGNALS[index]);
    t.equal(await command.whenExited, SIGNALS[index], call);
  }
});

t.test('a capture', async (t) => {
  for (const signal of SIGNALS) {
    const { command } = await ask(t, 'capture --output FILE', () => true);
    await command.until(/capturing to /);
    command.child.kill(signal);
    t.equal(await command.whenExited, 0, `${signal}: ${command.stderr}`);
    t.match(command.stderr, /3 packets, 300 bytes in /);
  }
});

t.test('a capture whose adapter does not answer at its end', async (t) => {
  const { command, whenUnanswered } = await ask(t, 'capture --output FILE', (name) => name === 'capture-start');
  await command.until(/capturing to /);
  command.child.kill('SIGTERM');
  while ((await whenUnanswered()) !== 'capture-stop');
  t.equal(await command.whenExited, 1);
  t.match(command.stderr, /^vuhca capture: the adapter at \S+ does not answer within 5 s/m);
});

t.test('a second signal', async (t) => {
  for (const second of SIGNALS) {
    const { command, whenUnanswered } = await ask(t, 'capture --output FILE', (name) => name !== 'capture-stop');
    await command.until(/capturing to /);
    command.child.kill('SIGINT');
    await whenUnanswered();
    command.child.kill(second);
    t.equal(await command.whenExited, second);
  }
});
