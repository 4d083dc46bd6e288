// SPDX-License-Identifier: Apache-2.0
/**
 * The driver's side of a completion queue for tests: takes entries, arms the queue, and moves it to
 * another place, as the driver of Linux does. Its pages are scattered in guest memory.
 */
import { swapBytes } from '../../../../protocol/layout/dwords.ts';
import { ARM_CQ_OFFSET, UAR_PAGE_BYTES } from '../../../../protocol/mlx5/gen/constants.gen.ts';
import { encodeCqDoorbell } from '../../../../protocol/mlx5/gen/cq-doorbell.gen.ts';
import { CQ_RECORD_SIZE } from '../../../../protocol/mlx5/gen/cq-record.gen.ts';
import { type Cqc, encodeCqc, newCqc } from '../../../../protocol/mlx5/gen/cqc.gen.ts';
import {
  CQE_SIZE,
  type Cqe,
  decodeCqe,
  newCqe,
  setCqeOpcode,
  setCqeOwner,
} from '../../../../protocol/mlx5/gen/cqe.gen.ts';
import { CREATE_CQ_IN_CQ_CONTEXT_OFFSET, CREATE_CQ_IN_SIZE } from '../../../../protocol/mlx5/gen/create-cq-in.gen.ts';
import { getCreateCqOutCqn } from '../../../../protocol/mlx5/gen/create-cq-out.gen.ts';
import { getErrorCqeSyndrome } from '../../../../protocol/mlx5/gen/error-cqe.gen.ts';
import {
  MODIFY_CQ_IN_CQ_CONTEXT_OFFSET,
  MODIFY_CQ_IN_SIZE,
  setModifyCqInCqn,
  setModifyCqInModifyFieldSelectResizeFieldSelect,
} from '../../../../protocol/mlx5/gen/modify-cq-in.gen.ts';
import {
  CommandOpcode,
  CompletionOpcode,
  CqArm,
  CqeSize,
  CqModification,
} from '../../../../protocol/mlx5/gen/values.gen.ts';
import { LOG_LEAST_PAGE, writePages } from '../../../personality/mlx5/memory/page-list.ts';
import type { DriverEventQueue, Mlx5Answer, Mlx5Command, Mlx5Driver } from './mlx5-driver.ts';

const PAGE_PARTS = 64;
/** Mask of the context fields that a resize changes. */
const RESIZED = 0b111;
const DWORD_BYTES = 4;

/** Size and place of a queue; the smallest values unless given. */
export interface CompletionQueueShape extends Partial<Cqc> {
  readonly logCqSize: number;
}

/** A ring of entries in guest memory. */
interface Ring {
  readonly pages: number[];
  readonly pageBytes: number;
  readonly start: number;
  readonly entries: number;
}

export class Mlx5DriverCompletionQueue {
  readonly number: number;
  readonly uar: number;
  /** Guest address of the doorbell record. */
  readonly record: number;
  readonly entryBytes: number;
  /** Entries that software has taken. */
  consumed = 0;
  readonly #driver: Mlx5Driver;
  readonly #cqeSz: number;
  #ring: Ring;
  /** Number of the request for an event; it changes after each event. */
  #sequence = 0;

  constructor(driver: Mlx5Driver, events: DriverEventQueue, shape: CompletionQueueShape) {
    this.#driver = driver;
    this.uar = events.uar;
    this.record = driver.allocate(CQ_RECORD_SIZE, CQ_RECORD_SIZE);
    this.#cqeSz = shape.cqeSz ?? CqeSize.BYTES_64;
    this.entryBytes = this.#cqeSz === CqeSize.BYTES_64 ? CQE_SIZE : 2 * CQE_SIZE;
    this.#ring = this.#allocate(shape);
    const { pages } = this.#ring;
    const context = { uarPage: events.uar, cEqnOrApuElement: events.number, dbrAddr: this.record, ...shape };
    this.number = getCreateCqOutCqn(
      driver.expect(CommandOpcode.CREATE_CQ, {
        inputBytes: CREATE_CQ_IN_SIZE + 8 * pages.length,
        fill: (view) => {
          encodeCqc(view, CREATE_CQ_IN_CQ_CONTEXT_OFFSET, { ...newCqc(), ...context });
          writePages(view, CREATE_CQ_IN_SIZE, pages);
        },
      }),
      0,
    );
  }

  get entries(): number {
    return this.#ring.entries;
  }

  /** Addresses of its pages. */
  get pages(): readonly number[] {
    return this.#ring.pages;
  }

  /** The last 64 bytes of an entry. */
  slot(index: number): DataView {
    return this.#slotOf(this.#ring, index);
  }

  /** The syndrome of an entry; 0 for one without an error. */
  syndromeAt(index: number): number {
    const slot = this.slot(index);
    const { opcode } = decodeCqe(slot, 0, newCqe());
    const isError = opcode === CompletionOpcode.REQUEST_ERROR || opcode === CompletionOpcode.RESPONSE_ERROR;
    return isError ? getErrorCqeSyndrome(slot, 0) : 0;
  }

  /** The next entry that software has not taken; undefined when there is none. */
  peek(): Cqe | undefined {
    const entry = decodeCqe(this.slot(this.consumed), 0, newCqe());
    return entry.owner === turnOf(this.#ring, this.consumed) && entry.opcode !== CompletionOpcode.INVALID
      ? entry
      : undefined;
  }

  /** Takes up to `limit` entries; `tell` informs the device. */
  take(limit = Number.POSITIVE_INFINITY): Cqe[] {
    const taken: Cqe[] = [];
    for (let entry = this.peek(); entry !== undefined && taken.length < limit; entry = this.peek()) {
      taken.push(entry);
      this.consumed++;
    }
    return taken;
  }

  /** Writes the consumer index into the doorbell record. */
  tell(index = this.consumed): void {
    this.#driver.memory.view(this.record, DWORD_BYTES).setUint32(0, index & 0xffffff);
  }

  /** Notes that software has seen an event: its next request has another number. */
  noteEvent(): void {
    this.#sequence++;
  }

  /** Asks for an event. `asDwords`: by two stores, as processors of 32 bits do. */
  arm({ solicited = false, asDwords = false, uar = this.uar, number = this.number, command = -1 } = {}): void {
    const doorbell = {
      sequence: this.#sequence & 3,
      command: command < 0 ? (solicited ? CqArm.SOLICITED : CqArm.ANY) : command,
      consumerIndex: this.consumed & 0xffffff,
      cqn: number,
    };
    const view = new DataView(new ArrayBuffer(2 * DWORD_BYTES));
    encodeCqDoorbell(view, 0, doorbell);
    this.#driver.memory.view(this.record, CQ_RECORD_SIZE).setUint32(DWORD_BYTES, view.getUint32(0));
    const at = uar * UAR_PAGE_BYTES + ARM_CQ_OFFSET;
    if (asDwords) {
      this.#driver.writeRegister(at, view.getUint32(0));
      this.#driver.writeRegister(at + DWORD_BYTES, view.getUint32(DWORD_BYTES));
    } else
      this.#driver.port.writeRegister(
        at,
        2 * DWORD_BYTES,
        swapBytes(view.getUint32(0)),
        swapBytes(view.getUint32(DWORD_BYTES)),
      );
  }

  /**
   * Moves to another place in two steps: the command, and then, by `finish`, the copy of entries
   * that are not taken. Without `finish` the queue stays where it was.
   */
  resize(shape: CompletionQueueShape): { answer: Mlx5Answer; finish: () => void } {
    const old = this.#ring;
    const next = this.#allocate(shape);
    const answer = this.#driver.command(CommandOpcode.MODIFY_CQ, this.#modification(shape, next.pages));
    return { answer, finish: () => this.#moveTo(old, next) };
  }

  /** The command that moves the queue to other pages. */
  #modification(shape: CompletionQueueShape, pages: readonly number[]): Mlx5Command {
    return {
      modifier: CqModification.RESIZE,
      inputBytes: MODIFY_CQ_IN_SIZE + 8 * pages.length,
      fill: (view) => {
        setModifyCqInCqn(view, 0, this.number);
        setModifyCqInModifyFieldSelectResizeFieldSelect(view, 0, RESIZED);
        encodeCqc(view, MODIFY_CQ_IN_CQ_CONTEXT_OFFSET, { ...newCqc(), cqeSz: this.#cqeSz, ...shape });
        writePages(view, MODIFY_CQ_IN_SIZE, pages);
      },
    };
  }

  /** Copies the entries before that of the resize; each gets the number after its own. */
  #moveTo(old: Ring, next: Ring): void {
    let index = this.consumed;
    for (; ; index++) {
      const from = this.#slotOf(old, index);
      const { opcode, owner } = decodeCqe(from, 0, newCqe());
      if (opcode === CompletionOpcode.INVALID || owner !== turnOf(old, index))
        throw new Error(`CQ ${this.number}: no entry says that the queue goes on elsewhere`);
      if (opcode === CompletionOpcode.RESIZE) break;
      const to = this.#slotOf(next, index + 1);
      for (let at = 0; at < CQE_SIZE; at++) to.setUint8(at, from.getUint8(at));
      setCqeOwner(to, 0, turnOf(next, index + 1));
    }
    this.consumed++;
    this.#ring = next;
  }

  /** Scattered pages, whose entries the device has not written. */
  #allocate({ logCqSize, logPageSize = 0, pageOffset = 0 }: CompletionQueueShape): Ring {
    const pageBytes = 2 ** (LOG_LEAST_PAGE + logPageSize);
    const start = (pageOffset * pageBytes) / PAGE_PARTS;
    const entries = 2 ** logCqSize;
    const count = Math.ceil((start + entries * this.entryBytes) / pageBytes);
    const pages = Array.from({ length: count }, () => this.#driver.allocate(pageBytes, pageBytes)).reverse();
    const ring = { pages, pageBytes, start, entries };
    for (let index = 0; index < entries; index++) setCqeOpcode(this.#slotOf(ring, index), 0, CompletionOpcode.INVALID);
    return ring;
  }

  #slotOf({ pages, pageBytes, start, entries }: Ring, index: number): DataView {
    const at = start + ((index % entries) + 1) * this.entryBytes - CQE_SIZE;
    return this.#driver.memory.view(pages[Math.floor(at / pageBytes)] + (at % pageBytes), CQE_SIZE);
  }
}

/** The owner bit of an entry that the device has written. */
function turnOf({ entries }: Ring, index: number): number {
  return Math.floor(index / entries) & 1;
}
