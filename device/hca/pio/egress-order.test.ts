// SPDX-License-Identifier: Apache-2.0
/**
 * Which packets of send contexts leave, wait or are discarded at a port (US 2015/0378953 claim 1;
 * docs/DOCUMENTS.md decisions 9 and 14): order within a context and among contexts, full rings,
 * multicast, and the blocks that are free afterwards.
 */
import t from 'tap';
import { SEND_CONTEXT_BLOCKS_MAX } from '../../../protocol/layout/gen/constants.gen.ts';
import { SendContextState, SendHaltCause } from '../../../protocol/layout/gen/values.gen.ts';
import { EgressFixture as Fixture, RING_PACKETS } from '../../rig/fixtures/egress-fixture.ts';

const onLaneOne = { fields: { serviceLevel: 3 }, control: { virtualLane: 1 } };

t.test('a function begins with its first context', async (t) => {
  const fixture = new Fixture();
  const contexts = [fixture.add(), fixture.add(), fixture.add(), fixture.add()];
  for (const context of contexts) fixture.fill(context);
  fixture.contexts.run(1);
  t.same(
    contexts.map(({ packetsSent }) => packetsSent),
    [1, 0, 0, 0],
  );
});

t.test('a packet behind one of the same lane that waits is not looked at', async (t) => {
  const fixture = new Fixture();
  const context = fixture.add();
  for (let count = 0; count <= RING_PACKETS; count++) fixture.fill(context);
  fixture.fill(context, { bytes: 260 });
  t.equal(fixture.contexts.run(9), RING_PACKETS);
  t.same([context.state, context.readyCount], [SendContextState.ENABLED, 2], 'its payload is above the MTU');
  fixture.psns();
  fixture.contexts.run(9);
  t.equal(context.haltCause, SendHaltCause.DISALLOWED_PACKET, 'in its turn it halts the context');
});

t.test('functions that must wait for the next pass are owed nothing', async (t) => {
  const fixture = new Fixture();
  fixture.fill(fixture.add());
  fixture.mustWait = true;
  t.equal(fixture.contexts.run(9), 0);
  t.same([fixture.contexts.ready, fixture.contexts.owed], [true, false]);
});

t.test('a management packet waits for room', async (t) => {
  const fixture = new Fixture();
  const context = fixture.add(0, 64);
  const { vl15 } = fixture.port.transmitQueues;
  const sent = { fields: { destQpn: 0, srcQpn: 0 }, control: { virtualLane: 15 } };
  for (let count = 0; count <= vl15.capacity; count++) fixture.fill(context, sent);
  t.equal(fixture.contexts.run(99), vl15.capacity);
  t.equal(context.readyCount, 1);
  fixture.take(vl15);
  t.equal(fixture.contexts.run(99), 1);
});

t.test('a packet of a lane that is not in use is discarded, and its blocks are free', async (t) => {
  const fixture = new Fixture();
  const context = fixture.add();
  fixture.port.transmitQueues.operationalVls = 1;
  fixture.fill(context, onLaneOne);
  t.equal(fixture.contexts.run(9), 1);
  t.same([context.packetsSent, context.packetsDropped, context.freeCounter], [0, 1, 2]);
  t.same([context.state, fixture.charges, fixture.port.transmitDiscards], [SendContextState.ENABLED, [], 1]);
});

t.test('a multicast packet loops back whole, others do not', async (t) => {
  for (const [dlid, copies] of [
    [9, 0],
    [0xc001, 1],
  ] as const) {
    const fixture = new Fixture();
    fixture.fill(fixture.add(), { fields: { dlid } });
    fixture.contexts.run(1);
    const { loopback } = fixture.port;
    t.equal(loopback.count, copies);
    if (copies === 1) t.same(fixture.take(loopback), fixture.take(fixture.rings[0]));
  }
});

t.test('blocks of a packet around the end of the context are free when it has left', async (t) => {
  const fixture = new Fixture();
  const context = fixture.add(0, 5);
  for (const [count, blocks] of [2, 2, 3, 2, 3].entries()) {
    fixture.fill(context, { bytes: blocks === 3 ? 128 : 64 });
    t.equal(fixture.contexts.run(1), 1);
    fixture.psns();
    t.equal(context.freeCounter, [2, 4, 7, 9, 12][count]);
  }
});

t.test('the last blocks of the largest context are its own', async (t) => {
  const fixture = new Fixture();
  const [context, next] = [fixture.add(0, SEND_CONTEXT_BLOCKS_MAX), fixture.add()];
  for (let block = 0; block < SEND_CONTEXT_BLOCKS_MAX; block += 2) {
    fixture.fill(context);
    fixture.contexts.run(1);
    fixture.psns();
  }
  fixture.fill(context, { bytes: 28 });
  fixture.contexts.run(1);
  fixture.psns();
  t.same([context.freeCounter, next.freeCounter], [SEND_CONTEXT_BLOCKS_MAX + 1, 0]);
  for (let block = 1; block < SEND_CONTEXT_BLOCKS_MAX; block++) {
    fixture.fill(context, { bytes: 28 });
    fixture.contexts.run(1);
    fixture.psns();
  }
  t.same([context.unreturned, context.waitingCount], [0, 0], 'also those of a packet of one block');
});

t.test('a credit word that cannot be written halts the context, and is written once', async (t) => {
  const fixture = new Fixture();
  const context = fixture.add();
  fixture.isWritable = false;
  fixture.fill(context);
  fixture.contexts.run(1);
  fixture.psns();
  t.same([context.state, context.haltCause], [SendContextState.HALTED, SendHaltCause.CREDIT_RETURN]);
  t.equal(fixture.creditWords, 1);
});

t.test('a disabled context is not disabled again', async (t) => {
  const fixture = new Fixture();
  const context = fixture.add();
  context.threshold = 9;
  fixture.fill(context);
  fixture.contexts.run(1);
  fixture.psns();
  fixture.isWritable = false;
  for (let times = 0; times < 2; times++) context.disable();
  t.same([context.state, context.unreturned, fixture.creditWords], [SendContextState.DISABLED, 2, 1]);
});
