// SPDX-License-Identifier: Apache-2.0
/** LoopTurn: one call for all requests of a turn, and one write to its eventfd. */
import { readdirSync, readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import t from 'tap';
import { LoopTurn } from './event-loop.ts';

/** Counts of the eventfds of this process, by descriptor. */
function eventCounts(): Map<string, bigint> {
  const counts = new Map<string, bigint>();
  for (const fd of readdirSync('/proc/self/fdinfo')) {
    const count = readInfo(fd).match(/^eventfd-count:\s*([0-9a-f]+)$/m)?.[1];
    if (count !== undefined) counts.set(fd, BigInt(`0x${count}`));
  }
  return counts;
}

/** Empty for the descriptor of the folder itself, which is closed by now. */
function readInfo(fd: string): string {
  try {
    return readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8');
  } catch {
    return '';
  }
}

t.test('requests of one turn are one write and one call', async (t) => {
  const before = eventCounts();
  let calls = 0;
  const turn = new LoopTurn(() => calls++);
  t.teardown(() => turn.close());
  const [fd = ''] = [...eventCounts().keys()].filter((name) => !before.has(name));
  const count = () => eventCounts().get(fd);
  turn.start();
  for (let round = 1; round <= 3; round++) {
    t.equal(count(), 0n, `round ${round}: nothing is requested`);
    for (let request = 0; request < 5; request++) turn.queue();
    t.equal(count(), 1n, `round ${round}: one write`);
    while (calls < round) await setImmediate();
    await setImmediate();
    t.equal(calls, round, `round ${round}: one call`);
  }
});

t.test('a turn that is stopped calls nobody, and later only once', async (t) => {
  let calls = 0;
  const turn = new LoopTurn(() => calls++);
  t.teardown(() => turn.close());
  turn.queue();
  await setImmediate();
  await setImmediate();
  t.equal(calls, 0);
  turn.start();
  while (calls === 0) await setImmediate();
  await setImmediate();
  t.equal(calls, 1);
});
