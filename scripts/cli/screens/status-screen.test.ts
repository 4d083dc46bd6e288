// SPDX-License-Identifier: Apache-2.0
/**
 * The screen of `vuhca status` for an adapter with a known history, whole and word for word; and
 * the table of several functions.
 */
import { stripVTControlCharacters } from 'node:util';
import t, { type Test } from 'tap';
import { reportAdapter, type StatusReport } from '../../../device/process/reports/status-report.ts';
import { Driver } from '../../../device/rig/driver/driver.ts';
import { AdapterFixture } from '../../../device/rig/fixtures/adapter-fixture.ts';
import { InProcessAccess } from '../../../device/rig/machine/access.ts';
import { InProcessMachine } from '../../../device/rig/machine/machine.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import { ManagementOpcode, SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import { computeRates } from '../commands/status-sample.ts';
import { describeFirstFault } from './fault-text.ts';
import { renderStatus } from './status-screen.ts';

const PUMP = { spinNs: 50_000, isCrowded: false, longSpins: { found: 0, missed: 0 }, passes: 9, waits: 2, sleeps: 1 };
const RATES = { requests: 12345.6, commands: 100, packets: 0.4, functions: [], personalities: [] };

type ServedReport = StatusReport['adapters'][number];
type SocketReport = ServedReport['sockets'][number];

/** The report of an adapter with the additions of a live process; all sockets are alike. */
function describeServed(machine: InProcessMachine, ofSocket: Partial<SocketReport> = {}): ServedReport {
  const socket = {
    path: '/run/user/1000/vuhca/a-long-name-of-a-socket.sock',
    attached: true,
    inD0: true,
    requests: 900,
    attaches: 1,
    refusedClients: 0,
    lostConnections: 0,
    exceptions: 0,
    registerReads: 10,
    registerWrites: 20,
    collectWrites: 30,
    pioWrites: 0,
    blockedTooLong: 0,
    sharedMemoryBytes: 512 * 2 ** 20,
    ...ofSocket,
  };
  const report = reportAdapter(machine.device);
  return { name: 'a', sockets: report.functions.map(() => socket), ...report };
}

/** A process of the fixture's adapter. */
function reportOf(
  fixture: AdapterFixture,
  more: Partial<StatusReport> = {},
  ofSocket: Partial<SocketReport> = {},
): StatusReport {
  const adapter = describeServed(fixture.machine, ofSocket);
  const links = [{ ends: ['a:1', 'a:2'], kind: 'cable' as const, up: true, sent: 5, received: 0, lost: 0 }];
  return {
    pid: 42,
    uptimeNs: 3_725e9,
    pump: PUMP,
    recording: undefined,
    adapters: [adapter],
    personalities: [],
    switches: [],
    links,
    ...more,
  };
}

t.test('an adapter at work', async (t) => {
  const fixture = new AdapterFixture({ seed: 1, adapter: { executionCredits: 16, completionCredits: 64 } });
  const { sender, receiver, to } = fixture.createPair();
  for (let i = 0; i < 3; i++) {
    fixture.postReceive(receiver, 104);
    sender.post(to({ inline: fixture.random.bytes(64) }), i % 2 === 0 ? 'collect' : 'doorbell');
    fixture.settle();
  }
  sender.post(to({ inline: fixture.random.bytes(8), qkey: 77 }), 'collect');
  sender.post(to({ inline: fixture.random.bytes(8) }), 'collect');
  fixture.settle();
  fixture.access.writeRegister(0x7ff8, 4, 1, 0);
  fixture.access.writeCollect(72, 8, 0, 0);
  const text = renderStatus(reportOf(fixture), RATES);
  t.equal(
    text,
    `vuhca 42     up 1 h 2 min, 12346 QEMU requests/s, 100 commands/s, 0 packets/s
guest        attached, 512.0 MiB within reach, ...-long-name-of-a-socket.sock
accesses     10 register reads, 20 writes, 30 collect writes, 0 PIO
function 0   enabled, bus master on, never reset
collect      1 of 64 VCBs in use, 256 PCBs given, 4 kicks, 0 cancels
level 0      1 of 192 PCBs, 0 refused, 128 shared lanes, 0 queued, 0 SQs listed
level 1      0 of 192 PCBs, 0 refused, 128 shared lanes, 0 queued, 0 SQs listed
credits      no lanes of its own, shared in use: 0 execution, 0 completion
doorbells    1 explicit, 0 implicit, 0 idle
overflow     0 doorbells, 0 spilled, 0 drained, 0 lost, 0 sweeps
commands     4 collected, 1 fetched, 0 stale, 5 launched, 0 waiting
objects      1 PDs, 1 MRs, QPs: 2 RTS, 14 management commands, 0 refused
CQs          2, 8 entries posted, 0 in error
EQs          2, 0 entries posted, 0 in error, 0 vectors sent, 0 pending
DMA          692 B read, 4.3 KiB written
faults       !1 REGISTER_RESERVED, !1 QKEY_VIOLATION
first fault  QKEY_VIOLATION: QP 3, from LID 1, Q_Key 0x4d, at 0.000000 s
PCBs         1 of 256 in use, 0 of 0 shared by all, scheduler: 0 of 64
lanes        0 waiting, 5 launched, credits 0/16 execution, 0/64 completion
port 1       ACTIVE, LID 1, 5 sent, 0 received, 0 dropped
port 2       ACTIVE, LID 2, 0 sent, 3 received, !2 dropped, !1 bad Q_Keys
drops        !1 no receive entry
link         a:1 - a:2, cable up, 5 there, 0 back, 0 lost
! needs a look: docs/DEBUGGING.md, Counters
`,
  );
  const lines = text.split('\n');
  t.ok(lines.length <= 25 && lines.every((line) => line.length <= 80), 'it fits a terminal of 80 by 24');
});

t.test('how long the pump polls, where it is not as long as usual', async (t) => {
  const describe = (more: Partial<StatusReport['pump']>): string[] =>
    renderStatus(reportOf(new AdapterFixture(), { pump: { ...PUMP, ...more } }), RATES)
      .split('\n')
      .filter((text) => text.startsWith('pump '));
  t.same(describe({}), []);
  t.same(describe({ isCrowded: true }), []);
  const longSpins = { found: 12345, missed: 67 };
  const found = 'longer polls: 12345 found a request, 67 did not';
  t.same(describe({ spinNs: 212_345, longSpins }), [`pump         polls for 212 us, ${found}`]);
  t.same(describe({ isCrowded: true, longSpins }), [`pump         does not poll, ${found}`]);
  t.same(describe({ spinNs: 300_000, fixedSpinUs: 300 }), ['pump         polls for 300 us, --spin=300']);
  t.same(describe({ spinNs: 0, fixedSpinUs: 0 }), ['pump         does not poll, --spin=off']);
});

t.test('resets by their cause, and credits of lanes of its own', async (t) => {
  const fixture = new AdapterFixture();
  for (const kind of ['device', 'device', 'function', 'lost', 'software'] as const) fixture.machine.reset(0, kind);
  const report = reportOf(fixture);
  t.match(
    renderStatus(report, RATES),
    `function 0   not enabled, bus master off, resets: 2 by QEMU at starts
             1 by function level reset, 1 as QEMU left, 1 by the driver
`,
  );
  const [adapter] = report.adapters;
  const [unit] = adapter.functions;
  const lanes = { ...unit.lanes, execution: { private: 4, privateUsed: 3, sharedUsed: 2 } };
  const own = { ...report, adapters: [{ ...adapter, functions: [{ ...unit, lanes }] }] };
  t.match(
    renderStatus(own, RATES),
    `credits      own in use: 3 of 4 execution, 0 of 0 completion
             shared in use: 2 execution, 0 completion
`,
  );
});

t.test('commands in the pipeline, and writes on a stalled bus', async (t) => {
  const fixture = new AdapterFixture({ adapter: { dmaLatencyNs: 1500, dmaContexts: 2, pipelineNs: 70 } });
  const { sender, to } = fixture.createPair();
  for (let posted = 0; posted < 3; posted++) sender.post(to({ inline: Uint8Array.of(1) }), 'collect');
  fixture.settle();
  const report = reportOf(fixture);
  const text = renderStatus(report, RATES);
  t.match(text, /3 in the pipeline/);
  t.match(text, '\npipeline     3 commands, reads take 1500 ns, 2 of 2 DMA contexts, commands 70 ns\n');
  t.match(text, 'credits 3/256 execution, 3/1024 completion');
  const [adapter] = report.adapters;
  const [unit] = adapter.functions;
  const doorbells = { ...unit.doorbells, bus: { ...unit.doorbells.bus, held: 9 } };
  const commands = { ...unit.commands, levelMismatches: 4 };
  const pipeline = { ...adapter.pipeline, packets: 6 };
  const busy = { ...report, adapters: [{ ...adapter, pipeline, functions: [{ ...unit, doorbells, commands }] }] };
  t.match(renderStatus(busy, RATES), '6 packets wait for receive entries');
  t.match(renderStatus(busy, RATES), '0 idle, !9 collect writes held');
  t.match(renderStatus(busy, RATES), /4 by a VCB\s+of\s+another\s+level|4 by a VCB of another level/);
});

t.test('accesses that passed a bus that stayed blocked', async (t) => {
  const show = (blockedTooLong: number): string =>
    renderStatus(reportOf(new AdapterFixture(), {}, { blockedTooLong }), RATES);
  t.match(show(3), '!3 times past a blocked bus');
  t.notMatch(show(0), 'blocked bus');
});

t.test('on a terminal, good states are green, and what needs a look is red', async (t) => {
  const fixture = new AdapterFixture();
  fixture.access.writeRegister(0x7ff8, 4, 1, 0);
  const text = renderStatus(reportOf(fixture), RATES, { colour: true });
  const parts = text.split('\x1b[').filter((part) => part.startsWith('3') && !part.startsWith('39'));
  const colours = parts.map((part) => part.replace('m', ' '));
  t.same(colours, ['32 attached', '32 enabled', '31 !1 REGISTER_RESERVED', '32 ACTIVE', '32 ACTIVE']);
  const plain = renderStatus(reportOf(fixture), RATES);
  t.equal(stripVTControlCharacters(text), plain, 'the same words without a terminal');
});

t.test('the first fault names its object', async (t) => {
  const first = { kind: 'DMA_WRITE', objectKind: 'CQ', object: 7, address: 4096, access: undefined, timeNs: 1.5e9 };
  t.equal(describeFirstFault(first).join(', '), 'DMA_WRITE: CQ 7, address 0x1000, at 1.500000 s');
  const say = (change: Partial<typeof first>) => describeFirstFault({ ...first, ...change })[0];
  t.equal(say({ objectKind: 'SEND_CONTEXT', object: 2 }), 'DMA_WRITE: send context 2');
  t.equal(say({ objectKind: 'PAGE_LIST', object: 0 }), 'DMA_WRITE: page list');
  t.equal(say({ objectKind: 'NONE', object: 0 }), 'DMA_WRITE');
  const where = (kind: string, address: number) => describeFirstFault({ ...first, kind, address })[1];
  t.equal(where('REGISTER_RESERVED', 0x7ff8), 'offset 0x7ff8');
  t.equal(where('REGISTER_READ_ONLY', 0x84), 'register DEVICE_STATUS (0x84)');
  t.equal(where('REGISTER_WIDTH', CSR.PORT_LID + 5), `register PORT_LID[1] (0x${(CSR.PORT_LID + 5).toString(16)})`);
  t.equal(where('COLLECT_RESERVED', 0x84), 'offset 0x84');
  t.equal(where('COMMAND_LENGTH', 12), 'detail 12');
  t.equal(where('PKEY_VIOLATION', 3 * 2 ** 32 + 0x8001), 'from LID 3');
  const by = (access: { sizeBytes: number; written?: string }) =>
    describeFirstFault({ ...first, kind: 'REGISTER_READ_ONLY', address: 0x84, access })
      .slice(1, -1)
      .join(', ');
  t.equal(by({ sizeBytes: 4, written: '0x1' }), 'register DEVICE_STATUS (0x84), write of 0x1, 4 bytes');
  t.equal(by({ sizeBytes: 1 }), 'register DEVICE_STATUS (0x84), read of 1 byte');
});

t.test('an adapter without guests', async (t) => {
  const fixture = new AdapterFixture();
  fixture.driver.reset();
  const recording = { path: '/tmp/x', bytes: 1536 };
  const idle = { attached: false, attaches: 0, path: '/s' };
  const text = renderStatus(reportOf(fixture, { uptimeNs: 59e9, recording }, idle), RATES);
  t.match(text, /^vuhca 42 {5}up 59 s, /);
  t.match(text, /^guest {8}not attached yet, \/s$/m);
  t.match(text, /^function 0 {3}not enabled, bus master o/m);
  t.match(text, /QPs: none, /m);
  t.match(text, /^recording {4}1\.5 KiB in \/tmp\/x$/m);
  t.match(renderStatus(reportOf(fixture, {}, { ...idle, attaches: 2 }), RATES), /^guest {8}gone, /m);
  t.match(renderStatus(reportOf(fixture, {}, { inD0: false }), RATES), /^guest {8}attached, D3hot, 512/m);
});

t.test('two adapters, and a link to another process', async (t) => {
  const one = reportOf(new AdapterFixture());
  const [a] = one.adapters;
  const cable = { ends: ['a:1', 'b:1'], kind: 'cable' as const, up: true, sent: 7, received: 8, lost: 0 };
  const socket = { ends: ['a:2', 'connect /l'], kind: 'socket' as const, up: false, sent: 0, received: 0, lost: 3 };
  const trouble = `cannot connect (ECONNREFUSED): ${'nobody listens there; '.repeat(3)}go on`;
  const text = renderStatus(
    { ...one, adapters: [a, { ...a, name: 'b' }], links: [cable, { ...socket, trouble }] },
    RATES,
  );
  t.match(text, /\n\nadapter {6}a\nguest .*\n\nadapter {6}b\nguest /s);
  t.match(
    text,
    /^link {9}a:1 - b:1, cable up, 7 there, 8 back, 0 lost\nlink {9}a:2 - connect \/l, !socket down, .* !3 lost\n {13}cannot connect .*\n {13}.*go on\n! needs/m,
  );
});

const NOP = { header: { opcode: SendOpcode.NOP } };
const COLUMNS = 132;

/**
 * A machine whose first functions have a guest that posted commands of both QoS levels and left one
 * half-written.
 */
function makeMachine(functionCount: number, guests: number): InProcessMachine {
  const machine = new InProcessMachine({ functionCount, memoryBytes: 1 << 20 });
  for (let index = 0; index < guests; index++) {
    const driver = new Driver(new InProcessAccess(machine, index)).bringUp({ levelOnePages: 16 });
    const pd = driver.createProtectionDomain();
    for (const qosLevel of [0, 1]) {
      const qp = driver.createQueuePair({ pd, sendCq: driver.createCompletionQueue(), qosLevel }).start({ port: 1 });
      for (let count = 0; count < 2 + qosLevel; count++) qp.post(NOP, 'collect');
      qp.post(NOP, 'doorbell');
      machine.runUntilIdle();
      if (qosLevel === 1) qp.collect(qp.fill(NOP).subarray(0, 8));
    }
  }
  return machine;
}

function processOf(adapter: ServedReport, uptimeNs = 1e9): StatusReport {
  const links = [{ ends: ['a:1', 'a:2'], kind: 'cable' as const, up: true, sent: 5, received: 0, lost: 0 }];
  return {
    pid: 42,
    uptimeNs,
    pump: PUMP,
    recording: undefined,
    adapters: [adapter],
    personalities: [],
    switches: [],
    links,
  };
}

t.test('three functions, one of them without a guest: a line for each, word for word', async (t) => {
  const adapter = describeServed(makeMachine(3, 2));
  const [first, second, third] = adapter.sockets;
  const report = processOf({
    ...adapter,
    sockets: [first, { ...second, attached: false }, { ...third, attached: false, attaches: 0 }],
  });
  const text = renderStatus(report, RATES);
  t.equal(
    text,
    `vuhca 42     up 1 s, 12346 QEMU requests/s, 100 commands/s, 0 packets/s
fn  guest    VCBs    PCBs  refused  lanes  wait    exec   compl  expl  impl  listed  ovfl  spill  drain  sweep  cmds
0   enabled  1/64  0+1/42      0+0  10+10   0+0  0+0/20  0+0/80     2     0     0+0     0      0      0      0     7
1   gone     1/64  0+1/42      0+0  10+10   0+0  0+0/20  0+0/80     2     0     0+0     0      0      0      0     7
a+b: QoS level 0 + 1; exec, compl: credits held, own + shared; /n: of n given; refused: found no PCB; wait: in kick lists
expl, impl: doorbells by origin; listed: SQs in scheduler lists; ovfl: in the overflow buffer; spill, drain: to and from it
no guest has attached function 2 yet
PCBs         2 of 256 in use, 0 of 130 shared by all, scheduler: 0 of 64
lanes        0 waiting, 14 launched, credits 0/256 execution, 0/1024 completion
port 1       ACTIVE, LID 1, 0 sent, 0 received, 0 dropped
port 2       ACTIVE, LID 2, 0 sent, 0 received, 0 dropped
drops        none
link         a:1 - a:2, cable up, 5 there, 0 back, 0 lost
`,
  );
  checkSize(t, text, 24);
  const narrow = renderStatus(report, RATES, { columns: 80 });
  t.match(
    narrow,
    `
fn  guest    VCBs    PCBs  refused  lanes  wait    exec   compl
0   enabled  1/64  0+1/42      0+0  10+10   0+0  0+0/20  0+0/80
1   gone     1/64  0+1/42      0+0  10+10   0+0  0+0/20  0+0/80
a+b: QoS level 0 + 1; exec, compl: credits held, own + shared; /n: of n given
refused: found no PCB; wait: in kick lists
fn  guest    expl  impl  listed  ovfl  spill  drain  sweep  cmds
0   enabled     2     0     0+0     0      0      0      0     7
1   gone        2     0     0+0     0      0      0      0     7
expl, impl: doorbells by origin; listed: SQs in scheduler lists
ovfl: in the overflow buffer; spill, drain: to and from it
no guest has attached function 2 yet
`,
  );
  checkSize(t, narrow, 24, 80);
  const rates = renderStatus(report, computeRates(report, report), { columns: 80, perSecond: true });
  t.match(rates, /^refused, .* are per second$/m);
  const details = renderStatus(report, RATES, { number: 1 });
  t.match(details, /^function 1 {3}enabled/m);
  t.match(details, /^level 1 {6}1 of 162 PCBs/m);
  t.notMatch(details, /^function 0/m);
});

t.test('34 functions at work fit one screen, with whatever numbers', async (t) => {
  const adapter = describeServed(makeMachine(34, 34));
  const report = processOf(adapter);
  const text = renderStatus(report, RATES);
  checkSize(t, text, 50);
  t.equal(text.match(/^\d+ +enabled /gm)?.length, 34);
  const busy = processOf({ ...adapter, functions: adapter.functions.map((unit) => enlarge(unit)) });
  checkSize(t, renderStatus(busy, RATES), 50);
  const unused = {
    ...adapter,
    sockets: adapter.sockets.map((socket, i) => (i < 3 ? socket : { ...socket, attaches: 0 })),
  };
  const short = renderStatus(processOf(unused), RATES);
  checkSize(t, short, 24);
  t.match(short, /^no guest has attached function 3-33 yet$/m);
});

t.test('rates per second, also of a function that was reset', async (t) => {
  const machine = makeMachine(3, 3);
  const before = processOf(describeServed(machine));
  new Driver(new InProcessAccess(machine, 1)).reset();
  const after = processOf(describeServed(makeMachine(3, 3)), 3e9);
  const [unit] = after.adapters[0].functions;
  const grown = {
    ...unit,
    lanes: { ...unit.lanes, launches: unit.lanes.launches + 9000 },
    dmaBytesWritten: unit.dmaBytesWritten + 6e6,
  };
  const later = {
    ...after,
    adapters: [{ ...after.adapters[0], functions: [grown, ...after.adapters[0].functions.slice(1)] }],
  };
  const rates = computeRates(before, later);
  t.equal(rates.functions[0][0].commands, 4500);
  t.equal(rates.functions[0][1].commands, 0);
  const reset = processOf(describeServed(machine), 3e9);
  t.ok(computeRates(later, reset).functions[0].every(({ commands, explicit }) => commands >= 0 && explicit >= 0));
  const text = renderStatus(later, rates, { perSecond: true });
  t.match(text, /^0 +enabled .* 4500 +0 +3000k$/m, 'commands, and bytes read and written');
  t.match(text, /^refused, .* in bytes of guest memory, are per second$/m);
  checkSize(t, text, 24);
  t.notMatch(renderStatus(later, rates, { perSecond: true, number: 1 }), /^0 +enabled/m);
});

t.test('entries of queues that were destroyed still count', async (t) => {
  const fixture = new AdapterFixture({ seed: 1 });
  const { sender, receiver, to } = fixture.createPair();
  sender.post(to({ inline: new Uint8Array(8), signaled: true }));
  sender.parts.sendCq.take();
  const posted = () => reportOf(fixture).adapters[0].functions[0].completionQueues.posted;
  const before = posted();
  t.ok(before > 0);
  for (const qp of [sender, receiver]) qp.destroy();
  const { cqn } = sender.parts.sendCq;
  fixture.driver.management.perform({ opcode: ManagementOpcode.DESTROY_CQ, objectNumber: cqn });
  t.equal(posted(), before);
  fixture.machine.reset(0, 'function');
  t.equal(posted(), 0, 'until the reset of the function');
});

/** Every count multiplied; of credits the largest possible number, a few hundred. */
function enlarge<T>(value: T, key = ''): T {
  if (typeof value === 'number') return (key === 'number' ? value : value * 987_654_321 + 7) as T;
  if (typeof value !== 'object' || value === null) return value;
  if (key === 'collect' || key === 'levels') return value;
  if (key === 'execution' || key === 'completion') return { private: 999, privateUsed: 999, sharedUsed: 999 } as T;
  const entries = Object.entries(value).map(([name, inner]) => [name, enlarge(inner, name)]);
  return (Array.isArray(value) ? entries.map(([, inner]) => inner) : Object.fromEntries(entries)) as T;
}

function checkSize(t: Test, text: string, rows: number, columns = COLUMNS): void {
  const lines = text.trimEnd().split('\n');
  const wide = lines.find((line) => line.length > columns);
  t.ok(lines.length <= rows, `${lines.length} lines`);
  t.equal(wide, undefined);
}

t.test('a switch has a line: address, ports, drops by cause', async (t) => {
  const fixture = new AdapterFixture({ seed: 1 });
  const relay = { name: 's', lid: 3, ports: 4, plugged: 3, active: 2, received: 9, sent: 7, drops: { 'no route': 2 } };
  const text = renderStatus(reportOf(fixture, { switches: [relay] }), RATES).replaceAll(/\n +/g, ', ');
  t.match(text, /^switch s +LID 3, !2 of 3 plugged ports active, 1 unplugged, 9 received, 7 sent, !2 no route$/m);
});
