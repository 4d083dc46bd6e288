// SPDX-License-Identifier: Apache-2.0
/** The report of `npm run demo -- verbs` from the lines of its guest. */
import t from 'tap';
import { FigureReader } from '../../foreign/figures.ts';
import { formatComparison, formatPairs, formatRatios, formatStream, isOurs } from './report.ts';

function read(lines: readonly string[]): FigureReader {
  const figures = new FigureReader();
  for (const line of lines) figures.push(`  # figure ${line}`);
  return figures;
}

t.test('a program has a row with the median of each adapter', async (t) => {
  const figures = read(['ping vuhca 3', 'ping vuhca 1', 'ping vuhca 2.5', 'ping rxe 7']);
  const lines = formatComparison(figures, ['vuhca', 'rxe']).split('\n');
  t.match(lines[0], /^medians +vuhca +soft-RoCE$/);
  t.match(lines[1], /^ping by IP, round trip, ms +2\.5 +7$/);
  t.match(lines[2], /^ibv_rc_pingpong, 64 bytes, us +- +-$/, 'a value that is missing is none');
  t.notOk(lines.some((line) => line.includes('VUHCA_POST')));
});

t.test('how requests were posted from user space is said with its numbers', async (t) => {
  const text = formatComparison(read(['collected vuhca 300', 'doorbells vuhca 2']), ['vuhca']);
  t.match(text, '300 requests came by collect pages, 2 doorbells rang.');
});

t.test('ratios stand beside the goals of each adapter', async (t) => {
  const figures = read(['latency-64 vuhca 10', 'latency-64 rxe 40', 'latency-64 mthca 20']);
  const lines = formatRatios(figures, ['vuhca', 'mthca', 'rxe']).split('\n');
  t.match(lines[0], /^times better than soft-RoCE +vuhca +goal +mthca +goal$/);
  t.match(lines[1], /^latency of `ib_send_lat`, 64 bytes +4 +8 +2 +5 *$/);
});

t.test('our verbs where processors take turns stand beside soft-RoCE of the first guest', async (t) => {
  const text = read([
    'latency-64 vuhca 10',
    'latency-64 rxe 40',
    'latency-64 vuhca-single 4',
    'latency-64 rxe-single 4000',
  ]);
  const lines = formatRatios(text, ['vuhca', 'rxe']).split('\n');
  t.match(lines[0], /^times better than soft-RoCE +vuhca +goal +vuhca, one thread$/);
  t.match(lines[1], /^latency of `ib_send_lat`, 64 bytes +4 +8 +10 *$/);
});

t.test('requests to a disk stand beside those without a fabric', async (t) => {
  const figures = read(['nvme-read-4096 vuhca 30', 'nvme-read-4096 rxe 10', 'nvme-read-4096 loop 65']);
  const lines = formatRatios(figures, ['vuhca', 'rxe']);
  t.match(lines, /^reads of 4 KiB by NVMe over RDMA +3 +5 +6\.5$/m);
});

t.test('a stream has a column of its own for our driver without shadow tails', async (t) => {
  const figures = read([
    'stream-64-doorbells vuhca 0.01',
    'stream-64-doorbells-rung vuhca 1.00006',
    'stream-64 rxe 70',
  ]);
  const lines = formatStream(figures, ['vuhca', 'rxe']);
  t.match(lines, /^a stream of 64-byte messages +vuhca +soft-RoCE +vuhca, all doorbells$/m);
  t.match(lines, /^a message, us +- +70\.0 +-$/m);
  t.match(lines, /^doorbells for a message +0\.0100 +- +1\.00$/m);
});

t.test('1,000 queue pairs have the medians of their rounds beside the goal', async (t) => {
  const ratios = [1.1, 1.25, 9].map((ratio) => `busy-pairs-ratio vuhca ${ratio}`);
  const lines = formatPairs(read(['busy-pairs-one vuhca 20.004', 'pairs-ratio rxe 3', ...ratios]), ['vuhca', 'rxe']);
  const [head, one, , busy, , , ratio] = lines.split('\n');
  t.match(head, /^queue pairs of a process +vuhca +soft-RoCE +goal$/);
  t.match(one, /^a message over one, 16 in flight, us +20\.0 +-/);
  t.match(busy, /^times as long, median of rounds +1\.25 +- +at most 1\.2$/);
  t.match(ratio, /^times as long, median of rounds +- +3\.00 +at most 1\.2$/);
});

t.test('what fails on soft-RoCE is not ours', async (t) => {
  const verdictOf = (name: string) => isOurs({ suite: 'comparison', name, verdict: 'fail', diagnostics: [] });
  t.notOk(verdictOf('latency-64-rxe-1'));
  t.ok(verdictOf('latency-64-mthca-1'));
  t.ok(verdictOf('ping-vuhca-2'));
  t.ok(verdictOf('far guest'));
});
