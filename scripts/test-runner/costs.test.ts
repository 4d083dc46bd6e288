// SPDX-License-Identifier: Apache-2.0
/** The cost of a file is that of all processes that descend from its own, by kind of program. */
import t from 'tap';
import { describeCosts, describeTotal } from './cost-report.ts';
import { longestFirst, mergeTimes } from './known-times.ts';
import { ProcessorTimes, type ProcessSample, parseStat } from './processor-times.ts';

function sample(pid: number, parent: number, name: string, seconds: number, command = name): ProcessSample {
  return { pid, parent, start: pid, name, seconds, command: () => command };
}

t.test('a line of /proc/PID/stat, whatever the name of the program has in it', async (t) => {
  const line = '42 (a) b (c) S 7 42 42 0 -1 4194304 1 2 3 4 150 50 9 9 20 0 1 0 12345 1000 10';
  t.match(
    parseStat(42, line, () => ''),
    { pid: 42, parent: 7, name: 'a) b (c', seconds: 2, start: 12345 },
  );
});

t.test('processes belong to the file from whose process they descend, also orphans', async (t) => {
  const times = new ProcessorTimes();
  times.begin(10, 'a.test.ts');
  times.begin(20, 'b.test.ts');
  times.look([
    sample(10, 1, 'node', 1),
    sample(20, 1, 'node', 1),
    sample(30, 10, 'node', 2, '/usr/bin/node /x/scripts/cli/launch.mjs device --socket s'),
    sample(31, 30, 'qemu-system-x86', 3),
    sample(32, 20, 'cc1', 4),
    sample(99, 1, 'other', 50),
  ]);
  // The parent of 31 has ended, and 32 has become another program.
  times.look([
    sample(10, 1, 'node', 1.5),
    sample(31, 1, 'qemu-system-x86', 6),
    sample(33, 31, 'sh', 0.5),
    sample(32, 20, 'as', 5),
  ]);
  const costs = times.costs();
  t.same([...costs.keys()].sort(), ['a.test.ts', 'b.test.ts']);
  t.same(costs.get('a.test.ts'), { seconds: { test: 1.5, adapter: 2, QEMU: 6, compiler: 0, other: 0.5 }, guests: 1 });
  t.same(costs.get('b.test.ts'), { seconds: { test: 1, adapter: 0, QEMU: 0, compiler: 5, other: 0 }, guests: 0 });
  const table = describeCosts(costs, new Map([['a.test.ts', 12]]));
  t.match(table, /^a\.test\.ts +12\.0 +10\.0 +1\.5 +2\.0 +6\.0 +0\.0 +0\.5 +1$/m);
  t.match(table, /^all +16\.0 /m);
});

t.test('the whole is also a multiple of the fixed run', async (t) => {
  t.equal(describeTotal(90, 60), 'processor time 1:30 in 1:00 by the clock');
  t.match(describeTotal(90, 60, [1, 3, 2]), /, 45 times a fixed run beside it \(median of 3: 2\.00 s\)$/);
});

t.test('the longest begin first, and new ones before them', async (t) => {
  const processes = ['short', 'long', 'new'].map((name) => ({ name }));
  t.same(
    longestFirst(processes, { short: 1, long: 9 }).map(({ name }) => name),
    ['new', 'long', 'short'],
  );
  t.same(mergeTimes({ gone: 1, long: 9, short: 1 }, new Map([['long', 8.04]]), ['short', 'long']), {
    long: 8,
    short: 1,
  });
});
