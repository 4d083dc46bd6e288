// SPDX-License-Identifier: Apache-2.0
/** Receives by themselves: which pieces of an entry count, and where its list ends. */
import t from 'tap';
import { SGE_MAX } from '../../../../protocol/layout/gen/constants.gen.ts';
import {
  getSgeAddressHigh,
  getSgeAddressLow,
  getSgeLength,
  getSgeLkey,
  SGE_SIZE,
} from '../../../../protocol/layout/gen/sge.gen.ts';
import { FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import {
  DATA_SEG_SIZE,
  setDataSegAddress,
  setDataSegByteCount,
  setDataSegLkey,
} from '../../../../protocol/mlx5/gen/data-seg.gen.ts';
import { LIST_END_KEY } from '../../shared/receive-elements.ts';
import { linkedFormat, receiveFormat } from './receive-requests.ts';

type Piece = readonly [address: number, bytes: number, key: number];

const FIRST: Piece = [0x12_3456_7890, 100, 0xfedcba98];
const SECOND: Piece = [0x5000, 2 ** 31 - 1, 0x200];
const THIRD: Piece = [0x6000, 1, 0x300];
const END: Piece = [0, 0, LIST_END_KEY];

/** Pieces from `at` on, in a block that has another piece behind them. */
function entryOf(at: number, pieces: readonly Piece[]): DataView {
  const view = new DataView(new ArrayBuffer(2048));
  for (const [index, [address, bytes, key]] of [...pieces, THIRD].entries()) {
    setDataSegAddress(view, at + index * DATA_SEG_SIZE, address);
    setDataSegByteCount(view, at + index * DATA_SEG_SIZE, bytes);
    setDataSegLkey(view, at + index * DATA_SEG_SIZE, key);
  }
  return view;
}

/** The pieces that a format finds in an entry, or its fault. */
function load(format: typeof receiveFormat, view: DataView, sizeBytes: number): Piece[] | FaultKind {
  const found: Piece[] = [];
  const addFrom = (list: DataView, base: number, count: number): void => {
    for (let at = base; at < base + count * SGE_SIZE; at += SGE_SIZE) {
      const address = getSgeAddressHigh(list, at) * 2 ** 32 + getSgeAddressLow(list, at);
      found.push([address, getSgeLength(list, at), getSgeLkey(list, at)]);
    }
  };
  const fault = format.load(view, sizeBytes, { addFrom });
  return fault === FaultKind.NONE ? found : fault;
}

for (const [what, format, at] of [
  ['of a QP', receiveFormat, 0],
  ['of an SRQ', linkedFormat, DATA_SEG_SIZE],
] as const)
  t.test(`the list of an entry ${what} ends with its key, or with the entry`, async (t) => {
    const sizeOf = (count: number): number => at + count * DATA_SEG_SIZE;
    t.same(load(format, entryOf(at, [FIRST, SECOND]), sizeOf(2)), [FIRST, SECOND], 'with the entry');
    t.same(load(format, entryOf(at, [FIRST, SECOND]), sizeOf(1)), [FIRST]);
    t.same(load(format, entryOf(at, [FIRST, SECOND]), sizeOf(2) + 8), [FIRST, SECOND], 'half a piece is none');
    t.same(load(format, entryOf(at, [FIRST, END, SECOND]), sizeOf(3)), [FIRST], 'with the key');
    t.same(load(format, entryOf(at, [END]), sizeOf(2)), [], 'nothing');
    t.same(load(format, entryOf(at, [[0x5000, 0, 7]]), sizeOf(1)), [[0x5000, 2 ** 31, 7]], '0 bytes are 2^31');
    const most = Array.from({ length: SGE_MAX }, () => SECOND);
    t.same(load(format, entryOf(at, most), sizeOf(SGE_MAX)), most, 'as many as a list can have');
    t.equal(load(format, entryOf(at, most), sizeOf(SGE_MAX + 1)), FaultKind.RECEIVE_ENTRY, 'more');
  });

t.test('data in an entry are refused, wherever they stand', async (t) => {
  for (const index of [0, 1]) {
    const view = entryOf(0, [FIRST, SECOND]);
    view.setUint8(index * DATA_SEG_SIZE, 0x80);
    t.equal(load(receiveFormat, view, 2 * DATA_SEG_SIZE), FaultKind.RECEIVE_ENTRY, `piece ${index}`);
  }
  t.same(load(receiveFormat, entryOf(0, [THIRD]), DATA_SEG_SIZE), [THIRD], 'nothing of it is left');
});
