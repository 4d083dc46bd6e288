// SPDX-License-Identifier: Apache-2.0
/** Buffers by lists of pages: what a list in a command may say, and where each byte lies. */
import t from 'tap';
import type { Dma } from '../../../hca/function/dma.ts';
import { listBytes, PageList, readPages, writePages } from './page-list.ts';

const PAGE_BYTES = 8192;
const PAGES = [0x10000, 2 ** 40 + 0x8000, 0x4000];
const LIST_AT = 8;

function writeList(pages: readonly number[]): DataView {
  const view = new DataView(new ArrayBuffer(LIST_AT + listBytes(pages.length)));
  writePages(view, LIST_AT, pages);
  return view;
}

t.test('a list is read as it was written, with all bits of its addresses', async (t) => {
  t.equal(listBytes(3), 24);
  t.same([...(readPages(writeList(PAGES), LIST_AT, 3) ?? [])], PAGES);
  t.same([...(readPages(writeList(PAGES), LIST_AT, 1) ?? [])], PAGES.slice(0, 1));
  t.same([...(readPages(writeList([]), LIST_AT, 0) ?? [1])], []);
});

t.test('each page begins at a multiple of 4096', async (t) => {
  for (const wrong of [1, 8, 2048, 4095])
    for (const index of PAGES.keys()) {
      const list = PAGES.map((page, at) => (at === index ? page + wrong : page));
      t.equal(readPages(writeList(list), LIST_AT, 3), undefined, `page ${index}, ${wrong} bytes off`);
    }
  t.ok(readPages(writeList([4096, 3 * 4096]), LIST_AT, 2));
});

t.test('each byte of a buffer lies where the pages put it, wherever the buffer begins', async (t) => {
  for (const start of [0, 128, PAGE_BYTES / 2]) {
    const list = new PageList(Float64Array.from(PAGES), PAGE_BYTES, start);
    const bytes = PAGES.flatMap((page) => Array.from({ length: PAGE_BYTES }, (_, at) => page + at)).slice(start);
    const dma = { address: 0, at: (address: number) => Object.assign(dma, { address }) };
    for (const offset of [0, 1, 4000, PAGE_BYTES - start - 1, PAGE_BYTES - start, 3 * PAGE_BYTES - start - 2]) {
      t.equal(list.addressOf(offset), bytes[offset], `start ${start}, offset ${offset}`);
      const end = bytes.findIndex((address, at) => at > offset && address !== bytes[at - 1] + 1);
      const left = (end < 0 ? bytes.length : end) - offset;
      for (const length of [1, left - 1, left, left + 1, 2 * PAGE_BYTES]) {
        t.equal(list.isInPage(offset, length), length <= left, `${length} bytes at ${offset}`);
        t.equal(list.locate(dma as unknown as Dma, offset, length), Math.min(length, left));
        t.equal(dma.address, bytes[offset]);
      }
    }
  }
  t.equal(new PageList(Float64Array.from(PAGES), PAGE_BYTES).addressOf(0), PAGES[0], 'from the first page on');
});
