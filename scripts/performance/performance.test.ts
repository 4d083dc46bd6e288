// SPDX-License-Identifier: Apache-2.0
/** docs/PERFORMANCE.md: figures from rounds, and the rows that are written of them. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import type { Round } from '../bench/samples.ts';
import { readFigures } from '../foreign/figures.ts';
import {
  encodePerformance,
  type Performance,
  readPerformance,
  summarizeGuest,
  summarizeMessages,
  summarizeSocket,
} from './figures.ts';
import { bytes, describePerformance, PERFORMANCE_PAGE } from './page.ts';

/** A round in which everything takes `slower` times as long. */
function makeRound(slower: number, devices: Readonly<Record<string, number>>): Round {
  return Object.entries(devices).flatMap(([device, ns]): Round => {
    const totalNs = 100 * ns * slower;
    return [
      { kind: 'read', device, count: 10, p50Ns: ns * slower, p99Ns: 9e9 },
      { kind: 'write', device, count: 100, totalNs },
      { kind: 'doorbell', device, count: 100, totalNs: 2 * totalNs },
    ];
  });
}

t.test('a ratio is that of the rounds, whatever the machine does between them', async (t) => {
  const loads = [1, 5, 2, 9, 1];
  const guest = summarizeGuest(loads.map((load) => makeRound(load, { adapter: 3000, twin: 2000, trap: 100 })));
  t.same(guest.guest.read.adapter, { ns: 6000, limitNs: 4000, ratio: 1.5 });
  t.same(guest.guest.doorbell.adapter, { ns: 12_000, limitNs: 8000, ratio: 1.5 });
  t.equal(guest.trapNs, 200);
  const socket = summarizeSocket(loads.map((load) => makeRound(load, { adapter: 3000, twin: 2000, socket: 1000 })));
  t.same(socket.read.twin, { ns: 4000, limitNs: 2000, ratio: 2 });
  t.same(socket.write.adapter, { ns: 6000, limitNs: 2000, ratio: 3 });
});

t.test('messages are told by their way, until they are received', async (t) => {
  const latency = (device: string, until: string, p50Ns: number): Round => [
    { kind: 'latency', device, until, count: 9, p50Ns, p99Ns: 9e9 },
  ];
  const rounds = [1, 2, 3].map(
    (load): Round => [
      ...latency('collect', 'sent', 1),
      ...latency('collect', 'received', 50 * load),
      ...latency('doorbell', 'received', 10 * load),
      { kind: 'rate', device: 'doorbell', count: 1000, totalNs: 7000 },
      { kind: 'rate', device: 'collect', count: 1000, totalNs: 9000 },
    ],
  );
  t.same(summarizeMessages(rounds), {
    collect: { receivedNs: 100, streamNs: 9 },
    doorbell: { receivedNs: 20, streamNs: 7 },
  });
});

t.test('each figure of the page stands beside its limit', async (t) => {
  const kept = readPerformance();
  const access = { adapter: { ns: 3000, limitNs: 2000, ratio: 1.5 }, twin: { ns: 2500, limitNs: 2000, ratio: 1.25 } };
  const performance: Performance = {
    ...kept,
    guest: { read: access, write: access, doorbell: access },
    messages: { doorbell: { receivedNs: 10_000, streamNs: 900 }, collect: { receivedNs: 64_000, streamNs: 40_000 } },
    sizes: [
      { bytes: 4096, copyNs: 100, crcNs: 900, loneNs: 3000, streamNs: 1024, loneToCopy: 30, streamToCopy: 10.24 },
    ],
    queuePairs: [{ count: 7, ns: 500, toOne: 1.25 }],
  };
  const lines = describePerformance(performance, { vuhca: { 'rate-64': 41 } }).split('\n');
  for (const line of [
    '| a read of a register | 3.00 us | the C twin | 2.00 us | 1.50 |',
    '| a message by doorbell, until it is received | 10.0 us | a doorbell to the twin | 2.00 us | 5.00 |',
    '| a message by collect buffer | 64.0 us | 16 posted writes to the twin | 32.0 us | 2.00 |',
    '| 4 KiB | 3.00 us | 1.02 us | 4.0 GB/s | 0.10 us | 10 | 0.90 us |',
    '| 7 | 0.50 us | 2.0 million | 1.25 |',
    '| messages of `ib_write_bw`, 64 bytes | 41 | 40 |',
  ])
    t.ok(lines.includes(line), line);
});

t.test('the page says what is kept', async (t) => {
  const page = readFileSync(new URL(`../../${PERFORMANCE_PAGE}`, import.meta.url), 'utf8');
  t.ok(page === describePerformance(readPerformance(), readFigures()), 'npm run pictures');
});

t.test('what is kept has no more digits than repeat', async (t) => {
  const kept = readPerformance();
  const trapNs = 123.456789;
  t.equal(JSON.parse(encodePerformance({ ...kept, trapNs })).trapNs, 123.5);
  t.same(JSON.parse(encodePerformance(kept)), kept);
  t.same([64, 4096, 1 << 20].map(bytes), ['64 B', '4 KiB', '1 MiB']);
});
