// SPDX-License-Identifier: Apache-2.0
/**
 * Physical collect buffers: on-adapter storage of one command each, with the scoreboard that decides when the command is whole
 * (US8484392: collect buffer, virtual kick; DESIGN.md 4.3). A PCB is free, collecting (bound to one VCB), kicked (in a virtual kick list) or launched.
 */
import { COMMAND_HEADER_BYTES, COMMAND_MAX_BYTES } from '../../protocol/layout/gen/constants.gen.ts';
import { DOORBELL_SIZE } from '../../protocol/layout/gen/doorbell.gen.ts';
import {
  getSendCommandCollectLength,
  SEND_COMMAND_COLLECT_LENGTH_BYTES,
  SEND_COMMAND_COLLECT_LENGTH_OFFSET,
} from '../../protocol/layout/gen/send-command.gen.ts';
import { FaultKind } from '../../protocol/layout/gen/values.gen.ts';
import { storeBytes } from '../memory/byte-scoreboard.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { CreditHold } from './credit-hold.ts';

export const PcbState = { FREE: 0, COLLECTING: 1, KICKED: 2, LAUNCHED: 3 } as const;
export type PcbState = (typeof PcbState)[keyof typeof PcbState];

const MASK_WORDS = COMMAND_MAX_BYTES / 32;
/** Scoreboard bits of the bytes that hold the collect length, and offset of the dword with them. */
const LENGTH_BYTES_MASK = (2 ** SEND_COMMAND_COLLECT_LENGTH_BYTES - 1) << SEND_COMMAND_COLLECT_LENGTH_OFFSET;
const LENGTH_DWORD_OFFSET = SEND_COMMAND_COLLECT_LENGTH_OFFSET - (SEND_COMMAND_COLLECT_LENGTH_OFFSET % 4);
/** Scoreboard bits of the bytes that a doorbell has. */
const DOORBELL_BYTES_MASK = 2 ** DOORBELL_SIZE - 1;
const ALL_BYTES = 0xffffffff | 0;

/** The pool that a buffer goes back to. */
export interface BufferHome {
  release(buffer: PhysicalCollectBuffer): void;
}

export class PhysicalCollectBuffer {
  /** Number within its pool. */
  readonly index: number;
  readonly bytes = new Uint8Array(COMMAND_MAX_BYTES);
  readonly words = new Int32Array(this.bytes.buffer);
  readonly view = new DataView(this.bytes.buffer);
  state: PcbState = PcbState.FREE;
  /** Function and QoS level it is bound for, and the account that pays: set by the allocator. */
  functionNumber = 0;
  qosLevel = 0;
  account = 0;
  /** Number of the VCB the command was collected through, or -1. */
  vcb = -1;
  /** Allocator it goes back to; stand-ins and the management buffer have none. */
  readonly #home: BufferHome | undefined;
  /** Why the command must not be executed: found when it was fetched, reported when its turn comes. */
  fault: FaultKind = FaultKind.NONE;
  /** QP of a kicked command and the QP's epoch at the kick: a reset in between makes the command void. */
  queuePair: QueuePair | undefined = undefined;
  epoch = 0;
  /** Credits of a launched command; a record takes them over. */
  hold = new CreditHold();
  /** The next one in its virtual kick list. */
  nextKicked: PhysicalCollectBuffer | undefined = undefined;
  /** One bit per byte of the command that has arrived. */
  readonly #arrived = new Int32Array(MASK_WORDS);

  constructor(index: number, home?: BufferHome) {
    this.index = index;
    this.#home = home;
  }

  /** Begins a new command: one that is collected, unless it will be fetched as a whole. */
  open(isFetched = false): void {
    this.state = PcbState.COLLECTING;
    this.fault = FaultKind.NONE;
    if (isFetched) return;
    const arrived = this.#arrived;
    // A call of `fill` costs more than so few words.
    for (let word = 0; word < MASK_WORDS; word++) arrived[word] = 0;
    this.forgetLength();
  }

  /** Stale bytes of the last command must not be taken for a length. */
  forgetLength(): void {
    this.view.setUint32(LENGTH_DWORD_OFFSET, 0);
  }

  /** Gives it back to its allocator, if it has one. Repetition does no harm. */
  release(): void {
    this.#home?.release(this);
  }

  /** Stores data at `offset` of the command. Repetition is harmless: the last value of a byte counts. */
  store(offset: number, sizeBytes: number, low: number, high: number): void {
    storeBytes(this.view, this.#arrived, offset, sizeBytes, low, high);
  }

  /** The collect length has arrived. */
  get lengthKnown(): boolean {
    return (this.#arrived[0] & LENGTH_BYTES_MASK) === LENGTH_BYTES_MASK;
  }

  /** Length of the whole command in bytes, once known. */
  get collectLength(): number {
    return getSendCommandCollectLength(this.view, 0);
  }

  /** The length is one a command can have. */
  get lengthValid(): boolean {
    const length = this.collectLength;
    return length >= COMMAND_HEADER_BYTES && length <= COMMAND_MAX_BYTES && length % 8 === 0;
  }

  /** Every byte up to the collect length has arrived: the score or the mask of the bits beyond the length is all ones. */
  get whole(): boolean {
    const length = this.collectLength;
    for (let word = 0; word < MASK_WORDS; word++) {
      const needed = length - word * 32;
      if (needed <= 0) return true;
      const beyond = needed >= 32 ? 0 : -1 << needed;
      if ((this.#arrived[word] | beyond) !== ALL_BYTES) return false;
    }
    return true;
  }

  /** The first 8 bytes have arrived: enough for a doorbell. */
  get identified(): boolean {
    return (this.#arrived[0] & DOORBELL_BYTES_MASK) === DOORBELL_BYTES_MASK;
  }
}
