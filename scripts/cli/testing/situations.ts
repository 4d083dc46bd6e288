// SPDX-License-Identifier: Apache-2.0
/**
 * Scripted situations whose stories `vuhca trace show` tells: several event queues and vectors, two
 * adapters, losses, RNR, refusals, and completions without an event or interrupt. Played by
 * trace-stories.test.ts, which compares their stories word for word.
 */

import { FaultyLink } from '../../../device/fabric/link/faulty-link.ts';
import type { LinkFault, ScheduledFault } from '../../../device/fabric/link/link-options.ts';
import { Random } from '../../../device/random.ts';
import { bringUp } from '../../../device/rig/conformance/two-ends/suite.ts';
import { twoAdapters } from '../../../device/rig/conformance/two-ends/two-adapters.ts';
import type { DriverEventQueue } from '../../../device/rig/driver/event-queue.ts';
import type { DriverQueuePair } from '../../../device/rig/driver/queue-pair.ts';
import type { AdapterFixture } from '../../../device/rig/fixtures/adapter-fixture.ts';
import { NOP } from '../../../device/rig/fixtures/command-poster.ts';
import { rdma, SendOpcode, ServiceType } from '../../../device/rig/fixtures/connected-fixture.ts';
import type { InProcessAccess } from '../../../device/rig/machine/access.ts';
import { eventSituations } from './event-situations.ts';
import { CONNECTION, Play } from './play.ts';
import { playCancel, playImplicit, playLanes, playShares, playSweep } from './share-situations.ts';
import { StoryStage } from './story-stage.ts';
import { waitSituations } from './wait-situations.ts';

const ALL_ONES = 0xffffffff;

function drop(...packets: number[]): ScheduledFault[] {
  const fault: LinkFault = 'drop';
  return packets.map((packet) => ({ fault, direction: 0, packet }));
}

/** A connected pair whose send CQs have EQs of their own, and a third QP on the fixture's EQ. */
function playEventQueues(): string {
  const play = new Play();
  const { fixture, stage } = play;
  const queues = [6, 7].map((vector) => fixture.driver.createEventQueue({ vector }));
  const [a, b] = queues.map((eventQueue) => createOn(fixture, eventQueue)) as [DriverQueuePair, DriverQueuePair];
  const other = fixture.createQueuePair();
  const common = { reliable: true, ...CONNECTION };
  a.connect({ port: 1, dlid: fixture.lidOf(2), remoteQpn: b.qpn, ...common });
  b.connect({ port: 2, dlid: fixture.lidOf(1), remoteQpn: a.qpn, ...common });
  stage.begin();
  for (const cq of [a.parts.sendCq, b.parts.receiveCq, other.parts.sendCq]) cq.notify();
  b.postReceive([fixture.sge(fixture.createBuffer(64))]);
  other.post(NOP);
  a.post({ sges: [fixture.sge(fixture.createBuffer(8))] });
  other.post(NOP);
  fixture.settle();
  return stage.tell(a.qpn);
}

function createOn(fixture: AdapterFixture, eventQueue: DriverEventQueue): DriverQueuePair {
  const queue = () => fixture.createCompletionQueue({ eventQueue });
  return fixture.driver.createQueuePair({
    pd: fixture.pd,
    sendCq: queue(),
    receiveCq: queue(),
    creation: { serviceType: ServiceType.RC },
  });
}

function playUnsignaled(): string {
  const play = new Play();
  play.stage.begin();
  play.receive();
  play.send(8, 'doorbell', false);
  play.fixture.settle();
  // A signaled request follows; its completion is not that of the first.
  play.receive();
  play.send();
  play.finish();
  return play.tell();
}

function playReceiverNotReady(): string {
  const play = new Play();
  play.stage.begin();
  play.send();
  play.fixture.settle();
  play.receive();
  play.finish();
  return play.tell();
}

function playTimeout(): string {
  const play = new Play(drop(1));
  play.stage.begin();
  play.receive();
  play.send(300);
  play.finish();
  return play.tell();
}

function playSequenceError(): string {
  const play = new Play(drop(0));
  play.stage.begin();
  play.receive();
  play.receive();
  play.send(300);
  play.send();
  play.finish(2);
  return play.tell();
}

function playAccessError(): string {
  const play = new Play();
  const { fixture, stage, connected } = play;
  stage.begin();
  const [local, remote] = [fixture.createBuffer(8), fixture.createBuffer(8)];
  const { a, region } = connected;
  a.parts.sendCq.notify({ solicitedOnly: true });
  a.post(rdma(fixture, SendOpcode.RDMA_WRITE, local, remote, { ...region, rkey: region.rkey ^ 0x55 }));
  play.finish();
  return play.tell();
}

function playArming(): string {
  const play = new Play();
  play.stage.begin();
  play.receive();
  play.send();
  play.fixture.settle();
  play.connected.a.parts.sendCq.notify();
  play.fixture.settle();
  return play.tell();
}

/** Two completions of one CQ; software has answered no event. */
function playPending(): string {
  const play = new Play();
  play.stage.begin();
  const { sendCq } = play.connected.a.parts;
  sendCq.notify();
  for (let sent = 0; sent < 2; sent++) {
    play.receive();
    play.send();
    play.finish();
    sendCq.notify({ clearPending: false });
  }
  return play.tell(1);
}

/** Equal QPNs on both adapters; each adapter has a message with the same PSN to another QP, too. */
function playTwoAdapters(): string {
  const places = twoAdapters((first, second) => new FaultyLink(first, second, { schedule: drop(0, 1) }, new Random(1)));
  const ends = bringUp(places[0], places[1], 1);
  const pairs = [ends.connect(CONNECTION), ends.connect(CONNECTION)];
  const stage = new StoryStage((places[0].access as InProcessAccess).machine);
  stage.begin();
  for (const { a, b } of pairs) {
    b.postReceive([ends.b.sge(ends.b.buffer(64))]);
    a.post({ sges: [ends.a.sge(ends.a.buffer(8))] });
  }
  for (const { a } of pairs) ends.sent(a);
  ends.settle();
  const [{ b }] = pairs as [(typeof pairs)[0]];
  return stage.tell(b.qpn, 0, 1);
}

/** Another CQ of the EQ has an event that software has not answered, and the delay is long. */
function playTimeStamp(): string {
  const play = new Play();
  const { fixture, stage } = play;
  const eventQueue = fixture.driver.createEventQueue({
    vector: 7,
    summaryCount: 4,
    attributes: { nextInterruptDelayNsLow: 1_000_000 },
  });
  const queues = [1, 2].map((summaryIndex) => fixture.createCompletionQueue({ eventQueue, summaryIndex }));
  const [first, second] = queues.map((sendCq) => fixture.createQueuePair({ sendCq })) as [
    DriverQueuePair,
    DriverQueuePair,
  ];
  stage.begin();
  for (const qp of [first, second]) {
    qp.parts.sendCq.notify();
    qp.post(NOP);
    fixture.settle();
  }
  return `${stage.tell(first.qpn)}\n${stage.tell(second.qpn)}`;
}

function playMasked(): string {
  const play = new Play();
  const { fixture, stage, connected } = play;
  const { a, region } = connected;
  stage.begin([connected.b.qpn]);
  fixture.host.masked.fill(1);
  const [local, remote] = [fixture.createBuffer(300), fixture.createBuffer(300)];
  a.parts.sendCq.notify();
  a.post(rdma(fixture, SendOpcode.RDMA_READ, local, remote, region));
  play.finish();
  return play.tell();
}

/** An EQ that software polls: its delay has the largest value. */
function playPolled(): string {
  const play = new Play();
  const { fixture, stage } = play;
  const attributes = { nextInterruptDelayNsLow: ALL_ONES, nextInterruptDelayNsHigh: ALL_ONES };
  const eventQueue = fixture.driver.createEventQueue({ vector: 7, summaryCount: 1, attributes });
  const { sender, receiver, to } = fixture.createPair({
    sender: { sendCq: fixture.createCompletionQueue({ eventQueue }) },
  });
  stage.begin();
  sender.parts.sendCq.notify();
  fixture.postReceive(receiver, 64);
  sender.post(to({ inline: Uint8Array.of(1, 2, 3) }));
  fixture.settle();
  return stage.tell(sender.qpn);
}

/** By name: plays the situation and returns its story. */
export const situations: Readonly<Record<string, () => string>> = {
  'three event queues, three vectors': playEventQueues,
  'by doorbell, unsignaled': playUnsignaled,
  'the receiver is not ready': playReceiverNotReady,
  'a lost packet, a timeout': playTimeout,
  'a lost packet, a NAK': playSequenceError,
  'a wrong key': playAccessError,
  'an event at the arming': playArming,
  'an event is pending': playPending,
  'two adapters, equal QPNs, a loss': playTwoAdapters,
  'summary bytes, before the time stamp': playTimeStamp,
  'a READ, the vector is masked, one side': playMasked,
  'a datagram, software polls': playPolled,
  'a share that changes, a spilled doorbell': playShares,
  'a cancelled copy': playCancel,
  'a lane that changes': playLanes,
  'a lost doorbell, a sweep, lists': playSweep,
  'copies that become doorbells': playImplicit,
  ...eventSituations,
  ...waitSituations,
};
