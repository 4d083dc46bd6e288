// SPDX-License-Identifier: Apache-2.0
/** The display of a run, with a clock and a screen of the test. */
import t from 'tap';
import { minutes, Progress } from './progress.ts';

interface Bench {
  readonly progress: Progress;
  readonly written: string[];
  advance(seconds: number): void;
}

function start(plan: Readonly<Record<string, number | undefined>>, columns?: number): Bench {
  let now = 0;
  const written: string[] = [];
  const entries = Object.entries(plan).map(([name, seconds]) => ({ name, seconds }));
  const screen = { write: (text: string) => void written.push(text), columns };
  const progress = new Progress(entries, 2, screen, () => now);
  return {
    progress,
    written,
    advance: (seconds) => {
      now += seconds * 1000;
    },
  };
}

t.test('without a terminal there is a line for each file, and no other', async (t) => {
  const { progress, written, advance } = start({ a: 1, b: 1 });
  progress.begin('a');
  advance(2.5);
  t.equal(progress.end('a', true), 2.5);
  progress.begin('b');
  progress.end('b', false, ' # SKIP why');
  progress.finish();
  t.same(written, ['ok 1/2 a # 2.5 s\n', 'not ok 2/2 b # 0.0 s # SKIP why\n']);
});

t.test('at a terminal a last line says what is done, what runs and what is left', async (t) => {
  const { progress, written, advance } = start({ a: 10, b: 20, c: 10 }, 60);
  progress.begin('a');
  progress.begin('b');
  advance(10);
  progress.end('a', true);
  t.equal(progress.status(), '1 of 3 done, 0:10 gone, about 0:10 left; now b 10 s');
  const last = written.at(-1) ?? '';
  t.ok(last.startsWith(`\r\x1b[K1 of 3 done`));
  progress.print('a word');
  t.match(written.at(-2), '\r\x1b[Ka word\n', 'a line takes its place, and it is drawn again below');
  progress.finish();
  t.equal(written.at(-1), '\r\x1b[K');
});

t.test('the rest takes as long as the pace so far says', async (t) => {
  const { progress, advance } = start({ a: 20, b: 30, c: 30, d: undefined });
  t.equal(progress.secondsLeft(), (20 + 30 + 30 + 3) / 2);
  progress.begin('a');
  advance(60);
  progress.end('a', true);
  t.equal(progress.secondsLeft(), ((30 + 30 + 3) * 3) / 2, 'three times slower than before');
  progress.begin('b');
  progress.begin('c');
  advance(30);
  progress.end('c', true);
  progress.begin('d');
  advance(1);
  const pace = (60 + 30) / (20 + 30);
  t.equal(progress.secondsLeft(), 30 * pace - 31, 'not before the longest one');
});

t.test('minutes and seconds', async (t) => {
  t.same([0, 59.6, 187].map(minutes), ['0:00', '1:00', '3:07']);
});
