// SPDX-License-Identifier: Apache-2.0
/**
 * The sequence diagram that docs/DEBUGGING.md shows: a message of three packets, of which one is
 * lost; the answer is lost as well, so the requester waits for its timeout and sends all again.
 */
import { makeLadder } from '../trace/ladder.ts';
import { drawLadder } from '../trace/ladder-picture.ts';
import { chooseMessages } from '../trace/message-choice.ts';
import { Play } from './play.ts';

/** The session in which the message is sent. */
export function playExample(): Play {
  const play = new Play([
    { fault: 'drop', direction: 0, packet: 1 },
    { fault: 'drop', direction: 1, packet: 0 },
  ]);
  play.stage.begin();
  play.send(700);
  play.fixture.settle();
  play.receive();
  play.finish();
  return play;
}

export function drawExample(): string {
  const all = playExample().stage.observers.map((observer) => observer.read('a', 0));
  const [end] = chooseMessages(all, { retried: true });
  if (end === undefined) throw new Error('no message was sent again');
  return drawLadder(makeLadder(end, all));
}
