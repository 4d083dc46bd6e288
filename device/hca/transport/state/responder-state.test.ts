// SPDX-License-Identifier: Apache-2.0
/** The state of a responder alone (IBTA 9.7.5.1). */
import t from 'tap';
import type { QueuePair } from '../../queues/queue-pair.ts';
import type { Path } from '../path.ts';
import { ResponderResource, ResponderState } from './responder-state.ts';

t.test('the answer behind a withdrawn one does not wait for its page', async (t) => {
  const state = new ResponderState({} as QueuePair, {} as Path);
  const [first, second, third] = [0, 1, 2].map(() => Object.assign(new ResponderResource(), { active: true }));
  state.ownQueue().push(first, second, third);
  state.paused = true;
  state.withdraw(second);
  t.notOk(state.hasNext(true), 'the oldest one still waits');
  state.withdraw(first);
  t.ok(state.hasNext(true));
  t.same([first.active, second.active, third.active], [false, false, true]);
});

t.test('an answer is queued at its own responder only', async (t) => {
  const [one, other] = [0, 1].map(() => new ResponderState({} as QueuePair, {} as Path));
  one.ownQueue().push(new ResponderResource());
  t.equal(other.queue.length, 0);
  t.equal(new ResponderState({} as QueuePair, {} as Path).queue.length, 0);
  one.clearAnswers();
  other.clearAnswers();
  t.equal(one.queue.length, 0);
});
