// SPDX-License-Identifier: Apache-2.0
/**
 * The turn of a client ends when nothing is left, after some calls, after some time, or with an
 * error.
 */
import t from 'tap';
import { RequestTurn } from './request-turn.ts';

/** A client whose calls each handle a number of requests and take a time. */
function turnOf(results: readonly number[], costMs: number): { result: number; requests: number; calls: number } {
  let nowMs = 1000;
  let calls = 0;
  const handle = (): number => {
    nowMs += costMs;
    return results[Math.min(calls++, results.length - 1)] as number;
  };
  const turn = new RequestTurn(handle, () => nowMs);
  const result = turn.take();
  return { result, requests: turn.requests, calls };
}

t.test('a client without further requests', async (t) => {
  t.same(turnOf([1, 1, 0], 0.01), { result: 0, requests: 2, calls: 3 });
});

t.test('a client that sends without end has a turn of 16 calls', async (t) => {
  t.same(turnOf([64], 0.01), { result: 64, requests: 16 * 64, calls: 16 });
});

t.test('a client whose requests take long has a turn of half a millisecond', async (t) => {
  t.same(turnOf([1], 0.2), { result: 1, requests: 3, calls: 3 });
  t.same(turnOf([64], 50), { result: 64, requests: 64, calls: 1 });
});

t.test('an error ends the turn', async (t) => {
  t.same(turnOf([3, -1], 0.01), { result: -1, requests: 3, calls: 2 });
});
