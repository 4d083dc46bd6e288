// SPDX-License-Identifier: Apache-2.0
/**
 * Command in a VCB that found no PCB (US 8,484,392 par. 98-101, send-queue mode). The adapter keeps
 * its first 8 bytes (QP number, sequence number and length) and drops the rest: only the scoreboard
 * notes that a byte came, for the kick. Collect units make one for each page that needs it.
 */
import { DOORBELL_SIZE } from '../../../protocol/layout/gen/doorbell.gen.ts';
import { getSendCommandCollectLength } from '../../../protocol/layout/gen/send-command.gen.ts';
import { noteBytes, storeBytes } from '../memory/byte-scoreboard.ts';
import { CommandScoreboard, isCommandLength } from './command-scoreboard.ts';

/** Has the members of a PCB that collection needs. */
export class RefusedCommand {
  readonly vcb = -1;
  /** The first 8 bytes: the doorbell that takes the place of the command. */
  readonly view = new DataView(new ArrayBuffer(DOORBELL_SIZE));
  readonly #scoreboard = new CommandScoreboard();

  open(): void {
    this.#scoreboard.clear();
    this.view.setUint32(0, 0);
    this.view.setUint32(4, 0);
  }

  /** Notes the arrival of bytes of the command, and keeps those of the first 8. */
  store(offset: number, sizeBytes: number, low: number, high: number): void {
    const { arrived } = this.#scoreboard;
    if (offset < DOORBELL_SIZE) storeBytes(this.view, arrived, offset, sizeBytes, low, high);
    else noteBytes(arrived, offset, sizeBytes);
  }

  get lengthKnown(): boolean {
    return this.#scoreboard.lengthKnown;
  }

  get collectLength(): number {
    return getSendCommandCollectLength(this.view, 0);
  }

  get lengthValid(): boolean {
    return isCommandLength(this.collectLength);
  }

  get whole(): boolean {
    return this.#scoreboard.isWhole(this.collectLength);
  }

  get identified(): boolean {
    return this.#scoreboard.identified;
  }
}
