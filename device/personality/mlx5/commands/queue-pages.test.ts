// SPDX-License-Identifier: Apache-2.0
/** Places of queues as commands describe them: which lists of pages are enough, and which wrong. */
import t from 'tap';
import { CommandStatus } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { listBytes, PageList, writePages } from '../memory/page-list.ts';
import type { CommandContext } from './command-context.ts';
import { type QueueExtent, readQueuePages, receiveStride } from './queue-pages.ts';

const { BAD_PARAMETER, BAD_INPUT_LENGTH } = CommandStatus;
const LIST_AT = 0x20;
const PAGE_BYTES = 4096;
const USUAL: QueueExtent = { logPageSize: 0, pageOffset: 0, entries: 128, entryBytes: 64 };

/** What a command says of a queue; `cut`: bytes of its list that the input lacks. */
function read(pages: readonly number[], extent: Partial<QueueExtent> = {}, cut = 0): PageList | CommandStatus {
  const view = new DataView(new ArrayBuffer(LIST_AT + listBytes(pages.length)));
  writePages(view, LIST_AT, pages);
  const command = { view, inputBytes: view.byteLength - cut } as CommandContext;
  return readQueuePages(command, LIST_AT, { ...USUAL, ...extent });
}

t.test('a queue has as many pages as it fills, from its place in the first one on', async (t) => {
  const pages = [0x5000, 0x9000, 0x7000];
  t.type(read(pages.slice(0, 2)), PageList, 'two whole pages');
  t.equal(read(pages.slice(0, 1)), BAD_INPUT_LENGTH);
  t.equal(read(pages.slice(0, 2), {}, 1), BAD_INPUT_LENGTH, 'the list is cut off');
  t.equal(read(pages.slice(0, 2), { pageOffset: 1 }), BAD_INPUT_LENGTH, 'it ends in a third page');
  const moved = read(pages, { pageOffset: 63 });
  t.ok(moved instanceof PageList && moved.addressOf(0) === 0x5000 + 63 * 64 && moved.addressOf(64) === 0x9000);
  t.type(read(pages.slice(0, 1), { entries: 1, pageOffset: 63 }), PageList, 'the last entry of a page');
});

t.test('pages are aligned to their size, all of them', async (t) => {
  const large = { logPageSize: 1, entries: 256 };
  t.type(read([0x4000, 0xa000], large), PageList);
  for (const wrong of [0x1000, 0x800, 1])
    for (const index of [0, 1]) {
      const pages = [0x4000, 0xa000].map((page, at) => (at === index ? page + wrong : page));
      t.equal(read(pages, large), BAD_PARAMETER, `page ${index}, ${wrong} bytes off`);
    }
});

t.test('no entry crosses pages', async (t) => {
  t.equal(read([PAGE_BYTES], { entries: 4, entryBytes: 128, pageOffset: 1 }), BAD_PARAMETER);
  const list = read([PAGE_BYTES], { entries: 4, entryBytes: 128, pageOffset: 2 });
  t.ok(list instanceof PageList && list.isInPage(3 * 128, 128));
  t.type(read([2 * PAGE_BYTES], { logPageSize: 1, entries: 4, entryBytes: 128, pageOffset: 1 }), PageList);
});

t.test('receives have units of 16 bytes', async (t) => {
  t.same([0, 1, 4].map(receiveStride), [16, 32, 256]);
});
