// SPDX-License-Identifier: Apache-2.0
/** Uses of connected QPs with their keys: RC and UC, XRC, SRQs, windows, regions of all kinds. */
import {
  AccessFlag,
  EventType,
  ManagementOpcode,
  MwKind,
  PlacementType,
  SendOpcode,
  ServiceType,
} from '../../../protocol/layout/gen/values.gen.ts';
import { allocateDeviceMemory } from '../../hosts/in-process/driver/device-memory.ts';
import {
  connectInitiator,
  connectTarget,
  createXrcDomain,
  createXrcInitiator,
  createXrcQueue,
  createXrcTarget,
} from '../../hosts/in-process/driver/xrc.ts';
import type { Random } from '../../random.ts';
import type { AdapterFixture } from '../adapter-fixture.ts';
import { type Connected, connect, FULL_ACCESS, rdma } from '../connected-fixture.ts';
import { DemandPager, PAGE } from '../demand-pager.ts';
import { fastRegion } from '../fast-region-fixture.ts';
import { TraceFixture } from '../trace-fixture.ts';
import { bindWindow } from '../window-fixture.ts';
import type { Use } from './use.ts';

const LONG = 3000;

/** Every operation of an RC connection, several at once. */
function useReliable(fixture: AdapterFixture, random: Random): void {
  const connected = connect(fixture, { pathMtu: 1 });
  const { a, b, region } = connected;
  // Memory that is read is not written: operations of an order that is open must not show it.
  const source = fixture.createBuffer(random.bytes(LONG));
  const [local, remote] = [fixture.createBuffer(LONG), fixture.createBuffer(LONG)];
  for (let count = 0; count < 6; count++) fixture.postReceive(b, LONG);
  a.parts.sendCq.notify();
  b.parts.receiveCq.notify({ solicitedOnly: true });
  for (const opcode of random.shuffle([
    SendOpcode.SEND,
    SendOpcode.SEND_IMMEDIATE,
    SendOpcode.RDMA_WRITE,
    SendOpcode.RDMA_WRITE_IMMEDIATE,
    SendOpcode.RDMA_READ,
    SendOpcode.RDMA_READ,
  ])) {
    const isRead = opcode === SendOpcode.RDMA_READ;
    const request = isRead
      ? rdma(fixture, opcode, local, source, region)
      : rdma(fixture, opcode, source, remote, region);
    const by = random.pick(['collect', 'doorbell'] as const);
    a.post({ ...request, solicited: true }, by);
    if (by === 'doorbell') fixture.settle();
  }
  useAtomics(fixture, connected);
  const flush = { placementType: PlacementType.GLOBAL_VISIBILITY, lengthBytes: 64 };
  a.post({ opcode: SendOpcode.FLUSH, remote: { address: remote.address, rkey: region.rkey }, flush });
  drainAfterTime(fixture, connected);
}

function useAtomics(fixture: AdapterFixture, { a, region }: Connected): void {
  const [local, remote] = [fixture.createBuffer(8), fixture.createBuffer(8)];
  for (const opcode of [SendOpcode.COMPARE_SWAP, SendOpcode.FETCH_ADD])
    a.post({ ...rdma(fixture, opcode, local, remote, region), atomic: { swapOrAdd: 5n, compare: 0n } });
}

/** Lets timers run for a while, and takes the completions. */
function drainAfterTime(fixture: AdapterFixture, { a, b }: Connected): void {
  for (let turn = 0; turn < 40; turn++) {
    fixture.settle();
    if (!fixture.machine.clock.jumpToAlarm()) break;
  }
  for (const { parts } of [a, b]) for (const cq of [parts.sendCq, parts.receiveCq]) cq.drain();
}

function useUnreliable(fixture: AdapterFixture, random: Random): void {
  const connected = connect(fixture, { serviceType: ServiceType.UC, pathMtu: 1 });
  const { a, b, region } = connected;
  const [local, remote] = [fixture.createBuffer(random.bytes(LONG)), fixture.createBuffer(LONG)];
  for (let count = 0; count < 2; count++) fixture.postReceive(b, LONG);
  for (const opcode of [SendOpcode.SEND, SendOpcode.RDMA_WRITE, SendOpcode.RDMA_WRITE_IMMEDIATE, SendOpcode.SEND])
    a.post(rdma(fixture, opcode, local, remote, region));
  drainAfterTime(fixture, connected);
}

/** No receive WQE, a wrong R_Key, no answer: the requester retries, and its QP fails. */
function failReliable(fixture: AdapterFixture): void {
  for (const wrong of ['receive', 'key', 'peer'] as const) {
    const connected = connect(fixture, { pathMtu: 1, retryCount: 1, rnrRetry: 1, timeout: 8 });
    const { a, b, region } = connected;
    const [local, remote] = [fixture.createBuffer(LONG), fixture.createBuffer(LONG)];
    if (wrong === 'peer') b.destroy();
    const key = wrong === 'key' ? { ...region, rkey: region.rkey ^ 0x55 } : region;
    a.post(rdma(fixture, SendOpcode.RDMA_READ, local, remote, key));
    a.post(rdma(fixture, wrong === 'receive' ? SendOpcode.SEND : SendOpcode.RDMA_WRITE, local, remote, key));
    a.post(rdma(fixture, SendOpcode.RDMA_WRITE, local, remote, key));
    drainAfterTime(fixture, connected);
  }
}

function useXrc(fixture: AdapterFixture): void {
  const { driver, pd } = fixture;
  const domain = createXrcDomain(driver, 3);
  const sendCq = fixture.createCompletionQueue({ entriesLog2: 8 });
  const initiator = createXrcInitiator(driver, { pd, sendCq, sendEntriesLog2: 6 });
  const target = createXrcTarget(driver, domain, sendCq);
  const ends = { pathMtu: 1, rnrRetry: 1 };
  connectInitiator(initiator, { port: 1, dlid: fixture.lidOf(2), remoteQpn: target.qpn, ...ends });
  connectTarget(target, { port: 2, dlid: fixture.lidOf(1), remoteQpn: initiator.qpn, ...ends }, false);
  const cq = fixture.createCompletionQueue();
  const srq = createXrcQueue(driver, { pd, domain, cq, limit: 1 });
  const buffer = fixture.createBuffer(LONG);
  for (let count = 0; count < 2; count++) srq.postReceive([fixture.sge(buffer)]);
  for (let count = 0; count < 3; count++)
    initiator.post({ header: { xrcSrqn: srq.srqn }, inline: new Uint8Array(32).fill(count) });
  fixture.settle();
}

function useSharedReceiveQueue(fixture: AdapterFixture): void {
  const { driver, pd } = fixture;
  const srq = driver.createSharedReceiveQueue({ pd, entriesLog2: 3, limit: 2 });
  const { sender, receiver, to } = fixture.createPair({ receiver: { creation: { srqn: srq.srqn } } });
  const buffer = fixture.createBuffer(128);
  for (let count = 0; count < 5; count++) srq.postReceive([fixture.sge(buffer)]);
  for (let count = 0; count < 4; count++) sender.post(to());
  fixture.settle();
  srq.resize(driver.allocator, 4);
  srq.setLimit(1);
  srq.postReceive([fixture.sge(buffer)]);
  sender.post(to());
  fixture.settle();
  receiver.parts.receiveCq.drain();
}

function useKeys(fixture: AdapterFixture): void {
  const connected = connect(fixture);
  const { a, b } = connected;
  const region = fixture.driver.createDmaRegion(fixture.pd, FULL_ACCESS | AccessFlag.WINDOW_BIND);
  const [local, remote] = [fixture.createBuffer(256), fixture.createBuffer(256)];
  for (const kind of [MwKind.TYPE_1, MwKind.TYPE_2]) {
    const window = fixture.driver.createMemoryWindow(fixture.pd, kind);
    bindWindow(b, { window: window.rkey, region, buffer: remote });
    const rkey = (window.rkey & ~0xff) | 1;
    a.post(rdma(fixture, SendOpcode.RDMA_WRITE, local, remote, { ...region, rkey }));
  }
  const fast = fastRegion(fixture, a, 2, 5);
  fast.post(0x10000, 4096);
  a.post({ opcode: SendOpcode.LOCAL_INVALIDATE, header: { invalidateKey: fast.key } } as never);
  drainAfterTime(fixture, connected);
}

/** Pages that come, that are refused, and that are taken back; some faults stay unanswered. */
function pageOnDemand(fixture: AdapterFixture): void {
  const connected = connect(fixture, { rnrRetry: 7, minRnrTimer: 1 });
  const { a } = connected;
  const [local, remote, never] = [0, 1, 2].map(() => new DemandPager(fixture));
  const request = (from: DemandPager, to: DemandPager, opcode: SendOpcode) => ({
    opcode,
    sges: [{ address: from.at(100), length: PAGE, lkey: from.region.lkey }],
    remote: { address: to.at(200), rkey: to.region.rkey },
  });
  a.post(request(local, remote, SendOpcode.RDMA_WRITE));
  a.post(request(local, remote, SendOpcode.RDMA_READ));
  for (let turn = 0; turn < 6; turn++) {
    fixture.settle();
    if (answerFaults(fixture, [local, remote]) === 0) fixture.machine.clock.jumpToAlarm();
  }
  local.evict(0);
  remote.evict(0);
  a.post(request(never, remote, SendOpcode.RDMA_WRITE));
  a.post(request(local, never, SendOpcode.RDMA_READ));
  fixture.settle();
  never.refuse(0);
  drainAfterTime(fixture, connected);
}

/** Answers faults on pages of these; another use may have left faults of its own. */
function answerFaults(fixture: AdapterFixture, pagers: readonly DemandPager[]): number {
  let answered = 0;
  for (const { eventType, pageKey, pageAddress } of fixture.asynchronous.walk()) {
    const pager = pagers.find(({ region }) => eventType === EventType.PAGE_FAULT && region.lkey === pageKey);
    if (pager === undefined) continue;
    pager.resolve(pager.pageOf(pageAddress));
    answered++;
  }
  return answered;
}

function leaveFaults(fixture: AdapterFixture): void {
  for (let count = 0; count < 2; count++) {
    const { a, region } = connect(fixture);
    const pager = new DemandPager(fixture);
    const sges = [{ address: pager.at(0), length: PAGE, lkey: pager.region.lkey }];
    const remote = { address: fixture.createBuffer(PAGE).address, rkey: region.rkey };
    a.post({ opcode: SendOpcode.RDMA_WRITE, sges, remote });
    fixture.settle();
  }
}

function useDeviceMemory(fixture: AdapterFixture): void {
  const range = allocateDeviceMemory(fixture.driver, 4096, 6);
  if (range === undefined) return;
  range.store(new Uint8Array(64).fill(7));
  const { a, region } = connect(fixture);
  const { rkey } = range.register(fixture.pd, FULL_ACCESS | AccessFlag.ZERO_BASED);
  const buffer = fixture.createBuffer(new Uint8Array(32).fill(3));
  a.post({ opcode: SendOpcode.RDMA_WRITE, sges: [fixture.sge(buffer)], remote: { address: 16, rkey } });
  a.post(rdma(fixture, SendOpcode.RDMA_READ, buffer, buffer, region));
  fixture.settle();
  range.load(0, 64);
}

function useTrace(fixture: AdapterFixture): void {
  const trace = new TraceFixture(fixture);
  const { sender, receiver, to } = fixture.createPair();
  trace.modify(sender.qpn, { blocksLog2: 4 });
  trace.modify(receiver.qpn, { blocksLog2: 4 });
  for (let count = 0; count < 20; count++) {
    if (count % 3 > 0) fixture.postReceive(receiver, 104);
    sender.post(to({ inline: new Uint8Array(20) }));
    fixture.settle();
  }
  trace.read(sender.qpn);
  trace.modify(receiver.qpn, { enable: 0 });
  trace.query(receiver.qpn);
}

/** Objects without traffic, queried, modified and destroyed. */
function manageObjects(fixture: AdapterFixture): void {
  const { driver } = fixture;
  const { management } = driver;
  const pd = driver.createProtectionDomain(9);
  const region = driver.createDmaRegion(pd);
  const window = driver.createMemoryWindow(pd, MwKind.TYPE_1);
  for (const [kind, objectNumber] of [
    ['PD', pd],
    ['MR', region.number],
    ['MW', window.number],
  ] as const)
    management.execute({ opcode: ManagementOpcode[`QUERY_${kind}` as keyof typeof ManagementOpcode], objectNumber });
  management.execute({ opcode: ManagementOpcode.DESTROY_PD, objectNumber: pd });
  management.perform({ opcode: ManagementOpcode.DESTROY_MW, objectNumber: window.number });
  management.perform({ opcode: ManagementOpcode.DESTROY_MR, objectNumber: region.number });
  management.perform({ opcode: ManagementOpcode.DESTROY_PD, objectNumber: pd });
}

export const connectedUses: readonly Use[] = [
  { name: 'a reliable connection', run: useReliable },
  { name: 'an unreliable connection', run: useUnreliable },
  { name: 'connections that fail', run: failReliable },
  { name: 'XRC', run: useXrc },
  { name: 'a shared receive queue', run: useSharedReceiveQueue },
  { name: 'windows and fast registration', run: useKeys },
  { name: 'pages on demand', run: pageOnDemand },
  { name: 'page faults without an answer', run: leaveFaults },
  { name: 'device memory', run: useDeviceMemory },
  { name: 'a trace', run: useTrace },
  { name: 'objects without traffic', run: manageObjects },
];
