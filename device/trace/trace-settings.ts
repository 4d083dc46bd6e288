// SPDX-License-Identifier: Apache-2.0
/** How a QP is traced. */
export interface TraceSettings {
  /** log2 of the command blocks. */
  readonly blocksLog2: number;
  /** Payload bytes kept of a message. */
  readonly snapLength: number;
  /** No block is begun behind the first message that failed. */
  readonly stopOnError: boolean;
  /** The guest asked for it, and hears of it when it stops. */
  readonly byGuest: boolean;
}
