// SPDX-License-Identifier: Apache-2.0
/**
 * Scripted situations for `vuhca trace show` in which resources and collect buffers matter: shares
 * and lanes that change, spilled doorbells, cancelled commands. situations.ts names them.
 */

import { encodeRequest, readResourceWords } from '../../../device/process/reports/resource-syntax.ts';
import type { DriverQueuePair } from '../../../device/rig/driver/queue-pair.ts';
import { NOP } from '../../../device/rig/fixtures/command-poster.ts';
import { ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import { Play } from './play.ts';

/** Makes a request of the physical function. Throws when it is refused. */
function requestResources({ fixture }: Play, words: string): void {
  const { status } = fixture.machine.functionAt(0).requestResources(encodeRequest(readResourceWords(words.split(' '))));
  if (status !== ManagementStatus.OK) throw new Error(`${words}: status ${status}`);
}

/**
 * The adapter is disabled while three QPs ring, the sender last, and the share of their function
 * changes. Only one entry of the scheduler buffer may be in use before doorbells are spilled.
 */
export function playShares(): string {
  const play = new Play([], { doorbellEntries: 8 });
  const { fixture, stage } = play;
  const others = [0, 1].map(() => fixture.createQueuePair());
  const request = (words: string): void => requestResources(play, words);
  request('function 0 low=7 high=8 adapter disable=on');
  stage.begin();
  play.receive();
  for (const qp of others) qp.post(NOP, 'doorbell');
  play.send(8, 'doorbell');
  request('function 0 pcbs=200 tvls=10 buffers=40 level 1 tvls=4');
  request('adapter disable=off');
  play.finish();
  return play.tell();
}

/** The sender cancels two copies of its command, of which one is identified, then rings. */
export function playCancel(): string {
  const play = new Play();
  const { fixture, stage } = play;
  const { a } = play.connected;
  stage.begin();
  play.receive();
  const bytes = a.fill({ sges: [fixture.sge(fixture.createBuffer(8))] });
  a.advanceSendTail();
  const { page } = a.parts;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  for (const at of [8, 0]) {
    fixture.access.writeCollect(page + at, 8, view.getInt32(at, true), view.getInt32(at + 4, true));
    a.cancel();
  }
  a.ring();
  play.finish();
  return play.tell();
}

/** While the adapter is disabled, the lane of a command and another one get other credits. */
export function playLanes(): string {
  const play = new Play();
  const { stage } = play;
  requestResources(play, 'adapter disable=on');
  stage.begin();
  play.receive();
  play.send(8, 'doorbell');
  requestResources(play, 'lane 0 weight=3 execution=4 completion=2 lane 1 weight=9 lane 0 shared=none');
  requestResources(play, 'lane 0 list=5 shared=both adapter disable=off');
  play.finish();
  return play.tell();
}

/**
 * There is no overflow buffer, and the scheduler buffer is full: the sender's doorbell is lost. Its
 * command, which requests a fence and an event at its receiver, waits in lists behind others.
 */
export function playSweep(): string {
  const play = new Play([], { doorbellEntries: 8, schedulerBufferCount: 1 }, { overflowEntriesLog2: 0 });
  const { fixture, stage } = play;
  const { a, b } = play.connected;
  const others = Array.from({ length: 12 }, () => fixture.createQueuePair());
  requestResources(play, 'adapter disable=on');
  stage.begin();
  play.receive();
  b.parts.receiveCq.notify({ solicitedOnly: true });
  for (const qp of others) qp.post(NOP, 'doorbell');
  a.post({ sges: [fixture.sge(fixture.createBuffer(8))], fence: true, solicited: true }, 'doorbell');
  requestResources(play, 'adapter disable=off');
  play.finish();
  return play.tell();
}

/**
 * The only PCB is taken at the first message; the copy of the second one is damaged; that of the
 * third one finds no PCB and is cancelled.
 */
export function playImplicit(): string {
  const play = new Play([], { pcbCount: 1, pcbGuaranteed: [1, 0] });
  const { fixture, stage } = play;
  const { a } = play.connected;
  const other = fixture.createQueuePair();
  const taking = new DataView(other.fill(NOP).slice().buffer);
  stage.begin();
  play.receive();
  storeFirst(play, other, taking);
  play.send();
  other.cancel();
  play.finish();
  play.receive();
  const copy = a.fill({ sges: [fixture.sge(fixture.createBuffer(8))] }).slice();
  a.advanceSendTail();
  copy[copy.length - 1] ^= 1;
  a.collect(copy);
  play.finish();
  play.receive();
  storeFirst(play, other, taking);
  const bytes = a.fill({ sges: [fixture.sge(fixture.createBuffer(8))] });
  a.advanceSendTail();
  storeFirst(play, a, new DataView(bytes.buffer, bytes.byteOffset));
  a.cancel();
  other.cancel();
  a.ring();
  play.finish();
  return [0, 1, 2].map((index) => play.tell(index)).join('\n');
}

/** Stores the first 8 bytes of a command into the page of its QP. */
function storeFirst({ fixture }: Play, { parts }: DriverQueuePair, bytes: DataView): void {
  fixture.access.writeCollect(parts.page, 8, bytes.getInt32(0, true), bytes.getInt32(4, true));
}
