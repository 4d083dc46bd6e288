// SPDX-License-Identifier: Apache-2.0
//
// The screen of `vuhca status` for an adapter whose history is known, whole and word for word.

import t from 'tap';
import type { Adapter } from '../../device/adapter.ts';
import { Bench } from '../../device/conformance/bench.ts';
import { reportAdapter, type StatusReport } from '../../device/main/status-report.ts';
import { renderStatus } from './status-screen.ts';

const RATES = { requests: 12345.6, commands: 100, packets: 0.4 };

/** What a live process adds to the report of its adapter. */
function reportOf(
  bench: Bench,
  more: Partial<StatusReport> = {},
  ofSocket: Partial<StatusReport['adapters'][number]['sockets'][number]> = {},
): StatusReport {
  const socket = {
    path: '/run/user/1000/vuhca/a-long-name-of-a-socket.sock',
    attached: true,
    requests: 900,
    attaches: 1,
    refusedClients: 0,
    lostConnections: 0,
    exceptions: 0,
    registerReads: 10,
    registerWrites: 20,
    collectWrites: 30,
    pioWrites: 0,
    sharedMemoryBytes: 512 * 2 ** 20,
    ...ofSocket,
  };
  const adapter = { name: 'a', sockets: [socket], ...reportAdapter(bench.machine.core as Adapter) };
  const links = [{ ends: ['a:1', 'a:2'], kind: 'cable' as const, up: true, sent: 5, received: 0, lost: 0 }];
  return { pid: 42, uptimeNs: 3_725e9, recording: undefined, adapters: [adapter], links, ...more };
}

t.test('an adapter at work', async (t) => {
  const bench = new Bench({ seed: 1, adapter: { executionCredits: 16, completionCredits: 64 } });
  const { sender, receiver, to } = bench.createPair();
  for (let i = 0; i < 3; i++) {
    bench.postReceive(receiver, 104);
    sender.post(to({ inline: bench.random.bytes(64) }), i % 2 === 0 ? 'collect' : 'doorbell');
    bench.settle();
  }
  sender.post(to({ inline: bench.random.bytes(8), qkey: 77 }), 'collect');
  sender.post(to({ inline: bench.random.bytes(8) }), 'collect');
  bench.settle();
  bench.access.writeRegister(0x7ff8, 4, 1, 0);
  bench.access.writeCollect(72, 8, 0, 0);
  const text = renderStatus(reportOf(bench), RATES);
  t.equal(
    text,
    `vuhca 42, up 1 h 2 min: 12346 requests/s, 100 commands/s, 0 packets/s
guest        attached, 512.0 MiB within reach, ...-long-name-of-a-socket.sock
accesses     10 register reads, 20 writes, 30 collect writes, 0 PIO
function 0   enabled, bus master on, 0 resets
management   14 commands, 0 refused
collect      1 of 64 VCBs in use, 4 kicks, 0 refusals, 0 cancels
its PCBs     256 given, level 0: 1 used 191 left, level 1: 0 used 192 left
doorbells    1 explicit, 0 implicit, 2 idle
commands     4 collected, 1 fetched, 0 stale
objects      1 PDs, 1 MRs, QPs: 2 RTS
CQs          2, 8 entries posted, 0 in error
EQs          2, 0 entries posted, 0 in error, 0 vectors sent, 0 pending
DMA          724 B read, 4.3 KiB written
faults       1 REGISTER_RESERVED, 1 QKEY_VIOLATION
first fault  QKEY_VIOLATION: object 0x3, address 0x10000004d, at 0.000000 s
PCBs         1 of 256 in use, 0 of 0 shared by all functions
scheduler    0 of 64 buffers in use
lanes        0 waiting, 5 launched, credits: execution 0/16, completion 0/64
port 1       ACTIVE, LID 1, 5 sent, 0 received, 0 dropped
port 2       ACTIVE, LID 2, 0 sent, 3 received, 2 dropped, 1 bad Q_Keys
drops        1 no receive entry
link         a:1 - a:2, cable up, 5 there, 0 back, 0 lost
`,
  );
  const lines = text.split('\n');
  t.ok(lines.length <= 25 && lines.every((line) => line.length <= 80), 'it fits a terminal of 80 by 24');
});

t.test('an adapter nobody uses', async (t) => {
  const bench = new Bench();
  bench.driver.reset();
  const recording = { path: '/tmp/x', bytes: 1536 };
  const idle = { attached: false, attaches: 0, path: '/s' };
  const text = renderStatus(reportOf(bench, { uptimeNs: 59e9, recording }, idle), RATES);
  t.match(text, /^vuhca 42, up 59 s: /);
  t.match(text, /^guest {8}not attached yet, \/s$/m);
  t.match(text, /^function 0 {3}not enabled, bus master o/m);
  t.match(text, /QPs: none$/m);
  t.match(text, /^recording {4}1\.5 KiB in \/tmp\/x$/m);
  t.match(renderStatus(reportOf(bench, {}, { ...idle, attaches: 2 }), RATES), /^guest {8}gone, /m);
});

t.test('two adapters, and a link to another process', async (t) => {
  const one = reportOf(new Bench());
  const [a] = one.adapters;
  const cable = { ends: ['a:1', 'b:1'], kind: 'cable' as const, up: true, sent: 7, received: 8, lost: 0 };
  const socket = { ends: ['a:2', 'connect /l'], kind: 'socket' as const, up: false, sent: 0, received: 0, lost: 3 };
  const text = renderStatus({ ...one, adapters: [a, { ...a, name: 'b' }], links: [cable, socket] }, RATES);
  t.match(text, /\n\nadapter {6}a\nguest .*\n\nadapter {6}b\nguest /s);
  t.match(
    text,
    /^link {9}a:1 - b:1, cable up, 7 there, 8 back, 0 lost\nlink {9}a:2 - connect \/l, socket down, .* 3 lost$/m,
  );
});
