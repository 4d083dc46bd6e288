// SPDX-License-Identifier: Apache-2.0
/**
 * The packets of a command block are those that crossed the port, byte for byte and with their
 * times, as far as the snap length allows; for READs and atomics the answers too (IPCOM000010133D
 * par. 4).
 */
import t from 'tap';
import { newParsedPacket, PacketCheck, parsePacket } from '../../../protocol/infiniband/packet.ts';
import { SendOpcode, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import type { DriverQueuePair } from '../../rig/driver/queue-pair.ts';
import { AdapterFixture, type Buffer } from '../../rig/fixtures/adapter-fixture.ts';
import { connect, rdma } from '../../rig/fixtures/connected-fixture.ts';
import { TraceFixture } from '../../rig/fixtures/trace-fixture.ts';
import type { TracedMessage } from './traced-message.ts';

const PATH_MTU_256 = 1;
const PORT_1 = 1;

/** A packet that left a port. */
interface WirePacket {
  readonly port: number;
  readonly timeNs: number;
  /** LRH to payload. */
  readonly bytes: Uint8Array;
}

/** Records packets that leave the ports; each takes 1000 ns. */
function watch(fixture: AdapterFixture): WirePacket[] {
  const seen: WirePacket[] = [];
  const { clock } = fixture.machine;
  for (const port of fixture.machine.device.ports)
    port.observer = (from, outgoing, bytes, offset, lengthBytes) => {
      if (!outgoing) return;
      const packet = newParsedPacket();
      parsePacket(new DataView(bytes.buffer, bytes.byteOffset), offset, lengthBytes, packet, PacketCheck.NONE);
      const { payloadOffset, payloadLengthBytes } = packet;
      clock.advance(1000);
      seen.push({
        port: from.number,
        timeNs: clock.now(),
        bytes: bytes.slice(offset, payloadOffset + payloadLengthBytes),
      });
    };
  return seen;
}

const joined = ({ packets }: TracedMessage): Uint8Array[] =>
  packets.map(({ headers, payload }) => Uint8Array.of(...headers, ...payload));

/** Packets of messages, without acknowledgements. */
const ofMessages = (seen: readonly WirePacket[], lengthBytes: number): WirePacket[] =>
  seen.filter(({ bytes }) => bytes.length > lengthBytes);

const ACKNOWLEDGEMENT_BYTES = 8 + 12 + 4;

for (const [service, serviceType] of [
  ['RC', ServiceType.RC],
  ['UC', ServiceType.UC],
] as const)
  for (const [name, opcode, count] of [
    ['SEND', SendOpcode.SEND, 3],
    ['RDMA_WRITE', SendOpcode.RDMA_WRITE, 3],
    ...(serviceType === ServiceType.RC
      ? ([
          ['RDMA_READ', SendOpcode.RDMA_READ, 4],
          ['FETCH_ADD', SendOpcode.FETCH_ADD, 2],
        ] as const)
      : []),
  ] as const)
    t.test(`${service} ${name}: both ends keep all packets of the message`, async (t) => {
      const fixture = new AdapterFixture({ seed: 50 });
      const trace = new TraceFixture(fixture);
      const { a, b, region } = connect(fixture, { serviceType, pathMtu: PATH_MTU_256, sendPsn: 0xfffffe });
      for (const { qpn } of [a, b]) trace.modify(qpn);
      const size = opcode === SendOpcode.FETCH_ADD ? 8 : 700;
      const [local, remote] = [fixture.random.bytes(size), fixture.random.bytes(size)].map((bytes) =>
        fixture.createBuffer(bytes),
      ) as [Buffer, Buffer];
      b.postReceive([fixture.sge(fixture.createBuffer(size))]);
      const seen = watch(fixture);
      const request =
        opcode === SendOpcode.SEND ? { sges: [fixture.sge(local)] } : rdma(fixture, opcode, local, remote, region);
      a.post(opcode === SendOpcode.FETCH_ADD ? { ...request, atomic: { swapOrAdd: 1n } } : request);
      fixture.settle();
      const wire = ofMessages(seen, ACKNOWLEDGEMENT_BYTES);
      t.equal(wire.length, count);
      for (const { qpn } of [a, b]) {
        const [message, ...more] = trace.read(qpn).messages;
        if (message === undefined) throw new Error('there is no block');
        t.equal(more.length, 0);
        t.same(
          joined(message),
          wire.map(({ bytes }) => bytes),
          `QP ${qpn}`,
        );
        checkTimes(message, wire, qpn === a.qpn);
      }
      fixture.finish();

      function checkTimes(message: TracedMessage, wire: readonly WirePacket[], isSender: boolean): void {
        for (const [place, { timeNs }] of message.packets.entries()) {
          const { port, timeNs: leftNs } = wire[place] as WirePacket;
          const isSent = (port === PORT_1) === isSender;
          t.ok(isSent ? timeNs <= leftNs : timeNs >= leftNs, `packet ${place}: ${timeNs}, on the wire at ${leftNs}`);
        }
        const times = [message.block.beginTime, ...message.packets.map(({ timeNs }) => timeNs), message.block.endTime];
        t.same(
          times,
          [...times].sort((x, y) => x - y),
          'times are in order',
        );
      }
    });

t.test('both ends keep a datagram with and without a GRH', async (t) => {
  const fixture = new AdapterFixture({ seed: 51 });
  const trace = new TraceFixture(fixture);
  const { sender, receiver, to } = fixture.createPair();
  for (const { qpn } of [sender, receiver]) trace.modify(qpn);
  const seen = watch(fixture);
  for (const size of [0, 1, 77]) {
    fixture.postReceive(receiver, 200);
    sender.post(to({ inline: fixture.random.bytes(size) }));
    fixture.settle();
  }
  for (const { qpn } of [sender, receiver])
    t.same(
      trace.read(qpn).messages.flatMap(joined),
      seen.map(({ bytes }) => bytes),
    );
  fixture.finish();
});

t.test('the snap length limits the kept packets; the headers of the first one are always kept', async (t) => {
  const counts: Record<number, number> = { 0: 1, 1: 1, 256: 1, 257: 2, 512: 2, 699: 3, 700: 3, 4096: 3 };
  for (const [snap, count] of Object.entries(counts)) {
    const snapLength = Number(snap);
    const fixture = new AdapterFixture({ seed: 52 });
    const trace = new TraceFixture(fixture);
    const { a, b } = connect(fixture, { pathMtu: PATH_MTU_256 });
    for (const { qpn } of [a, b] as readonly DriverQueuePair[]) trace.modify(qpn, { snapLength });
    const content = fixture.random.bytes(700);
    b.postReceive([fixture.sge(fixture.createBuffer(700))]);
    const seen = watch(fixture);
    a.post({ sges: [fixture.sge(fixture.createBuffer(content))] });
    fixture.settle();
    const wire = ofMessages(seen, ACKNOWLEDGEMENT_BYTES);
    for (const { qpn } of [a, b]) {
      const [message] = trace.read(qpn).messages;
      if (message === undefined) throw new Error('there is no block');
      t.match(message.block, { packets: 3, packetsKept: count, truncated: snapLength < 700 ? 1 : 0 }, `snap ${snap}`);
      t.same(message.payload, content.subarray(0, snapLength), `snap ${snap}`);
      t.same(
        message.packets.map(({ headers }) => headers),
        wire.slice(0, count).map(({ bytes }, place) => bytes.slice(0, message.packets[place]?.headers.length)),
      );
    }
    fixture.finish();
  }
});

t.test('retried packets are counted but kept once', async (t) => {
  const fixture = new AdapterFixture({
    seed: 53,
    adapter: { portLink: { kind: 'faulty', seed: 53, faults: { drop: 0.2 } } },
  });
  const trace = new TraceFixture(fixture);
  const { a, b } = connect(fixture, { pathMtu: PATH_MTU_256, timeout: 10 });
  trace.modify(a.qpn);
  const content = fixture.random.bytes(4000);
  b.postReceive([fixture.sge(fixture.createBuffer(4000))]);
  a.post({ sges: [fixture.sge(fixture.createBuffer(content))] });
  a.parts.sendCq.take();
  const [message] = trace.read(a.qpn).messages;
  t.ok((message?.block.retries ?? 0) > 0, 'packets were retried');
  t.match(message?.block, { packets: 16, packetsKept: 16, snapLength: 4000 });
  t.same(message?.payload, content);
});
