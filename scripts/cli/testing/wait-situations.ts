// SPDX-License-Identifier: Apache-2.0
/**
 * Scripted situations for `vuhca trace show` with waits, refusals and losses: pages, credits,
 * READs, moderation, resets, wrong keys. situations.ts names them among the others.
 */
import { cqPayload } from '../../../device/rig/driver/payloads.ts';
import { AdapterFixture } from '../../../device/rig/fixtures/adapter-fixture.ts';
import { NOP } from '../../../device/rig/fixtures/command-poster.ts';
import { connect, rdma, SendOpcode } from '../../../device/rig/fixtures/connected-fixture.ts';
import { DemandPager, serveUntil } from '../../../device/rig/fixtures/demand-pager.ts';
import { XrcFixture } from '../../../device/rig/fixtures/xrc-fixture.ts';
import { CqMask, ManagementOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import { CONNECTION, Play } from './play.ts';
import { StoryStage } from './story-stage.ts';

/** A WRITE into a page of the peer that is not present. */
function playPeerPage(): string {
  const play = new Play();
  const { fixture, stage, connected } = play;
  const pager = new DemandPager(fixture);
  stage.begin();
  const remote = { address: pager.at(0), rkey: pager.region.rkey };
  connected.a.post({ opcode: SendOpcode.RDMA_WRITE, sges: [fixture.sge(fixture.createBuffer(8))], remote });
  serveUntil([pager], () => connected.a.parts.sendCq.ready);
  fixture.settle();
  return play.tell();
}

/** A READ whose response has no page to go to. */
function playOwnPage(): string {
  const play = new Play();
  const { fixture, stage, connected } = play;
  const pager = new DemandPager(fixture);
  stage.begin();
  const sges = [{ address: pager.at(0), length: 8, lkey: pager.region.lkey }];
  const remote = { address: fixture.createBuffer(8).address, rkey: connected.region.rkey };
  connected.a.post({ opcode: SendOpcode.RDMA_READ, sges, remote });
  serveUntil([pager], () => connected.a.parts.sendCq.ready);
  fixture.settle();
  return play.tell();
}

/** The moderation time of a CQ passes without a further completion. */
function playModerationTime(): string {
  const play = new Play();
  const { fixture, stage, connected } = play;
  const { a } = connected;
  stage.begin();
  const payload = cqPayload({ attributeMask: CqMask.MODERATION, moderationCount: 0, moderationPeriodUs: 10 });
  fixture.driver.management.perform({ opcode: ManagementOpcode.MODIFY_CQ, objectNumber: a.parts.sendCq.cqn, payload });
  a.parts.sendCq.notify();
  a.post(NOP);
  fixture.settle();
  fixture.machine.clock.advance(20_000);
  fixture.settle();
  return play.tell();
}

/** The event of the second message waits until software clears EQ pending. */
function playClearing(): string {
  const play = new Play();
  const { fixture, stage, connected } = play;
  const { sendCq } = connected.a.parts;
  stage.begin();
  sendCq.notify();
  connected.a.post(NOP);
  fixture.settle();
  sendCq.drain();
  sendCq.notify({ clearPending: false });
  for (let posted = 0; posted < 2; posted++) {
    connected.a.post(NOP);
    fixture.settle();
  }
  sendCq.notify({ clearOnly: true });
  fixture.settle();
  return play.tell(1);
}

/** The sender is reset while it waits for a receive WQE. */
function playReset(): string {
  const play = new Play();
  play.stage.begin();
  play.send();
  play.fixture.settle();
  play.connected.a.toReset();
  play.fixture.settle();
  return play.tell();
}

function playWrongQkey(): string {
  const fixture = new AdapterFixture({ seed: 1 });
  const { sender, receiver, to } = fixture.createPair();
  const stage = new StoryStage(fixture.machine);
  stage.begin();
  fixture.postReceive(receiver, 100);
  sender.post(to({ inline: new Uint8Array(4), qkey: 7 }));
  fixture.settle();
  return stage.tell(sender.qpn);
}

function playXrc(): string {
  const xrc = new XrcFixture();
  const { fixture, initiator } = xrc;
  const queue = xrc.createQueue();
  const stage = new StoryStage(fixture.machine);
  stage.begin();
  xrc.postReceive(queue, 64);
  xrc.send(queue.srq.srqn, { sges: [fixture.sge(fixture.createBuffer(40))] });
  fixture.settle();
  return stage.tell(initiator.qpn);
}

/** Messages without a credit of the peer; then two READs, of which one may be open at a time. */
function playCommandWaits(): string {
  const fixture = new AdapterFixture({ seed: 1 });
  const { a, b, region } = connect(fixture, { ...CONNECTION, maxReads: 1 });
  const stage = new StoryStage(fixture.machine);
  const receive = (): void => b.postReceive([fixture.sge(fixture.createBuffer(64))]);
  const send = (): void => void a.post({ sges: [fixture.sge(fixture.createBuffer(8))] });
  const take = (count: number): void => {
    for (let taken = 0; taken < count; taken++) a.parts.sendCq.take();
    fixture.settle();
  };
  stage.begin();
  receive();
  send();
  take(1);
  send();
  send();
  fixture.settle();
  receive();
  receive();
  take(2);
  for (let read = 0; read < 2; read++)
    a.post(rdma(fixture, SendOpcode.RDMA_READ, fixture.createBuffer(600), fixture.createBuffer(600), region));
  take(2);
  return `${stage.tell(a.qpn, 2)}\n${stage.tell(a.qpn, 4)}`;
}

/** The ACKs of four messages are lost: they keep all completion credits of the lane. */
function playLaneCredits(): string {
  const lost = [0, 1].map((packet) => ({ fault: 'drop', direction: 1, packet }) as const);
  const play = new Play(lost, { completionCredits: 4 });
  play.stage.begin();
  for (let sent = 0; sent < 6; sent++) {
    play.receive();
    play.send(8, 'doorbell');
  }
  play.finish(6);
  return play.tell(5);
}

/** The receive WQE is too short for the second packet. */
function playTooLong(): string {
  const play = new Play();
  const { fixture, connected, stage } = play;
  stage.begin();
  connected.b.postReceive([fixture.sge(fixture.createBuffer(300))]);
  play.send(700);
  fixture.settle();
  return play.tell();
}

/** More packets than a byte counts. */
function playManyPackets(): string {
  const play = new Play();
  const { fixture, connected, stage } = play;
  stage.begin();
  connected.b.postReceive([fixture.sge(fixture.createBuffer(131_072))]);
  play.send(256 * 400);
  play.finish();
  return play.tell();
}

/** By name: plays the situation and returns its story. */
export const waitSituations: Readonly<Record<string, () => string>> = {
  'a page of the peer is not present': playPeerPage,
  'a page of the reader is not present': playOwnPage,
  'a moderation time passes': playModerationTime,
  'software clears a pending event': playClearing,
  'a reset during an RNR wait': playReset,
  'a datagram with a wrong Q_Key': playWrongQkey,
  'a message to an XRC queue': playXrc,
  'no end-to-end credit, and one READ at a time': playCommandWaits,
  'a lane without credits': playLaneCredits,
  'a message is too long for its receive WQE': playTooLong,
  'a message of 400 packets': playManyPackets,
};
