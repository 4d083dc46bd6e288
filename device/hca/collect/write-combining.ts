// SPDX-License-Identifier: Apache-2.0
/**
 * Model of a processor's write-combining buffers in front of the collect BAR (docs/HAZARDS.md,
 * hazards 1, 2 and 5). Trapped writes arrive in order, so without the model drivers never meet the
 * effects of write-combining memory. Stores to the data area of a page are held in lines of 64
 * bytes. A line leaves at a random time, in pieces of any size and order, some of them twice. The
 * PCIe function puts it before its collect unit if the options ask for it.
 */
import { CANCEL_OFFSET, DATA_BYTES, KICK_OFFSET, PAGE_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { getSendCommandCollectLength } from '../../../protocol/layout/gen/send-command.gen.ts';
import { Random } from '../../random.ts';

/** Parameters of the model. */
export interface WriteCombiningOptions {
  readonly seed: number;
  /** Lines that the processor holds, 1 to 64; 10 by default. */
  readonly lines?: number;
  /** Average stay of a line in passes of the adapter, 1 to 1000; 4 by default. */
  readonly holdPasses?: number;
}

/** Receives a piece: byte offset in the BAR, size, and value as two signed dwords. */
export type PieceTarget = (offset: number, sizeBytes: number, low: number, high: number) => void;

const LINE_BYTES = 64;
const DEFAULT_LINES = 10;
const DEFAULT_HOLD_PASSES = 4;
/** A line leaves after this many times the average stay at the latest. */
const PATIENCE = 4;
const WORD_BYTES = 8;
const NO_PAGE = -1;

/** Returns a sentence about the first option out of range, or undefined. */
export function findCombiningError({ seed, lines, holdPasses }: WriteCombiningOptions): string | undefined {
  const ranges: [string, number, number, number][] = [
    ['seed', seed, 0, 0xffffffff],
    ['lines', lines ?? DEFAULT_LINES, 1, 64],
    ['holdPasses', holdPasses ?? DEFAULT_HOLD_PASSES, 1, 1000],
  ];
  for (const [name, value, low, high] of ranges)
    if (!Number.isInteger(value) || value < low || value > high)
      return `option writeCombining.${name} is ${value}; it must be ${low} to ${high}`;
  return undefined;
}

/** A write-combining line of 64 bytes. */
class Line {
  page = NO_PAGE;
  /** Byte offset of the line in its page. */
  offset = 0;
  passes = 0;
  readonly bytes = new Uint8Array(LINE_BYTES);
  readonly view = new DataView(this.bytes.buffer);
  readonly held = new Uint8Array(LINE_BYTES);
}

/**
 * The guarantees to software hold: a store to the control words of a page first flushes all stores
 * to that page. Fences flush too, but no device can see them. Software must have a fence between
 * two commands in the same page, so the first store after a whole command, and a store to a byte
 * that was stored already, flush as well. Every line leaves within a bounded number of passes. The
 * same seed and writes give the same pieces.
 */
export class WriteCombining {
  readonly #random: Random;
  readonly #target: PieceTarget;
  readonly #holdPasses: number;
  readonly #pageCount: number;
  readonly #lines: Line[];
  #heldLines = 0;
  /**
   * Stored bytes of the command that software is writing, by page; and its first 8 bytes, which
   * hold its length.
   */
  readonly #stored: Uint8Array;
  readonly #heads: DataView;
  readonly #pieceOffsets = new Uint8Array(LINE_BYTES);
  readonly #pieceSizes = new Uint8Array(LINE_BYTES);

  /** `barBytes`: size of the collect BAR. */
  constructor(options: WriteCombiningOptions, functionNumber: number, barBytes: number, target: PieceTarget) {
    const { seed, lines = DEFAULT_LINES, holdPasses = DEFAULT_HOLD_PASSES } = options;
    this.#random = new Random(seed + functionNumber);
    this.#target = target;
    this.#holdPasses = holdPasses;
    this.#lines = Array.from({ length: lines }, () => new Line());
    this.#pageCount = barBytes / PAGE_BYTES;
    this.#stored = new Uint8Array(this.#pageCount * DATA_BYTES);
    this.#heads = new DataView(new ArrayBuffer(this.#pageCount * WORD_BYTES));
  }

  /** True while a line is held: `settle` must be called again. */
  get busy(): boolean {
    return this.#heldLines > 0;
  }

  /** Takes a write to the collect BAR. Only aligned writes to data areas are held. */
  write(offset: number, sizeBytes: number, low: number, high: number): void {
    const page = Math.floor(offset / PAGE_BYTES);
    const inPage = offset % PAGE_BYTES;
    if (inPage >= DATA_BYTES || offset % sizeBytes !== 0 || page >= this.#pageCount) {
      this.#flushPage(page);
      if (inPage === KICK_OFFSET || inPage === CANCEL_OFFSET) this.#forget(page);
      return this.#target(offset, sizeBytes, low, high);
    }
    if (this.#isWhole(page)) {
      this.#flushPage(page);
      this.#forget(page);
    } else if (this.#isStored(page, inPage, sizeBytes)) {
      // A held repetition could follow the kick and start another command.
      this.#flushPage(page);
      this.#note(page, inPage, sizeBytes, low, high);
      return this.#target(offset, sizeBytes, low, high);
    }
    this.#note(page, inPage, sizeBytes, low, high);
    const lineOffset = inPage - (inPage % LINE_BYTES);
    const line = this.#find(page, lineOffset) ?? this.#take(page, lineOffset);
    store(line.view, inPage % LINE_BYTES, sizeBytes, low, high);
    line.held.fill(1, inPage % LINE_BYTES, (inPage % LINE_BYTES) + sizeBytes);
    if (this.#random.oneIn(WORD_BYTES)) this.#evict(this.#random.pick(this.#lines));
  }

  /** One pass of the adapter: some lines leave, and all that stayed too long. */
  settle(): void {
    for (const line of this.#lines) {
      if (line.page === NO_PAGE) continue;
      line.passes++;
      if (line.passes > PATIENCE * this.#holdPasses || this.#random.oneIn(this.#holdPasses)) this.#evict(line);
    }
  }

  /** Drops all lines: the function was reset. */
  reset(): void {
    for (const line of this.#lines) this.#release(line);
    this.#stored.fill(0);
  }

  /** Evicts the lines of the page in any order. */
  #flushPage(page: number): void {
    const { length } = this.#lines;
    const first = this.#random.below(length);
    for (let step = 0; step < length; step++) {
      const line = this.#lines[(first + step) % length];
      if (line.page === page) this.#evict(line);
    }
  }

  #find(page: number, offset: number): Line | undefined {
    for (const line of this.#lines) if (line.page === page && line.offset === offset) return line;
    return undefined;
  }

  #take(page: number, offset: number): Line {
    let line = this.#find(NO_PAGE, 0);
    if (line === undefined) {
      line = this.#random.pick(this.#lines);
      this.#evict(line);
    }
    line.page = page;
    line.offset = offset;
    line.passes = 0;
    this.#heldLines++;
    return line;
  }

  /** Sends the bytes of a line as aligned pieces in random order, some pieces twice. */
  #evict(line: Line): void {
    if (line.page === NO_PAGE) return;
    const count = this.#cut(line);
    for (let last = count - 1; last >= 0; last--) {
      const pick = this.#random.below(last + 1);
      const offset = this.#pieceOffsets[pick];
      const size = this.#pieceSizes[pick];
      this.#pieceOffsets[pick] = this.#pieceOffsets[last];
      this.#pieceSizes[pick] = this.#pieceSizes[last];
      this.#pieceOffsets[last] = offset;
      this.#pieceSizes[last] = size;
      // No repetition after the last piece: that may be the kick, and the next command follows a
      // kick.
      if (last < count - 1 && this.#random.oneIn(WORD_BYTES)) {
        const again = last + 1 + this.#random.below(count - 1 - last);
        this.#send(line, this.#pieceOffsets[again], this.#pieceSizes[again]);
      }
      this.#send(line, offset, size);
    }
    this.#release(line);
  }

  /** Cuts the held bytes of the line into aligned pieces and returns their number. */
  #cut(line: Line): number {
    let count = 0;
    for (let at = 0; at < LINE_BYTES; ) {
      if (line.held[at] === 0) {
        at++;
        continue;
      }
      let size = 1 << this.#random.below(4);
      while (at % size !== 0 || !isHeld(line, at, size)) size >>>= 1;
      this.#pieceOffsets[count] = at;
      this.#pieceSizes[count++] = size;
      at += size;
    }
    return count;
  }

  #send(line: Line, at: number, sizeBytes: number): void {
    const { view } = line;
    const offset = line.page * PAGE_BYTES + line.offset + at;
    if (sizeBytes === 8) this.#target(offset, 8, view.getInt32(at, true), view.getInt32(at + 4, true));
    else if (sizeBytes === 4) this.#target(offset, 4, view.getInt32(at, true), 0);
    else if (sizeBytes === 2) this.#target(offset, 2, view.getUint16(at, true), 0);
    else this.#target(offset, 1, view.getUint8(at), 0);
  }

  #release(line: Line): void {
    if (line.page === NO_PAGE) return;
    line.page = NO_PAGE;
    line.offset = 0;
    line.held.fill(0);
    this.#heldLines--;
  }

  #forget(page: number): void {
    this.#stored.fill(0, page * DATA_BYTES, (page + 1) * DATA_BYTES);
  }

  #note(page: number, inPage: number, sizeBytes: number, low: number, high: number): void {
    const start = page * DATA_BYTES + inPage;
    this.#stored.fill(1, start, start + sizeBytes);
    if (inPage < WORD_BYTES) store(this.#heads, page * WORD_BYTES + inPage, sizeBytes, low, high);
  }

  #isStored(page: number, inPage: number, sizeBytes: number): boolean {
    for (let at = inPage; at < inPage + sizeBytes; at++) if (this.#stored[page * DATA_BYTES + at] !== 0) return true;
    return false;
  }

  /** True when software has written a whole command to the page. */
  #isWhole(page: number): boolean {
    const length = getSendCommandCollectLength(this.#heads, page * WORD_BYTES);
    const start = page * DATA_BYTES;
    const end = start + Math.min(Math.max(length, WORD_BYTES), DATA_BYTES);
    for (let at = start; at < end; at++) if (this.#stored[at] === 0) return false;
    return true;
  }
}

function store(view: DataView, at: number, sizeBytes: number, low: number, high: number): void {
  if (sizeBytes === 8) {
    view.setUint32(at, low, true);
    view.setUint32(at + 4, high, true);
  } else if (sizeBytes === 4) view.setUint32(at, low, true);
  else if (sizeBytes === 2) view.setUint16(at, low, true);
  else view.setUint8(at, low);
}

function isHeld(line: Line, at: number, sizeBytes: number): boolean {
  for (let byte = at; byte < at + sizeBytes; byte++) if (line.held[byte] === 0) return false;
  return true;
}
