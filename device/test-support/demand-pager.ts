// SPDX-License-Identifier: Apache-2.0
/**
 * Virtual memory whose pages an on-demand region shows, as an operating system keeps it
 * (docs/PROGRAMMING.md, On-demand paging): it answers page faults, and takes pages back at any
 * time. The frame of a page that was taken back is filled with a pattern; `check` throws when
 * anything has written to it since.
 */
import type { EventEntry } from '../../protocol/layout/gen/event-entry.gen.ts';
import {
  encodePageRange,
  newPageRange,
  PAGE_RANGE_SIZE,
  type PageRange,
} from '../../protocol/layout/gen/page-range.gen.ts';
import { AccessFlag, EventType, ManagementOpcode, MrKind, PageFlag } from '../../protocol/layout/gen/values.gen.ts';
import type { ManagementResult } from '../hosts/in-process/driver/management-channel.ts';
import type { DriverMemoryRegion } from '../hosts/in-process/driver/requests.ts';
import type { AdapterFixture } from './adapter-fixture.ts';
import { FULL_ACCESS } from './connected-fixture.ts';

export const PAGE = 4096;
/** Where the region begins: as high as the stack of a process. */
const START = 0x7fff_1234_5000;
const LIST_BYTES = 8;
/** What a frame holds that no page has. */
const RETIRED = 0xee;

interface Frame {
  readonly address: number;
  readonly bytes: Uint8Array;
}

export interface PagerOptions {
  readonly pages?: number;
  readonly access?: number;
  readonly pd?: number;
  /** The region is of all addresses. */
  readonly implicit?: boolean;
}

export class DemandPager {
  readonly region: DriverMemoryRegion;
  readonly start = START;
  readonly fixture: AdapterFixture;
  /** Page faults that were told by events. */
  readonly faults: EventEntry[] = [];
  readonly #list: number;
  /** Frames of present pages; the others have their bytes here. */
  readonly #frames = new Map<number, Frame>();
  readonly #absent = new Map<number, Uint8Array>();
  readonly #free: Frame[] = [];

  constructor(fixture: AdapterFixture, options: PagerOptions = {}) {
    const { pages = 16, access = FULL_ACCESS, pd = fixture.pd, implicit = false } = options;
    this.fixture = fixture;
    this.region = fixture.driver.createMemoryRegion({
      pd,
      kind: MrKind.PAGED,
      access: access | AccessFlag.ON_DEMAND,
      startAddress: implicit ? 0 : START,
      length: implicit ? 2 ** 52 : pages * PAGE,
      pageShift: 12,
    });
    this.#list = fixture.driver.allocator.allocate(LIST_BYTES);
  }

  /** Address of a byte of the memory. */
  at(offset: number): number {
    return START + offset;
  }

  isPresent(page: number): boolean {
    return this.#frames.has(page);
  }

  /** Numbers of the present pages. */
  get present(): number[] {
    return [...this.#frames.keys()];
  }

  /** Writes memory as a processor does. */
  store(offset: number, bytes: Uint8Array): void {
    bytes.forEach((byte, index) => {
      this.#bytesOf(Math.floor((offset + index) / PAGE))[(offset + index) % PAGE] = byte;
    });
  }

  /** Reads memory as a processor does. */
  load(offset: number, lengthBytes: number): Uint8Array {
    return Uint8Array.from({ length: lengthBytes }, (_, index) => {
      return this.#bytesOf(Math.floor((offset + index) / PAGE))[(offset + index) % PAGE];
    });
  }

  /** Makes a page present. */
  resolve(page: number, flags: number = PageFlag.PRESENT | PageFlag.WRITABLE): void {
    const frame = this.#frames.get(page) ?? this.#takeFrame();
    const content = this.#absent.get(page);
    if (content !== undefined) frame.bytes.set(content);
    else if (!this.#frames.has(page)) frame.bytes.fill(0);
    this.#absent.delete(page);
    this.#frames.set(page, frame);
    this.fixture.access.view(this.#list, LIST_BYTES).setBigUint64(0, BigInt(frame.address + flags), true);
    this.#perform(ManagementOpcode.RESOLVE_PAGES, page, { pageListAddress: this.#list });
  }

  /** Refuses the faults on a page. */
  refuse(page: number): void {
    this.#perform(ManagementOpcode.RESOLVE_PAGES, page, { refuse: 1 });
  }

  /** Takes a page back. Its frame is another's from the answer on. */
  evict(page: number): void {
    const frame = this.#frames.get(page);
    if (frame === undefined) return;
    this.#perform(ManagementOpcode.INVALIDATE_PAGES, page, {});
    this.#absent.set(page, frame.bytes.slice());
    this.#frames.delete(page);
    frame.bytes.fill(RETIRED);
    this.#free.push(frame);
  }

  /** Takes the page faults of the region that events have told of; other events are lost. */
  take(): EventEntry[] {
    const faults = takeFaults(this.fixture).filter(({ pageKey }) => pageKey === this.region.lkey);
    this.faults.push(...faults);
    return faults;
  }

  pageOf(address: number): number {
    return Math.floor((address - START) / PAGE);
  }

  /** Throws when something has written to a frame after its page was taken back. */
  check(): void {
    for (const { address, bytes } of this.#free) {
      const place = bytes.findIndex((byte) => byte !== RETIRED);
      if (place >= 0)
        throw new Error(`frame 0x${address.toString(16)} was written at ${place} after its page was taken back`);
    }
  }

  #perform(opcode: ManagementOpcode, page: number, range: Partial<PageRange>): ManagementResult {
    const bytes = new Uint8Array(PAGE_RANGE_SIZE);
    const whole = { ...newPageRange(), address: START + page * PAGE, length: PAGE, ...range };
    encodePageRange(new DataView(bytes.buffer), 0, whole);
    return this.fixture.driver.management.perform({ opcode, objectNumber: this.region.number, payload: bytes });
  }

  #bytesOf(page: number): Uint8Array {
    const known = this.#frames.get(page)?.bytes ?? this.#absent.get(page);
    if (known !== undefined) return known;
    const bytes = new Uint8Array(PAGE);
    this.#absent.set(page, bytes);
    return bytes;
  }

  #takeFrame(): Frame {
    // The oldest one: the longer it lies, the more writes to it are found.
    const known = this.#free.length > 4 ? this.#free.shift() : undefined;
    if (known !== undefined) return known;
    const { access, driver } = this.fixture;
    const address = driver.allocator.allocate(PAGE, PAGE);
    const view = access.view(address, PAGE);
    return { address, bytes: new Uint8Array(view.buffer, view.byteOffset, PAGE) };
  }
}

function takeFaults({ asynchronous }: AdapterFixture): EventEntry[] {
  return asynchronous.walk().filter(({ eventType }) => eventType === EventType.PAGE_FAULT);
}

/** Answers the page faults that events have told of by their pages. Returns their number. */
export function serveFaults(pagers: readonly DemandPager[]): number {
  const faults = takeFaults(pagers[0].fixture);
  for (const fault of faults) {
    const pager = pagers.find(({ region }) => region.lkey === fault.pageKey);
    if (pager === undefined) throw new Error(`page fault with key ${fault.pageKey} of no region`);
    pager.faults.push(fault);
    pager.resolve(pager.pageOf(fault.pageAddress));
  }
  return faults.length;
}

/** Lets the adapter work and answers page faults until `condition` holds. Returns their number. */
export function serveUntil(pagers: readonly DemandPager[], condition: () => boolean): number {
  const { machine } = pagers[0].fixture;
  let served = 0;
  for (let turn = 0; turn < 10_000; turn++) {
    if (condition()) return served;
    machine.runUntilIdle();
    const count = serveFaults(pagers);
    served += count;
    if (count === 0 && !condition() && !machine.clock.jumpToAlarm())
      throw new Error(`idle although a condition does not hold; ${machine.describe()}`);
  }
  throw new Error(`a condition does not hold after 10,000 turns; ${machine.describe()}`);
}
