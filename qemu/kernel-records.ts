// SPDX-License-Identifier: Apache-2.0
/**
 * Reads the records of /dev/kmsg (kernel documentation, ABI/testing/dev-kmsg), which a guest's
 * first process copies to a port: `LEVEL,SEQUENCE,MICROSECONDS,FLAGS;TEXT`, then lines of
 * properties that begin with a blank. They hold every message, whatever the level of the console.
 * Called by guest.ts.
 */

import { printable } from '../protocol/system/printable.mjs';

/** The guest writes this record last, and waits for a line on its port. */
export const LOG_END = '@vuhca log ends';

const RECORD = /^(\d+),(\d+),(\d+),[^;]*;(.*)$/;
const ESCAPED = /(?:\\x[0-9a-f]{2})+/g;

export class KernelRecords {
  readonly #onLine: (line: string) => void;
  readonly #onEnd: () => void;
  #next = 0;

  /**
   * `onLine` is called with each line as `dmesg` prints it; `onEnd` when the guest has written its
   * last record.
   */
  constructor(onLine: (line: string) => void, onEnd: () => void) {
    this.#onLine = onLine;
    this.#onEnd = onEnd;
  }

  /** Takes the next line of the port. Records that were read before are ignored. */
  push(line: string): void {
    const [, , sequence, microseconds, text] = RECORD.exec(line) ?? [];
    if (text === undefined || Number(sequence) < this.#next) return;
    const lost = Number(sequence) - this.#next;
    this.#next = Number(sequence) + 1;
    const seconds = Number(microseconds) / 1e6;
    const stamp = `[${seconds.toFixed(6).padStart(12)}]`;
    if (lost > 0) this.#onLine(`${stamp} vuhca: ${lost} records of the kernel log were lost`);
    if (text === LOG_END) return this.#onEnd();
    const plain = text.replace(ESCAPED, (bytes) => Buffer.from(bytes.replaceAll('\\x', ''), 'hex').toString());
    for (const part of plain.split('\n')) this.#onLine(`${stamp} ${printable(part)}`);
  }
}
