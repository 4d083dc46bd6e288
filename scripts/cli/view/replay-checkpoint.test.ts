// SPDX-License-Identifier: Apache-2.0
/**
 * Searches of a checkpoint, whose process the test plays: progress is passed on, and aborting a
 * search kills its copy, or the search is never requested.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Duplex } from 'node:stream';
import t from 'tap';
import { Checkpoint } from './replay-checkpoint.ts';
import type { ReplayAnswer, ReplayRequest } from './replay-requests.ts';

const search = (condition: string): ReplayRequest => {
  return { kind: 'search', search: { condition, from: 0, to: 9, backward: false } };
};

/** The socket to a process that has a request. */
class Played extends Duplex {
  readonly asked: string[] = [];

  override _read(): void {}

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.asked.push(JSON.parse(chunk.toString()).search.condition);
    done();
  }

  say(answer: ReplayAnswer): void {
    this.push(`${JSON.stringify(answer)}\n`);
  }
}

t.test('a search tells how far it is; its end kills the copy, and one that waits is not made', async (t) => {
  const played = new Played();
  const checkpoint = new Checkpoint(0, played, () => {});
  const copy = spawn('sleep', ['1000']);
  t.teardown(() => copy.kill('SIGKILL'));
  const exited = once(copy, 'exit');
  const looked: number[] = [];
  const abort = new AbortController();
  const watch = { onLooked: (step: number) => void looked.push(step), signal: abort.signal };
  const first = checkpoint.ask(search('first'), watch);
  const second = checkpoint.ask(search('second'), watch);
  const third = checkpoint.ask(search('third'));
  for (const step of [3, 5]) played.say({ kind: 'looked', pid: copy.pid as number, step });
  while (looked.length < 2) await new Promise(setImmediate);
  t.same(looked, [3, 5]);
  abort.abort();
  t.same(await exited, [null, 'SIGKILL']);
  played.say({ kind: 'failure', status: 137 });
  t.match(await first, { kind: 'failure' });
  t.match(await second, { kind: 'failure' });
  while (played.asked.length < 2) await new Promise(setImmediate);
  t.same(played.asked, ['first', 'third']);
  played.say({ kind: 'result', result: { step: 8 } });
  t.same(await third, { kind: 'result', result: { step: 8 } });
});

t.test('a copy that says how far it is after the end is killed, too', async (t) => {
  const played = new Played();
  const checkpoint = new Checkpoint(0, played, () => {});
  const copy = spawn('sleep', ['1000']);
  t.teardown(() => copy.kill('SIGKILL'));
  const exited = once(copy, 'exit');
  const abort = new AbortController();
  const answer = checkpoint.ask(search('late'), { onLooked: () => t.fail('nobody asks'), signal: abort.signal });
  while (played.asked.length < 1) await new Promise(setImmediate);
  abort.abort();
  played.say({ kind: 'looked', pid: copy.pid as number, step: 3 });
  t.same(await exited, [null, 'SIGKILL']);
  played.say({ kind: 'failure', status: 137 });
  t.match(await answer, { kind: 'failure' });
});
