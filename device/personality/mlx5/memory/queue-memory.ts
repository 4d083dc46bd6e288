// SPDX-License-Identifier: Apache-2.0
/**
 * Work queues in pages that a command listed, and the doorbell records of work queues. Send queues,
 * receive queues and SRQs read requests with it.
 */
import { FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import {
  DOORBELL_RECORD_SIZE,
  getDoorbellRecordReceiveCounter,
  getDoorbellRecordSendCounter,
} from '../../../../protocol/mlx5/gen/doorbell-record.gen.ts';
import type { Dma } from '../../../hca/function/dma.ts';
import type { FaultSubject } from '../../../hca/function/fault-log.ts';
import type { PostedCounter, RequestBlock, RequestMemory } from '../../shared/request-block.ts';
import type { PageList } from './page-list.ts';

/**
 * Stands for the memory of queues in elements of commands: addresses are those of the bus. Software
 * cannot name it: send requests with it are refused, and no key look-up but that of data to send
 * knows it.
 */
export const QUEUE_KEY = 0xffffffff;

/** Bytes of a piece of data in a request whose length is 0. */
export const WHOLE_PIECE_BYTES = 2 ** 31;

const DWORD_BYTES = 4;
/** Offset of the dword with the counter of sends. */
const SEND_COUNTER_AT = 4;

/** A record in hand. */
const record = new Uint8Array(DOORBELL_RECORD_SIZE);
const recordView = new DataView(record.buffer);

export class QueueMemory implements RequestMemory {
  readonly #dma: Dma;
  readonly #pages: PageList;

  constructor(dma: Dma, pages: PageList) {
    this.#dma = dma;
    this.#pages = pages;
  }

  addressOf(offset: number): number {
    return this.#pages.addressOf(offset);
  }

  read(subject: FaultSubject, offset: number, lengthBytes: number, target: RequestBlock): FaultKind {
    return this.readTo(subject, offset, lengthBytes, target, 0);
  }

  /** As `read`, to an offset of `target`. */
  readTo(
    subject: FaultSubject,
    offset: number,
    lengthBytes: number,
    target: RequestBlock,
    targetOffset: number,
  ): FaultKind {
    for (let done = 0; done < lengthBytes; ) {
      const piece = this.#pages.locate(this.#dma, offset + done, lengthBytes - done);
      if (!this.#dma.readBlock(subject, piece, target, targetOffset + done)) return FaultKind.DMA_READ;
      done += piece;
    }
    return FaultKind.NONE;
  }

  /** True when the bytes lie in one page. */
  isInPage(offset: number, lengthBytes: number): boolean {
    return this.#pages.isInPage(offset, lengthBytes);
  }

  /**
   * Sets `dma` to the byte at `offset`, for a look or for data that lie in a request. Returns how
   * many of `lengthBytes` lie in one page.
   */
  locate(dma: Dma, offset: number, lengthBytes: number): number {
    return this.#pages.locate(dma, offset, lengthBytes);
  }
}

/** The counter of receives in a doorbell record. */
export class ReceiveCounter implements PostedCounter {
  readonly #dma: Dma;
  readonly #address: number;

  constructor(dma: Dma, address: number) {
    this.#dma = dma;
    this.#address = address;
  }

  read(subject: FaultSubject): number | undefined {
    if (!this.#dma.at(this.#address).read(subject, DWORD_BYTES, record, 0)) return undefined;
    return getDoorbellRecordReceiveCounter(recordView, 0);
  }
}

/** The counter of blocks of sends in a doorbell record. */
export class SendCounter implements PostedCounter {
  readonly #dma: Dma;
  readonly #address: number;

  constructor(dma: Dma, address: number) {
    this.#dma = dma;
    this.#address = address;
  }

  read(subject: FaultSubject): number | undefined {
    const dma = this.#dma.at(this.#address + SEND_COUNTER_AT);
    if (!dma.read(subject, DWORD_BYTES, record, SEND_COUNTER_AT)) return undefined;
    return getDoorbellRecordSendCounter(recordView, 0);
  }
}
