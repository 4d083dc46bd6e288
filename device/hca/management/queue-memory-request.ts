// SPDX-License-Identifier: Apache-2.0
/**
 * Checks and resolves the memory of a queue (IBTA 10.2) as software describes it. The commands of
 * completion, event and work queues use it.
 */
import { ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import { PAGE_SHIFT_MAX, PAGE_SHIFT_MIN } from '../memory/page-list.ts';
import { QueueMemory } from '../memory/queue-memory.ts';
import type { CommandContext } from './command-context.ts';

const LIST_ALIGNMENT = 8;

/** Address and size of a queue as a management command has them. */
export interface QueueMemoryRequest {
  readonly address: number;
  /** Payload offsets of the fields, for the error response. */
  readonly addressOffset: number;
  readonly paged: boolean;
  readonly pageShift: number;
  readonly pageShiftOffset: number;
  readonly sizeBytes: number;
  /** Payload offset of the field that determines the size. */
  readonly sizeOffset: number;
  /** Entries are aligned to their size. */
  readonly entryBytes: number;
}

/** Returns the memory of the queue, or why there is none, or none yet. */
export function fetchQueueMemory(context: CommandContext, request: QueueMemoryRequest): QueueMemory | ManagementStatus {
  const alignment = request.paged ? LIST_ALIGNMENT : request.entryBytes;
  if (request.address % alignment !== 0) return context.badPayload(ManagementStatus.BAD_ADDRESS, request.addressOffset);
  if (!request.paged) return QueueMemory.contiguous(request.address);
  if (request.pageShift < PAGE_SHIFT_MIN || request.pageShift > PAGE_SHIFT_MAX)
    return context.badField(request.pageShiftOffset, PAGE_SHIFT_MAX);
  const pages = context.fetchPages(request.addressOffset, request.sizeOffset, {
    address: request.address,
    count: Math.ceil(request.sizeBytes / 2 ** request.pageShift),
    pageShift: request.pageShift,
    indirect: false,
  });
  return typeof pages === 'number' ? pages : QueueMemory.paged(pages, request.pageShift);
}
