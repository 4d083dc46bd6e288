// SPDX-License-Identifier: Apache-2.0
/**
 * Datagrams that arrive: all sizes, inline and gathered, scattered, with and without GRH and
 * immediate data, in both directions and within a port (IBTA 9.8.3, 11.4.1).
 */
import t from 'tap';
import {
  GRH_DGID_BYTES,
  GRH_DGID_OFFSET,
  GRH_SGID_OFFSET,
  getGrhFlowLabel,
  getGrhHopLimit,
  getGrhIpVersion,
  getGrhNextHeader,
  getGrhPayloadLength,
  getGrhTrafficClass,
} from '../../../protocol/infiniband/gen/grh.gen.ts';
import { SGE_MAX } from '../../../protocol/layout/gen/constants.gen.ts';
import { RECEIVE_ENTRY_SEQUENCE_MASK } from '../../../protocol/layout/gen/receive-entry.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import type { Sge } from '../../../protocol/layout/gen/sge.gen.ts';
import {
  AccessFlag,
  CompletionOpcode,
  CompletionStatus,
  MrKind,
  SendOpcode,
} from '../../../protocol/layout/gen/values.gen.ts';
import type { Random } from '../../random.ts';
import type { PostBy } from '../driver/queue-pair.ts';
import { AdapterFixture, type Buffer, type Pair } from '../fixtures/adapter-fixture.ts';
import { ledger } from '../fixtures/ledger.ts';

const GRH = 40;
const MTU = 4096;
/** Sizes around words, the limits of header and inline data, and MTUs. */
const EDGES = [0, 1, 3, 4, 5, 63, 64, 65, 255, 256, 257, 511, 512, 1023, 1024, 2047, 2048, 4095, 4096];

/** Cuts a buffer into `pieces` SGEs, some of them empty. */
function cut(fixture: AdapterFixture, buffer: Buffer, pieces: number, random: Random): Sge[] {
  const marks = Array.from({ length: pieces - 1 }, () => random.below(buffer.lengthBytes + 1));
  const edges = [0, ...marks.sort((left, right) => left - right), buffer.lengthBytes];
  return edges.slice(1).map((edge, index) => fixture.sge(buffer, edges[index], edge - (edges[index] ?? 0)));
}

/** Sends `payload`. Describes a wrong arrival; undefined if it is right. */
function deliver(
  fixture: AdapterFixture,
  pair: Pair,
  payload: Uint8Array,
  sendPieces: number,
  by: PostBy,
): string | undefined {
  const { sender, receiver, to } = pair;
  const { random } = fixture;
  const target = fixture.createBuffer(GRH + payload.length);
  const receivePieces = cut(fixture, target, random.between(1, SGE_MAX), random);
  receiver.postReceive(receivePieces);
  const source = fixture.createBuffer(payload);
  const solicited = random.oneIn(2);
  const immediate = random.oneIn(2) ? random.next() : undefined;
  const content = sendPieces === 0 ? { inline: payload } : { sges: cut(fixture, source, sendPieces, random) };
  sender.post(to({ ...content, solicited, ...(immediate === undefined ? {} : { immediate }) }), by);
  const sent = sender.parts.sendCq.take();
  if (sent.status !== CompletionStatus.SUCCESS) return `send status ${sent.status}, cause ${sent.vendorError}`;
  if (sent.opcode !== CompletionOpcode.SEND || sent.receive !== 0 || sent.qpn !== sender.qpn)
    return JSON.stringify(sent);
  const entry = receiver.parts.receiveCq.take();
  const expected = {
    status: CompletionStatus.SUCCESS,
    opcode: CompletionOpcode.RECEIVE,
    receive: 1,
    qpn: receiver.qpn,
    byteLength: GRH + payload.length,
    sourceQpn: sender.qpn,
    queueSequence: (receiver.receiveTail - 1) & RECEIVE_ENTRY_SEQUENCE_MASK,
    solicited: Number(solicited),
    hasImmediate: Number(immediate !== undefined),
    immediate: immediate ?? 0,
    globalRoute: 0,
    pkeyIndex: 0,
  };
  for (const [name, value] of Object.entries(expected)) {
    const actual = entry[name as keyof typeof entry];
    if (actual !== value) return `${name} is ${actual}, expected ${value}`;
  }
  return payload.every((byte, index) => target.bytes[GRH + index] === byte) ? undefined : 'the payload differs';
}

for (const [from, to] of [
  [1, 2],
  [2, 1],
  [1, 1],
  [2, 2],
] as const) {
  t.test(`from port ${from} to port ${to}: every edge size, inline or in up to 16 pieces`, async (t) => {
    const seed = 30 + from * 2 + to;
    const fixture = new AdapterFixture({ seed, memoryBytes: 32 * 1024 * 1024 });
    const pair = fixture.createPair({ sender: { port: from }, receiver: { port: to } });
    for (const size of EDGES) {
      const payload = fixture.random.bytes(size);
      for (const pieces of [0, 1, 2, 3, 15, 16]) {
        if (pieces === 0 && size > 256) continue;
        const by = fixture.random.pick(['collect', 'doorbell', 'register'] as const);
        const wrong = deliver(fixture, pair, payload, pieces, by);
        if (wrong !== undefined) t.fail(`seed ${seed}, ${size} bytes in ${pieces} pieces by ${by}: ${wrong}`);
      }
    }
    const packets = fixture.access.readRegister(CSR.PORT_TRANSMIT_PACKETS + (from - 1) * 8, 8);
    t.equal(fixture.access.readRegister(CSR.PORT_RECEIVE_PACKETS + (to - 1) * 8, 8), packets);
    t.ok(packets > 80, `${packets} packets`);
    t.same(fixture.allFaults(), {});
    fixture.finish();
  });
}

t.test('random sizes and pieces, at every alignment', async (t) => {
  const seed = 40;
  const fixture = new AdapterFixture({ seed, memoryBytes: 32 * 1024 * 1024 });
  const pair = fixture.createPair();
  for (let round = 0; round < 400; round++) {
    const size = fixture.random.below(MTU + 1);
    const pieces = fixture.random.between(size > 256 ? 1 : 0, SGE_MAX);
    const wrong = deliver(fixture, pair, fixture.random.bytes(size), pieces, 'collect');
    if (wrong !== undefined) t.fail(`seed ${seed}, round ${round}, ${size} bytes in ${pieces} pieces: ${wrong}`);
  }
  t.equal(fixture.read(CSR.LANE_LAUNCHES), 400);
  fixture.finish();
});

t.test('the completion of a datagram names its source', async (t) => {
  ledger(t, '11.4.2', 'The completion of a datagram has its source LID, source QP and service level');
  const fixture = new AdapterFixture();
  const { sender, receiver, to } = fixture.createPair();
  const addressHandle = fixture.driver.addressHandles.add({
    port: 1,
    dlid: fixture.lidOf(2),
    pd: fixture.pd,
    serviceLevel: 11,
  });
  fixture.postReceive(receiver, GRH);
  sender.post(to({ addressHandle }));
  const entry = receiver.parts.receiveCq.take();
  t.equal(entry.sourceLid, fixture.lidOf(1));
  t.equal(entry.serviceLevel, 11);
  t.equal(entry.port, 2);
  t.equal(entry.pathBits, 0);
  t.equal(entry.srqn, 0);
  fixture.finish();
});

t.test('a GRH lies before the payload in the receive buffer', async (t) => {
  ledger(t, '11.4.1.2', 'The GRH of a datagram lies in the first 40 bytes of the receive entry');
  const fixture = new AdapterFixture();
  const { sender, receiver, to } = fixture.createPair();
  const gid = fixture.machine.device.ports[1].gids.slice(0, 16);
  const addressHandle = fixture.driver.addressHandles.add(
    {
      port: 1,
      dlid: fixture.lidOf(2),
      pd: fixture.pd,
      globalRoute: 1,
      flowLabel: 0xabcde,
      trafficClass: 0x5a,
      hopLimit: 17,
    },
    gid,
  );
  const payload = fixture.random.bytes(77);
  const buffer = fixture.postReceive(receiver, GRH + 100);
  sender.post(to({ addressHandle, inline: payload }));
  const entry = receiver.parts.receiveCq.take();
  t.equal(entry.globalRoute, 1);
  t.equal(entry.byteLength, GRH + payload.length);
  const grh = new DataView(buffer.bytes.buffer, buffer.bytes.byteOffset, GRH);
  t.same(
    [getGrhIpVersion(grh, 0), getGrhTrafficClass(grh, 0), getGrhFlowLabel(grh, 0)],
    [6, 0x5a, 0xabcde],
    'version, traffic class, flow label',
  );
  t.equal(getGrhNextHeader(grh, 0), 0x1b, 'next header');
  t.equal(getGrhHopLimit(grh, 0), 17, 'hop limit');
  t.equal(getGrhPayloadLength(grh, 0) % 4, 0, 'payload length counts padding');
  t.equal(grh.getUint32(GRH_SGID_OFFSET), 0xfe800000, 'source GID: the default prefix');
  t.same(buffer.bytes.slice(GRH_DGID_OFFSET, GRH_DGID_OFFSET + GRH_DGID_BYTES), gid, 'destination GID');
  t.same(buffer.bytes.slice(GRH, GRH + payload.length), payload);
  fixture.finish();
});

t.test('without a GRH its area of the receive buffer is unchanged', async (t) => {
  ledger(t, '11.4.1.2', 'The payload of a datagram without GRH also begins after the first 40 bytes');
  const fixture = new AdapterFixture();
  const { sender, receiver, to } = fixture.createPair();
  const buffer = fixture.postReceive(receiver, GRH + 8);
  buffer.bytes.fill(0x77);
  sender.post(to({ inline: Uint8Array.of(1, 2, 3) }));
  t.equal(receiver.parts.receiveCq.take().globalRoute, 0);
  t.same(buffer.bytes.slice(0, GRH), new Uint8Array(GRH).fill(0x77));
  t.same([...buffer.bytes.slice(GRH)], [1, 2, 3, 0x77, 0x77, 0x77, 0x77, 0x77], 'not one byte beyond the message');
  fixture.finish();
});

t.test('a request whose Q_Key has its top bit set is sent with the Q_Key of the QP', async (t) => {
  ledger(t, '10.2.5', 'A request whose Q_Key has its top bit set is sent with the Q_Key of the QP');
  const fixture = new AdapterFixture();
  const { sender, receiver, to } = fixture.createPair({ sender: { qkey: 0x80000001 }, receiver: { qkey: 0x80000001 } });
  fixture.postReceive(receiver, GRH);
  sender.post(to({ qkey: 0xdeadbeef }));
  t.equal(receiver.parts.receiveCq.take().status, CompletionStatus.SUCCESS);
  fixture.finish();
});

t.test('only signaled sends complete, unless the QP signals all', async (t) => {
  ledger(t, '10.7.3.1', 'An unsignaled datagram posts no completion, unless the QP signals all');
  const fixture = new AdapterFixture();
  const quiet = fixture.createPair();
  const loud = fixture.createPair({ sender: { creation: { signalAll: 1 } } });
  for (const { sender, receiver, to } of [quiet, loud]) {
    for (const signaled of [false, false, true]) {
      fixture.postReceive(receiver, GRH);
      sender.post(to({ signaled }));
    }
    fixture.settle();
    t.equal(receiver.parts.receiveCq.drain().length, 3);
  }
  t.same(
    quiet.sender.parts.sendCq.drain().map(({ queueSequence }) => queueSequence),
    [2],
  );
  t.same(
    loud.sender.parts.sendCq.drain().map(({ queueSequence }) => queueSequence),
    [0, 1, 2],
  );
  fixture.finish();
});

t.test('paged queues and memory regions work like contiguous ones', async (t) => {
  const fixture = new AdapterFixture({ seed: 41, memoryBytes: 16 * 1024 * 1024 });
  const sendCq = fixture.createCompletionQueue({ paged: true, entriesLog2: 8 });
  const pair = fixture.createPair({
    sender: { paged: true, sendCq, sendEntriesLog2: 6 },
    receiver: { paged: true, receiveEntriesLog2: 6 },
  });
  for (let round = 0; round < 300; round++) {
    const wrong = deliver(fixture, pair, fixture.random.bytes(fixture.random.below(600)), 3, 'collect');
    if (wrong !== undefined) t.fail(`seed 41, round ${round}: ${wrong}`);
  }
  const pages = [0, 1, 2].map(() => fixture.driver.allocator.allocate(4096, 4096));
  const list = fixture.driver.allocator.allocate(24);
  [2, 0, 1].forEach((which, index) => {
    fixture.access.view(list, 24).setBigUint64(index * 8, BigInt(pages[which] as number), true);
  });
  const startAddress = 0x7f00_0000_0123;
  const region = fixture.driver.createMemoryRegion({
    pd: fixture.pd,
    kind: MrKind.PAGED,
    access: AccessFlag.LOCAL_WRITE,
    startAddress,
    length: 3 * 4096 - 0x123,
    pageListAddress: list,
    pageCount: 3,
    pageShift: 12,
  });
  const payload = fixture.random.bytes(4000);
  const where = startAddress + 4096 - 0x123 - 2000;
  [...payload].forEach((byte, index) => {
    const at = 2096 + index;
    const page = pages[at < 4096 ? 2 : 0] as number;
    fixture.access.view(page + (at % 4096), 1).setUint8(0, byte);
  });
  const target = fixture.postReceive(pair.receiver, GRH + 4000);
  pair.sender.post(pair.to({ sges: [{ address: where, length: 4000, lkey: region.lkey }] }));
  t.equal(pair.sender.parts.sendCq.take().status, CompletionStatus.SUCCESS);
  pair.receiver.parts.receiveCq.take();
  t.same(target.bytes.slice(GRH), payload, 'gathered across pages');
  fixture.finish();
});

t.test('a NOP completes and sends no packet', async (t) => {
  const fixture = new AdapterFixture();
  const { sender, to } = fixture.createPair();
  const before = fixture.access.readRegister(CSR.PORT_TRANSMIT_PACKETS, 8);
  sender.post(to({ header: { opcode: SendOpcode.NOP } }));
  t.equal(sender.parts.sendCq.take().opcode, CompletionOpcode.NOP);
  t.equal(fixture.access.readRegister(CSR.PORT_TRANSMIT_PACKETS, 8), before);
  fixture.finish();
});
