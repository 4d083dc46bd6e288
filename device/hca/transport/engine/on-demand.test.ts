// SPDX-License-Identifier: Apache-2.0
/**
 * On-demand regions below all transports (docs/FEATURES.md, On-demand paging): an access
 * to a page that is not present waits as its transport allows, and goes on when the page has come.
 */
import t, { type Test } from 'tap';
import {
  AccessFlag,
  CompletionStatus,
  EventType,
  FaultKind,
  PageFlag,
  PlacementType,
  QpState,
  SendOpcode,
  ServiceType,
} from '../../../../protocol/layout/gen/values.gen.ts';
import type { SendRequest } from '../../../rig/driver/send-request.ts';
import { AdapterFixture } from '../../../rig/fixtures/adapter-fixture.ts';
import {
  type Connected,
  type ConnectedOptions,
  connect,
  FULL_ACCESS,
} from '../../../rig/fixtures/connected-fixture.ts';
import { DemandPager, PAGE, serveFaults, serveUntil } from '../../../rig/fixtures/demand-pager.ts';

const { SUCCESS, LOCAL_PROTECTION_ERROR, REMOTE_OPERATION_ERROR } = CompletionStatus;
const LENGTH = 3 * PAGE;

interface Bench extends Connected {
  readonly fixture: AdapterFixture;
  readonly local: DemandPager;
  readonly remote: DemandPager;
}

function makeBench(options: ConnectedOptions = {}): Bench {
  const fixture = new AdapterFixture();
  const connected = connect(fixture, { rnrRetry: 7, minRnrTimer: 1, ...options });
  return { ...connected, fixture, local: new DemandPager(fixture), remote: new DemandPager(fixture) };
}

function rdma(bench: Bench, opcode: SendOpcode, lengthBytes = LENGTH, more: Partial<SendRequest> = {}): SendRequest {
  const { local, remote } = bench;
  return {
    opcode,
    sges: [{ address: local.at(100), length: lengthBytes, lkey: local.region.lkey }],
    remote: { address: remote.at(200), rkey: remote.region.rkey },
    ...more,
  };
}

function finish(t: Test, bench: Bench): void {
  bench.local.check();
  bench.remote.check();
  bench.fixture.finish();
  t.same(
    bench.fixture.machine.device.tables.keys.pageFaults.count(bench.fixture.machine.device.functions[0].underlying),
    {
      outstanding: 0,
      waiting: 0,
    },
  );
}

t.test('payload of a SEND waits for its page; one event tells of it', async (t) => {
  const bench = makeBench();
  const { a, b, local, fixture } = bench;
  const payload = fixture.random.bytes(LENGTH);
  local.store(100, payload);
  const target = fixture.postReceive(b, LENGTH);
  a.post({ sges: [{ address: local.at(100), length: LENGTH, lkey: local.region.lkey }] });
  fixture.settle();
  t.notOk(a.parts.sendCq.ready, 'it waits');
  const [fault, ...others] = local.take();
  t.match(fault, {
    eventType: EventType.PAGE_FAULT,
    objectNumber: a.qpn,
    pageAddress: local.at(100),
    pageLength: LENGTH,
    pageKey: local.region.lkey,
    pageWrite: 0,
  });
  t.same(others, []);
  local.resolve(0, PageFlag.PRESENT);
  fixture.settle();
  t.match(local.take(), [{ pageAddress: local.at(PAGE) }], 'the next page');
  local.resolve(1, PageFlag.PRESENT);
  serveUntil([local], () => a.parts.sendCq.ready);
  t.equal(a.parts.sendCq.take().status, SUCCESS);
  t.equal(b.parts.receiveCq.take().status, SUCCESS);
  t.same(target.bytes, payload);
  finish(t, bench);
});

t.test('a receive buffer that is not present is answered by RNR NAK, in the middle of a message, too', async (t) => {
  const bench = makeBench();
  const { a, b, remote, fixture } = bench;
  const buffer = fixture.createBuffer(fixture.random.bytes(LENGTH));
  b.postReceive([{ address: remote.at(200), length: LENGTH, lkey: remote.region.lkey }]);
  a.post({ sges: [fixture.sge(buffer)] });
  const faults = serveUntil([remote], () => a.parts.sendCq.ready);
  t.equal(faults, 4, 'each page has one');
  t.ok(bench.fixture.machine.device.engine.connected.completer.rnrNaks >= 4);
  t.equal(a.parts.sendCq.take().status, SUCCESS);
  t.equal(b.parts.receiveCq.take().status, SUCCESS);
  t.same(remote.load(200, LENGTH), buffer.bytes);
  finish(t, bench);
});

for (const [name, opcode] of Object.entries({ WRITE: SendOpcode.RDMA_WRITE, READ: SendOpcode.RDMA_READ }))
  t.test(`an RDMA ${name} between regions without any present page`, async (t) => {
    const bench = makeBench();
    const { a, local, remote, fixture } = bench;
    const payload = fixture.random.bytes(LENGTH);
    const [from, to] = opcode === SendOpcode.RDMA_WRITE ? [local, remote] : [remote, local];
    from.store(from === local ? 100 : 200, payload);
    a.post(rdma(bench, opcode));
    a.post(rdma(bench, opcode));
    serveUntil([local, remote], () => a.parts.sendCq.ready);
    t.equal(a.parts.sendCq.take().status, SUCCESS);
    t.equal(a.parts.sendCq.take().status, SUCCESS);
    t.same(to.load(to === local ? 100 : 200, LENGTH), payload);
    finish(t, bench);
  });

t.test('pages that go while a READ is answered come back before it goes on', async (t) => {
  const bench = makeBench({ pathMtu: 1 });
  const { a, local, remote, fixture } = bench;
  const payload = fixture.random.bytes(LENGTH);
  remote.store(200, payload);
  for (let page = 0; page < 4; page++) local.resolve(page);
  remote.resolve(0);
  a.post(rdma(bench, SendOpcode.RDMA_READ));
  fixture.settle();
  t.match(remote.take(), [{ pageAddress: remote.at(PAGE), pageWrite: 0 }], 'the answer waits at the second page');
  const naks = fixture.machine.device.engine.connected.completer.rnrNaks;
  remote.evict(0);
  serveUntil([local, remote], () => {
    if (!remote.isPresent(1)) remote.resolve(1);
    return a.parts.sendCq.ready;
  });
  t.equal(fixture.machine.device.engine.connected.completer.rnrNaks, naks, 'the requester sees no RNR NAK');
  t.equal(a.parts.sendCq.take().status, SUCCESS);
  t.same(local.load(100, LENGTH), payload);
  finish(t, bench);
});

t.test('an atomic executes once, although both ends miss their pages', async (t) => {
  const bench = makeBench();
  const { a, local, remote } = bench;
  remote.store(200, Uint8Array.of(5, 0, 0, 0, 0, 0, 0, 0));
  remote.resolve(0, PageFlag.PRESENT);
  a.post(rdma(bench, SendOpcode.FETCH_ADD, 8, { atomic: { swapOrAdd: 3n } }));
  serveUntil([local, remote], () => a.parts.sendCq.ready);
  t.equal(a.parts.sendCq.take().status, SUCCESS);
  t.equal(remote.load(200, 1)[0], 8, 'a page that may only be read faults, too');
  t.equal(local.load(100, 1)[0], 5);
  t.match(remote.faults.concat(local.faults), [{ pageWrite: 1 }, { pageWrite: 1 }]);
  finish(t, bench);
});

t.test('an ATOMIC WRITE waits for its page, a FLUSH makes none present', async (t) => {
  const access = FULL_ACCESS | AccessFlag.FLUSH_GLOBAL;
  const bench = makeBench({ access });
  const { a, local, fixture } = bench;
  const remote = new DemandPager(fixture, { access });
  const target = { address: remote.at(200), rkey: remote.region.rkey };
  const flush = { placementType: PlacementType.GLOBAL_VISIBILITY, lengthBytes: LENGTH };
  a.post({ opcode: SendOpcode.FLUSH, remote: target, flush });
  t.equal(a.parts.sendCq.take().status, SUCCESS);
  t.same(remote.take(), []);
  local.store(100, Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8));
  a.post(rdma(bench, SendOpcode.ATOMIC_WRITE, 8, { remote: target }));
  const faults = serveUntil([local, remote], () => a.parts.sendCq.ready);
  t.equal(faults, 2, 'one at each end');
  t.equal(a.parts.sendCq.take().status, SUCCESS);
  t.same([...remote.load(200, 8)], [1, 2, 3, 4, 5, 6, 7, 8]);
  remote.check();
  finish(t, bench);
});

t.test('UC: a sender waits, a receiver drops the message and takes the next one', async (t) => {
  const bench = makeBench({ serviceType: ServiceType.UC });
  const { a, b, local, remote, fixture } = bench;
  local.store(100, fixture.random.bytes(PAGE));
  for (let count = 0; count < 2; count++)
    b.postReceive([{ address: remote.at(0), length: 2 * PAGE, lkey: remote.region.lkey }]);
  const request = { sges: [{ address: local.at(100), length: PAGE, lkey: local.region.lkey }] };
  a.post(request);
  serveUntil([local, remote], () => a.parts.sendCq.ready);
  t.equal(a.parts.sendCq.take().status, SUCCESS);
  fixture.settle();
  t.notOk(b.parts.receiveCq.ready, 'lost');
  serveUntil([local, remote], () => remote.isPresent(0));
  a.post(request);
  a.parts.sendCq.take();
  t.equal(b.parts.receiveCq.take().status, SUCCESS);
  t.same(remote.load(0, PAGE), local.load(100, PAGE));
  b.toError();
  finish(t, bench);
});

t.test('UD: a sender waits and keeps its order, a receiver drops the datagram and keeps its entry', async (t) => {
  const fixture = new AdapterFixture();
  const [local, remote] = [new DemandPager(fixture), new DemandPager(fixture)];
  const { sender, receiver, to } = fixture.createPair();
  local.store(0, Uint8Array.of(1, 2));
  const send = (offset: number): Uint8Array =>
    sender.post(to({ sges: [{ address: local.at(offset), length: 1, lkey: local.region.lkey }] }));
  const receive = (): void => receiver.postReceive([{ address: remote.at(0), length: 64, lkey: remote.region.lkey }]);
  receive();
  send(0);
  send(1);
  fixture.settle();
  t.notOk(sender.parts.sendCq.ready);
  t.equal(serveFaults([local, remote]), 1);
  t.equal(sender.parts.sendCq.take().queueSequence, 0);
  sender.parts.sendCq.take();
  t.match(remote.take(), [{ objectNumber: receiver.qpn, pageWrite: 1, pageKey: remote.region.lkey }]);
  t.equal(fixture.machine.device.engine.responder.drops.pageAbsent, 2);
  remote.resolve(0);
  send(1);
  t.match(receiver.parts.receiveCq.take(), { status: SUCCESS, queueSequence: 0 });
  t.equal(remote.load(40, 1)[0], 2);
  fixture.finish();
});

t.test('a refused fault fails the access that met it, and no later one', async (t) => {
  for (const [request, side, status] of [
    [SendOpcode.RDMA_WRITE, 'local', LOCAL_PROTECTION_ERROR],
    [SendOpcode.RDMA_READ, 'local', LOCAL_PROTECTION_ERROR],
    [SendOpcode.RDMA_WRITE, 'remote', REMOTE_OPERATION_ERROR],
    [SendOpcode.RDMA_READ, 'remote', REMOTE_OPERATION_ERROR],
  ] as const) {
    const bench = makeBench();
    const { a, b, local, remote, fixture } = bench;
    const [bad, good] = side === 'local' ? [local, remote] : [remote, local];
    for (let page = 0; page < 4; page++) good.resolve(page);
    a.post(rdma(bench, request, 8));
    fixture.settle();
    t.equal(bad.take().length, 1);
    bad.refuse(0);
    t.equal(a.parts.sendCq.take().status, status, `${side} memory of opcode ${request}`);
    t.equal(fixture.machine.device.functions[0].underlying.counters.pageFaultsRefused, 1);
    t.equal(a.query().state, QpState.ERR);
    b.toError();
    finish(t, bench);
    const other = connect(fixture, { rnrRetry: 7, minRnrTimer: 1 });
    other.a.post(rdma(bench, request, 8));
    serveUntil([bad, good], () => other.a.parts.sendCq.ready);
    t.equal(other.a.parts.sendCq.take().status, SUCCESS, 'the page could come after all');
  }
});

t.test('a refused fault on a receive buffer fails its entry', async (t) => {
  const bench = makeBench();
  const { a, b, remote, fixture } = bench;
  b.postReceive([{ address: remote.at(200), length: 8, lkey: remote.region.lkey }]);
  a.post({ inline: Uint8Array.of(1, 2, 3) });
  fixture.machine.step();
  while (remote.take().length === 0) fixture.machine.step();
  remote.refuse(0);
  t.equal(a.parts.sendCq.take().status, REMOTE_OPERATION_ERROR);
  t.equal(b.parts.receiveCq.take().status, LOCAL_PROTECTION_ERROR);
  finish(t, bench);
});

t.test('a datagram whose fault is refused completes in error', async (t) => {
  const fixture = new AdapterFixture();
  const pager = new DemandPager(fixture);
  const { sender, to } = fixture.createPair();
  sender.post(to({ sges: [{ address: pager.at(0), length: 1, lkey: pager.region.lkey }] }));
  fixture.settle();
  t.equal(pager.take().length, 1);
  pager.refuse(0);
  t.equal(sender.parts.sendCq.take().status, LOCAL_PROTECTION_ERROR);
  fixture.finish();
});

t.test('a refusal is for one access: the next one with its number waits for its page', async (t) => {
  const fixture = new AdapterFixture();
  const [local, remote] = [new DemandPager(fixture), new DemandPager(fixture)];
  const { sender, receiver, to } = fixture.createPair();
  for (const life of ['first', 'second', 'third']) {
    sender.post(to({ sges: [{ address: local.at(0), length: 1, lkey: local.region.lkey }] }));
    fixture.settle();
    t.equal(local.take().length, 1, `${life}: it waits`);
    local.refuse(0);
    t.equal(sender.parts.sendCq.take().status, LOCAL_PROTECTION_ERROR);
    sender.toReset();
    sender.start({ port: 1, qkey: sender.qkey });
  }
  for (const life of ['first', 'second', 'third']) {
    receiver.postReceive([{ address: remote.at(0), length: 64, lkey: remote.region.lkey }]);
    for (const faults of [1, 0]) {
      sender.post(to({ inline: Uint8Array.of(1) }));
      fixture.settle();
      t.equal(remote.take().length, faults, `${life}: the entry waits until its fault is refused`);
      if (faults > 0) remote.refuse(0);
    }
    t.equal(receiver.parts.receiveCq.take().status, LOCAL_PROTECTION_ERROR);
    receiver.toReset();
    receiver.start({ port: 2, qkey: receiver.qkey });
    sender.parts.sendCq.drain();
  }
});

t.test('a refusal that nothing came upon does not outlive a reset', async (t) => {
  const fixture = new AdapterFixture();
  const remote = new DemandPager(fixture);
  const { sender, receiver, to } = fixture.createPair();
  const send = (): void => {
    sender.post(to({ inline: Uint8Array.of(1) }));
    fixture.settle();
  };
  const receive = (): void => receiver.postReceive([{ address: remote.at(0), length: 64, lkey: remote.region.lkey }]);
  receive();
  send();
  t.equal(remote.take().length, 1);
  remote.refuse(0);
  remote.resolve(0);
  send();
  t.equal(receiver.parts.receiveCq.take().status, SUCCESS, 'the page could come after all');
  receiver.toReset();
  receiver.start({ port: 2, qkey: receiver.qkey });
  remote.evict(0);
  receive();
  send();
  t.equal(remote.take().length, 1, 'the first entry waits again');
  remote.resolve(0);
  send();
  t.equal(receiver.parts.receiveCq.take().status, SUCCESS);
  sender.parts.sendCq.drain();
  fixture.finish();
});

t.test('payload and a response wait for pages at once: that whose page is refused fails', async (t) => {
  for (const refused of ['payload', 'response']) {
    const bench = makeBench();
    const { a, b, local, remote, fixture } = bench;
    for (let page = 0; page < 4; page++) remote.resolve(page);
    a.post(rdma(bench, SendOpcode.RDMA_READ, 8));
    const sges = [{ address: local.at(PAGE), length: 8, lkey: local.region.lkey }];
    a.post({ ...rdma(bench, SendOpcode.RDMA_WRITE), sges });
    fixture.settle();
    t.equal(local.take().length, 2, 'both wait');
    if (refused === 'payload') {
      local.refuse(1);
      local.resolve(0);
      t.equal(a.parts.sendCq.take().status, SUCCESS, 'the READ');
    } else {
      local.resolve(1);
      local.refuse(0);
    }
    t.equal(a.parts.sendCq.take().status, LOCAL_PROTECTION_ERROR, refused);
    t.equal(local.take().length, 0, 'no fault is told again');
    a.parts.sendCq.drain();
    b.toError();
    fixture.finish();
  }
});

t.test('a region that is destroyed while its pages are awaited ends the wait by its key', async (t) => {
  const bench = makeBench();
  const { a, b, local, fixture } = bench;
  a.post(rdma(bench, SendOpcode.RDMA_WRITE, 8));
  fixture.settle();
  fixture.driver.management.perform({ opcode: 0x23, objectNumber: local.region.number });
  t.equal(a.parts.sendCq.take().status, LOCAL_PROTECTION_ERROR);
  t.equal(fixture.faults(FaultKind.KEY_INVALID), 1);
  b.toError();
  finish(t, bench);
});

t.test('queue pairs that are destroyed, flushed or reset wait for nothing', async (t) => {
  const bench = makeBench();
  const { a, b, local, remote, fixture } = bench;
  a.post(rdma(bench, SendOpcode.RDMA_WRITE, 8));
  fixture.settle();
  a.toError();
  t.equal(a.parts.sendCq.take().status, CompletionStatus.FLUSHED);
  serveFaults([local, remote]);
  b.toError();
  for (const end of ['toReset', 'destroy'] as const) {
    const pair = connect(fixture);
    pair.a.post(
      rdma({ ...bench, ...pair }, SendOpcode.RDMA_WRITE, 8, {
        remote: { address: remote.at(0), rkey: remote.region.rkey },
      }),
    );
    local.evict(0);
    pair.a.post(rdma({ ...bench, ...pair }, SendOpcode.RDMA_WRITE, 8));
    fixture.settle();
    pair.a[end]();
    pair.b.destroy();
    serveFaults([local, remote]);
  }
  finish(t, bench);
});
