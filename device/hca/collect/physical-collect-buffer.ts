// SPDX-License-Identifier: Apache-2.0
/**
 * Physical collect buffer (PCB): storage of one command in the adapter, with the scoreboard that
 * decides when the command is complete (US 8,484,392 par. 48, 112-113). A PCB is free, collecting
 * (bound to one VCB), kicked (in a virtual kick list) or launched. Collect units, scheduler and
 * lanes pass it on.
 */
import { COMMAND_HEADER_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  getSendCommandCollectLength,
  SEND_COMMAND_COLLECT_LENGTH_OFFSET,
} from '../../../protocol/layout/gen/send-command.gen.ts';
import { SGE_SIZE } from '../../../protocol/layout/gen/sge.gen.ts';
import { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import { storeBytes } from '../memory/byte-scoreboard.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { CollectedCommand } from './collected-command.ts';
import { CreditHold } from './credit-hold.ts';

export const PcbState = { FREE: 0, COLLECTING: 1, KICKED: 2, LAUNCHED: 3 } as const;
export type PcbState = (typeof PcbState)[keyof typeof PcbState];

/** Offset of the dword that holds the collect length. */
const LENGTH_DWORD_OFFSET = SEND_COMMAND_COLLECT_LENGTH_OFFSET - (SEND_COMMAND_COLLECT_LENGTH_OFFSET % 4);

/**
 * Elements of the longest scatter/gather list of a command, as many as its count can say. Commands
 * of our own driver have at most `SGE_MAX`. Requests of other drivers may have more; they become
 * commands that are never collected.
 */
export const LIST_ELEMENTS_MAX = 31;
const BUFFER_BYTES = COMMAND_HEADER_BYTES + LIST_ELEMENTS_MAX * SGE_SIZE;

/**
 * Bytes of the command in `view` behind its header. The field of the collect length is too short
 * for the longest lists, and 0 in commands that have one: the buffer bounds these.
 */
export function bytesBehindHeader(view: DataView): number {
  return (getSendCommandCollectLength(view, 0) || view.byteLength) - COMMAND_HEADER_BYTES;
}

/** The pool to which a PCB returns. */
export interface BufferHome {
  release(buffer: PhysicalCollectBuffer): void;
}

/**
 * The stay of a launched command in the send pipeline while its reads take time (US 8,484,392 par.
 * 118-119). `hca/transport/engine/pipeline-stage.ts` fills it.
 */
class PipelineStay {
  /** Reads to issue, and reads issued whose completions have not arrived. */
  readsLeft = 0;
  readsOutstanding = 0;
  /** Time before which the command stays in any case. */
  readyNs = 0;
}

export class PhysicalCollectBuffer extends CollectedCommand {
  /** Number in its pool. */
  readonly index: number;
  readonly bytes = new Uint8Array(BUFFER_BYTES);
  readonly words = new Int32Array(this.bytes.buffer);
  readonly view = new DataView(this.bytes.buffer);
  state: PcbState = PcbState.FREE;
  /** Function and QoS level of the bind, and the account that pays; the allocator sets them. */
  functionNumber = 0;
  qosLevel = 0;
  account = 0;
  /** Number of the VCB through which the command was collected, or -1. */
  vcb = -1;
  /** The allocator it returns to; the management buffer has none. */
  readonly #home: BufferHome | undefined;
  /** Cause for which the command must not be executed: found at the fetch, reported in its turn. */
  fault: FaultKind = FaultKind.NONE;
  /**
   * QP of a kicked command, and the QP's epoch at the kick: a later reset makes the command void.
   */
  queuePair: QueuePair | undefined = undefined;
  epoch = 0;
  /** Function and QoS level by which a kicked command counts in its list (`classOf`). */
  laneClass = 0;
  /** Credits of a launched command; its record takes them over. */
  hold = new CreditHold();
  /** Its reads, while it is in the send pipeline. */
  readonly stay = new PipelineStay();
  /** The next PCB in its virtual kick list, or behind it on its lane in the send pipeline. */
  nextKicked: KickedCollectBuffer | undefined = undefined;

  constructor(index: number, home?: BufferHome) {
    super();
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
    this.clearArrived();
    this.forgetLength();
  }

  /**
   * Clears the length of the previous command, so it is not taken for the length of the next one.
   */
  forgetLength(): void {
    this.view.setUint32(LENGTH_DWORD_OFFSET, 0);
  }

  /** The command is checked and goes to a virtual kick list, as a command of `qp`. */
  kick(qp: QueuePair): asserts this is KickedCollectBuffer {
    this.state = PcbState.KICKED;
    this.queuePair = qp;
    this.epoch = qp.epoch;
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
    storeBytes(this.view, this.arrived, offset, sizeBytes, low, high);
  }

  /**
   * Sets the bytes up to the collect length that have not arrived to 0: they are those of an
   * earlier command, perhaps of another function.
   */
  clearMissing(): void {
    for (let at = 0; at < this.collectLength; at++) if (!this.hasArrived(at)) this.bytes[at] = 0;
  }
}

/** A PCB from its kick to its release. */
export interface KickedCollectBuffer extends PhysicalCollectBuffer {
  queuePair: QueuePair;
}
