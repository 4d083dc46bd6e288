// SPDX-License-Identifier: Apache-2.0
/**
 * docs/PERFORMANCE.md: the figures of a run of `npm run bench -- --report`, each with its limit and
 * their ratio, and those beside soft-RoCE. Pure. Called by main.ts and `npm run pictures`.
 */
import type { SizeCost } from '../bench/core-costs.ts';
import { markdownTable } from '../console/markdown-table.ts';
import { type KeptFigures, tabulateFigures } from '../foreign/figures.ts';
import type { AccessName, Limited, MessageCost, Performance } from './figures.ts';

export const PERFORMANCE_PAGE = 'docs/PERFORMANCE.md';

/** Stores of a datagram of 64 bytes into a collect buffer, 8 bytes each. */
const COLLECT_STORES = 16;
const NAMES: Readonly<Record<AccessName, string>> = {
  read: 'a read of a register',
  write: 'a posted write of 8 bytes',
  doorbell: 'a doorbell',
};

/** The page. */
export function describePerformance(performance: Performance, figures: KeptFigures): string {
  const { machine } = performance;
  const parts = [
    HEAD,
    markdownTable(
      ['', 'of this run'],
      [
        ['processors', machine.processors],
        ['system', `${machine.system}, Node.js ${machine.node}`],
        ['guest', `QEMU ${machine.qemu}, one processor`],
        ['date', machine.date],
        ['load average before and after', `${machine.load.before.toFixed(1)} and ${machine.load.after.toFixed(1)}`],
      ],
    ),
    describeGuest(performance),
    describeSocket(performance),
    describeCore(performance),
    describeForeign(figures),
  ];
  return `${parts.join('\n\n')}\n`;
}

const HEAD = `# Performance

What accesses and messages cost, each beside the limit that the machine sets, measured in the same
run. \`npm run bench -- --report\` measures for a few minutes and writes this page and its plots; do not
edit it. Only ratios compare with other machines and other days. A ratio is the median of those of
the rounds, not the quotient of the two medians beside it. Single figures with their history are in
[MEASUREMENTS.md](MEASUREMENTS.md).`;

function describeGuest({ guest, messages, trapNs }: Performance): string {
  const { doorbell, write } = guest;
  const stores = COLLECT_STORES * write.adapter.limitNs;
  return `## In a guest

![Parts of the time of one message](pictures/performance-message.svg)

The limit is the C twin: the same PCI function with nothing behind it, written in C on the same
libvfio-user. An access that QEMU itself answers, so that it never leaves the process, takes
${us(trapNs)}. Messages are datagrams of 64 bytes through our driver in the kernel.

${markdownTable(
  ['', 'time', 'limit', 'time of it', 'ratio'],
  [
    ...Object.entries(guest).map(([name, { adapter }]) => limited(NAMES[name as AccessName], adapter, 'the C twin')),
    row(
      'a message by doorbell, until it is received',
      messages.doorbell,
      'a doorbell to the twin',
      doorbell.adapter.limitNs,
    ),
    row('a message by collect buffer', messages.collect, `${COLLECT_STORES} posted writes to the twin`, stores),
  ],
)}

In a stream a message takes ${us(messages.doorbell.streamNs)} by doorbell and ${us(messages.collect.streamNs)} by collect buffer.`;
}

function describeSocket({ socket }: Performance): string {
  const rows = Object.entries(socket).flatMap(([name, { adapter, twin }]) => {
    const bare = 'a process that only answers';
    return [
      limited(`${NAMES[name as AccessName]}, adapter`, adapter, bare),
      limited('the C twin', twin as Limited, bare),
    ];
  });
  return `## On the socket

Without QEMU, all processes on one processor. The limit is a round trip, or a message, over a UNIX
socket to a process that looks at nothing.

${markdownTable(['', 'time', 'limit', 'time of it', 'ratio'], rows)}`;
}

function describeCore({ sizes, queuePairs }: Performance): string {
  const cells = (one: SizeCost): string[] => [
    bytes(one.bytes),
    us(one.loneNs),
    us(one.streamNs),
    `${(one.bytes / one.streamNs).toPrecision(2)} GB/s`,
    us(one.copyNs),
    `${one.streamToCopy.toPrecision(2)}`,
    us(one.crcNs),
  ];
  return `## In the device core

RDMA WRITEs on a reliable connection from port to port, in process, without sockets and guests:
processor time. The limit is one copy of the bytes. A CRC over them is what a port adds that seals
its packets; behind a plain cable none does.

![Latency by size](pictures/performance-latency.svg)

![Bandwidth by size](pictures/performance-bandwidth.svg)

${markdownTable(
  ['size', 'a lone message', 'a message of a stream', 'bandwidth', 'a copy', 'stream to copy', 'a CRC'],
  sizes.map(cells),
)}

![Rate by number of queue pairs](pictures/performance-rate.svg)

${markdownTable(
  ['queue pairs', 'a message of 64 bytes', 'messages a second', 'ratio to one'],
  queuePairs.map(({ count, ns, toOne }) => [
    `${count}`,
    us(ns),
    `${(1e3 / ns).toPrecision(2)} million`,
    toOne.toFixed(2),
  ]),
)}`;
}

function describeForeign(figures: KeptFigures): string {
  const [head = [], ...rows] = tabulateFigures(figures);
  return `## Beside soft-RoCE

Debian's programs in one guest, where the adapters and soft-RoCE take turns
([FOREIGN.md](verbs/FOREIGN.md)). The limit of a disk is the same disk without a fabric. "One
thread": a second guest, whose processors take turns on one thread of QEMU
([FEATURES.md](FEATURES.md), "Processors in turns").

${markdownTable(head, rows)}`;
}

function limited(name: string, { ns, limitNs, ratio }: Limited, limit: string): string[] {
  return [name, us(ns), limit, us(limitNs), ratio.toFixed(2)];
}

function row(name: string, { receivedNs }: MessageCost, limit: string, limitNs: number): string[] {
  return limited(name, { ns: receivedNs, limitNs, ratio: receivedNs / limitNs }, limit);
}

/** 0.17 us, 3.35 us, 366 us. */
export function us(ns: number): string {
  return `${(ns / 1000).toPrecision(ns < 1000 ? 2 : 3)} us`;
}

/** 64 B, 4 KiB, 1 MiB. */
export function bytes(count: number): string {
  if (count >= 1 << 20) return `${count / (1 << 20)} MiB`;
  return count >= 1024 ? `${count / 1024} KiB` : `${count} B`;
}
