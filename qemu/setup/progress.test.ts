// SPDX-License-Identifier: Apache-2.0
/** Output of long steps: what they do, why, how long it took before, and how far they are. */
import { mock } from 'node:test';
import t, { type Test } from 'tap';
import { withProgress } from './progress.ts';

/** The lines on standard error; times are written as `N s`. */
function captureLines(t: Test): string[] {
  const lines: string[] = [];
  const { write } = process.stderr;
  process.stderr.write = ((text: string) => {
    lines.push(text.replace(/\d+\.\d s\b/g, 'N s').trimEnd());
    return true;
  }) as typeof write;
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => {
    process.stderr.write = write;
    mock.timers.reset();
  });
  return lines;
}

t.test('a short step says nothing', async (t) => {
  const lines = captureLines(t);
  t.equal(await withProgress('making x', async () => 1, { reason: 'it is new' }), 1);
  mock.timers.tick(60_000);
  t.same(lines, []);
});

t.test('a long step says why once, and how far it is', async (t) => {
  const lines = captureLines(t);
  let done = 0;
  const details = { reason: 'x.h has changed', earlier: 'took 8.0 s last time', getState: () => `${done} files` };
  await withProgress(
    'making x',
    async () => {
      done = 1;
      mock.timers.tick(2_000);
      done = 2;
      mock.timers.tick(10_000);
    },
    details,
  );
  t.same(lines, [
    'set-up: making x, because x.h has changed; it took N s last time ... N s, 1 files',
    'set-up: making x ... N s, 2 files',
    'set-up: making x: done in N s',
  ]);
});

t.test('a step that took long before is told when it begins', async (t) => {
  const lines = captureLines(t);
  await withProgress('making x', async () => t.same(lines, ['set-up: making x, because of y ...']), {
    reason: 'of y',
    expectedMs: 2_000,
  });
  t.same(lines.slice(1), ['set-up: making x: done in N s']);
  await withProgress('making y', async () => {}, { expectedMs: 1_999 });
  t.equal(lines.length, 2);
});

t.test('a step that fails says no more', async (t) => {
  const lines = captureLines(t);
  const failing = withProgress('making x', async () => {
    mock.timers.tick(2_000);
    throw new Error('full');
  });
  await t.rejects(failing, { message: 'full' });
  mock.timers.tick(60_000);
  t.same(lines, ['set-up: making x ... N s']);
});
