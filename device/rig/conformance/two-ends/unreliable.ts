// SPDX-License-Identifier: Apache-2.0
/**
 * UC and UD between two ends: on a lossless link all messages arrive; on a faulty one, arrived
 * messages are whole (IBTA 9.8). Cases of `suite.ts`.
 */

import { strict as assert } from 'node:assert';
import { GRH_SIZE } from '../../../../protocol/infiniband/gen/grh.gen.ts';
import type { CompletionEntry } from '../../../../protocol/layout/gen/completion-entry.gen.ts';
import { SendOpcode, ServiceType } from '../../../../protocol/layout/gen/values.gen.ts';
import type { DriverQueuePair } from '../../driver/queue-pair.ts';
import type { Buffer } from '../../fixtures/adapter-fixture.ts';
import { assertBytes, type End, type Ends } from './ends.ts';
import { sizesAround, type TwoEndsCase } from './two-ends-case.ts';

const QKEY = 0x1234;
const MANY = 40;

export const unreliableCases: readonly TwoEndsCase[] = [
  { name: 'UC: SEND and WRITE of sizes around each path MTU', losslessOnly: true, run: unreliableSizes },
  { name: 'UD: a datagram and its answer, with and without a global route', losslessOnly: true, run: datagrams },
  { name: 'UC: arrived messages are whole', run: (ends) => whole(ends, ServiceType.UC) },
  { name: 'UD: arrived messages are whole', run: (ends) => whole(ends, ServiceType.UD) },
];

function unreliableSizes(ends: Ends): void {
  for (const pathMtu of [1, 2, 3, 4, 5]) {
    const pair = ends.connect({ serviceType: ServiceType.UC, pathMtu });
    for (const size of sizesAround(pathMtu)) {
      const what = `${size} bytes at path MTU code ${pathMtu}`;
      const source = ends.a.buffer(ends.random.bytes(size));
      const [received, written] = [ends.b.buffer(size), ends.b.buffer(size)];
      pair.b.postReceive([ends.b.sge(received)]);
      pair.b.postReceive([]);
      pair.a.post({ sges: [ends.a.sge(source)], immediate: size });
      pair.a.post({ ...ends.rdma(SendOpcode.RDMA_WRITE_IMMEDIATE, source, written), immediate: 7 });
      ends.sent(pair.a, 2);
      const lengths = ends.received(pair.b, 2).map(({ byteLength, immediate }) => [byteLength, immediate]);
      assert.deepEqual(lengths, [[size, size], [size, 7]], what); // biome-ignore format: a table
      assertBytes(received.bytes, source.bytes, `SEND of ${what}`);
      assertBytes(written.bytes, source.bytes, `WRITE of ${what}`);
    }
    ends.proveNothingIsLeft(pair);
  }
}

function datagrams(ends: Ends): void {
  const [a, b] = [ends.a, ends.b].map((end) => datagramPair(end)) as [DriverQueuePair, DriverQueuePair];
  for (const globalRoute of [0, 1]) {
    const question = exchange({ from: ends.a, qp: a, globalRoute }, { to: ends.b, peer: b }, b.qpn, ends);
    assert.deepEqual([question.sourceQpn, question.sourceLid], [a.qpn, ends.a.lid]);
    exchange({ from: ends.b, qp: b, globalRoute }, { to: ends.a, peer: a }, question.sourceQpn, ends);
  }
}

function datagramPair(end: End): DriverQueuePair {
  return end.queuePair({ serviceType: ServiceType.UD }).start({ port: end.port, qkey: QKEY });
}

/** Sends one datagram; returns its completion at the receiver. */
function exchange(
  { from, qp, globalRoute }: { from: End; qp: DriverQueuePair; globalRoute: number },
  { to, peer }: { to: End; peer: DriverQueuePair },
  remoteQpn: number,
  ends: Ends,
): CompletionEntry {
  const payload = ends.random.bytes(200);
  const target = to.buffer(GRH_SIZE + payload.length);
  peer.postReceive([to.sge(target)]);
  const vector = { port: from.port, dlid: to.lid, pd: from.pd, globalRoute };
  const addressHandle = from.driver.addressHandles.add(vector, to.gid);
  qp.post({ remoteQpn, addressHandle, inline: payload, immediate: 0xabcd });
  ends.sent(qp);
  const [entry] = ends.received(peer) as [CompletionEntry];
  assert.deepEqual([entry.byteLength, entry.immediate, entry.globalRoute], [target.lengthBytes, 0xabcd, globalRoute]);
  assertBytes(target.bytes.subarray(GRH_SIZE), payload, 'payload');
  if (globalRoute) assertBytes(target.bytes.subarray(8, GRH_SIZE), Uint8Array.of(...from.gid, ...to.gid), 'GIDs');
  return entry;
}

/** Sends numbered messages; those that arrive have the bytes sent. */
function whole(ends: Ends, serviceType: ServiceType): void {
  const isDatagram = serviceType === ServiceType.UD;
  const grh = isDatagram ? GRH_SIZE : 0;
  const lengthBytes = isDatagram ? 200 : 900;
  const pair = isDatagram
    ? { a: datagramPair(ends.a), b: datagramPair(ends.b) }
    : ends.connect({ serviceType, pathMtu: 1 });
  const addressHandle = ends.a.driver.addressHandles.add({ port: ends.a.port, dlid: ends.b.lid, pd: ends.a.pd });
  const sources = Array.from({ length: MANY }, () => ends.a.buffer(ends.random.bytes(lengthBytes)));
  // A link may duplicate packets: more entries than messages.
  const targets = Array.from({ length: MANY + MANY / 2 }, () => ends.b.buffer(grh + lengthBytes));
  for (const target of targets) pair.b.postReceive([ends.b.sge(target)]);
  for (const [immediate, source] of sources.entries())
    pair.a.post({ sges: [ends.a.sge(source)], immediate, remoteQpn: pair.b.qpn, qkey: QKEY, addressHandle });
  ends.sent(pair.a, MANY);
  ends.waitFor(() => pair.b.parts.receiveCq.ready, 'a first message');
  ends.settle();
  for (const { immediate, queueSequence, byteLength } of pair.b.parts.receiveCq.drain()) {
    const [source, target] = [sources[immediate], targets[queueSequence]] as [Buffer, Buffer];
    assert.equal(byteLength, grh + lengthBytes);
    assertBytes(target.bytes.subarray(grh), source.bytes, `message ${immediate}`);
  }
}
