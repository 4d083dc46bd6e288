// SPDX-License-Identifier: Apache-2.0
/**
 * Selective trace as a guest uses it (IPCOM000010133D par. 1, 4; docs/DOCUMENTS.md decision 10):
 * contents of command blocks, hazard 40 of docs/HAZARDS.md, and bad input.
 */
import t, { type Test } from 'tap';
import { newParsedPacket, PacketCheck, parsePacket } from '../../../protocol/infiniband/packet.ts';
import { COMMAND_HEADER_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import {
  TRACE_ATTRIBUTES_BLOCKS_LOG2_OFFSET,
  TRACE_ATTRIBUTES_BUFFER_ADDRESS_OFFSET,
  TRACE_ATTRIBUTES_BUFFER_LENGTH_OFFSET,
  TRACE_ATTRIBUTES_SNAP_LENGTH_OFFSET,
} from '../../../protocol/layout/gen/trace-attributes.gen.ts';
import { TRACE_BLOCK_SEQUENCE_MASK } from '../../../protocol/layout/gen/trace-block.gen.ts';
import {
  CompletionStatus,
  EventType,
  FaultKind,
  ManagementOpcode,
  ManagementStatus,
  SendOpcode,
  ServiceType,
} from '../../../protocol/layout/gen/values.gen.ts';
import { Driver } from '../../rig/driver/driver.ts';
import { tracePayload } from '../../rig/driver/payloads.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { type Connected, connect, rdma } from '../../rig/fixtures/connected-fixture.ts';
import { TraceFixture } from '../../rig/fixtures/trace-fixture.ts';
import { InProcessAccess } from '../../rig/machine/access.ts';
import { findOtherSide } from './adapter-trace.ts';
import { TRACE_BYTES_PER_FUNCTION } from './traces.ts';

const PATH_MTU_256 = 1;
const PORT_RECEIVED = CSR.PORT_RECEIVE_PACKETS;

interface Setting extends Connected {
  readonly fixture: AdapterFixture;
  readonly trace: TraceFixture;
}

/** A connection with both ends traced. */
function prepare(serviceType: ServiceType = ServiceType.RC, attributes = {}): Setting {
  const fixture = new AdapterFixture({ seed: 40, memoryBytes: 32 * 1024 * 1024 });
  const trace = new TraceFixture(fixture);
  const connected = connect(fixture, { serviceType, pathMtu: PATH_MTU_256, sendPsn: 0xfffffe });
  for (const { qpn } of [connected.a, connected.b]) trace.modify(qpn, attributes);
  return { fixture, trace, ...connected };
}

/** Sends one message and lets everything end. */
function send({ fixture, a, b }: Setting, content: Uint8Array, request = {}): void {
  b.postReceive([fixture.sge(fixture.createBuffer(content.length + 64))]);
  a.post({ sges: [fixture.sge(fixture.createBuffer(content))], ...request });
  fixture.settle();
  a.parts.sendCq.drain();
  b.parts.receiveCq.drain();
}

const used = ({ fixture }: Setting): number => fixture.machine.device.traces.getUsed(0);

t.test('a message of an RC connection is one block at each end, on one clock', async (t) => {
  const setting = prepare();
  const { fixture, trace, a, b } = setting;
  fixture.machine.clock.advance(5000);
  const content = fixture.random.bytes(700);
  send(setting, content, { immediate: 7 });
  const [sent] = trace.read(a.qpn).messages;
  const [received] = trace.read(b.qpn).messages;
  if (sent === undefined || received === undefined) throw new Error('a side is missing');
  const common = { complete: 1, status: CompletionStatus.SUCCESS, opcode: SendOpcode.SEND_IMMEDIATE, packets: 3 };
  const psns = {
    firstPsn: 0xfffffe,
    lastPsn: 0,
    messageSequence: 0,
    messageLength: 700,
    snapLength: 700,
    truncated: 0,
  };
  t.match(sent.block, {
    ...common,
    ...psns,
    qpn: a.qpn,
    remoteQpn: b.qpn,
    receive: 0,
    port: 1,
    remoteLid: 2,
    retries: 0,
  });
  t.match(received.block, { ...common, ...psns, qpn: b.qpn, remoteQpn: a.qpn, receive: 1, port: 2, remoteLid: 1 });
  t.same(sent.payload, content);
  t.same(received.payload, content);
  const adapter = {
    name: 'a',
    ports: fixture.machine.device.ports,
    wallTimeNs: 0,
    queuePairs: [],
    messages: [received],
    steps: [],
    stepsSinceNs: undefined,
  };
  t.equal(findOtherSide({ adapter, message: sent }, [adapter]).end?.message, received);
  t.ok(sent.block.beginTime >= 5000 && sent.block.beginTime <= received.block.beginTime);
  t.ok(received.block.beginTime <= received.block.endTime && received.block.endTime <= sent.block.endTime);
  send(setting, content);
  t.equal(trace.read(a.qpn, 1).messages[0]?.block.messageSequence, 1);
  t.equal(trace.read(b.qpn, 1).messages[0]?.block.messageSequence, 1);
  fixture.finish();
});

t.test('blocks of READ, WRITE and atomics hold the transferred data as payload', async (t) => {
  const setting = prepare();
  const { fixture, trace, a, b, region } = setting;
  const remote = fixture.createBuffer(fixture.random.bytes(600));
  const local = fixture.createBuffer(600);
  a.post(rdma(fixture, SendOpcode.RDMA_READ, local, remote, region));
  a.post(rdma(fixture, SendOpcode.RDMA_WRITE, local, remote, region));
  const cell = fixture.createBuffer(Uint8Array.of(5, 0, 0, 0, 0, 0, 0, 0));
  a.post({
    ...rdma(fixture, SendOpcode.COMPARE_SWAP, fixture.createBuffer(8), cell, region),
    atomic: { swapOrAdd: 9n, compare: 5n },
  });
  fixture.settle();
  const sent = trace.read(a.qpn).messages;
  const received = trace.read(b.qpn).messages;
  const opcodes = [SendOpcode.RDMA_READ, SendOpcode.RDMA_WRITE, SendOpcode.COMPARE_SWAP];
  for (const side of [sent, received]) {
    t.same(
      side.map(({ block }) => block.opcode),
      opcodes,
    );
    t.same(
      side.map(({ block }) => block.messageSequence),
      [0, 1, 2],
    );
    t.same(
      side.map(({ block }) => block.messageLength),
      [600, 600, 8],
    );
    t.ok(side.every(({ block }) => block.complete === 1 && block.status === CompletionStatus.SUCCESS));
    t.same(side[0]?.payload, remote.bytes);
  }
  t.same(sent[2]?.payload, Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 5), 'big-endian, as on the wire');
  fixture.finish();
});

t.test('blocks keep all headers of datagrams, UC messages and the first packet of a connection', async (t) => {
  for (const serviceType of [ServiceType.UC, ServiceType.RC]) {
    const setting = prepare(serviceType);
    send(setting, setting.fixture.random.bytes(300));
    checkHeaders(t, setting.trace.read(setting.a.qpn).messages[0], 256);
    checkHeaders(t, setting.trace.read(setting.b.qpn).messages[0], 256);
  }
  const fixture = new AdapterFixture({ seed: 41 });
  const trace = new TraceFixture(fixture);
  const { sender, receiver, to } = fixture.createPair({ sender: { sendPsn: 77 } });
  for (const { qpn } of [sender, receiver]) trace.modify(qpn);
  fixture.postReceive(receiver, 200);
  sender.post(to({ inline: fixture.random.bytes(100) }));
  fixture.settle();
  const [sent] = trace.read(sender.qpn).messages;
  const [received] = trace.read(receiver.qpn).messages;
  checkHeaders(t, sent, 100);
  checkHeaders(t, received, 100);
  t.same(sent?.packets[0]?.headers, received?.packets[0]?.headers, 'the sent and the received headers are equal');
  t.match(received?.block, { firstPsn: 77, remoteQpn: sender.qpn, remoteLid: 1, messageLength: 100 });
});

/** Checks that headers and `payloadBytes` of payload form a packet with the PSN of the block. */
function checkHeaders(
  t: Test,
  message: ReturnType<TraceFixture['read']>['messages'][0] | undefined,
  payloadBytes: number,
): void {
  if (message === undefined) throw new Error('there is no block');
  const bytes = new Uint8Array([
    ...(message.packets[0]?.headers ?? []),
    ...message.payload.subarray(0, payloadBytes),
    ...new Array(6).fill(0),
  ]);
  const packet = newParsedPacket();
  t.equal(parsePacket(new DataView(bytes.buffer), 0, bytes.length, packet, PacketCheck.NONE), 0);
  t.equal(packet.psn, message.block.firstPsn);
  t.equal(packet.payloadLengthBytes, payloadBytes);
}

t.test('hazard 40: a ring that wraps keeps the newest blocks whole and counts unread ones as lost', async (t) => {
  for (const blocksLog2 of [0, 1, 3]) {
    const setting = prepare(ServiceType.RC, { blocksLog2, snapLength: 16 });
    const { trace, a, b } = setting;
    for (let index = 0; index < 20; index++) send(setting, new Uint8Array(40).fill(index));
    const blocks = 2 ** blocksLog2;
    for (const { qpn } of [a, b]) {
      const state = trace.query(qpn);
      t.match(state, { head: 20, tail: 20 - blocks, lost: 20 - blocks, enable: 1, stopped: 0, blocksLog2 });
      const { messages, attributes } = trace.read(qpn);
      t.same(
        messages.map(({ payload }) => payload[0]),
        Array.from({ length: blocks }, (_, place) => 20 - blocks + place),
      );
      t.ok(
        messages.every(({ block }) => block.snapLength === 16 && block.truncated === 1 && block.messageLength === 40),
      );
      t.equal(attributes.position, 20);
    }
    send(setting, new Uint8Array(40));
    t.equal(trace.query(a.qpn).lost, 20 - blocks, 'overwriting a read block is no loss');
  }
});

t.test('hazard 40: while the ring wraps, a reader sees each block once or its loss in the counter', async (t) => {
  const setting = prepare(ServiceType.RC, { blocksLog2: 2, snapLength: 8 });
  const { fixture, trace, a } = setting;
  const { random } = fixture;
  let position = 0;
  let seen = 0;
  let skipped = 0;
  for (let round = 0; round < 60; round++) {
    for (let turns = random.below(7); turns > 0; turns--) send(setting, random.bytes(20));
    // Room for one or two blocks, so the ring wraps between two reads of one sweep.
    const { messages, attributes } = trace.read(a.qpn, position, 400);
    for (const { block } of messages) {
      t.ok(block.index >= position, `block ${block.index} at ${position}`);
      skipped += block.index - position;
      position = block.index + 1;
      seen++;
      if (block.sequence !== (block.index & TRACE_BLOCK_SEQUENCE_MASK) || block.complete !== 1)
        t.fail(`block ${block.index} is torn`);
    }
    if (messages.length > 0) t.equal(attributes.position, position);
  }
  const { head, lost } = trace.query(a.qpn);
  t.ok(skipped > 0, 'some blocks were lost');
  t.equal(lost, skipped + Math.max(0, head - 4 - position));
  t.equal(seen + skipped, position);
});

t.test('hazard 40: a trace enabled within a message begins with the next one, at both ends', async (t) => {
  const fixture = new AdapterFixture({ seed: 43, budget: 3 });
  const trace = new TraceFixture(fixture);
  const { a, b } = connect(fixture, { pathMtu: PATH_MTU_256 });
  const content = fixture.random.bytes(8000);
  for (let index = 0; index < 2; index++) b.postReceive([fixture.sge(fixture.createBuffer(8000))]);
  const source = fixture.createBuffer(content);
  a.post({ sges: [fixture.sge(source)] });
  while (fixture.read(PORT_RECEIVED, 2) < 4) fixture.machine.step();
  for (const { qpn } of [a, b]) trace.modify(qpn);
  a.post({ sges: [fixture.sge(source)] });
  fixture.settle();
  for (const { qpn } of [a, b]) {
    const { messages } = trace.read(qpn);
    t.equal(messages.length, 1);
    t.match(messages[0]?.block, { messageSequence: 1, messageLength: 8000, complete: 1, packets: 32 });
    t.same(messages[0]?.payload, content.subarray(0, 4096));
  }
  fixture.finish();
});

t.test('hazard 40: a trace continues after a QP reset and ends with the QP; no memory leaks', async (t) => {
  const setting = prepare();
  const { fixture, trace, a, b } = setting;
  a.post({ sges: [fixture.sge(fixture.createBuffer(fixture.random.bytes(3000)))] });
  fixture.settle();
  t.equal(trace.read(a.qpn).messages[0]?.block.complete, 0, 'without a receive WQE the message waits');
  t.equal(trace.read(a.qpn).attributes.position, 0, 'its block is read again later');
  a.toReset();
  t.match(trace.read(a.qpn).messages[0]?.block, { complete: 1, status: CompletionStatus.FLUSHED, messageSequence: 0 });
  b.toReset();
  const before = used(setting);
  t.ok(before > 0);
  const common = { reliable: true, pathMtu: PATH_MTU_256 };
  a.connect({ port: 1, dlid: 2, remoteQpn: b.qpn, ...common });
  b.connect({ port: 2, dlid: 1, remoteQpn: a.qpn, ...common });
  send(setting, fixture.random.bytes(10));
  t.match(trace.read(a.qpn, 1).messages[0]?.block, { index: 1, complete: 1, messageSequence: 0, messageLength: 10 });
  a.destroy();
  t.equal(used(setting), before / 2);
  t.equal(trace.readInto(a.qpn, {}).status, ManagementStatus.BAD_OBJECT);
  b.destroy();
  t.equal(used(setting), 0);
  const { a: fresh } = connect(fixture);
  t.match(trace.query(fresh.qpn), { enable: 0, head: 0, lost: 0 }, 'a new QP is not traced');
  fixture.finish();
});

t.test('with stopOnError a trace stops after the first failed message and reports it once', async (t) => {
  const setting = prepare(ServiceType.RC, { stopOnError: 1 });
  const { fixture, trace, a, region } = setting;
  const local = fixture.createBuffer(64);
  const wrong = {
    ...rdma(fixture, SendOpcode.RDMA_WRITE, local, local, region),
    remote: { address: 4096, rkey: 0x123 },
  };
  send(setting, fixture.random.bytes(64));
  for (const request of [wrong, { sges: [fixture.sge(local)] }]) a.post(request);
  fixture.settle();
  const { messages } = trace.read(a.qpn);
  t.same(
    messages.map(({ block }) => block.status),
    [CompletionStatus.SUCCESS, CompletionStatus.REMOTE_ACCESS_ERROR],
  );
  t.equal(trace.query(a.qpn).stopped, 1);
  const events = fixture.asynchronous.walk().filter(({ eventType }) => eventType === EventType.TRACE_STOPPED);
  t.same(events.map(({ objectNumber }) => objectNumber).sort(), [setting.a.qpn, setting.b.qpn].sort());
  t.equal(trace.read(setting.b.qpn).messages[1]?.block.faultKind, FaultKind.KEY_INVALID);
  const { head } = trace.query(a.qpn);
  a.post({ sges: [fixture.sge(local)] });
  fixture.settle();
  t.equal(trace.query(a.qpn).head, head, 'a flushed command behind it is not kept');
  trace.modify(a.qpn);
  t.match(trace.query(a.qpn), { stopped: 0, head: 0 }, 'enabling it again starts it anew');
  fixture.finish();
});

t.test('every size of ring works, and every field out of range is refused', async (t) => {
  const setting = prepare();
  const { fixture, trace, a, b } = setting;
  for (let blocksLog2 = 0; blocksLog2 <= 16; blocksLog2++) {
    t.equal(trace.modify(a.qpn, { blocksLog2, snapLength: 64 }).status, ManagementStatus.OK);
    send(setting, fixture.random.bytes(5));
    t.match(trace.read(a.qpn), { messages: { length: 1 }, attributes: { blocksLog2, count: 1 } });
  }
  const refused = (attributes: object, status: number, field?: object): void => {
    t.match(trace.modify(a.qpn, attributes), { status, ...field });
    t.match(trace.query(a.qpn), { blocksLog2: 16, snapLength: 64, head: 1 }, 'nothing changed');
  };
  refused({ blocksLog2: 17 }, ManagementStatus.BAD_FIELD, {
    badOffset: COMMAND_HEADER_BYTES + TRACE_ATTRIBUTES_BLOCKS_LOG2_OFFSET,
    limit: 16,
  });
  refused({ snapLength: 65537 }, ManagementStatus.BAD_FIELD, {
    badOffset: COMMAND_HEADER_BYTES + TRACE_ATTRIBUTES_SNAP_LENGTH_OFFSET,
    limit: 65536,
  });
  refused({ blocksLog2: 16, snapLength: 65536 }, ManagementStatus.NO_RESOURCES);
  t.ok(used(setting) < TRACE_BYTES_PER_FUNCTION);
  t.match(trace.readInto(a.qpn, { bufferAddress: 4 }), {
    status: ManagementStatus.BAD_ADDRESS,
    badOffset: COMMAND_HEADER_BYTES + TRACE_ATTRIBUTES_BUFFER_ADDRESS_OFFSET,
  });
  t.match(trace.readInto(a.qpn, { bufferAddress: 2 ** 50 }), {
    status: ManagementStatus.BAD_ADDRESS,
    badOffset: COMMAND_HEADER_BYTES + TRACE_ATTRIBUTES_BUFFER_ADDRESS_OFFSET,
  });
  t.match(trace.readInto(a.qpn, { bufferLength: 95 }), {
    status: ManagementStatus.BAD_FIELD,
    badOffset: COMMAND_HEADER_BYTES + TRACE_ATTRIBUTES_BUFFER_LENGTH_OFFSET,
  });
  t.match(trace.read(a.qpn, 2 ** 40), { messages: { length: 0 }, attributes: { position: 1, count: 0 } });
  t.match(trace.read(a.qpn), { messages: { length: 1 } }, 'a refused read consumes no block');
  t.equal(trace.modify(a.qpn, { enable: 0, blocksLog2: 99 }).status, ManagementStatus.OK);
  t.equal(trace.readInto(a.qpn, {}).status, ManagementStatus.BAD_STATE);
  t.equal(trace.modify(0xfffff0).status, ManagementStatus.BAD_OBJECT);
  trace.modify(b.qpn, { enable: 0 });
  t.equal(used(setting), 0);
  fixture.finish();
});

t.test('a function traces its own QPs only', async (t) => {
  const fixture = new AdapterFixture({ seed: 44, functionCount: 2, adapter: { functionCount: 2 } });
  const { a } = connect(fixture);
  const other = new Driver(new InProcessAccess(fixture.machine, 1)).bringUp();
  for (const opcode of [ManagementOpcode.MODIFY_TRACE, ManagementOpcode.READ_TRACE]) {
    const result = other.management.execute({ opcode, objectNumber: a.qpn, payload: tracePayload({ enable: 1 }) });
    t.equal(result.status, ManagementStatus.BAD_OBJECT);
  }
});
