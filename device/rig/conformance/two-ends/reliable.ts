// SPDX-License-Identifier: Apache-2.0
/**
 * RC between two ends: every operation, every path MTU, shared receive queues, order, execution
 * once (IBTA 9.4, 9.7). They pass on a faulty link too, except where a NAK may be lost. Cases of
 * `suite.ts`.
 */
import { strict as assert } from 'node:assert';
import { CompletionOpcode, CompletionStatus, SendOpcode } from '../../../../protocol/layout/gen/values.gen.ts';
import { FastKey } from '../../chaos/fast-key.ts';
import type { DriverQueuePair } from '../../driver/queue-pair.ts';
import { assertBytes, type Ends, expectStatus } from './ends.ts';
import { sizesAround, type TwoEndsCase } from './two-ends-case.ts';

const PATH_MTUS = [1, 2, 3, 4, 5];
const MANY = 50;

export const reliableCases: readonly TwoEndsCase[] = [
  { name: 'RC: SEND, WRITE and READ of sizes around each path MTU', run: sizes },
  { name: 'RC: WRITE with immediate takes a receive entry and reports its length', run: writeImmediate },
  { name: 'RC: SEND with Invalidate invalidates a key', losslessOnly: true, run: sendInvalidate },
  { name: 'RC: FETCH_ADD adds once for each request', run: fetchAdds },
  { name: 'RC: COMPARE_SWAP swaps once, if the comparison holds', run: compareSwaps },
  { name: 'RC: messages posted together complete in order, each once', run: ordered },
  { name: 'RC: WRITEs, READs and atomics see the effects of earlier requests', run: dependent },
  { name: 'RC: both ends send requests at the same time', run: bothWays },
  { name: 'RC: two connections share a receive queue', run: shared },
  { name: 'RC: over a global route', run: globalRoute },
];

function sizes(ends: Ends): void {
  for (const pathMtu of PATH_MTUS) {
    const { a, b } = ends.connect({ pathMtu });
    for (const size of sizesAround(pathMtu)) {
      const what = `${size} bytes at path MTU code ${pathMtu}`;
      const source = ends.a.buffer(ends.random.bytes(size));
      const [received, written, back] = [ends.b.buffer(size), ends.b.buffer(size), ends.a.buffer(size)];
      b.postReceive([ends.b.sge(received)]);
      a.post({ sges: [ends.a.sge(source)], immediate: size });
      a.post(ends.rdma(SendOpcode.RDMA_WRITE, source, written));
      a.post(ends.rdma(SendOpcode.RDMA_READ, back, written));
      assert.equal(ends.sent(a, 3)[2]?.byteLength, size, `READ of ${what}`);
      const [entry] = ends.received(b);
      assert.deepEqual([entry?.byteLength, entry?.immediate, entry?.qpn], [size, size, b.qpn], `SEND of ${what}`);
      assertBytes(received.bytes, source.bytes, `SEND of ${what}`);
      assertBytes(written.bytes, source.bytes, `WRITE of ${what}`);
      assertBytes(back.bytes, source.bytes, `READ of ${what}`);
    }
    ends.proveNothingIsLeft({ a, b });
  }
}

function writeImmediate(ends: Ends): void {
  const pair = ends.connect({ pathMtu: 1 });
  for (const size of [0, 5, 2000]) {
    const source = ends.a.buffer(ends.random.bytes(size));
    const target = ends.b.buffer(size);
    pair.b.postReceive([]);
    pair.a.post({ ...ends.rdma(SendOpcode.RDMA_WRITE_IMMEDIATE, source, target), immediate: ~size >>> 0 });
    const [entry] = ends.received(pair.b);
    assert.equal(entry?.opcode, CompletionOpcode.RECEIVE_RDMA_IMMEDIATE);
    assert.deepEqual([entry?.byteLength, entry?.hasImmediate, entry?.immediate], [size, 1, ~size >>> 0]);
    assertBytes(target.bytes, source.bytes, `WRITE of ${size}`);
    ends.sent(pair.a);
  }
  ends.proveNothingIsLeft(pair);
}

function sendInvalidate(ends: Ends): void {
  const pair = ends.connect();
  const { key, address, request } = new FastKey(ends.b, ends.b.pd);
  pair.b.post(request);
  assert.equal(ends.sent(pair.b)[0]?.opcode, CompletionOpcode.FAST_REGISTER);
  const source = ends.a.buffer(ends.random.bytes(300));
  const view = ends.b.access.view(address, 300);
  const target = { address, lengthBytes: 300, bytes: new Uint8Array(view.buffer, view.byteOffset, 300) };
  pair.a.post(ends.rdma(SendOpcode.RDMA_WRITE, source, target, key));
  pair.b.postReceive([]);
  pair.a.post({ opcode: SendOpcode.SEND_INVALIDATE, immediate: key });
  ends.sent(pair.a, 2);
  const [entry] = ends.received(pair.b);
  assert.deepEqual([entry?.hasInvalidate, entry?.immediate], [1, key]);
  assertBytes(target.bytes, source.bytes, 'written while the key was good');
  pair.a.post(ends.rdma(SendOpcode.RDMA_WRITE, ends.a.buffer(300), target, key));
  expectStatus(pair.a.parts.sendCq.take(), CompletionStatus.REMOTE_ACCESS_ERROR);
  assertBytes(target.bytes, source.bytes, 'nothing is written when it is gone');
}

function fetchAdds(ends: Ends): void {
  const pair = ends.connect();
  const cell = ends.b.buffer(8);
  const found = Array.from({ length: MANY }, () => ends.a.buffer(8));
  const start = 0xffff_ffff_ffff_fff0n;
  ends.b.access.view(cell.address, 8).setBigUint64(0, start, true);
  for (const local of found)
    pair.a.post({ ...ends.rdma(SendOpcode.FETCH_ADD, local, cell), atomic: { swapOrAdd: 1n } });
  ends.sent(pair.a, MANY);
  const values = found.map(({ address }) => ends.a.access.view(address, 8).getBigUint64(0, true));
  assert.deepEqual(
    values,
    values.map((_, index) => BigInt.asUintN(64, start + BigInt(index))),
  );
  ends.proveNothingIsLeft(pair);
  assert.equal(ends.b.access.view(cell.address, 8).getBigUint64(0, true), BigInt.asUintN(64, start + BigInt(MANY)));
}

function compareSwaps(ends: Ends): void {
  const pair = ends.connect();
  const cell = ends.b.buffer(8);
  const found = ends.a.buffer(8);
  const values = [0n, 1n, 2n].map((value) => value << 33n);
  for (const [index, compare] of [...values, 99n].entries()) {
    const swapOrAdd = BigInt(index + 1) << 33n;
    pair.a.post({ ...ends.rdma(SendOpcode.COMPARE_SWAP, found, cell), atomic: { compare, swapOrAdd } });
    ends.sent(pair.a);
    const before = ends.a.access.view(found.address, 8).getBigUint64(0, true);
    assert.equal(before, BigInt(index) << 33n, `what swap ${index} found`);
  }
  ends.proveNothingIsLeft(pair);
  const left = ends.b.access.view(cell.address, 8).getBigUint64(0, true);
  assert.equal(left, BigInt(values.length) << 33n, 'the last comparison failed');
}

function ordered(ends: Ends): void {
  const pair = ends.connect({ pathMtu: 1 });
  const targets = Array.from({ length: MANY }, () => ends.b.buffer(1500));
  for (const target of targets) pair.b.postReceive([ends.b.sge(target)]);
  const sources = targets.map(() => ends.a.buffer(ends.random.bytes(ends.random.below(1500))));
  for (const [index, source] of sources.entries()) pair.a.post({ sges: [ends.a.sge(source)], immediate: index });
  const sent = ends.sent(pair.a, MANY).map(({ queueSequence }) => queueSequence);
  assert.deepEqual(
    sent,
    sources.map((_, index) => index),
    'order of the send completions',
  );
  for (const [index, entry] of ends.received(pair.b, MANY).entries()) {
    const source = sources[index]?.bytes ?? new Uint8Array(0);
    assert.deepEqual([entry.immediate, entry.queueSequence, entry.byteLength], [index, index, source.length]);
    assertBytes(targets[index]?.bytes.subarray(0, source.length) ?? source, source, `message ${index}`);
  }
  ends.proveNothingIsLeft(pair);
}

function dependent(ends: Ends): void {
  const pair = ends.connect({ pathMtu: 1 });
  const shared = ends.b.buffer(700);
  const rounds = Array.from({ length: 12 }, () => ({
    source: ends.a.buffer(ends.random.bytes(700)),
    back: ends.a.buffer(700),
    found: ends.a.buffer(8),
  }));
  for (const { source, back, found } of rounds) {
    pair.a.post(ends.rdma(SendOpcode.RDMA_WRITE, source, shared));
    pair.a.post({ ...ends.rdma(SendOpcode.FETCH_ADD, found, shared), atomic: { swapOrAdd: 1n } });
    pair.a.post(ends.rdma(SendOpcode.RDMA_READ, back, shared));
    // The next WRITE must not overtake the response to this READ.
    pair.a.post({ opcode: SendOpcode.NOP, fence: true, signaled: false });
  }
  ends.sent(pair.a, rounds.length * 3);
  for (const [round, { source, back, found }] of rounds.entries()) {
    assertBytes(found.bytes, source.bytes.subarray(0, 8), `atomic of round ${round}`);
    assertBytes(back.bytes.subarray(8), source.bytes.subarray(8), `READ of round ${round}`);
    const values = [source, back].map(({ address }) => ends.a.access.view(address, 8).getBigUint64(0, true));
    assert.equal(values[1], BigInt.asUintN(64, (values[0] ?? 0n) + 1n), `sum of round ${round}`);
  }
  ends.proveNothingIsLeft(pair);
}

function bothWays(ends: Ends): void {
  const pair = ends.connect({ pathMtu: 2 });
  const sides = [
    { end: ends.a, other: ends.b, qp: pair.a, peer: pair.b },
    { end: ends.b, other: ends.a, qp: pair.b, peer: pair.a },
  ];
  const messages = sides.flatMap((side) =>
    Array.from({ length: 20 }, () => {
      const source = side.end.buffer(ends.random.bytes(900));
      return { ...side, source, target: side.other.buffer(900), back: side.end.buffer(900) };
    }),
  );
  for (const { other, peer, target } of messages) peer.postReceive([other.sge(target)]);
  for (const { end, other, qp, source, target, back } of messages) {
    qp.post({ sges: [end.sge(source)] }, 'slot');
    const remote = { address: target.address, rkey: other.region.rkey };
    qp.post({ opcode: SendOpcode.RDMA_READ, sges: [end.sge(back)], remote }, 'slot');
  }
  for (const { qp } of sides) qp.ring();
  for (const { qp, peer } of sides) {
    ends.sent(qp, 40);
    ends.received(peer, 20);
  }
  for (const [index, { source, back }] of messages.entries())
    assertBytes(back.bytes, source.bytes, `message ${index} there and back`);
  ends.proveNothingIsLeft(pair);
}

function shared(ends: Ends): void {
  const srq = ends.b.driver.createSharedReceiveQueue({ pd: ends.b.pd, entriesLog2: 6 });
  const pairs = [0, 1].map(() => ends.connect({ responder: { srqn: srq.srqn } }));
  const targets = Array.from({ length: 20 }, () => ends.b.buffer(64));
  for (const target of targets) srq.postReceive([ends.b.sge(target)]);
  const contents = targets.map(() => ends.a.buffer(ends.random.bytes(64)));
  const turn = (index: number): DriverQueuePair => (pairs[index % 2] as (typeof pairs)[0]).a;
  for (const [index, content] of contents.entries())
    turn(index).post({ sges: [ends.a.sge(content)], immediate: index });
  const used = new Set<number>();
  for (const [half, { a, b }] of pairs.entries()) {
    ends.sent(a, 10);
    for (const [index, entry] of ends.received(b, 10).entries()) {
      assert.deepEqual([entry.immediate, entry.srqn, entry.qpn], [index * 2 + half, srq.srqn, b.qpn]);
      used.add(entry.queueSequence);
      assertBytes(
        targets[entry.queueSequence]?.bytes ?? new Uint8Array(0),
        contents[entry.immediate]?.bytes ?? new Uint8Array(64),
        `message ${entry.immediate}`,
      );
    }
  }
  assert.equal(used.size, targets.length, 'each entry was used once');
}

function globalRoute(ends: Ends): void {
  const pair = ends.connect({ isGlobal: true, pathMtu: 1 });
  const source = ends.a.buffer(ends.random.bytes(1000));
  const [target, back] = [ends.b.buffer(1000), ends.a.buffer(1000)];
  pair.b.postReceive([ends.b.sge(target)]);
  pair.a.post({ sges: [ends.a.sge(source)] });
  pair.a.post(ends.rdma(SendOpcode.RDMA_READ, back, target));
  ends.sent(pair.a, 2);
  assert.equal(ends.received(pair.b)[0]?.globalRoute, 1);
  assertBytes(back.bytes, source.bytes, 'there and back');
  ends.proveNothingIsLeft(pair);
}
