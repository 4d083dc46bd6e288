// SPDX-License-Identifier: Apache-2.0
/**
 * Acknowledgements that overtake packets that are sent again (IBTA 9.7.5.1.1, 9.7.6): the requester
 * neither forgets what it has sent, nor sends what has arrived. `AdapterFixture` checks the rules
 * of `RequesterState` after each step.
 */
import t, { type Test } from 'tap';
import { AethKind, BthOpcode } from '../../../protocol/infiniband/gen/values.gen.ts';
import { CompletionStatus, QpState, SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import { Random } from '../../random.ts';
import { ledger } from '../fixtures/ledger.ts';
import { PacketPeer } from '../fixtures/packet-peer.ts';
import { seedsOf } from '../fixtures/seeds.ts';

const MTU = 256;
const { SUCCESS } = CompletionStatus;
/** Packets that wait at the port, so that a message is sent again bit by bit. */
const PORT_PACKETS = 4;
const PACKETS = 12;

/** A peer whose QP has sent messages of these numbers of packets; the peer has taken them. */
function makePeer(sizes: readonly number[], sendPsn = 100): PacketPeer {
  const fixture = { adapter: { portQueuePackets: PORT_PACKETS } };
  const peer = new PacketPeer({ fixture, sendPsn, retryCount: 7, sendEntriesLog2: 6 });
  for (const size of sizes) peer.qp.post({ sges: [peer.fixture.sge(peer.fixture.createBuffer(size * MTU))] });
  return peer;
}

/** The timeout expires; `count` packets are sent again and taken by the link. */
function sendAgain(peer: PacketPeer, count: number): void {
  peer.fixture.machine.clock.jumpToAlarm();
  for (let left = count; left > 0; left--) {
    peer.settle();
    peer.takeWaiting(1);
  }
  peer.settle();
}

function psnsOf(peer: PacketPeer): number[] {
  return peer.take().map(({ psn }) => (psn - peer.firstPsn) & 0xffffff);
}

function statuses(peer: PacketPeer): number[] {
  return peer.qp.parts.sendCq.drain().map(({ status }) => status);
}

/** Acknowledgements of all these PSNs are dropped, and disturb no connection that is idle. */
function checkIdle(t: Test, peer: PacketPeer, psns: readonly number[], name: string): void {
  const { completer } = peer.adapter.engine.connected;
  const { ghosts, timeouts } = completer;
  for (const psn of psns) peer.acknowledge(psn);
  t.equal(completer.ghosts, ghosts + psns.length, `${name}: none of them is taken`);
  peer.wait(1e9);
  t.equal(completer.timeouts, timeouts, `${name}: no timer runs`);
  t.equal(peer.qp.query().state, QpState.RTS, name);
}

t.test('an ACK overtakes packets that are sent again', async (t) => {
  ledger(t, '9.7.6', 'Packets whose ACK overtakes them while they are sent again are not sent any more');
  ledger(t, '9.7.5.1.1', 'After that, an ACK for a packet never sent is a ghost still, and so is a late copy');
  for (const sizes of [[PACKETS], [3, 4, 5], Array.from({ length: PACKETS }, () => 1)]) {
    for (const again of [0, 1, 3, PACKETS - PORT_PACKETS]) {
      for (const acked of [0, 1, 3, 6, 10, PACKETS - 1]) {
        const name = `messages of ${sizes} packets, ${again} sent again, ACK of ${acked}`;
        // Near the wrap of PSNs.
        const peer = makePeer(sizes, 0xfffff8);
        peer.take();
        sendAgain(peer, again);
        peer.acknowledge(acked);
        peer.takeWaiting(PORT_PACKETS);
        const next = Math.max(again + PORT_PACKETS, acked + 1);
        const rest = Array.from({ length: PACKETS - next }, (_, index) => next + index);
        t.same(psnsOf(peer), rest, name);
        peer.acknowledge(PACKETS - 1);
        t.same(statuses(peer), Array(sizes.length).fill(SUCCESS), name);
        checkIdle(t, peer, [acked, 0, PACKETS, 5000, 0x7fffff], name);
        peer.qp.post({ inline: Uint8Array.of(1) });
        t.same(psnsOf(peer), [PACKETS], `${name}: the next message`);
      }
    }
  }
});

t.test('responses to a READ overtake the request that is sent again', async (t) => {
  ledger(t, '9.7.6', 'A READ whose responses overtake its repeated request is requested again for the rest only');
  const { RC_RDMA_READ_RESPONSE_FIRST, RC_RDMA_READ_RESPONSE_MIDDLE, RC_RDMA_READ_RESPONSE_LAST } = BthOpcode;
  const opcodes = [RC_RDMA_READ_RESPONSE_FIRST, RC_RDMA_READ_RESPONSE_MIDDLE, RC_RDMA_READ_RESPONSE_LAST];
  for (const arrived of [0, 1, 2, 3]) {
    const peer = makePeer(Array.from({ length: PORT_PACKETS }, () => 1));
    const { fixture, qp } = peer;
    const sges = [fixture.sge(fixture.createBuffer(3 * MTU))];
    qp.post({ opcode: SendOpcode.RDMA_READ, sges, remote: { address: 0x1000, rkey: 1 } });
    qp.post({ inline: Uint8Array.of(1) });
    peer.take();
    sendAgain(peer, 0);
    peer.acknowledge(PORT_PACKETS - 1);
    for (const [index, opcode] of opcodes.slice(0, arrived).entries())
      peer.respond(opcode, PORT_PACKETS + index, { syndromeKind: AethKind.ACK }, new Uint8Array(MTU));
    peer.takeWaiting(PORT_PACKETS);
    const rest = peer.take().map(({ name, psn, address }) => [name, psn - peer.firstPsn, address]);
    const read = ['RDMA_READ_REQUEST', PORT_PACKETS + arrived, 0x1000 + arrived * MTU];
    t.same(rest, [...(arrived < 3 ? [read] : []), ['SEND_ONLY', PORT_PACKETS + 3, 0]], `${arrived} responses`);
  }
});

t.test('late, lost and overtaking ACKs at random', async (t) => {
  for (const seed of seedsOf(15, 300)) {
    const random = new Random(seed);
    const sizes = Array.from({ length: random.between(3, 12) }, () => random.between(1, 6));
    const total = sizes.reduce((sum, size) => sum + size, 0);
    const peer = makePeer(sizes, random.below(0x1000000));
    const { clock } = peer.fixture.machine;
    let [sent, acked] = [0, 0];
    const take = (count: number, isChecked: boolean): void => {
      for (const { psn } of peer.takeWaiting(count)) {
        const index = (psn - peer.firstPsn) & 0xffffff;
        if (isChecked && index < acked) t.fail(`seed ${seed}: packet ${index} is sent, ${acked} are acknowledged`);
        sent = Math.max(sent, index + 1);
      }
      peer.settle();
    };
    peer.settle();
    while (acked < total) {
      if (random.oneIn(8)) clock.jumpToAlarm();
      take(random.between(1, PORT_PACKETS), true);
      if (!random.oneIn(4) || sent === 0) continue;
      // The link has taken the packets that wait; also one sent before counts.
      const psn = random.between(Math.max(0, acked - 3), sent - 1);
      const waiting = peer.adapter.ports[0].transmitQueues.count;
      peer.acknowledge(psn);
      acked = Math.max(acked, psn + 1);
      take(Math.max(waiting, PORT_PACKETS), false);
    }
    t.same(statuses(peer), Array(sizes.length).fill(SUCCESS), `seed ${seed}`);
    peer.take();
    checkIdle(t, peer, [0, total - 1, total, total + 1, total + 100], `seed ${seed}`);
  }
});
