// SPDX-License-Identifier: Apache-2.0
/** The buffer of a queue as a command describes it: fields of its context, and a list of pages. */
import { CommandStatus } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { LOG_LEAST_PAGE, listBytes, PageList, readPages } from '../memory/page-list.ts';
import type { CommandContext } from './command-context.ts';

/** Units of the offset of a queue in its first page. */
const PAGE_PARTS = 64;

/** Fields that contexts of queues have in common, and what the queue needs. */
export interface QueueExtent {
  /** Bytes of a page beyond 4096, as 2^n. */
  readonly logPageSize: number;
  /** Start of the queue in the first page, in 64ths of the page. */
  readonly pageOffset: number;
  readonly entries: number;
  /** A power of two: no entry crosses pages. */
  readonly entryBytes: number;
}

/** Unit of the size of receives. */
const RECEIVE_UNIT_BYTES = 16;

/** Bytes of a receive by the size that a context gives. */
export function receiveStride(logUnits: number): number {
  return RECEIVE_UNIT_BYTES * 2 ** logUnits;
}

/** The pages of a queue, whose list begins at `listAt`; a status when the command has none. */
export function readQueuePages(
  { view, inputBytes }: CommandContext,
  listAt: number,
  { logPageSize, pageOffset, entries, entryBytes }: QueueExtent,
): PageList | CommandStatus {
  const pageBytes = 2 ** (logPageSize + LOG_LEAST_PAGE);
  const start = (pageOffset * pageBytes) / PAGE_PARTS;
  if (start % entryBytes !== 0) return CommandStatus.BAD_PARAMETER;
  const count = Math.ceil((start + entries * entryBytes) / pageBytes);
  if (inputBytes < listAt + listBytes(count)) return CommandStatus.BAD_INPUT_LENGTH;
  const pages = readPages(view, listAt, count);
  if (pages?.every((page) => page % pageBytes === 0) !== true) return CommandStatus.BAD_PARAMETER;
  return new PageList(pages, pageBytes, start);
}
