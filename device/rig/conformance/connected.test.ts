// SPDX-License-Identifier: Apache-2.0
/**
 * Reliable and unreliable connections over a cable without loss: every operation, sizes around the
 * path MTU, order, flush (IBTA 9.7, 9.8.2).
 */
import t from 'tap';
import {
  CompletionOpcode,
  CompletionStatus,
  SendOpcode,
  ServiceType,
} from '../../../protocol/layout/gen/values.gen.ts';
import { AdapterFixture } from '../fixtures/adapter-fixture.ts';
import { connect, rdma } from '../fixtures/connected-fixture.ts';

const SIZES = [0, 1, 4, 63, 64, 255, 256, 257, 1023, 1024, 1025, 4096, 10_000];

for (const serviceType of [ServiceType.RC, ServiceType.UC]) {
  const name = serviceType === ServiceType.RC ? 'RC' : 'UC';
  for (const pathMtu of [1, 3, 5]) {
    t.test(`${name}: SEND of all sizes at path MTU code ${pathMtu}`, async (t) => {
      const fixture = new AdapterFixture();
      const { a, b } = connect(fixture, { serviceType, pathMtu });
      for (const size of SIZES) {
        const source = fixture.createBuffer(fixture.random.bytes(size));
        const target = fixture.createBuffer(size);
        b.postReceive([fixture.sge(target)]);
        a.post({ sges: [fixture.sge(source)], immediate: size });
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
      fixture.finish();
    });

    t.test(`${name}: RDMA WRITE of all sizes at path MTU code ${pathMtu}`, async (t) => {
      const fixture = new AdapterFixture();
      const { a, region } = connect(fixture, { serviceType, pathMtu });
      for (const size of SIZES) {
        const source = fixture.createBuffer(fixture.random.bytes(size));
        const target = fixture.createBuffer(size);
        a.post(rdma(fixture, SendOpcode.RDMA_WRITE, source, target, region));
        t.equal(a.parts.sendCq.take().status, CompletionStatus.SUCCESS, `write of ${size}`);
        fixture.machine.runUntilIdle();
        t.same(target.bytes, source.bytes, `payload of ${size}`);
      }
      fixture.finish();
    });
  }
}

t.test('RC: RDMA READ of all sizes', async (t) => {
  const fixture = new AdapterFixture();
  const { a, region } = connect(fixture, { pathMtu: 1 });
  for (const size of SIZES) {
    const local = fixture.createBuffer(size);
    const remote = fixture.createBuffer(fixture.random.bytes(size));
    a.post(rdma(fixture, SendOpcode.RDMA_READ, local, remote, region));
    const done = a.parts.sendCq.take();
    t.match(done, { status: CompletionStatus.SUCCESS, opcode: CompletionOpcode.RDMA_READ, byteLength: size });
    t.same(local.bytes, remote.bytes, `payload of ${size}`);
  }
  fixture.finish();
});

t.test('RC: atomics change memory and return the previous value', async (t) => {
  const fixture = new AdapterFixture();
  const { a, region } = connect(fixture);
  const local = fixture.createBuffer(8);
  const remote = fixture.createBuffer(8);
  const cell = new DataView(remote.bytes.buffer, remote.bytes.byteOffset, 8);
  const found = new DataView(local.bytes.buffer, local.bytes.byteOffset, 8);
  cell.setBigUint64(0, 0xffff_ffff_ffff_fffen, true);
  const request = rdma(fixture, SendOpcode.FETCH_ADD, local, remote, region);
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
  fixture.finish();
});

t.test('RC: an RNR NAK makes the sender wait and repeat', async (t) => {
  const fixture = new AdapterFixture();
  const { a, b } = connect(fixture);
  const source = fixture.createBuffer(fixture.random.bytes(3000));
  const target = fixture.createBuffer(3000);
  a.post({ sges: [fixture.sge(source)] });
  fixture.machine.runUntilIdle();
  b.postReceive([fixture.sge(target)]);
  t.equal(a.parts.sendCq.take().status, CompletionStatus.SUCCESS);
  t.same(target.bytes, source.bytes);
  fixture.finish();
});
