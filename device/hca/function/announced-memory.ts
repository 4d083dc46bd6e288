// SPDX-License-Identifier: Apache-2.0
/**
 * Memory that software announced by an access, as it was when the access arrived
 * (docs/HAZARDS.md, "What a doorbell announces"). A driver that rings before it stores what the
 * doorbell announces works on an adapter that reads late, and fails on one that reads at once. So
 * the units look at such memory twice, and a difference is reported. Only an adapter with the
 * option `orderCheck` does; the reports are the host's, and no guest sees them.
 */
import { joinDwords } from '../../../protocol/layout/dwords.ts';
import type { Dma } from './dma.ts';
import type { FaultSubject } from './fault-log.ts';
import type { LocalTime } from './local-time.ts';

/** What was announced. */
export type AnnouncedKind = 'tail' | 'command' | 'address handle' | 'response' | 'mailbox' | 'work request';

/** Software stored something after the access that announced it. Plain data. */
export interface LateStore {
  readonly kind: AnnouncedKind;
  /** The queue pair or command, and the number of the entry. */
  readonly object: number;
  readonly index: number;
  /** Guest address of the announced memory. */
  readonly address: number;
  /** First byte that differs, and how many do. */
  readonly offset: number;
  readonly differing: number;
  /** `fetch`: before the adapter read it; `later`: the adapter had read it by then. */
  readonly seen: 'fetch' | 'later';
  readonly timeNs: number;
}

/** What `note` keeps of a piece of memory. */
interface Copy {
  readonly kind: AnnouncedKind;
  readonly subject: FaultSubject;
  readonly index: number;
  readonly address: number;
  readonly bytes: Uint8Array;
}

/** A copy of memory that did not hold what was announced. */
interface Doubt extends Copy {
  readonly isLate: (now: DataView) => boolean;
}

/** Pieces of memory that are kept for a function; further ones are not looked at. */
export const COPIES_MAX = 4096;
/** Pieces that are looked at again, and how often each. */
const DOUBTS_MAX = 64;
const LOOKS_MAX = 256;
/** Reports that are kept; further ones are counted. */
export const REPORTS_MAX = 64;
/** The largest piece. */
const PIECE_MAX_BYTES = 4096;

const scratch = new Uint8Array(PIECE_MAX_BYTES);
const scratchView = new DataView(scratch.buffer);

export class AnnouncedMemory {
  /** Late stores since power-on, and the first of them. */
  count = 0;
  readonly reports: LateStore[] = [];
  /** Called with each report that is kept. */
  onReport: (report: LateStore) => void = () => {};
  readonly #dma: Dma;
  readonly #time: LocalTime;
  readonly #copies = new Map<FaultSubject, Map<string, Copy>>();
  #kept = 0;
  readonly #doubts = new Map<Doubt, number>();

  constructor(dma: Dma, time: LocalTime) {
    this.#dma = dma;
    this.#time = time;
  }

  /** Reads memory at the address of `dma` without counting it; undefined when that fails. */
  look(lengthBytes: number): DataView | undefined {
    return this.#dma.peek(lengthBytes, scratch) ? scratchView : undefined;
  }

  /** Keeps the bytes that `look` has read, at the address of `dma`, for `take`. */
  note(kind: AnnouncedKind, subject: FaultSubject, index: number, lengthBytes: number): void {
    const copies = this.#copies.get(subject) ?? new Map<string, Copy>();
    const key = `${kind} ${index}`;
    if (!copies.has(key)) {
      if (this.#kept >= COPIES_MAX) return;
      this.#kept++;
    }
    this.#copies.set(subject, copies.set(key, this.#copy(kind, subject, index, lengthBytes)));
  }

  /** True when the piece is kept. */
  has(kind: AnnouncedKind, subject: FaultSubject, index: number): boolean {
    return this.#copies.get(subject)?.has(`${kind} ${index}`) ?? false;
  }

  /** The piece will not be read. Returns what was kept of it. */
  drop(kind: AnnouncedKind, subject: FaultSubject, index: number): Copy | undefined {
    const copies = this.#copies.get(subject);
    const copy = copies?.get(`${kind} ${index}`);
    if (copies === undefined || copy === undefined) return undefined;
    copies.delete(`${kind} ${index}`);
    if (copies.size === 0) this.#copies.delete(subject);
    this.#kept--;
    return copy;
  }

  /**
   * The adapter has read `lengthBytes` of a piece: compares them from byte `from` on with what was
   * kept. Returns true when software has changed it.
   */
  take(
    kind: AnnouncedKind,
    subject: FaultSubject,
    index: number,
    now: Uint8Array,
    lengthBytes: number,
    from = 0,
  ): boolean {
    const copy = this.drop(kind, subject, index);
    return copy !== undefined && this.#compare(copy, now, from, Math.min(lengthBytes, copy.bytes.length), 'fetch');
  }

  /**
   * The bytes that `look` has read are not what was announced. They are looked at again after later
   * accesses: `isLate` says whether what is there then is what was announced.
   */
  doubt(
    kind: AnnouncedKind,
    subject: FaultSubject,
    index: number,
    lengthBytes: number,
    isLate: (now: DataView) => boolean,
  ): void {
    for (const doubt of this.#doubts.keys())
      if (doubt.kind === kind && doubt.subject === subject && doubt.index === index) return;
    if (this.#doubts.size >= DOUBTS_MAX) return;
    this.#doubts.set({ ...this.#copy(kind, subject, index, lengthBytes), isLate }, 0);
  }

  /** Software has made another access, so the stores before it have been made as well. */
  lookAgain(): void {
    for (const [doubt, looks] of this.#doubts) {
      const { address, bytes } = doubt;
      const now = this.#dma.at(address).peek(bytes.length, scratch);
      const isLate = now && doubt.isLate(scratchView) && this.#compare(doubt, scratch, 0, bytes.length, 'later');
      if (isLate || looks >= LOOKS_MAX) this.#doubts.delete(doubt);
      else this.#doubts.set(doubt, looks + 1);
    }
  }

  /** The object begins anew, or is gone: what software stores now is about something else. */
  forget(subject: FaultSubject): void {
    this.#kept -= this.#copies.get(subject)?.size ?? 0;
    this.#copies.delete(subject);
    for (const doubt of this.#doubts.keys()) if (doubt.subject === subject) this.#doubts.delete(doubt);
  }

  reset(): void {
    this.#copies.clear();
    this.#doubts.clear();
    this.#kept = 0;
  }

  #copy(kind: AnnouncedKind, subject: FaultSubject, index: number, lengthBytes: number): Copy {
    return { kind, subject, index, address: this.#dma.address, bytes: scratch.slice(0, lengthBytes) };
  }

  /** Reports a difference. Returns true when there is one. */
  #compare(
    { kind, subject, index, address, bytes }: Copy,
    now: Uint8Array,
    from: number,
    end: number,
    seen: LateStore['seen'],
  ): boolean {
    let differing = 0;
    let offset = 0;
    for (let at = end - 1; at >= from; at--) {
      if (bytes[at] === now[at]) continue;
      differing++;
      offset = at;
    }
    if (differing === 0) return false;
    this.count++;
    if (this.reports.length >= REPORTS_MAX) return true;
    this.#time.sample();
    const timeNs = joinDwords(this.#time.low, this.#time.high);
    const report = { kind, object: subject.number, index, address, offset, differing, seen, timeNs };
    this.reports.push(report);
    this.onReport(report);
    return true;
  }
}
