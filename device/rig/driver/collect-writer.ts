// SPDX-License-Identifier: Apache-2.0
/**
 * Writes a command into a collect buffer in every way that a processor may (US 8,484,392 par. 95,
 * 108-112): in stores of 1 to 8 bytes, in any order, some of them repeated, the word with the
 * length last. The last store is always a missing one: it completes the command.
 */
import {
  SEND_COMMAND_COLLECT_LENGTH_BYTES,
  SEND_COMMAND_COLLECT_LENGTH_OFFSET,
} from '../../../protocol/layout/gen/send-command.gen.ts';
import type { Random } from '../../random.ts';
import type { HardwareAccess } from './hardware-access.ts';

/** The way in which a command is written. */
export interface CollectStyle {
  /** Bytes per store, 8 by default; 0 mixes all sizes (needs `random`). */
  readonly storeBytes?: 0 | 1 | 2 | 4 | 8;
  /** Shuffles the stores. */
  readonly random?: Random;
  /** Repeats earlier stores (needs `random`). */
  readonly repeat?: boolean;
  /** Writes the length word at the end. */
  readonly lengthLast?: boolean;
}

/** One store into a collect page. */
export interface CollectStore {
  readonly offset: number;
  readonly sizeBytes: number;
}

const WORD_BYTES = 8;

/** The stores that write `lengthBytes` (a multiple of 8), in the order of the style. */
export function planStores(lengthBytes: number, style: CollectStyle = {}): CollectStore[] {
  const { random } = style;
  const stores: CollectStore[] = [];
  for (let word = 0; word < lengthBytes; word += WORD_BYTES) {
    const sizeBytes = style.storeBytes === 0 ? (random?.pick([1, 2, 4, 8]) ?? WORD_BYTES) : (style.storeBytes ?? 8);
    for (let offset = word; offset < word + WORD_BYTES; offset += sizeBytes) stores.push({ offset, sizeBytes });
  }
  random?.shuffle(stores);
  if (style.lengthLast) stores.sort((left, right) => Number(holdsLength(left)) - Number(holdsLength(right)));
  if (!style.repeat || random === undefined) return stores;
  return stores.flatMap((store, index) =>
    index > 0 && random.oneIn(2) ? [stores[random.below(index)] as CollectStore, store] : [store],
  );
}

/** Writes `bytes` (a multiple of 8) into the page at `pageOffset` of the collect BAR. */
export function writeCollected(
  access: HardwareAccess,
  pageOffset: number,
  bytes: Uint8Array,
  style: CollectStyle = {},
): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (const store of planStores(bytes.length, style)) storeCollected(access, pageOffset, view, store);
}

/** Performs one store of a plan. */
export function storeCollected(access: HardwareAccess, pageOffset: number, view: DataView, store: CollectStore): void {
  const { offset, sizeBytes } = store;
  const high = sizeBytes === WORD_BYTES ? view.getUint32(offset + 4, true) : 0;
  access.writeCollect(pageOffset + offset, sizeBytes, readLow(view, offset, sizeBytes), high);
}

function readLow(view: DataView, offset: number, sizeBytes: number): number {
  if (sizeBytes === 1) return view.getUint8(offset);
  if (sizeBytes === 2) return view.getUint16(offset, true);
  return view.getUint32(offset, true);
}

function holdsLength({ offset, sizeBytes }: CollectStore): boolean {
  const end = SEND_COMMAND_COLLECT_LENGTH_OFFSET + SEND_COMMAND_COLLECT_LENGTH_BYTES;
  return offset < end && offset + sizeBytes > SEND_COMMAND_COLLECT_LENGTH_OFFSET;
}
