// SPDX-License-Identifier: Apache-2.0
/**
 * Scripted situations for `vuhca trace show` in which resources and collect buffers matter: shares
 * and lanes that change, spilled doorbells, cancelled commands. situations.ts names them.
 */
import { encodeRequest, readResourceWords } from '../../../device/main/resource-words.ts';
import { NOP } from '../../../device/test-support/command-poster.ts';
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
