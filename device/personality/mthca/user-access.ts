// SPDX-License-Identifier: Apache-2.0
/**
 * User access regions: pages of doorbells, one for the driver and one for each process. A doorbell
 * acts only on queues whose context names the page that it was written to. `MthcaFunction` passes
 * the stores of the BAR.
 */

import { CQ_DOORBELL_OFFSET, SEND_DOORBELL_OFFSET, UAR_PAGE_BYTES } from '../../../protocol/mthca/gen/constants.gen.ts';
import { CQ_DOORBELL_SIZE, decodeCqDoorbell, newCqDoorbell } from '../../../protocol/mthca/gen/cq-doorbell.gen.ts';
import { decodeSendDoorbell, newSendDoorbell } from '../../../protocol/mthca/gen/send-doorbell.gen.ts';
import { CqDoorbellCommand } from '../../../protocol/mthca/gen/values.gen.ts';
import type { DataPath } from './data-path.ts';
import type { Hca } from './hca/hca.ts';
import type { RawQueuePairs } from './raw-queue-pairs.ts';

export class UserAccess {
  /** Doorbells for a queue that the page does not have, and stores that are no doorbell. */
  strayDoorbells = 0;
  otherStores = 0;
  readonly #hca: Hca;
  readonly #data: DataPath;
  readonly #doorbell = newCqDoorbell();
  readonly #raw: RawQueuePairs;
  readonly #sends = newSendDoorbell();
  readonly #view = new DataView(new ArrayBuffer(CQ_DOORBELL_SIZE));

  constructor(hca: Hca, raw: RawQueuePairs, data: DataPath) {
    this.#hca = hca;
    this.#data = data;
    this.#raw = raw;
  }

  /** Takes a store of the BAR: dwords in the byte order of the guest. */
  write(offset: number, sizeBytes: number, low: number, high: number): void {
    const page = Math.floor(offset / UAR_PAGE_BYTES);
    const inPage = offset % UAR_PAGE_BYTES;
    if (sizeBytes !== CQ_DOORBELL_SIZE) this.otherStores++;
    else if (inPage === CQ_DOORBELL_OFFSET) this.#ringCompletions(page, low, high);
    else if (inPage === SEND_DOORBELL_OFFSET) this.#ringSends(page, low, high);
    else this.otherStores++;
  }

  #ringSends(page: number, low: number, high: number): void {
    const doorbell = decodeSendDoorbell(this.#load(low, high), 0, this.#sends);
    if (!this.#data.ring(page, doorbell) && !this.#raw.ring(page, doorbell)) this.strayDoorbells++;
  }

  #load(low: number, high: number): DataView {
    this.#view.setUint32(0, low >>> 0, true);
    this.#view.setUint32(4, high >>> 0, true);
    return this.#view;
  }

  #ringCompletions(page: number, low: number, high: number): void {
    const view = this.#load(low, high);
    const { cqn, command, sequence, consumerIndex } = decodeCqDoorbell(view, 0, this.#doorbell);
    const queue = this.#hca.findCompletionQueue(cqn);
    const isKnown = command === CqDoorbellCommand.NOTIFY || command === CqDoorbellCommand.NOTIFY_SOLICITED;
    if (queue === undefined || queue.context.uar !== page || !isKnown) this.strayDoorbells++;
    else queue.requestNotify(command, sequence, consumerIndex);
  }
}
