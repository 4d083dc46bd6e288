// SPDX-License-Identifier: Apache-2.0
/**
 * CRCs between a port and the first receiver that checks them: senders compute none, a port or
 * switch seals a packet before an observer or a link with faults gets it, and the ICRC of a packet
 * that has crossed such a link stays that of its sender (IBTA 7.8).
 */
import t, { type Test } from 'tap';
import { BthOpcode } from '../../../protocol/infiniband/gen/values.gen.ts';
import { getIcrc, setIcrc } from '../../../protocol/infiniband/icrc.ts';
import { newParsedPacket, PacketCheck, PacketError, parsePacket } from '../../../protocol/infiniband/packet.ts';
import { buildPacket, payloadStart } from '../../../protocol/infiniband/packet-builder.ts';
import { newPacketFields } from '../../../protocol/infiniband/packet-fields.ts';
import { computeVcrc, getVcrc, VCRC_SIZE } from '../../../protocol/infiniband/vcrc.ts';
import { Random } from '../../random.ts';
import { ledger } from '../../rig/fixtures/ledger.ts';
import { SwitchFabric } from '../../rig/fixtures/switch-fabric.ts';
import { Cable } from '../link/cable.ts';
import { FaultyLink } from '../link/faulty-link.ts';
import type { LinkEnd } from '../port/link.ts';

const CRC_BYTES = 6;
const SEEDS = 12;
/** LNH of a raw packet with an IPv6 header. */
const RAW = 1;
const LNH_MASK = 3;
type Kind = 'cable' | 'faulty';

/** Two ends at one switch, by links that may damage packets or not. */
class Path {
  readonly fabric = new SwitchFabric({ ends: [0, 0], virtualLanes: 2 });
  readonly ports: readonly LinkEnd[];
  readonly #parsed = newParsedPacket();

  constructor(first: Kind, second: Kind) {
    const { ends, switches } = this.fabric;
    const [relay] = switches;
    for (const [index, kind] of [first, second].entries()) {
      const [end, port] = [ends[index], relay.ports[index]];
      if (kind === 'faulty') new FaultyLink(end, port, {}, new Random(1));
    }
    this.ports = [ends[0], ...relay.ports, ends[1]];
    // The VL changes on the way.
    relay.switchTables.setVirtualLane(1, 2, 0, 1);
  }

  /** Builds a packet without CRCs at the write offset; returns its length. */
  build(payloadBytes: number, hasGrh: number, change: (view: DataView, offset: number) => void = () => {}): number {
    const fields = newPacketFields();
    const ring = this.fabric.ends[0].ringFor(2);
    Object.assign(fields, { opcode: BthOpcode.UD_SEND_ONLY, dlid: 2, slid: 1, pKey: 0xffff, hasGrh });
    fields.payloadLengthBytes = payloadBytes;
    const offset = ring.writeOffset;
    const payload = offset + payloadStart(fields.opcode, hasGrh);
    for (let index = 0; index < payloadBytes; index++) ring.bytes[payload + index] = index % 251;
    const length = buildPacket(ring.view, offset, fields, PacketCheck.NONE);
    change(ring.view, offset);
    return length;
  }

  send(length: number): void {
    const [end] = this.fabric.ends;
    end.transmit(end.ringFor(2), length);
  }

  /** Sends a packet that has a wrong ICRC and otherwise right CRCs. */
  sendDamaged(length: number): void {
    const [end] = this.fabric.ends;
    end.transmitDamaged(end.ringFor(2), length, false);
  }

  /** Lets the packet arrive; its bytes. */
  arrive(): DataView {
    this.fabric.settle();
    while (this.fabric.clock.jumpToAlarm()) this.fabric.settle();
    const [, end] = this.fabric.ends;
    const ring = end.link?.arrival(end);
    if (ring === undefined) throw new Error('no packet has arrived');
    const bytes = ring.bytes.slice(ring.readOffset, ring.readOffset + ring.readLength);
    ring.shift();
    return new DataView(bytes.buffer);
  }

  /** Observes a port; the faults of the packets that it shows are appended to the list returned. */
  observe(place: number, checks: number = PacketCheck.ALL): number[] {
    const seen: number[] = [];
    this.ports[place].observer = (_port, _outgoing, bytes, offset, length) =>
      seen.push(this.judge(new DataView(bytes.slice(offset, offset + length).buffer), checks));
    return seen;
  }

  /** The fault of a packet by its CRCs. */
  judge(view: DataView, checks: number = PacketCheck.ALL): number {
    return parsePacket(view, 0, view.byteLength, this.#parsed, checks);
  }
}

/** Calls `act` with a length of the payload and with or without a GRH. */
function forSeeds(t: Test, act: (payloadBytes: number, hasGrh: number, name: string) => void): void {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = new Random(seed);
    const payloadBytes = random.oneIn(4) ? random.below(4097) : random.below(200);
    const hasGrh = random.below(2);
    act(payloadBytes, hasGrh, `seed ${seed}: ${payloadBytes} bytes${hasGrh === 1 ? ', GRH' : ''}`);
  }
  t.ok(SEEDS > 0);
}

t.test('a packet has both CRCs where a link may damage it, and none before', async (t) => {
  ledger(t, '7.8.1', 'Each packet that a receiver checks has the ICRC of its invariant fields');
  forSeeds(t, (payloadBytes, hasGrh, name) => {
    for (const first of ['cable', 'faulty'] as const)
      for (const second of ['cable', 'faulty'] as const) {
        const path = new Path(first, second);
        path.send(path.build(payloadBytes, hasGrh));
        const packet = path.arrive();
        const where = `${name}, ${first} and ${second}`;
        if (first === 'faulty' || second === 'faulty') t.equal(path.judge(packet), PacketError.NONE, where);
        else t.equal(getIcrc(packet, packet.byteLength - CRC_BYTES), 0, `${where}: no CRC is computed`);
      }
  });
});

t.test('each observer on a way of cables sees right CRCs', async (t) => {
  forSeeds(t, (payloadBytes, hasGrh, name) => {
    for (let place = 0; place < 3; place++) {
      const path = new Path('cable', 'cable');
      const seen = path.observe(place);
      path.send(path.build(payloadBytes, hasGrh));
      path.arrive();
      t.same(seen, [PacketError.NONE], `${name}, port ${place}`);
    }
  });
});

t.test('a wrong ICRC stays wrong, whatever the links', async (t) => {
  ledger(t, '7.8.1', 'A switch that changes the VL of a packet leaves its ICRC as it is');
  forSeeds(t, (payloadBytes, hasGrh, name) => {
    for (const first of ['cable', 'faulty'] as const)
      for (const second of ['cable', 'faulty'] as const)
        for (const isObserved of [false, true]) {
          const path = new Path(first, second);
          const seen = isObserved ? path.observe(2, PacketCheck.ICRC) : [];
          path.sendDamaged(
            path.build(payloadBytes, hasGrh, (view, offset) => void setWrongIcrc(view, offset, payloadBytes, hasGrh)),
          );
          const packet = path.arrive();
          const where = `${name}, ${first} and ${second}`;
          t.equal(path.judge(packet), PacketError.BAD_ICRC, where);
          t.same(seen, isObserved ? [PacketError.BAD_ICRC] : [], where);
        }
  });
});

function setWrongIcrc(view: DataView, offset: number, payloadBytes: number, hasGrh: number): void {
  const at = offset + payloadStart(BthOpcode.UD_SEND_ONLY, hasGrh) + ((payloadBytes + 3) & ~3);
  setIcrc(view, at, 0x1234567);
}

t.test('a raw packet gets a VCRC, and no ICRC over its last bytes', async (t) => {
  for (const second of ['cable', 'faulty'] as const) {
    const path = new Path('cable', second);
    const length = path.build(64, 0, (view, offset) => {
      view.setUint8(offset + 1, (view.getUint8(offset + 1) & ~LNH_MASK) | RAW);
      setIcrc(view, offset + 8 + 12 + 8 + 64, 0x5a5a5a5a);
    });
    let seen: DataView | undefined;
    path.ports[2].observer = (_port, _outgoing, bytes, offset) =>
      (seen = new DataView(bytes.slice(offset, offset + length).buffer));
    path.send(length);
    for (const packet of [path.arrive(), seen as unknown as DataView]) {
      t.equal(getIcrc(packet, length - CRC_BYTES), 0x5a5a5a5a, second);
      t.equal(getVcrc(packet, length - VCRC_SIZE), computeVcrc(packet, 0, length - VCRC_SIZE), second);
    }
  }
});

t.test('a link that is replaced gets packets that are sealed for it', async (t) => {
  const path = new Path('cable', 'cable');
  const [end, port] = [path.fabric.ends[1], path.fabric.switches[0].ports[1]];
  const length = path.build(100, 0);
  path.send(length);
  new FaultyLink(end, port, {}, new Random(1));
  t.equal(path.judge(path.arrive()), PacketError.NONE, 'it waited before the switch');
  new Cable(end, port);
  path.send(path.build(100, 0));
  t.equal(getIcrc(path.arrive(), length - CRC_BYTES), 0, 'a cable again');
});
