// SPDX-License-Identifier: Apache-2.0
/**
 * Messages of connected QPs with up to 16 SGEs of odd lengths, gathered and scattered across
 * boundaries of scattered pages, for each path MTU; and inline (IBTA 10.2.6, 10.6).
 */
import t from 'tap';
import { SGE_MAX } from '../../../protocol/layout/gen/constants.gen.ts';
import type { Sge } from '../../../protocol/layout/gen/sge.gen.ts';
import { CompletionStatus, MrKind, SendOpcode, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import type { SendRequest } from '../driver/send-request.ts';
import { AdapterFixture } from '../fixtures/adapter-fixture.ts';
import { type Connected, connect, FULL_ACCESS } from '../fixtures/connected-fixture.ts';
import { ledger } from '../fixtures/ledger.ts';
import { sizesAround } from './two-ends/two-ends-case.ts';

const PAGE = 4096;
const PAGES = 24;
const START = 0x5_0000_0000 + 0x123;

/** A region over pages in random order, read and written by virtual address. */
class Scattered {
  readonly key: number;
  readonly #fixture: AdapterFixture;
  readonly #pages: readonly number[];

  constructor(fixture: AdapterFixture) {
    this.#fixture = fixture;
    const { allocator } = fixture.driver;
    const inOrder = Array.from({ length: PAGES }, () => allocator.allocate(PAGE, PAGE));
    this.#pages = Array.from(
      { length: PAGES },
      () => inOrder.splice(fixture.random.below(inOrder.length), 1)[0] as number,
    );
    const pageListAddress = allocator.allocate(PAGES * 8);
    this.#pages.forEach((page, index) => {
      fixture.access.view(pageListAddress, PAGES * 8).setBigUint64(index * 8, BigInt(page), true);
    });
    const shape = { kind: MrKind.PAGED, startAddress: START, length: PAGES * PAGE - 0x123, pageListAddress };
    const attributes = { pd: fixture.pd, access: FULL_ACCESS, ...shape, pageCount: PAGES, pageShift: 12 };
    this.key = fixture.driver.createMemoryRegion(attributes).lkey;
  }

  /**
   * Cuts `lengthBytes` into pieces of odd lengths with gaps between them, across page boundaries.
   */
  cut(lengthBytes: number, pieces: number): Sge[] {
    const { random } = this.#fixture;
    const sges: Sge[] = [];
    // A few bytes before the second page: the first piece crosses its boundary.
    let address = START - 0x123 + PAGE - 1 - random.below(3);
    let left = lengthBytes;
    for (let piece = 1; piece <= pieces; piece++) {
      const share = Math.floor(left / (pieces - piece + 1)) | 1;
      const length = piece === pieces ? left : Math.min(left, share);
      sges.push({ address, length, lkey: this.key });
      left -= length;
      address += length + 1 + random.below(40);
    }
    return sges;
  }

  read(sges: readonly Sge[]): Uint8Array {
    const bytes = sges.flatMap(({ address, length }) =>
      Array.from({ length }, (_, at) => this.#cell(address + at).getUint8(0)),
    );
    return Uint8Array.from(bytes);
  }

  write(sges: readonly Sge[], content: Uint8Array): void {
    let done = 0;
    for (const { address, length } of sges)
      for (let at = 0; at < length; at++) this.#cell(address + at).setUint8(0, content[done++] as number);
  }

  #cell(address: number): DataView {
    const offset = address - START + 0x123;
    const page = this.#pages[Math.floor(offset / PAGE)] as number;
    return this.#fixture.access.view(page + (offset % PAGE), 1);
  }
}

function succeed(qp: Connected['a'], request: SendRequest): boolean {
  qp.post(request);
  return qp.parts.sendCq.take().status === CompletionStatus.SUCCESS;
}

for (const pathMtu of [1, 2, 3, 4, 5]) {
  t.test(`SGE lists are gathered and scattered at a path MTU of ${128 << pathMtu}`, async (t) => {
    ledger(
      t,
      '10.2.6',
      `Up to 16 SGEs of odd lengths are gathered and scattered across pages, at a path MTU of ${128 << pathMtu}`,
    );
    const fixture = new AdapterFixture({ seed: pathMtu, memoryBytes: 16 * 1024 * 1024 });
    fixture.machine.onStep = () => {};
    for (const serviceType of [ServiceType.RC, ServiceType.UC]) {
      const { a, b } = connect(fixture, { serviceType, pathMtu });
      const [near, far] = [new Scattered(fixture), new Scattered(fixture)];
      for (const size of sizesAround(pathMtu))
        for (const pieces of [1, 2, 7, SGE_MAX]) {
          const what = `${size} bytes in ${pieces} pieces`;
          const content = fixture.random.bytes(size);
          const [from, to] = [near.cut(size, pieces), far.cut(size, SGE_MAX + 1 - pieces)];
          near.write(from, content);
          b.postReceive(to);
          t.ok(succeed(a, { sges: from }), `SEND of ${what}`);
          t.equal(b.parts.receiveCq.take().byteLength, size);
          t.ok(Buffer.from(content).equals(far.read(to)), `SEND of ${what}`);
          const [whole] = far.cut(size, 1) as [Sge];
          const remote = { address: whole.address, rkey: far.key };
          t.ok(succeed(a, { opcode: SendOpcode.RDMA_WRITE, sges: from, remote }), `WRITE of ${what}`);
          fixture.settle();
          t.ok(Buffer.from(content).equals(far.read([whole])), `WRITE of ${what}`);
          if (serviceType === ServiceType.UC) continue;
          const back = near.cut(size, pieces);
          t.ok(succeed(a, { opcode: SendOpcode.RDMA_READ, sges: back, remote }), `READ of ${what}`);
          t.ok(Buffer.from(content).equals(near.read(back)), `READ of ${what}`);
        }
    }
    t.same(fixture.allFaults(), {});
    fixture.finish();
  });
}

t.test('SENDs and WRITEs may have inline payload', async (t) => {
  ledger(t, '11.4.1.1', 'SENDs and WRITEs, with and without immediate data, may be inline, from 0 to 256 bytes');
  const fixture = new AdapterFixture();
  for (const serviceType of [ServiceType.RC, ServiceType.UC]) {
    const { a, b, region } = connect(fixture, { serviceType, pathMtu: 1 });
    for (const size of [0, 1, 7, 8, 9, 255, 256])
      for (const opcode of [
        SendOpcode.SEND,
        SendOpcode.SEND_IMMEDIATE,
        SendOpcode.RDMA_WRITE,
        SendOpcode.RDMA_WRITE_IMMEDIATE,
      ]) {
        const isWrite = opcode === SendOpcode.RDMA_WRITE || opcode === SendOpcode.RDMA_WRITE_IMMEDIATE;
        const target = fixture.createBuffer(size + 1);
        if (opcode !== SendOpcode.RDMA_WRITE) b.postReceive(isWrite ? [] : [fixture.sge(target)]);
        const inline = fixture.random.bytes(size);
        const remote = isWrite ? { remote: { address: target.address, rkey: region.rkey } } : {};
        t.ok(succeed(a, { opcode, inline, ...remote, header: { immediate: 5 } }));
        fixture.settle();
        const entry = b.parts.receiveCq.poll();
        t.equal(entry?.byteLength, opcode === SendOpcode.RDMA_WRITE ? undefined : size);
        t.same(target.bytes, Uint8Array.of(...inline, 0), `${size} bytes, opcode ${opcode}`);
      }
  }
  fixture.finish();
});
