// SPDX-License-Identifier: Apache-2.0
/**
 * Physical collect buffer (PCB): storage of one command in the adapter, with the scoreboard that
 * decides when the command is complete (US 8,484,392 par. 48, 112-113). A PCB is free, collecting
 * (bound to one VCB), kicked (in a virtual kick list) or launched. Collect units, scheduler and
 * lanes pass it on.
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

/** The pool to which a PCB returns. */
export interface BufferHome {
  release(buffer: PhysicalCollectBuffer): void;
}

export class PhysicalCollectBuffer {
  /** Number in its pool. */
  readonly index: number;
  readonly bytes = new Uint8Array(COMMAND_MAX_BYTES);
  readonly words = new Int32Array(this.bytes.buffer);
  readonly view = new DataView(this.bytes.buffer);
  state: PcbState = PcbState.FREE;
  /** Function and QoS level of the bind, and the account that pays; the allocator sets them. */
  functionNumber = 0;
  qosLevel = 0;
  account = 0;
  /** Number of the VCB through which the command was collected, or -1. */
  vcb = -1;
  /** The allocator it returns to; stand-ins and the management buffer have none. */
  readonly #home: BufferHome | undefined;
  /** Cause for which the command must not be executed: found at the fetch, reported in its turn. */
  fault: FaultKind = FaultKind.NONE;
  /**
   * QP of a kicked command, and the QP's epoch at the kick: a later reset makes the command void.
   */
  queuePair: QueuePair | undefined = undefined;
  epoch = 0;
  /** Credits of a launched command; its record takes them over. */
  hold = new CreditHold();
  /** The next PCB in its virtual kick list. */
  nextKicked: PhysicalCollectBuffer | undefined = undefined;
  /** One bit for each byte of the command that has arrived. */
  readonly #arrived = new Int32Array(MASK_WORDS);

  constructor(index: number, home?: BufferHome) {
    this.index = index;
    this.#home = home;
  }

  /**
   * Starts a new command. `isFetched`: the whole command will be read from the send queue, so the
   * scoreboard is not used.
   */
  open(isFetched = false): void {
    this.state = PcbState.COLLECTING;
    this.fault = FaultKind.NONE;
    if (isFetched) return;
    const arrived = this.#arrived;
    // A call of `fill` costs more than these few words.
    for (let word = 0; word < MASK_WORDS; word++) arrived[word] = 0;
    this.forgetLength();
  }

  /**
   * Clears the length of the previous command, so it is not taken for the length of the next one.
   */
  forgetLength(): void {
    this.view.setUint32(LENGTH_DWORD_OFFSET, 0);
  }

  /** Returns the PCB to its allocator, if it has one. Repetition does no harm. */
  release(): void {
    this.#home?.release(this);
  }

  /**
   * Stores data at `offset` of the command. A repeated store is harmless: the last value of a byte
   * counts.
   */
  store(offset: number, sizeBytes: number, low: number, high: number): void {
    storeBytes(this.view, this.#arrived, offset, sizeBytes, low, high);
  }

  /** True when the collect length has arrived. */
  get lengthKnown(): boolean {
    return (this.#arrived[0] & LENGTH_BYTES_MASK) === LENGTH_BYTES_MASK;
  }

  /** Length of the whole command in bytes, once known. */
  get collectLength(): number {
    return getSendCommandCollectLength(this.view, 0);
  }

  /** True when the length is possible for a command. */
  get lengthValid(): boolean {
    const length = this.collectLength;
    return length >= COMMAND_HEADER_BYTES && length <= COMMAND_MAX_BYTES && length % 8 === 0;
  }

  /**
   * True when every byte up to the collect length has arrived: scoreboard or mask of the bytes
   * beyond the length is all ones.
   */
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

  /** True when the first 8 bytes have arrived: enough for a doorbell. */
  get identified(): boolean {
    return (this.#arrived[0] & DOORBELL_BYTES_MASK) === DOORBELL_BYTES_MASK;
  }
}
