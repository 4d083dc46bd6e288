// SPDX-License-Identifier: Apache-2.0
/**
 * Batches of messages of 64 bytes through a device in this process, by the driver of a personality.
 * The steps of a batch are apart, so that the work of the device can be measured without that of
 * the driver. Called by personality-worker.ts and allocation-worker.ts.
 */

/** Messages of one doorbell. */
export const BATCH = 16;
export const MESSAGE_BYTES = 64;

export const MESSAGE_KINDS = ['send', 'write'] as const;
export type MessageKind = (typeof MESSAGE_KINDS)[number];

export interface Messages {
  /** Software posts a batch. */
  post(): void;
  ring(): void;
  /** The device works until it is idle. */
  run(): void;
  /** Software takes the completions. Throws when one is missing. */
  take(): void;
}

/** Sends `batches` batches. */
export function sendBatches(messages: Messages, batches: number): void {
  for (let batch = 0; batch < batches; batch++) {
    messages.post();
    messages.ring();
    messages.run();
    messages.take();
  }
}
