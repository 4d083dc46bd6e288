// SPDX-License-Identifier: Apache-2.0
/**
 * Scripted situations for `vuhca trace show` about events: why a completion caused none, and what
 * the next interrupt time stamp and the controls of an EQ decided (IPCOM000126453D par. 3-4).
 * situations.ts names them among the others.
 */
import type { DriverCompletionQueue } from '../../../device/rig/driver/completion-queue.ts';
import { NOP } from '../../../device/rig/fixtures/command-poster.ts';
import { EqControl } from '../../../protocol/layout/gen/values.gen.ts';
import { Play } from './play.ts';

const STAMP_NS = 1000;

/** The stories of one NOP for each of the CQs, which are armed one after the other. */
function tellNops({ fixture, stage }: Play, queues: readonly DriverCompletionQueue[], pauseNs = 0): string {
  const qps = queues.map((sendCq) => fixture.createQueuePair({ sendCq }));
  stage.begin();
  for (const qp of qps) {
    qp.parts.sendCq.notify();
    qp.post(NOP);
    fixture.settle();
    fixture.machine.clock.advance(pauseNs);
  }
  return qps.map(({ qpn }) => stage.tell(qpn)).join('\n');
}

/** Two CQs of one EQ: the second event comes when the time stamp of the first has passed. */
function playLateDriver(): string {
  const play = new Play();
  const { fixture } = play;
  const attributes = { nextInterruptDelayNsLow: STAMP_NS };
  const eventQueue = fixture.driver.createEventQueue({ vector: 7, summaryCount: 3, attributes });
  const queues = [1, 2].map((summaryIndex) => fixture.createCompletionQueue({ eventQueue, summaryIndex }));
  return tellNops(play, queues, 2 * STAMP_NS);
}

/** The controls of one EQ request nothing, those of another one the primary summary byte. */
function playControls(): string {
  const play = new Play();
  const { fixture } = play;
  const queues = [EqControl.NOTHING, EqControl.PRIMARY_SUMMARY].map((controls) =>
    fixture.createCompletionQueue({
      eventQueue: fixture.driver.createEventQueue({ vector: 7, summaryCount: 1, attributes: { controls } }),
    }),
  );
  return tellNops(play, queues);
}

/** One CQ has no EQ; that of another one is full of an asynchronous event. */
function playNoRoom(): string {
  const play = new Play();
  const { fixture } = play;
  const eventQueue = fixture.driver.createEventQueue({ vector: 7, entriesLog2: 0, asynchronous: true });
  const full = fixture.createCompletionQueue({ eventQueue });
  const overrun = fixture.createQueuePair({ sendCq: fixture.driver.createCompletionQueue({ entriesLog2: 0 }) });
  for (let posted = 0; posted < 2; posted++) overrun.post(NOP);
  fixture.settle();
  return tellNops(play, [fixture.driver.createCompletionQueue(), full]);
}

/** The receiver waits for a solicited message: the first one is not, the second one is. */
function playSolicited(): string {
  const play = new Play();
  const { fixture, stage } = play;
  const { a, b } = play.connected;
  stage.begin();
  b.parts.receiveCq.notify({ solicitedOnly: true });
  for (const solicited of [false, true]) {
    play.receive();
    a.post({ sges: [fixture.sge(fixture.createBuffer(8))], solicited });
    play.finish();
  }
  return play.tell();
}

/** Software has answered the event of the first message, and has not armed its CQ again. */
function playNotArmedAgain(): string {
  const play = new Play();
  const { stage } = play;
  const { sendCq } = play.connected.a.parts;
  stage.begin();
  sendCq.notify();
  for (let sent = 0; sent < 2; sent++) {
    play.receive();
    play.send();
    play.finish();
    sendCq.notify({ clearOnly: true });
  }
  return play.tell(1);
}

/** By name: plays the situation and returns its story. */
export const eventSituations: Readonly<Record<string, () => string>> = {
  'the driver is late': playLateDriver,
  'the controls ask for no interrupt': playControls,
  'no event queue, and a full one': playNoRoom,
  'a solicited message behind another one': playSolicited,
  'an event was answered, the CQ is not armed again': playNotArmedAgain,
};
