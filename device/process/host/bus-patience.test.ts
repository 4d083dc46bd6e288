// SPDX-License-Identifier: Apache-2.0
/** A blocked bus holds accesses up for a bounded time, each time anew, and says so once. */
import t from 'tap';
import { BLOCKED_MAX_MS, BusPatience } from './bus-patience.ts';

t.test('accesses pass a bus that stays blocked, until it is free; the log says so once', async (t) => {
  let nowMs = 7;
  let told = 0;
  const patience = new BusPatience(
    () => told++,
    () => nowMs,
  );
  for (let block = 1; block <= 3; block++) {
    t.ok(patience.takes(true), 'a free bus');
    t.notOk(patience.takes(false), `block ${block} begins`);
    nowMs += BLOCKED_MAX_MS - 1;
    t.notOk(patience.takes(false), `block ${block} goes on`);
    t.equal(patience.passed, block - 1);
    nowMs += 1;
    for (let access = 0; access < 3; access++) t.ok(patience.takes(false), `block ${block} is passed`);
    t.same([patience.passed, told], [block, 1]);
  }
});

t.test('a block that ends in time is none: the next one has all its time', async (t) => {
  let nowMs = 0;
  const patience = new BusPatience(
    () => t.fail('nothing passed'),
    () => nowMs,
  );
  for (let block = 0; block < 5; block++) {
    t.notOk(patience.takes(false));
    nowMs += BLOCKED_MAX_MS - 1;
    t.notOk(patience.takes(false));
    t.ok(patience.takes(true));
  }
  t.equal(patience.passed, 0);
});
