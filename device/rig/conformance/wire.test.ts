// SPDX-License-Identifier: Apache-2.0
/**
 * Packets on the wire: parsed, with both CRCs checked, and compared with the requests (IBTA 7.7,
 * 9.2, 9.6).
 */
import t from 'tap';
import { getDethQKey, getDethSrcQpn } from '../../../protocol/infiniband/gen/deth.gen.ts';
import { getImmDtImmediate } from '../../../protocol/infiniband/gen/imm-dt.gen.ts';
import { BthOpcode } from '../../../protocol/infiniband/gen/values.gen.ts';
import {
  newParsedPacket,
  PacketCheck,
  PacketError,
  type ParsedPacket,
  parsePacket,
} from '../../../protocol/infiniband/packet.ts';
import { PSN_MASK } from '../../../protocol/infiniband/psn.ts';
import { AdapterFixture } from '../fixtures/adapter-fixture.ts';

/** A packet that left a port. */
interface Captured {
  readonly port: number;
  readonly view: DataView;
  readonly packet: ParsedPacket;
  readonly payload: Uint8Array;
}

/** Collects the packets that leave the ports of a fixture's adapter. */
function tap(fixture: AdapterFixture): Captured[] {
  const captured: Captured[] = [];
  for (const port of fixture.machine.device.ports) {
    port.observer = (from, outgoing, bytes, offset, lengthBytes) => {
      if (!outgoing) return;
      const copy = bytes.slice(offset, offset + lengthBytes);
      const view = new DataView(copy.buffer);
      const packet = newParsedPacket();
      parsePacket(view, 0, lengthBytes, packet, PacketCheck.ALL);
      const payload = copy.subarray(packet.payloadOffset, packet.payloadOffset + packet.payloadLengthBytes);
      captured.push({ port: from.number, view, packet, payload });
    };
  }
  return captured;
}

t.test('packets are valid and carry the fields of their requests', async (t) => {
  const seed = 81;
  const fixture = new AdapterFixture({ seed, memoryBytes: 16 * 1024 * 1024 });
  const captured = tap(fixture);
  const firstPsn = 0xfffff0;
  const pairs = [
    fixture.createPair({ sender: { sendPsn: firstPsn } }),
    fixture.createPair({ sender: { port: 2 }, receiver: { port: 1 } }),
  ];
  const psns = [firstPsn, 0];
  for (let round = 0; round < 200; round++) {
    const which = fixture.random.below(2);
    const { sender, receiver, to } = pairs[which] as (typeof pairs)[0];
    const content = fixture.random.bytes(fixture.random.below(4097));
    const immediate = fixture.random.oneIn(2) ? fixture.random.next() : undefined;
    const solicited = fixture.random.oneIn(2);
    const [serviceLevel, trafficClass, flowLabel] = [
      fixture.random.below(16),
      fixture.random.below(256),
      fixture.random.below(1 << 20),
    ];
    const globalRoute = fixture.random.below(2);
    const port = which + 1;
    const addressHandle = 5;
    fixture.driver.addressHandles.set(addressHandle, {
      port,
      dlid: 3 - port,
      pd: fixture.pd,
      serviceLevel,
      globalRoute,
      trafficClass,
      flowLabel,
      hopLimit: 64,
    });
    const buffer = fixture.createBuffer(content);
    sender.post(
      to({ addressHandle, solicited, sges: [fixture.sge(buffer)], ...(immediate === undefined ? {} : { immediate }) }),
    );
    fixture.settle();
    sender.parts.sendCq.drain();
    const { packet, view, payload, port: from } = captured[round] as Captured;
    const psn = psns[which] as number;
    psns[which] = (psn + 1) & PSN_MASK;
    const wanted = {
      error: PacketError.NONE,
      dlid: 3 - port,
      slid: port,
      serviceLevel,
      opcode: immediate === undefined ? BthOpcode.UD_SEND_ONLY : BthOpcode.UD_SEND_ONLY_WITH_IMMEDIATE,
      solicited: Number(solicited),
      pKey: 0xffff,
      destQpn: receiver.qpn,
      psn,
      ackRequest: 0,
      padCount: (4 - (content.length % 4)) % 4,
      payloadLengthBytes: content.length,
    };
    for (const [name, value] of Object.entries(wanted)) {
      const actual = packet[name as keyof ParsedPacket];
      if (actual !== value) t.fail(`seed ${seed}, round ${round}: ${name} is ${actual}, expected ${value}`);
    }
    t.equal(from, port);
    t.equal(packet.grhOffset >= 0, globalRoute === 1);
    t.equal(getDethSrcQpn(view, packet.dethOffset), sender.qpn);
    t.equal(getDethQKey(view, packet.dethOffset), receiver.qkey);
    if (immediate !== undefined) t.equal(getImmDtImmediate(view, packet.immDtOffset), immediate);
    if (Buffer.compare(payload, content) !== 0) t.fail(`seed ${seed}, round ${round}: the payload differs`);
  }
  t.equal(captured.length, 200);
  fixture.finish();
});

t.test('packets of a QP leave in the order of its commands, however these were posted', async (t) => {
  const seed = 82;
  const fixture = new AdapterFixture({ seed, budget: 7 });
  const captured = tap(fixture);
  const { sender, to } = fixture.createPair({ sender: { sendEntriesLog2: 6 } });
  for (let round = 0; round < 300; round++) {
    sender.post(
      to({ inline: Uint8Array.of(round & 0xff, round >> 8), signaled: false }),
      fixture.random.pick(['collect', 'slot', 'doorbell'] as const),
    );
    if (round % 32 === 31) {
      sender.ring();
      fixture.settle();
    } else if (fixture.random.oneIn(5)) fixture.machine.step();
  }
  sender.ring();
  fixture.settle();
  t.same(
    captured.map(({ payload }) => (payload[0] ?? 0) + (payload[1] ?? 0) * 256),
    Array.from({ length: 300 }, (_, round) => round),
  );
  fixture.finish();
});
