// SPDX-License-Identifier: Apache-2.0
/**
 * Tenants that send as much as they can: each keeps the send queues of its queue pairs full with RC WRITEs to the other port. What each of them gets of the adapter meanwhile is
 * measured: for the fairness tests and the demo.
 */

import {
  getCompletionEntryQueueSequence,
  getCompletionEntryStatus,
} from '../../../protocol/layout/gen/completion-entry.gen.ts';
import { setCompletionQueueRecordConsumed } from '../../../protocol/layout/gen/completion-queue-record.gen.ts';
import { SendOpcode, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import type { DriverQueuePair, PostBy } from '../../hosts/in-process/driver/queue-pair.ts';
import type { Tenant } from './tenant.ts';

const QUEUE_LOG2 = 7;
const SEQUENCE_MASK = 0xffff;

/** How a tenant posts: commands in collect buffers, or batches with a doorbell, or by turns. */
export type Posting = 'collect' | 'doorbell' | 'mixed';

export interface FloodRequest {
  readonly queuePairs: number;
  /** Bytes of a message. */
  readonly size: number;
  readonly posting: Posting;
  readonly qosLevel?: number;
  /** Messages each queue pair has under way. */
  readonly depthLog2?: number;
}

interface Sender {
  readonly qp: DriverQueuePair;
  readonly peer: DriverQueuePair;
  posted: number;
  completed: number;
}

/** One tenant's flood. */
export class Flood {
  completed = 0;
  active = true;
  readonly tenant: Tenant;
  readonly request: FloodRequest;
  readonly #senders: Sender[];
  readonly #local: number;
  readonly #remote: number;

  constructor(tenant: Tenant, request: FloodRequest) {
    this.tenant = tenant;
    this.request = request;
    this.#local = tenant.driver.allocator.allocate(request.size);
    this.#remote = tenant.driver.allocator.allocate(request.size);
    this.#senders = Array.from({ length: request.queuePairs }, () => this.#connect());
  }

  get bytes(): number {
    return this.completed * this.request.size;
  }

  /** Takes what has completed and fills all send queues again. Throws when a message failed. */
  turn(): void {
    for (const [index, sender] of this.#senders.entries()) {
      this.#reap(sender);
      if (this.active) this.#fill(sender, index);
    }
  }

  get #depthLog2(): number {
    return this.request.depthLog2 ?? QUEUE_LOG2;
  }

  #fill(sender: Sender, index: number): void {
    const { posting, size } = this.request;
    const { qp } = sender;
    const by: PostBy = posting === 'collect' || (posting === 'mixed' && index % 2 === 0) ? 'collect' : 'slot';
    const room = 2 ** this.#depthLog2 - (sender.posted - sender.completed);
    for (let count = room; count > 0; count--) {
      qp.post(
        {
          opcode: SendOpcode.RDMA_WRITE,
          sges: [{ address: this.#local, length: size, lkey: this.tenant.region.lkey }],
          remote: { address: this.#remote, rkey: this.tenant.region.rkey },
        },
        by,
      );
      sender.posted++;
    }
    if (by === 'slot' && room > 0) qp.ring(undefined, 'register');
  }

  #reap(sender: Sender): void {
    const { sendCq } = sender.qp.parts;
    while (sendCq.ready) {
      const slot = sendCq.buffer.slot(sendCq.consumed);
      if (
        getCompletionEntryStatus(slot, 0) !== 0 ||
        getCompletionEntryQueueSequence(slot, 0) !== (sender.completed & SEQUENCE_MASK)
      )
        throw new Error(`a message of tenant ${this.tenant.index} failed; ${this.tenant.machine.describe()}`);
      sendCq.consumed = (sendCq.consumed + 1) >>> 0;
      sender.completed++;
      this.completed++;
    }
    setCompletionQueueRecordConsumed(this.tenant.access.view(sendCq.recordAddress, 64), 0, sendCq.consumed);
  }

  #connect(): Sender {
    const { tenant } = this;
    const [qp, peer] = [this.#create(), this.#create()] as const;
    const common = { reliable: true, pathMtu: 5 };
    qp.connect({ port: 1, dlid: tenant.lidOf(2), remoteQpn: peer.qpn, ...common });
    peer.connect({ port: 2, dlid: tenant.lidOf(1), remoteQpn: qp.qpn, ...common });
    return { qp, peer, posted: 0, completed: 0 };
  }

  #create(): DriverQueuePair {
    const { driver, pd } = this.tenant;
    return driver.createQueuePair({
      pd,
      sendCq: driver.createCompletionQueue({ entriesLog2: this.#depthLog2 + 1 }),
      sendEntriesLog2: this.#depthLog2,
      receiveEntriesLog2: 1,
      strideLog2: 6,
      qosLevel: this.request.qosLevel ?? 0,
      creation: { serviceType: ServiceType.RC },
    });
  }
}

/** Lets all flood for so many passes of the adapter after a while of warming up; returns what each completed meanwhile. */
export function measureShares(floods: readonly Flood[], passes: number): number[] {
  const run = (count: number): void => {
    for (let pass = 0; pass < count; pass++) {
      // Who posts first has no advantage.
      for (let at = 0; at < floods.length; at++) floods[(pass + at) % floods.length].turn();
      floods[0].tenant.machine.step();
    }
  };
  run(Math.ceil(passes / 10));
  const before = floods.map(({ completed }) => completed);
  run(passes);
  return floods.map(({ completed }, at) => completed - before[at]);
}
