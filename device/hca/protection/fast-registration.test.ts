// SPDX-License-Identifier: Apache-2.0
/**
 * Fast registration by consumers like those of storage (IBTA 10.6.3.2): lists of requests that
 * register a key and use it at once, and addresses of 64 bits.
 */
import t from 'tap';
import { CompletionStatus, SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import type { SendRequest } from '../../rig/driver/send-request.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { connect } from '../../rig/fixtures/connected-fixture.ts';
import { fastRegion } from '../../rig/fixtures/fast-region-fixture.ts';
import { ledger } from '../../rig/fixtures/ledger.ts';

const PAGE = 4096;

t.test('requests of one list may invalidate a key, register it anew and use it (IBTA 10.6.3.2)', async (t) => {
  ledger(t, '10.6.3.2', 'A request may use the key that a registration before it in the same list gives');
  const fixture = new AdapterFixture();
  const { a, region } = connect(fixture);
  const { key, request, bytes } = fastRegion(fixture, a, 2, 0x10);
  const remote = fixture.createBuffer(64);
  const iova = 0x7000_0000;
  const use = (lkey: number, opcode: SendOpcode): SendRequest => ({
    opcode,
    sges: [{ address: iova + 8, length: 64, lkey }],
    remote: { address: remote.address, rkey: region.rkey },
  });
  const run = (...requests: SendRequest[]): unknown[] => {
    const last = requests.pop() as SendRequest;
    for (const request of requests) a.post(request, 'slot');
    a.post(last, 'doorbell');
    return [...requests, last].map(() => a.parts.sendCq.take().status);
  };
  const { SUCCESS, LOCAL_PROTECTION_ERROR } = CompletionStatus;
  bytes.set(fixture.random.bytes(2 * PAGE));
  t.same(run(request(iova, 2 * PAGE), use(key, SendOpcode.RDMA_WRITE)), [SUCCESS, SUCCESS]);
  t.same(remote.bytes, bytes.subarray(PAGE + 8, PAGE + 8 + 64), 'a WRITE reads memory of the region');
  let old = key;
  for (const opcode of [SendOpcode.RDMA_WRITE, SendOpcode.RDMA_READ]) {
    const invalidate = { opcode: SendOpcode.LOCAL_INVALIDATE, immediate: old };
    old++;
    t.same(run(invalidate, request(iova, PAGE, old), use(old, opcode)), [SUCCESS, SUCCESS, SUCCESS]);
  }
  const invalidate = { opcode: SendOpcode.LOCAL_INVALIDATE, immediate: old };
  t.same(run(invalidate, use(old, SendOpcode.RDMA_WRITE)), [SUCCESS, LOCAL_PROTECTION_ERROR]);
  fixture.finish();
});

t.test('a registration may have any address of 64 bits (IBTA 10.6.3.2)', async (t) => {
  ledger(t, '10.6.3.2', 'A fast registered region may begin at any address of 64 bits');
  // Each is exact as a Number: the low bits are zeros.
  for (const iova of [2 ** 53, 0xfedc_ba98 * 2 ** 32 + 0x7654_3000, 2 ** 64 - 4 * PAGE]) {
    const fixture = new AdapterFixture();
    const { a, b } = connect(fixture);
    const { key, post, bytes } = fastRegion(fixture, b, 2, 0x33);
    t.equal(post(iova, 2 * PAGE), CompletionStatus.SUCCESS, `at 0x${iova.toString(16)}`);
    const content = fixture.createBuffer(fixture.random.bytes(PAGE));
    const remote = { address: iova + PAGE, rkey: key };
    a.post({ opcode: SendOpcode.RDMA_WRITE, sges: [fixture.sge(content)], remote });
    t.equal(a.parts.sendCq.take().status, CompletionStatus.SUCCESS);
    t.same(bytes.subarray(0, PAGE), content.bytes, 'a WRITE of the peer reaches the second page');
    const result = fixture.createBuffer(PAGE);
    a.post({ opcode: SendOpcode.RDMA_READ, sges: [fixture.sge(result)], remote });
    t.equal(a.parts.sendCq.take().status, CompletionStatus.SUCCESS);
    t.same(result.bytes, content.bytes, 'and a READ');
    const { lkey } = fixture.sge(content);
    a.post({
      opcode: SendOpcode.FETCH_ADD,
      sges: [{ address: result.address, length: 8, lkey }],
      remote,
      atomic: { swapOrAdd: 1n },
    });
    t.equal(a.parts.sendCq.take().status, CompletionStatus.SUCCESS, 'and an atomic');
    a.postReceive([fixture.sge(result)]);
    b.post({ opcode: SendOpcode.SEND, sges: [{ address: iova, length: PAGE, lkey: key }] });
    t.equal(b.parts.sendCq.take().status, CompletionStatus.SUCCESS, 'and a SEND of its owner');
    t.same(result.bytes, bytes.subarray(PAGE, 2 * PAGE));
    const beyond = { ...remote, address: iova + PAGE + 2048 };
    a.post({ opcode: SendOpcode.RDMA_WRITE, sges: [fixture.sge(content)], remote: beyond });
    t.equal(a.parts.sendCq.take().status, CompletionStatus.REMOTE_ACCESS_ERROR, 'but not beyond its end');
    fixture.finish();
  }
});
