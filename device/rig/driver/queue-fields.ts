// SPDX-License-Identifier: Apache-2.0
/** The fields of management commands that describe the memory of a queue. Used by `Driver`. */
import { PAGE_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import type { DriverQueueBuffer } from './queue-buffer.ts';

const PAGE_SHIFT = Math.log2(PAGE_BYTES);

/** Memory of a completion or event queue. */
export function memoryOf({ address, entriesLog2, paged }: DriverQueueBuffer) {
  return { queueAddress: address, entriesLog2, paged: Number(paged), pageShift: PAGE_SHIFT };
}

/** Memory of a send queue. */
export function sendMemoryOf({ address, entriesLog2, strideLog2, paged }: DriverQueueBuffer) {
  return {
    sendQueueAddress: address,
    sendEntriesLog2: entriesLog2,
    sendStrideLog2: strideLog2,
    sendPaged: Number(paged),
    sendPageShift: PAGE_SHIFT,
  };
}

/** Memory of a receive queue. */
export function receiveMemoryOf({ address, entriesLog2, strideLog2, paged }: DriverQueueBuffer) {
  return {
    receiveQueueAddress: address,
    receiveEntriesLog2: entriesLog2,
    receiveStrideLog2: strideLog2,
    receivePaged: Number(paged),
    receivePageShift: PAGE_SHIFT,
  };
}
