// SPDX-License-Identifier: Apache-2.0
/**
 * Command in a VCB that found no PCB (US 8,484,392 par. 98-101, send-queue mode). The adapter keeps
 * its first 8 bytes (QP number, sequence number and length) and drops the rest: only the scoreboard
 * notes that a byte came, for the kick. Collect units make one for each page that needs it.
 */
import { DOORBELL_SIZE } from '../../../protocol/layout/gen/doorbell.gen.ts';
import { noteBytes, storeBytes } from '../memory/byte-scoreboard.ts';
import { CollectedCommand } from './collected-command.ts';

export class RefusedCommand extends CollectedCommand {
  readonly vcb = -1;
  /** The first 8 bytes: the doorbell that takes the place of the command. */
  readonly view = new DataView(new ArrayBuffer(DOORBELL_SIZE));

  open(): void {
    this.clearArrived();
    this.view.setUint32(0, 0);
    this.view.setUint32(4, 0);
  }

  /** Notes the arrival of bytes of the command, and keeps those of the first 8. */
  store(offset: number, sizeBytes: number, low: number, high: number): void {
    if (offset < DOORBELL_SIZE) storeBytes(this.view, this.arrived, offset, sizeBytes, low, high);
    else noteBytes(this.arrived, offset, sizeBytes);
  }
}
