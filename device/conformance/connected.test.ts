// SPDX-License-Identifier: Apache-2.0
/** Reliable and unreliable connections over a good cable: every operation, sizes around the path MTU, order, flush. IBTA 9.7, 9.8.2. */
import t from 'tap';
import { CompletionOpcode, CompletionStatus, SendOpcode, ServiceType } from '../../protocol/layout/gen/values.gen.ts';
import { Bench } from '../test-support/adapter-fixture.ts';
import { connect, rdma } from '../test-support/connected-fixture.ts';

const SIZES = [0, 1, 4, 63, 64, 255, 256, 257, 1023, 1024, 1025, 4096, 10_000];

for (const serviceType of [ServiceType.RC, ServiceType.UC]) {
  const name = serviceType === ServiceType.RC ? 'RC' : 'UC';
  for (const pathMtu of [1, 3, 5]) {
    t.test(`${name}: SEND of all sizes at path MTU code ${pathMtu}`, async (t) => {
      const bench = new Bench();
      const { a, b } = connect(bench, { serviceType, pathMtu });
      for (const size of SIZES) {
        const source = bench.createBuffer(bench.random.bytes(size));
        const target = bench.createBuffer(size);
        b.postReceive([bench.sge(target)]);
        a.post({ sges: [bench.sge(source)], immediate: size });
        const sent = a.parts.sendCq.take();
        t.equal(sent.status, CompletionStatus.SUCCESS, `send of ${size}`);
        const received = b.parts.receiveCq.take();
        t.match(received, {
          status: CompletionStatus.SUCCESS,
          opcode: CompletionOpcode.RECEIVE,
          byteLength: size,
          hasImmediate: 1,
          immediate: size,
          qpn: b.qpn,
        });
        t.same(target.bytes, source.bytes, `payload of ${size}`);
      }
      bench.finish();
    });

    t.test(`${name}: RDMA WRITE of all sizes at path MTU code ${pathMtu}`, async (t) => {
      const bench = new Bench();
      const { a, region } = connect(bench, { serviceType, pathMtu });
      for (const size of SIZES) {
        const source = bench.createBuffer(bench.random.bytes(size));
        const target = bench.createBuffer(size);
        a.post(rdma(bench, SendOpcode.RDMA_WRITE, source, target, region));
        t.equal(a.parts.sendCq.take().status, CompletionStatus.SUCCESS, `write of ${size}`);
        bench.machine.runUntilIdle();
        t.same(target.bytes, source.bytes, `payload of ${size}`);
      }
      bench.finish();
    });
  }
}

t.test('RC: RDMA READ of all sizes', async (t) => {
  const bench = new Bench();
  const { a, region } = connect(bench, { pathMtu: 1 });
  for (const size of SIZES) {
    const local = bench.createBuffer(size);
    const remote = bench.createBuffer(bench.random.bytes(size));
    a.post(rdma(bench, SendOpcode.RDMA_READ, local, remote, region));
    const done = a.parts.sendCq.take();
    t.match(done, { status: CompletionStatus.SUCCESS, opcode: CompletionOpcode.RDMA_READ, byteLength: size });
    t.same(local.bytes, remote.bytes, `payload of ${size}`);
  }
  bench.finish();
});

t.test('RC: atomics change memory and bring back what was there', async (t) => {
  const bench = new Bench();
  const { a, region } = connect(bench);
  const local = bench.createBuffer(8);
  const remote = bench.createBuffer(8);
  const cell = new DataView(remote.bytes.buffer, remote.bytes.byteOffset, 8);
  const found = new DataView(local.bytes.buffer, local.bytes.byteOffset, 8);
  cell.setBigUint64(0, 0xffff_ffff_ffff_fffen, true);
  const request = rdma(bench, SendOpcode.FETCH_ADD, local, remote, region);
  a.post({ ...request, atomic: { swapOrAdd: 5n } });
  t.equal(a.parts.sendCq.take().status, CompletionStatus.SUCCESS);
  t.equal(found.getBigUint64(0, true), 0xffff_ffff_ffff_fffen);
  t.equal(cell.getBigUint64(0, true), 3n);
  a.post({ ...request, opcode: SendOpcode.COMPARE_SWAP, atomic: { compare: 3n, swapOrAdd: 0x0123_4567_89ab_cdefn } });
  t.equal(a.parts.sendCq.take().status, CompletionStatus.SUCCESS);
  t.equal(found.getBigUint64(0, true), 3n);
  t.equal(cell.getBigUint64(0, true), 0x0123_4567_89ab_cdefn);
  a.post({ ...request, opcode: SendOpcode.COMPARE_SWAP, atomic: { compare: 3n, swapOrAdd: 1n } });
  a.parts.sendCq.take();
  t.equal(cell.getBigUint64(0, true), 0x0123_4567_89ab_cdefn, 'a failed comparison changes nothing');
  bench.finish();
});

t.test('RC: an RNR NAK makes the sender wait and try again', async (t) => {
  const bench = new Bench();
  const { a, b } = connect(bench);
  const source = bench.createBuffer(bench.random.bytes(3000));
  const target = bench.createBuffer(3000);
  a.post({ sges: [bench.sge(source)] });
  bench.machine.runUntilIdle();
  b.postReceive([bench.sge(target)]);
  t.equal(a.parts.sendCq.take().status, CompletionStatus.SUCCESS);
  t.same(target.bytes, source.bytes);
  bench.finish();
});
