// SPDX-License-Identifier: Apache-2.0
/**
 * The benchmark without a guest: statistics, the lines it reads, its tables, its command line, and
 * an adapter and a C twin that really run.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import t from 'tap';
import { provideLibrary } from '../../qemu/setup/library.ts';
import { describeError } from '../../qemu/setup/tools/errors.ts';
import { table } from '../console/table.ts';
import { summarizeCore } from './in-process.ts';
import { parseOptions } from './options.ts';
import { measureRaw } from './raw.ts';
import { type Round, SampleCollector } from './samples.ts';
import { median, percentile } from './statistics.ts';
import { compare, comparisonTable, messageRows } from './summary.ts';

t.test('percentiles and medians', async (t) => {
  const values = Array.from({ length: 100 }, (_, index) => 100 - index);
  t.equal(percentile(values, 0.5), 51);
  t.equal(percentile(values, 0.99), 100);
  t.equal(percentile(values, 0), 1);
  t.equal(percentile(values, 1), 100);
  t.equal(values[0], 100, 'the list is not changed');
  t.equal(median([5, 1, 3]), 3);
  t.equal(median([4, 1, 3, 2]), 2.5);
  t.ok(Number.isNaN(median([])) && Number.isNaN(percentile([], 0.5)));
});

/** Rounds of both devices; `factor` is how much slower the adapter is. */
function makeRounds(factor: number, lost = 0): Round[] {
  const collector = new SampleCollector();
  for (const [number, load] of [1, 3, 2, 10, 1].entries()) {
    collector.push(`{"kind":"round","number":${number}}`);
    for (const [device, slower] of [
      ['adapter', factor],
      ['twin', 1],
    ] as const) {
      const timeNs = 20_000 * load * slower;
      const missing = device === 'adapter' ? lost : 0;
      collector.push(`{"kind":"read","device":"${device}","count":10,"p50Ns":${timeNs},"p99Ns":${2 * timeNs}}`);
      for (const kind of ['write', 'doorbell']) {
        collector.push(`{"kind":"${kind}","device":"${device}","count":10,"totalNs":${timeNs},"lost":${missing}}`);
      }
    }
  }
  return collector.rounds;
}

t.test('a load on both devices does not change a ratio', async (t) => {
  const { rows, missed } = compare(makeRounds(1.05));
  t.same(missed, []);
  t.same(
    rows.map(({ ratio, quartiles }) => `${ratio} ${quartiles}`),
    ['1.050 1.05-1.05', '1.050 1.05-1.05', '0.952 0.95-0.95', '0.952 0.95-0.95'],
  );
  t.equal(rows[0].twin, '40.0 us');
  t.match(comparisonTable({ rows, missed }), /read p50 +42\.0 us +40\.0 us +1\.050 +1\.05-1\.05 +<= 1\.1 met\n/);
});

t.test('missed targets and lost writes are named', async (t) => {
  const slow = compare(makeRounds(1.5)).missed;
  t.equal(slow.length, 3);
  t.match(slow[0], /^read p50: the ratio is 1\.500, the target <= 1\.1/);
  t.match(slow[1], /^posted write rate: the ratio is 0\.667/);
  const lost = compare(makeRounds(1, 2)).missed;
  t.equal(lost.length, 10);
  t.match(lost[0], /^adapter: 2 of the posted writes did not arrive/);
});

t.test('messages have a row for each way of posting', async (t) => {
  const collector = new SampleCollector();
  collector.push('{"kind":"round","number":0}');
  for (const device of ['collect', 'doorbell']) {
    for (const until of ['sent', 'received'])
      collector.push(`{"kind":"latency","device":"${device}","until":"${until}","count":9,"p50Ns":8000,"p99Ns":12000}`);
    collector.push(`{"kind":"rate","device":"${device}","count":1000,"totalNs":1000000}`);
  }
  t.same(messageRows(collector.rounds)[1], ['doorbell', '8.00 us', '12.0 us', '8.00 us', '12.0 us', '1000000/s']);
});

t.test('the target is about allocation, not about time', async (t) => {
  const { table, missed } = summarizeCore([
    { device: 'collect', count: 1000, totalNs: 4e6, grownBytes: 100 },
    { device: 'doorbell', count: 1000, totalNs: 4e6, grownBytes: 16_000 },
  ]);
  t.match(table, /collect +4\.00 us +250000\/s +0\.10 bytes +< 2 bytes met\n/);
  t.same(missed, ['in one process, doorbell: a message allocates 16.0 bytes']);
});

t.test('malformed samples are refused, other lines are ignored', async (t) => {
  const collector = new SampleCollector();
  collector.push('@vuhca init 1.0');
  t.throws(() => collector.push('{"kind":"read"'), /not JSON/);
  t.throws(() => collector.push('{"kind":"read","device":"twin","count":1,"p50Ns":1,"p99Ns":1}'), /before any round/);
  collector.push('{"kind":"round","number":0}');
  t.throws(() => collector.push('{"kind":"read","device":"twin","count":1,"p50Ns":"1"}'), /malformed sample/);
  t.throws(() => collector.push('{"kind":"dance","device":"twin"}'), /malformed sample/);
  t.same(collector.rounds, [[]]);
});

t.test('the command line', async (t) => {
  t.match(parseOptions([]), { parts: ['guest', 'in-process'], rounds: 9, strict: false, cpu: 0 });
  t.match(parseOptions(['--raw', '--rounds=5', '--cpu=any', '--strict', '--profile=/tmp/x']), {
    parts: ['raw'],
    rounds: 5,
    strict: true,
    cpu: undefined,
    profileDirectory: '/tmp/x',
  });
  for (const bad of ['--rounds=4', '--rounds=x', '--rounds', '--cpu=', '--profile', 'raw', '--fast']) {
    t.throws(() => parseOptions([bad]), { name: 'UsageError', message: /--help/ }, bad);
  }
});

t.test('columns line up', async (t) => {
  t.equal(
    table(
      [
        ['', 'b'],
        ['long', '1'],
        ['x', '22'],
      ],
      1,
    ),
    '       b\nlong   1\nx     22\n',
  );
});

t.test('a checkout is compared with another one', async (t) => {
  const words = ['--import=#typescript', 'scripts/bench/transport.ts', '--json', '--pairs', '1', '--against', '.'];
  const run = (only: string) =>
    execFileSync(process.execPath, [...words, '--only', only], {
      cwd: join(import.meta.dirname, '../..'),
      encoding: 'utf8',
      stdio: 'pipe',
    });
  const { name, ratio, ratios } = JSON.parse(run('rc-write-64'));
  t.same([name, ratios], ['rc-write-64', [ratio]]);
  t.ok(ratio > 0);
  t.throws(() => run('many-qps'), /there is no scenario many-qps/);
});

/** A library that the user names lacks the headers that the twin needs. */
const skip = process.env.LIBVFIO_USER ? 'LIBVFIO_USER is set' : false;

t.test('both devices answer the probe, and lose nothing', { skip }, async (t) => {
  const library = await provideLibrary();
  const rounds = await measureRaw({ library, rounds: 5, profileDirectory: undefined, cpu: undefined });
  t.equal(rounds.length, 5);
  for (const round of rounds) t.equal(round.length, 8);
  const { rows, missed } = compare(rounds);
  t.ok(rows.every(({ ratio }) => Number(ratio) > 0));
  t.same(
    missed.filter((sentence) => sentence.includes('did not arrive')),
    [],
  );
});

t.test('a device that cannot be built is named', { skip }, async (t) => {
  const library = { ...(await provideLibrary()), path: '/nowhere/libvfio-user.so' };
  const error = await measureRaw({ library, rounds: 5, profileDirectory: undefined, cpu: undefined }).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  t.match(describeError(error), /nowhere/);
});
