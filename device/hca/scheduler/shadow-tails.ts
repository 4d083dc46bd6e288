// SPDX-License-Identifier: Apache-2.0
/**
 * Shadow tails: send queues whose tails in guest memory the adapter looks at by itself for a while
 * after a doorbell, so that a stream of commands needs no further ones (docs/PROGRAMMING.md, Shadow
 * tails). A found tail acts as a doorbell does. Command admission asks for the watch of a queue at
 * a doorbell, `Adapter.run` looks in each pass, and the host says when it is about to wait
 * (`rest`). Registers: doorbell-registers, report: status-report.
 */
import {
  getQueuePairRecordSendTail,
  QUEUE_PAIR_RECORD_SEND_TAIL_BYTES,
  QUEUE_PAIR_RECORD_WATCHED_MASK,
  QUEUE_PAIR_RECORD_WATCHED_OFFSET,
} from '../../../protocol/layout/gen/queue-pair-record.gen.ts';
import { SEND_COMMAND_SEQUENCE_MASK } from '../../../protocol/layout/gen/send-command.gen.ts';
import { FaultKind, QpState } from '../../../protocol/layout/gen/values.gen.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import type { SendSlots } from '../queues/send-slots.ts';

/** Send queues that an adapter watches at once. */
export const WATCHED_MAX = 16;
const HALF_SEQUENCE = (SEND_COMMAND_SEQUENCE_MASK + 1) / 2;
/** A watch without a find halves the next window of its queue, so often at most. */
const HALVINGS_MAX = 3;
/** A watch that is cut short in vain doubles the doorbells until the next one, so often at most. */
const DOUBLINGS_MAX = 4;
const DWORD_BYTES = 4;
/** Values of the word `watched`. */
const WATCHED = QUEUE_PAIR_RECORD_WATCHED_MASK;
const UNWATCHED = 0;

/** Time in ns. */
interface TailClock {
  now(): number;
}

/** Takes a found tail; `sequence`: of the last posted command. */
type TakeFound = (qp: QueuePair, sequence: number) => void;

export class ShadowTails {
  readonly #clock: TailClock;
  readonly #takeFound: TakeFound;
  readonly #queues = new Array<QueuePair | undefined>(WATCHED_MAX).fill(undefined);
  /** The tails seen last, the ends of the windows, and whether a look found something lately. */
  readonly #seen = new Int32Array(WATCHED_MAX);
  readonly #endNs = new Float64Array(WATCHED_MAX);
  readonly #hasFound = new Uint8Array(WATCHED_MAX);
  /** The next place that a further queue takes, if its own queue finds nothing. */
  #hand = 0;
  #count = 0;
  /** Watches that have begun since the last look. */
  #begun = 0;
  /** The tail, and the mark, as they were read last. */
  readonly #tailBytes = new Uint8Array(QUEUE_PAIR_RECORD_SEND_TAIL_BYTES);
  readonly #tailView = new DataView(this.#tailBytes.buffer);
  readonly #mark = new Uint8Array(DWORD_BYTES);
  readonly #markView = new DataView(this.#mark.buffer);

  constructor(clock: TailClock, takeFound: TakeFound) {
    this.#clock = clock;
    this.#takeFound = takeFound;
  }

  /** Number of watched queues. */
  get count(): number {
    return this.#count;
  }

  /** True while a pass has to look. */
  get busy(): boolean {
    return this.#count > 0 || this.#begun > 0;
  }

  /** See `AdapterPort.pollUntilNs`. */
  get pollUntilNs(): number {
    if (this.#count === 0) return 0;
    let untilNs = 0;
    for (let place = 0; place < WATCHED_MAX; place++)
      if (this.#queues[place]?.owner.dma.busMaster === true) untilNs = Math.max(untilNs, this.#endNs[place]);
    return untilNs;
  }

  /**
   * The queue has got a doorbell, which waits for the scheduler: it is watched from now on, or goes
   * on being so. Software that posts a stream rings until it sees the mark, so a mark that is set
   * in the next pass comes after a whole turn of doorbells. A watch that begins accesses memory, so
   * only some begin between two looks.
   */
  ask(qp: QueuePair): void {
    if (qp.sendSlots === undefined) return;
    if (qp.watch >= 0) return this.#renew(qp, qp.watch, this.#clock.now());
    if (qp.unwatchedBells > 0) {
      qp.unwatchedBells--;
      return;
    }
    if (this.#begun === WATCHED_MAX || !isWatchable(qp) || !qp.owner.dma.busMaster) return;
    this.#begun++;
    this.#begin(qp, this.#clock.now());
  }

  /** Looks at all tails, and ends watches in time. Returns true when it has found something. */
  look(): boolean {
    this.#begun = 0;
    const nowNs = this.#clock.now();
    let found = false;
    for (let place = 0; place < WATCHED_MAX && this.#count > 0; place++) {
      const qp = this.#queues[place];
      if (qp !== undefined && this.#lookAt(qp, place, nowNs)) found = true;
    }
    return found;
  }

  /**
   * Ends all watches. Returns true when the last look has found something. Where the host may not
   * poll, each watch ends here at once: queues that gain nothing then try it less and less often.
   */
  rest(): boolean {
    const nowNs = this.#clock.now();
    let more = false;
    for (let place = 0; place < WATCHED_MAX; place++) {
      const qp = this.#queues[place];
      if (qp?.owner.dma.busMaster !== true) continue;
      const isCutShort = this.#hasFound[place] === 0 && nowNs < this.#endNs[place];
      if (this.#end(qp, place, nowNs)) more = true;
      else if (isCutShort) this.#delayWatch(qp);
    }
    return more;
  }

  /** The queue takes no commands any longer, and is watched no more; its last tail is not read. */
  drop(qp: QueuePair): void {
    if (qp.watch < 0) return;
    this.#clear(qp);
    this.#leave(qp);
  }

  /** As `drop`, and nothing is written to memory. */
  forget(qp: QueuePair): void {
    if (qp.watch >= 0) this.#leave(qp);
  }

  #delayWatch(qp: QueuePair): void {
    qp.unwatchedBells = (1 << qp.watchDoublings) - 1;
    qp.watchDoublings = Math.min(qp.watchDoublings + 1, DOUBLINGS_MAX);
  }

  /**
   * Marks the queue as watched, then takes its tail as found: the doorbell, which still waits, need
   * not name all commands that software has posted before it could see the mark.
   */
  #begin(qp: QueuePair, nowNs: number): void {
    const place = this.#findPlace(nowNs);
    if (place < 0) return;
    const { recordAddress } = slotsOf(qp);
    if (recordAddress % DWORD_BYTES !== 0) return;
    const found = this.#swap(qp, UNWATCHED, WATCHED);
    // Memory that holds something else belongs to software that does not know the word.
    if (found !== UNWATCHED && found !== WATCHED) return;
    // A doorbell so soon after the last watch: the window was too short.
    if (nowNs - qp.watchEndedNs < qp.owner.tailWindowNs) qp.watchHalvings = 0;
    qp.watch = place;
    this.#queues[place] = qp;
    this.#count++;
    this.#hasFound[place] = 0;
    this.#seen[place] = -1;
    qp.owner.counters.tailWatches++;
    this.#renew(qp, place, nowNs);
    if (this.#readTail(qp)) this.#take(qp, place);
    else this.#fail(qp);
  }

  #lookAt(qp: QueuePair, place: number, nowNs: number): boolean {
    // Nothing can be read or written: the watch goes on when the function is on the bus again.
    if (!qp.owner.dma.busMaster) this.#renew(qp, place, nowNs);
    else if (!isWatchable(qp) || nowNs >= this.#endNs[place]) return this.#end(qp, place, nowNs);
    else if (!this.#readTail(qp)) this.#fail(qp);
    else if (this.#tail() !== this.#seen[place]) return this.#follow(qp, place, nowNs);
    return false;
  }

  /** The tail has moved. */
  #follow(qp: QueuePair, place: number, nowNs: number): boolean {
    if (this.#wasTakenBack(qp)) {
      this.#leave(qp);
      return false;
    }
    if (!this.#take(qp, place)) return false;
    qp.owner.counters.tailsFound++;
    qp.watchHalvings = 0;
    qp.watchDoublings = 0;
    this.#hasFound[place] = 1;
    this.#renew(qp, place, nowNs);
    return true;
  }

  /**
   * Clears the mark, then looks once more. Compare-and-swap is a full barrier, as software's is
   * between its tail and the mark: one of both sees what the other has stored. Returns true when
   * the look has found something.
   */
  #end(qp: QueuePair, place: number, nowNs: number): boolean {
    const seen = this.#seen[place];
    if (this.#hasFound[place] === 0) qp.watchHalvings = Math.min(qp.watchHalvings + 1, HALVINGS_MAX);
    qp.watchEndedNs = nowNs;
    this.#leave(qp);
    const mark = this.#swap(qp, WATCHED, UNWATCHED);
    if (mark === undefined || !this.#readTail(qp)) {
      this.#fail(qp);
      return false;
    }
    if (mark !== WATCHED || this.#tail() === seen || qp.stopped || !this.#ring(qp)) return false;
    qp.owner.counters.tailsFound++;
    return true;
  }

  /** Keeps the tail that was read, and hands it on when commands are behind it. */
  #take(qp: QueuePair, place: number): boolean {
    this.#seen[place] = this.#tail();
    return this.#ring(qp);
  }

  #ring(qp: QueuePair): boolean {
    const tail = this.#tail();
    const ahead = (tail - qp.nextSequence) & SEND_COMMAND_SEQUENCE_MASK;
    // Commands that came by collect buffer are behind the tail as well.
    if (ahead === 0 || ahead >= HALF_SEQUENCE) return false;
    this.#takeFound(qp, (tail - 1) & SEND_COMMAND_SEQUENCE_MASK);
    return true;
  }

  /** Software has cleared the mark, because it is about to use the record anew. */
  #wasTakenBack(qp: QueuePair): boolean {
    const { dma } = qp.owner;
    const isRead = dma.at(slotsOf(qp).recordAddress + QUEUE_PAIR_RECORD_WATCHED_OFFSET).peek(DWORD_BYTES, this.#mark);
    return isRead && this.#markView.getInt32(0, true) !== WATCHED;
  }

  #renew(qp: QueuePair, place: number, nowNs: number): void {
    this.#endNs[place] = nowNs + (qp.owner.tailWindowNs >> qp.watchHalvings);
  }

  /**
   * A free place, or that of the next queue in turn, whose watch ends. A queue with finds keeps its
   * place for another turn; the new one is then not watched: -1.
   */
  #findPlace(nowNs: number): number {
    if (this.#count < WATCHED_MAX) return this.#queues.indexOf(undefined);
    const place = this.#hand;
    this.#hand = (place + 1) % WATCHED_MAX;
    const qp = this.#queues[place] as QueuePair;
    if (this.#hasFound[place] === 1 || !qp.owner.dma.busMaster) {
      this.#hasFound[place] = 0;
      return -1;
    }
    this.#end(qp, place, nowNs);
    return place;
  }

  #leave(qp: QueuePair): void {
    this.#queues[qp.watch] = undefined;
    qp.watch = -1;
    this.#count--;
  }

  #clear(qp: QueuePair): void {
    if (qp.owner.dma.busMaster) this.#swap(qp, WATCHED, UNWATCHED);
  }

  /** The record cannot be accessed, as when a doorbell makes the scheduler read it. */
  #fail(qp: QueuePair): void {
    if (qp.watch >= 0) this.#leave(qp);
    qp.life.fail(qp, FaultKind.DMA_READ);
  }

  #swap(qp: QueuePair, expected: number, desired: number): number | undefined {
    const { dma } = qp.owner;
    return dma.at(slotsOf(qp).recordAddress + QUEUE_PAIR_RECORD_WATCHED_OFFSET).compareAndSwap(qp, expected, desired);
  }

  /** Reads the tail into `#tail`. Only a look that fails counts as a transfer. */
  #readTail(qp: QueuePair): boolean {
    const { dma } = qp.owner;
    if (dma.at(slotsOf(qp).recordAddress).peek(QUEUE_PAIR_RECORD_SEND_TAIL_BYTES, this.#tailBytes)) return true;
    return dma.read(qp, QUEUE_PAIR_RECORD_SEND_TAIL_BYTES, this.#tailBytes, 0);
  }

  #tail(): number {
    return getQueuePairRecordSendTail(this.#tailView, 0);
  }
}

/** A watch begins and goes on in RTS only: other states end it, with a last look. */
function isWatchable({ state, stopped, owner }: QueuePair): boolean {
  return state === QpState.RTS && !stopped && owner.enabled && owner.tailWindowNs > 0;
}

/** Only queues of this front end are watched. */
function slotsOf(qp: QueuePair): SendSlots {
  return qp.sendSlots as SendSlots;
}
