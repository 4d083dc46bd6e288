// SPDX-License-Identifier: Apache-2.0
/**
 * Payload on loan (docs/ARCHITECTURE.md, Decisions): it goes from guest to guest with one copy,
 * arrives as it was sent, and is a copy wherever somebody looks or software may use its memory.
 */
import t from 'tap';
import { newParsedPacket, PacketCheck, PacketError, parsePacket } from '../../../../protocol/infiniband/packet.ts';
import { CSR } from '../../../../protocol/layout/gen/registers.gen.ts';
import { CompletionStatus, SendOpcode, ServiceType } from '../../../../protocol/layout/gen/values.gen.ts';
import { LOAN_MIN_BYTES } from '../../../fabric/port/packet-ring.ts';
import { connect, rdma } from '../../../rig/fixtures/connected-fixture.ts';
import { countLent, countLoans, lendingFixture, sendAlone, watchSends } from '../../../rig/fixtures/loan-fixture.ts';
import { TraceFixture } from '../../../rig/fixtures/trace-fixture.ts';

const PATH_MTU_1024 = 3;
const PATH_MTU_4096 = 5;
const LONG = 12 * 4096;
/** Units of a pass of a live process. */
const PASS_BUDGET = 256;

for (const [name, opcode] of [
  ['WRITE', SendOpcode.RDMA_WRITE],
  ['SEND', SendOpcode.SEND],
  ['READ', SendOpcode.RDMA_READ],
] as const)
  t.test(`RC ${name}: long packets take one copy, and arrive as they were sent`, async (t) => {
    const fixture = lendingFixture();
    const connected = connect(fixture, { pathMtu: PATH_MTU_1024 });
    for (const size of [1, LOAN_MIN_BYTES - 1, LOAN_MIN_BYTES, 1023, 1025, 9001]) {
      const { status, source, target, loans } = sendAlone(fixture, connected, opcode, size);
      t.equal(status, CompletionStatus.SUCCESS, `${size} bytes`);
      t.same(target.bytes, source.bytes, `payload of ${size}`);
      t.equal(loans, countLent(size, 1024), `loans of ${size}`);
    }
    fixture.finish();
  });

t.test('a UC message, complete as soon as it is sent, lends nothing', async (t) => {
  const fixture = lendingFixture();
  const { a, region } = connect(fixture, { serviceType: ServiceType.UC });
  const [source, target] = [fixture.createBuffer(fixture.random.bytes(9000)), fixture.createBuffer(9000)];
  a.post(rdma(fixture, SendOpcode.RDMA_WRITE, source, target, region));
  a.parts.sendCq.take();
  fixture.machine.runUntilIdle();
  t.same(target.bytes, source.bytes);
  t.equal(fixture.host.loans, 0);
  fixture.finish();
});

for (const number of [1, 2])
  t.test(`an observer of port ${number} sees the payload and right CRCs`, async (t) => {
    const fixture = lendingFixture();
    const { a, region } = connect(fixture, { pathMtu: PATH_MTU_4096 });
    const [source, target] = [fixture.createBuffer(fixture.random.bytes(LONG)), fixture.createBuffer(LONG)];
    const seen: Uint8Array[] = [];
    fixture.machine.device.ports[number - 1].observer = (_end, _outgoing, bytes, offset, lengthBytes) => {
      const packet = newParsedPacket();
      const view = new DataView(bytes.buffer, bytes.byteOffset);
      t.equal(parsePacket(view, offset, lengthBytes, packet, PacketCheck.ALL), PacketError.NONE);
      seen.push(bytes.slice(packet.payloadOffset, packet.payloadOffset + packet.payloadLengthBytes));
    };
    a.post(rdma(fixture, SendOpcode.RDMA_WRITE, source, target, region));
    a.parts.sendCq.take();
    fixture.machine.runUntilIdle();
    t.same(Buffer.concat(seen), Buffer.from(source.bytes), 'the payload, packet by packet');
    t.same(target.bytes, source.bytes);
    fixture.finish();
  });

t.test('no loan outlives an access of the guest to a register', async (t) => {
  const fixture = lendingFixture();
  const { a, region } = connect(fixture, { pathMtu: PATH_MTU_4096 });
  const [source, target] = [fixture.createBuffer(fixture.random.bytes(LONG)), fixture.createBuffer(LONG)];
  const { core } = fixture.machine;
  const sent = source.bytes.slice();
  a.post(rdma(fixture, SendOpcode.RDMA_WRITE, source, target, region));
  let waited = 0;
  while (core.run(1)) {
    fixture.read(CSR.DEVICE_STATUS);
    t.equal(countLoans(fixture), 0);
    for (const { transmitQueues } of fixture.machine.device.ports) waited += transmitQueues.count;
  }
  t.ok(waited > 0, 'packets waited between two calls');
  t.equal(a.parts.sendCq.take().status, CompletionStatus.SUCCESS);
  t.same(target.bytes, sent);
  fixture.finish();
});

t.test('a pass takes in what it has sent: none of it is copied at its end', async (t) => {
  const fixture = lendingFixture(PASS_BUDGET);
  const { a, region } = connect(fixture, { pathMtu: PATH_MTU_1024 });
  const [source, target] = [fixture.createBuffer(fixture.random.bytes(16_384)), fixture.createBuffer(16_384)];
  for (let message = 0; message < 8; message++) a.post(rdma(fixture, SendOpcode.RDMA_WRITE, source, target, region));
  fixture.machine.runUntilIdle();
  t.same(target.bytes, source.bytes);
  t.equal(fixture.host.loans, 8 * 16, 'packets placed from where they were lent');
});

t.test('the loans of a message have ended when software hears that it failed', async (t) => {
  const fixture = lendingFixture(1024);
  const { a, region } = connect(fixture, { pathMtu: PATH_MTU_4096 });
  // More packets than a port holds: some are on loan when the refusal of the first one arrives.
  const bytes = 200 * 4096;
  const [source, target] = [fixture.createBuffer(fixture.random.bytes(bytes)), fixture.createBuffer(bytes)];
  const request = rdma(fixture, SendOpcode.RDMA_WRITE, source, target, region);
  const loans = watchSends(fixture, a);
  a.post({ ...request, remote: { address: target.address, rkey: region.rkey ^ 1 } });
  t.equal(a.parts.sendCq.take().status, CompletionStatus.REMOTE_ACCESS_ERROR);
  t.same(loans, [0]);
});

t.test('the loans of a message have ended when software hears that its queue pair failed', async (t) => {
  const fixture = lendingFixture(1024);
  const { a, b, region } = connect(fixture, { pathMtu: PATH_MTU_4096 });
  const bytes = 200 * 4096;
  const [source, target] = [fixture.createBuffer(fixture.random.bytes(bytes)), fixture.createBuffer(bytes)];
  const loans = watchSends(fixture, a);
  // The message is under way when a receive with a bad key fails the queue pair.
  const received = fixture.sge(target);
  a.postReceive([{ ...received, lkey: received.lkey ^ 1 }]);
  b.post(rdma(fixture, SendOpcode.SEND, fixture.createBuffer(64), target, region));
  a.post(rdma(fixture, SendOpcode.RDMA_WRITE, source, target, region));
  t.equal(a.parts.sendCq.take().status, CompletionStatus.FLUSHED);
  t.same(loans, [0]);
});

t.test('a trace of the receiver keeps the payload', async (t) => {
  const fixture = lendingFixture();
  const { a, b, region } = connect(fixture, { pathMtu: PATH_MTU_4096 });
  const traces = new TraceFixture(fixture);
  traces.modify(b.qpn);
  const [source, target] = [fixture.createBuffer(fixture.random.bytes(4096)), fixture.createBuffer(4096)];
  a.post(rdma(fixture, SendOpcode.RDMA_WRITE, source, target, region));
  a.parts.sendCq.take();
  fixture.machine.runUntilIdle();
  const [message] = traces.read(b.qpn).messages;
  t.same(Buffer.concat(message.packets.map(({ payload }) => payload)), Buffer.from(source.bytes));
});

t.test('a trace of either end of a READ keeps the data', async (t) => {
  const fixture = lendingFixture();
  const { a, b, region } = connect(fixture, { pathMtu: PATH_MTU_4096 });
  const traces = new TraceFixture(fixture);
  for (const { qpn } of [a, b]) {
    traces.modify(qpn);
    const [source, target] = [fixture.createBuffer(fixture.random.bytes(4096)), fixture.createBuffer(4096)];
    a.post(rdma(fixture, SendOpcode.RDMA_READ, target, source, region));
    a.parts.sendCq.take();
    fixture.machine.runUntilIdle();
    const [message] = traces.read(qpn).messages.slice(-1);
    t.same(Buffer.concat(message.packets.map(({ payload }) => payload)), Buffer.from(source.bytes));
    traces.modify(qpn, { enable: 0 });
  }
});
