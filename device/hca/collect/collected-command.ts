// SPDX-License-Identifier: Apache-2.0
/**
 * A command that is being collected, with its scoreboard: one bit for each of its bytes
 * (US 8,484,392 par. 112-113). A PCB also has the bytes themselves. A refused command needs its
 * scoreboard because its VCB becomes free again exactly at its kick (par. 101).
 */
import { countBits } from '../../../protocol/layout/dwords.ts';
import { COMMAND_HEADER_BYTES, COMMAND_MAX_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { DOORBELL_SIZE } from '../../../protocol/layout/gen/doorbell.gen.ts';
import {
  getSendCommandCollectLength,
  SEND_COMMAND_COLLECT_LENGTH_BYTES,
  SEND_COMMAND_COLLECT_LENGTH_OFFSET,
} from '../../../protocol/layout/gen/send-command.gen.ts';

const MASK_WORDS = COMMAND_MAX_BYTES / 32;
/** Scoreboard bits of the bytes that hold the collect length. */
const LENGTH_BYTES_MASK = (2 ** SEND_COMMAND_COLLECT_LENGTH_BYTES - 1) << SEND_COMMAND_COLLECT_LENGTH_OFFSET;
/** Scoreboard bits of the bytes that a doorbell has. */
const DOORBELL_BYTES_MASK = 2 ** DOORBELL_SIZE - 1;
const ALL_BYTES = 0xffffffff | 0;

/** A PCB or a refused command. */
export abstract class CollectedCommand {
  /** The bytes of the command, or at least the first 8. */
  abstract readonly view: DataView;
  /** The scoreboard: one bit for each byte that has arrived; `storeBytes` sets them. */
  protected readonly arrived = new Int32Array(MASK_WORDS);

  /** True when the collect length has arrived. */
  get lengthKnown(): boolean {
    return (this.arrived[0] & LENGTH_BYTES_MASK) === LENGTH_BYTES_MASK;
  }

  /** Length of the whole command in bytes, once known. */
  get collectLength(): number {
    return getSendCommandCollectLength(this.view, 0);
  }

  /** True when the length is possible for a command. */
  get lengthValid(): boolean {
    return isCommandLength(this.collectLength);
  }

  /** Number of bytes that have arrived. */
  get arrivedBytes(): number {
    return this.arrived.reduce((sum, word) => sum + countBits(word), 0);
  }

  /** True when the first 8 bytes have arrived: enough for a doorbell. */
  get identified(): boolean {
    return (this.arrived[0] & DOORBELL_BYTES_MASK) === DOORBELL_BYTES_MASK;
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
      if ((this.arrived[word] | beyond) !== ALL_BYTES) return false;
    }
    return true;
  }

  /** Clears the scoreboard for the next command. */
  protected clearArrived(): void {
    const { arrived } = this;
    // A call of `fill` costs more than these few words.
    for (let word = 0; word < MASK_WORDS; word++) arrived[word] = 0;
  }

  protected hasArrived(offset: number): boolean {
    return ((this.arrived[offset >>> 5] >>> (offset & 31)) & 1) === 1;
  }
}

/** True when a command can have this collect length. */
export function isCommandLength(length: number): boolean {
  return length >= COMMAND_HEADER_BYTES && length <= COMMAND_MAX_BYTES && length % 8 === 0;
}
