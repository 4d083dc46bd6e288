// SPDX-License-Identifier: Apache-2.0
/**
 * Regions whose page list lies in pages of its own, so that a long list needs no contiguous memory
 * (docs/PROGRAMMING.md, Management commands; IBTA 10.6.2).
 */
import t from 'tap';
import { PAGE_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  CompletionStatus,
  ManagementOpcode,
  ManagementStatus,
  MrKind,
  SendOpcode,
} from '../../../protocol/layout/gen/values.gen.ts';
import { mrPayload } from '../../rig/driver/payloads.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { connect, FULL_ACCESS } from '../../rig/fixtures/connected-fixture.ts';

const LIST_ENTRIES = PAGE_BYTES / 8;
const START = 0x7f12_3456_7000;

/** Writes the list of `pages` to list pages that lie in reverse order; returns their directory. */
function writeList({ access, driver }: AdapterFixture, pages: readonly number[]): number {
  const listPages = Math.ceil(pages.length / LIST_ENTRIES);
  const lists = driver.allocator.allocate(listPages * PAGE_BYTES, PAGE_BYTES);
  const directory = driver.allocator.allocate(listPages * 8);
  for (let list = 0; list < listPages; list++) {
    const address = lists + (listPages - 1 - list) * PAGE_BYTES;
    access.view(directory, listPages * 8).setBigUint64(list * 8, BigInt(address), true);
    pages.slice(list * LIST_ENTRIES, (list + 1) * LIST_ENTRIES).forEach((page, index) => {
      access.view(address, PAGE_BYTES).setBigUint64(index * 8, BigInt(page), true);
    });
  }
  return directory;
}

t.test('a region of 4 GiB in pages of 4 KiB reaches its last byte', async (t) => {
  const fixture = new AdapterFixture({ memoryBytes: 64 * 1024 * 1024 });
  const { a } = connect(fixture);
  const pool = fixture.driver.allocator.allocate(16 * PAGE_BYTES, PAGE_BYTES);
  const pageCount = 2 ** 20;
  const pages = Array.from({ length: pageCount }, (_, index) => pool + (index % 16) * PAGE_BYTES);
  const region = fixture.driver.createMemoryRegion({
    pd: fixture.pd,
    kind: MrKind.PAGED,
    access: FULL_ACCESS,
    startAddress: START,
    length: pageCount * PAGE_BYTES,
    pageListAddress: writeList(fixture, pages),
    indirect: 1,
    pageCount,
    pageShift: 12,
  });
  const source = fixture.createBuffer(fixture.random.bytes(100));
  // Entry 511 and 512 lie in different pages of the list; the last page is the pool's last.
  for (const page of [0, 511, pageCount - 1]) {
    const address = START + (page + 1) * PAGE_BYTES - 50;
    const length = page === pageCount - 1 ? 50 : 100;
    a.post({
      opcode: SendOpcode.RDMA_WRITE,
      sges: [fixture.sge(source, 0, length)],
      remote: { address, rkey: region.rkey },
    });
    t.equal(a.parts.sendCq.take().status, CompletionStatus.SUCCESS, `page ${page}`);
    const found = fixture.access.view(pages[page] as number, PAGE_BYTES);
    for (let at = 0; at < 50; at++)
      if (found.getUint8(PAGE_BYTES - 50 + at) !== source.bytes[at]) t.fail(`byte ${at} of page ${page}`);
    const next = length > 50 ? fixture.access.view(pages[page + 1] as number, 50) : undefined;
    for (let at = 0; next !== undefined && at < 50; at++)
      if (next.getUint8(at) !== source.bytes[50 + at]) t.fail(`byte ${at} behind page ${page}`);
  }
  fixture.finish();
});

t.test('a list page that is not aligned or cannot be read is refused', async (t) => {
  const fixture = new AdapterFixture();
  const page = fixture.driver.allocator.allocate(PAGE_BYTES, PAGE_BYTES);
  const directory = writeList(fixture, [page]);
  const entry = fixture.access.view(directory, 8);
  const good = entry.getBigUint64(0, true);
  const create = () =>
    fixture.driver.management.execute({
      opcode: ManagementOpcode.CREATE_MR,
      payload: mrPayload({
        pd: fixture.pd,
        kind: MrKind.PAGED,
        access: 0,
        startAddress: START,
        length: PAGE_BYTES,
        pageListAddress: directory,
        indirect: 1,
        pageCount: 1,
        pageShift: 12,
      }),
    }).status;
  t.equal(create(), ManagementStatus.OK);
  for (const bad of [good + 8n, 1n << 40n, (1n << 64n) - 4096n]) {
    entry.setBigUint64(0, bad, true);
    t.equal(create(), ManagementStatus.BAD_ADDRESS, `list page at 0x${bad.toString(16)}`);
  }
  fixture.finish();
});
