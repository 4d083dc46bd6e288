// SPDX-License-Identifier: Apache-2.0
/** Lists of keys by themselves: places in them and beyond them, as they are filled and grow. */
import t from 'tap';
import { KLM_SIZE, setKlmAddress, setKlmByteCount, setKlmMkey } from '../../../../protocol/mlx5/gen/klm.gen.ts';
import { type Cursor, type KeyList, PageTable, PieceTable } from './key-lists.ts';

const UNTOUCHED = -7;

/** A cursor that remembers where it was moved to. */
function cursorAt(address: number) {
  const cursor = { address, at: (next: number) => Object.assign(cursor, { address: next }) };
  return cursor satisfies Cursor;
}

function pagesOf(...addresses: number[]): DataView {
  const view = new DataView(new ArrayBuffer(addresses.length * 8));
  for (const [index, address] of addresses.entries()) view.setBigUint64(index * 8, BigInt(address));
  return view;
}

function piecesOf(...pieces: (readonly [key: number, address: number, bytes: number])[]): DataView {
  const view = new DataView(new ArrayBuffer(pieces.length * KLM_SIZE));
  for (const [index, [key, address, bytes]] of pieces.entries()) {
    setKlmMkey(view, index * KLM_SIZE, key);
    setKlmAddress(view, index * KLM_SIZE, address);
    setKlmByteCount(view, index * KLM_SIZE, bytes);
  }
  return view;
}

/** The place that `enter` finds; undefined when there is none, and the cursor has not moved. */
function entered(list: PageTable | PieceTable, index: number, offset: number): number | undefined {
  const cursor = cursorAt(UNTOUCHED);
  if (list.enter(cursor, index, offset)) return cursor.address;
  if (cursor.address !== UNTOUCHED) throw new Error(`the cursor moved to ${cursor.address}`);
  return undefined;
}

/** Key, address and bytes left that `find` finds at an offset of the list; undefined beyond it. */
function found(list: PieceTable, offset: number): readonly [number, number, number] | undefined {
  const cursor = cursorAt(offset);
  const left = list.find(cursor);
  return left === 0 ? undefined : [list.key, cursor.address, left];
}

t.test('there are pages where software has given them, and nowhere else', async (t) => {
  const list = new PageTable();
  t.equal(entered(list, 0, 0), undefined, 'an empty list');
  list.grow(2);
  list.write(pagesOf(0x5000, 2 ** 40 + 0x6000), 0, 1, 1);
  t.same(
    [0, 1, 2, 3, 4, 5].map((page) => entered(list, page, 9)),
    [undefined, undefined, 0x5009, 2 ** 40 + 0x6009, undefined, undefined],
  );
  list.write(pagesOf(0x7000 + 7, 0), 0, 1, 0);
  t.same([entered(list, 0, 0), entered(list, 1, 3)], [0x7000, 3], 'the lowest bits are flags');
});

t.test('there are pieces where the list has memory', async (t) => {
  const list = new PieceTable();
  t.equal(entered(list, 0, 0), undefined, 'an empty list');
  list.grow(2);
  list.write(piecesOf([0x100, 0x5000, 8], [0x200, 0x6000, 8]), 0, 2, 0);
  t.same(
    [0, 1, 2, 3].map((piece) => entered(list, piece, 5)),
    [0x5005, 0x6005, undefined, undefined],
  );
});

t.test('the bytes of pieces follow each other', async (t) => {
  const list = new PieceTable();
  t.equal(found(list, 0), undefined, 'an empty list');
  list.grow(4);
  const pieces = piecesOf([1, 0x5000, 3], [2, 0x6000, 0], [3, 2 ** 52 + 1, 1], [4, 0x8000, 2 ** 31]);
  list.write(pieces, 0, 4, 0);
  const places = [0, 2, 3, 4, 2 ** 31 + 3, 2 ** 31 + 4, 2 ** 40];
  t.same(
    places.map((offset) => found(list, offset)),
    [
      ...[[1, 0x5000, 3] as const, [1, 0x5002, 1] as const, [3, 2 ** 52 + 1, 1] as const],
      ...[[4, 0x8000, 2 ** 31] as const, [4, 0x8000 + 2 ** 31 - 1, 1] as const, undefined, undefined],
    ],
  );
});

t.test('a list keeps what it has when it grows, and says for how much it has memory', async (t) => {
  const pages = new PageTable();
  const pieces = new PieceTable();
  const lists: readonly KeyList[] = [pages, pieces];
  t.same(
    lists.map(({ octowords }) => octowords),
    [0, 0],
  );
  for (const list of lists) list.grow(1);
  pages.write(pagesOf(0x5000, 0x6000), 0, 1, 0);
  pieces.write(piecesOf([1, 0x5000, 4]), 0, 1, 0);
  t.same(found(pieces, 3), [1, 0x5003, 1]);
  for (const list of lists) list.grow(3);
  t.same(
    lists.map(({ octowords }) => octowords),
    [3, 3],
  );
  t.equal(entered(pages, 1, 1), 0x6001);
  t.same(found(pieces, 3), [1, 0x5003, 1]);
  // Octowords are taken from a place of the request, and put to an offset of the list.
  pages.write(pagesOf(1, 1, 0x7000, 0x8000), 16, 1, 2);
  pieces.write(piecesOf([9, 9, 9], [2, 0x9000, 4], [3, 0xa000, 4]), KLM_SIZE, 2, 1);
  t.same([entered(pages, 2, 0), entered(pages, 4, 0), entered(pages, 5, 0)], [undefined, 0x7000, 0x8000]);
  t.same(
    [found(pieces, 3), found(pieces, 7), found(pieces, 8)],
    [
      [1, 0x5003, 1],
      [2, 0x9003, 1],
      [3, 0xa000, 4],
    ],
  );
});
