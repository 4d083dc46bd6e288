// SPDX-License-Identifier: Apache-2.0
/**
 * A tenant that keeps the send queues of its QPs full with messages to the other port, and the
 * measurement of the adapter's service to several such tenants. Used by `fairness.ts` and
 * `worked-example.ts`.
 */
import { GRH_SIZE } from '../../../protocol/infiniband/gen/grh.gen.ts';
import { packetCount } from '../../../protocol/infiniband/mtu.ts';
import {
  getCompletionEntryQueueSequence,
  getCompletionEntryStatus,
} from '../../../protocol/layout/gen/completion-entry.gen.ts';
import { setCompletionQueueRecordConsumed } from '../../../protocol/layout/gen/completion-queue-record.gen.ts';
import { SEND_COMMAND_SEQUENCE_MASK } from '../../../protocol/layout/gen/send-command.gen.ts';
import { SendOpcode, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import { COMMAND_COST_BYTES, PACKET_COST_BYTES } from '../../hca/lane/owner-turns.ts';
import type { DriverQueuePair, PostBy } from '../driver/queue-pair.ts';
import type { Tenant } from './tenant.ts';

const QUEUE_LOG2 = 7;
const MTU_BYTES = 4096;
const QKEY = 0x1234;
const OPCODES = {
  write: SendOpcode.RDMA_WRITE,
  read: SendOpcode.RDMA_READ,
  send: SendOpcode.SEND,
  datagram: SendOpcode.SEND,
};

/** Way of posting: commands in collect buffers, batches with a doorbell, or both by turns. */
export type Posting = 'collect' | 'doorbell' | 'mixed';

/** Kind of message: RC WRITE, RC READ, RC SEND, or UD SEND. */
export type FloodTraffic = 'write' | 'read' | 'send' | 'datagram';

/** The load of one tenant. */
export interface FloodRequest {
  /** RC WRITE unless given. */
  readonly traffic?: FloodTraffic;
  readonly queuePairs: number;
  /** Bytes of a message. */
  readonly size: number;
  readonly posting: Posting;
  readonly qosLevel?: number;
  /** log2 of the messages in flight per QP. */
  readonly depthLog2?: number;
}

interface Sender {
  readonly qp: DriverQueuePair;
  readonly peer: DriverQueuePair;
  posted: number;
  completed: number;
}

/** The flood of one tenant. */
export class Flood {
  completed = 0;
  active = true;
  readonly tenant: Tenant;
  readonly request: FloodRequest;
  readonly #senders: Sender[];
  readonly #local: number;
  readonly #remote: number;
  #handle = 0;

  constructor(tenant: Tenant, request: FloodRequest) {
    this.tenant = tenant;
    this.request = request;
    this.#local = tenant.driver.allocator.allocate(request.size);
    this.#remote = tenant.driver.allocator.allocate(request.size + GRH_SIZE);
    if (this.#traffic() === 'datagram')
      this.#handle = tenant.driver.addressHandles.add({ port: 1, dlid: tenant.lidOf(2), pd: tenant.pd });
    this.#senders = Array.from({ length: request.queuePairs }, () => this.#connect());
  }

  /** Cost of a message by the adapter's tariff, bytes. The request of a READ is a packet too. */
  get messageCost(): number {
    const { size } = this.request;
    const packets = packetCount(size, MTU_BYTES) + (this.#traffic() === 'read' ? 1 : 0);
    return COMMAND_COST_BYTES + packets * PACKET_COST_BYTES + size;
  }

  /** Takes completions and fills all send queues again. Throws if a message failed. */
  turn(): void {
    for (const [index, sender] of this.#senders.entries()) {
      this.#reap(sender);
      if (this.active) this.#fill(sender, index);
    }
  }

  #traffic(): FloodTraffic {
    return this.request.traffic ?? 'write';
  }

  #depthLog2(): number {
    return this.request.depthLog2 ?? QUEUE_LOG2;
  }

  #fill(sender: Sender, index: number): void {
    const { posting, size } = this.request;
    const { qp } = sender;
    const by: PostBy = posting === 'collect' || (posting === 'mixed' && index % 2 === 0) ? 'collect' : 'slot';
    const room = 2 ** this.#depthLog2() - (sender.posted - sender.completed);
    for (let count = room; count > 0; count--) {
      qp.post(
        {
          opcode: OPCODES[this.#traffic()],
          sges: [{ address: this.#local, length: size, lkey: this.tenant.region.lkey }],
          ...this.#where(sender),
        },
        by,
      );
      sender.posted++;
    }
    if (by === 'slot' && room > 0) qp.ring(undefined, 'register');
  }

  #where({ peer }: Sender) {
    if (this.#traffic() === 'datagram') return { remoteQpn: peer.qpn, qkey: QKEY, addressHandle: this.#handle };
    if (this.#traffic() === 'send') return {};
    return { remote: { address: this.#remote, rkey: this.tenant.region.rkey } };
  }

  #reap(sender: Sender): void {
    this.#postReceives(sender.peer, sender.peer.parts.receiveCq.drain().length);
    const { sendCq } = sender.qp.parts;
    while (sendCq.ready) {
      const slot = sendCq.buffer.slot(sendCq.consumed);
      if (
        getCompletionEntryStatus(slot, 0) !== 0 ||
        getCompletionEntryQueueSequence(slot, 0) !== (sender.completed & SEND_COMMAND_SEQUENCE_MASK)
      )
        throw new Error(`a message of tenant ${this.tenant.index} failed; ${this.tenant.machine.describe()}`);
      sendCq.consumed = (sendCq.consumed + 1) >>> 0;
      sender.completed++;
      this.completed++;
    }
    setCompletionQueueRecordConsumed(this.tenant.access.view(sendCq.recordAddress, 64), 0, sendCq.consumed);
  }

  #postReceives(peer: DriverQueuePair, count: number): void {
    const sge = { address: this.#remote, length: this.request.size + GRH_SIZE, lkey: this.tenant.region.lkey };
    for (let posted = 0; posted < count; posted++) peer.postReceive([sge]);
  }

  #connect(): Sender {
    const { tenant } = this;
    const [qp, peer] = [this.#create(), this.#create()] as const;
    if (this.#traffic() === 'datagram') {
      qp.start({ port: 1, qkey: QKEY });
      peer.start({ port: 2, qkey: QKEY });
    } else {
      const common = { reliable: true, pathMtu: 5 };
      qp.connect({ port: 1, dlid: tenant.lidOf(2), remoteQpn: peer.qpn, ...common });
      peer.connect({ port: 2, dlid: tenant.lidOf(1), remoteQpn: qp.qpn, ...common });
    }
    if (OPCODES[this.#traffic()] === SendOpcode.SEND) this.#postReceives(peer, 2 ** this.#depthLog2());
    return { qp, peer, posted: 0, completed: 0 };
  }

  #create(): DriverQueuePair {
    const { driver, pd } = this.tenant;
    return driver.createQueuePair({
      pd,
      sendCq: driver.createCompletionQueue({ entriesLog2: this.#depthLog2() + 1 }),
      receiveCq: driver.createCompletionQueue({ entriesLog2: this.#depthLog2() + 1 }),
      sendEntriesLog2: this.#depthLog2(),
      receiveEntriesLog2: this.#depthLog2(),
      strideLog2: 6,
      qosLevel: this.request.qosLevel ?? 0,
      creation: { serviceType: this.#traffic() === 'datagram' ? ServiceType.UD : ServiceType.RC },
    });
  }
}

/** Lets all floods run for `passes` passes after a warm-up; returns the messages of each. */
export function measureFloodShares(floods: readonly Flood[], passes: number): number[] {
  const run = (count: number): void => {
    for (let pass = 0; pass < count; pass++) {
      // The first to post changes with each pass.
      for (let at = 0; at < floods.length; at++) floods[(pass + at) % floods.length].turn();
      floods[0].tenant.machine.step();
    }
  };
  run(Math.ceil(passes / 10));
  const before = floods.map(({ completed }) => completed);
  run(passes);
  return floods.map(({ completed }, at) => completed - before[at]);
}
