// SPDX-License-Identifier: Apache-2.0
/**
 * Messages from a QP of one tenant (port 1) to a QP of another (port 2), and their oracle: each
 * completes once, in order, with success unless the flow was failed on purpose, and arrives once,
 * in order, whole. The link loses no packet and the receiver always has entries, so this holds for
 * UC and UD too. Used by `AdapterLoad` and `Isolation`.
 */
import { GRH_SIZE } from '../../../protocol/infiniband/gen/grh.gen.ts';
import { SEND_COMMAND_SEQUENCE_MASK } from '../../../protocol/layout/gen/send-command.gen.ts';
import { CompletionStatus, SendOpcode, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import type { DriverEventQueue } from '../driver/event-queue.ts';
import type { DriverQueuePair, PostBy } from '../driver/queue-pair.ts';
import type { SendRequest } from '../driver/send-request.ts';
import type { Tenant } from './tenant.ts';

const QKEY = 0x1234;
/** log2 of the entries of both queues. */
const QUEUE_LOG2 = 4;
/** Messages in flight at most; the receiver has as many entries posted. */
const WINDOW = 1 << QUEUE_LOG2;
/** Bytes of the longest message. */
export const LONGEST = 2048;
const INLINE_LONGEST = 256;
const NUMBER_BYTES = 4;

/** Service, operation and QoS level of a flow. */
interface FlowOptions {
  readonly serviceType: ServiceType;
  readonly opcode: SendOpcode;
  readonly qosLevel: number;
  /** The sender belongs to a process, which posts in this page. Its CQ reports to `eventQueue`. */
  readonly user?: { readonly collectContext: number; readonly page: number; readonly eventQueue: DriverEventQueue };
}

/** Both QPs of a flow and their counts. */
export class Flow {
  readonly from: Tenant;
  readonly to: Tenant;
  readonly options: FlowOptions;
  posted = 0;
  completed = 0;
  arrived = 0;
  /** The sender was put into ERR on purpose: outstanding messages are flushed. */
  failed = false;
  sender!: DriverQueuePair;
  receiver!: DriverQueuePair;
  readonly #sizes = new Int32Array(WINDOW);
  #source = 0;
  #target = 0;
  #handle = 0;

  constructor(from: Tenant, to: Tenant, options: FlowOptions) {
    this.from = from;
    this.to = to;
    this.options = options;
    this.create();
  }

  /** Memory of the receiver that messages arrive in. */
  get received(): { readonly address: number; readonly lengthBytes: number } {
    return { address: this.#target, lengthBytes: WINDOW * (GRH_SIZE + LONGEST) };
  }

  /** Messages that may be posted now. */
  get room(): number {
    return WINDOW - (this.posted - Math.min(this.completed, this.arrived));
  }

  /** Creates and connects both QPs; each tenant allocates its own memory. */
  create(): void {
    const { from, to, options } = this;
    this.sender = createQueuePair(from, options);
    const { serviceType, opcode } = options;
    this.receiver = createQueuePair(to, { serviceType, opcode, qosLevel: 0 });
    this.#source = from.driver.allocator.allocate(LONGEST);
    from.bytes(this.#source, LONGEST).fill(from.index + 1);
    this.#target = to.driver.allocator.allocate(WINDOW * (GRH_SIZE + LONGEST));
    if (options.serviceType === ServiceType.UD)
      this.#handle = from.driver.addressHandles.add({ port: 1, dlid: to.lidOf(2), pd: from.pd });
    this.#start();
  }

  /** Moves both QPs through RESET to RTS; outstanding messages are forgotten. */
  restart(): void {
    for (const qp of [this.sender, this.receiver]) {
      qp.toReset();
      qp.parts.sendCq.drain();
      qp.parts.receiveCq.drain();
    }
    this.#start();
  }

  /** Moves the sender to ERR: outstanding messages are flushed. */
  fail(): void {
    this.failed = true;
    this.sender.toError();
  }

  /** Posts a message of `size` bytes; returns the bytes of its command. */
  post(size: number, by: PostBy): Uint8Array {
    this.#sizes[this.posted % WINDOW] = size;
    const bytes = this.sender.post(this.#request(this.posted++, size), by);
    return bytes;
  }

  /** Takes completions and arrivals. Describes the first violation; undefined if none. */
  reap(): string | undefined {
    return this.#reapSends() ?? this.#reapReceives();
  }

  describe(): string {
    const { serviceType, opcode, qosLevel } = this.options;
    return `flow ${this.from.index} to ${this.to.index} (service ${serviceType}, opcode ${opcode}, level ${qosLevel}, QP ${this.sender.qpn}): ${this.posted} posted, ${this.completed} completed, ${this.arrived} arrived`;
  }

  #start(): void {
    this.posted = 0;
    this.completed = 0;
    this.arrived = 0;
    this.failed = false;
    const { serviceType } = this.options;
    const { sender, receiver } = this;
    if (serviceType === ServiceType.UD) {
      sender.start({ port: 1, qkey: QKEY });
      receiver.start({ port: 2, qkey: QKEY });
    } else {
      const common = { reliable: serviceType === ServiceType.RC };
      receiver.connect({ port: 2, dlid: this.from.lidOf(1), remoteQpn: sender.qpn, ...common });
      sender.connect({ port: 1, dlid: this.to.lidOf(2), remoteQpn: receiver.qpn, ...common });
    }
    for (let slot = 0; slot < WINDOW; slot++) this.#postReceive();
  }

  #postReceive(): void {
    const address = this.#slotAddress(this.receiver.receiveTail);
    this.receiver.postReceive([{ address, length: GRH_SIZE + LONGEST, lkey: this.to.region.lkey }]);
  }

  #slotAddress(slot: number): number {
    return this.#target + (slot % WINDOW) * (GRH_SIZE + LONGEST);
  }

  #request(number: number, size: number): SendRequest {
    const { serviceType, opcode } = this.options;
    const isWrite = opcode === SendOpcode.RDMA_WRITE_IMMEDIATE;
    const where =
      serviceType === ServiceType.UD
        ? { remoteQpn: this.receiver.qpn, qkey: QKEY, addressHandle: this.#handle }
        : isWrite
          ? { remote: { address: this.#slotAddress(number), rkey: this.to.region.rkey } }
          : {};
    const payload =
      size <= INLINE_LONGEST
        ? { inline: inlineOf(number, size) }
        : { sges: [{ address: this.#source, length: size, lkey: this.from.region.lkey }] };
    return { opcode, immediate: number, ...where, ...payload };
  }

  #reapSends(): string | undefined {
    const { sendCq } = this.sender.parts;
    for (let entry = sendCq.poll(); entry !== undefined; entry = sendCq.poll()) {
      const isFlushed = this.failed && entry.status === CompletionStatus.FLUSHED;
      if (entry.status !== CompletionStatus.SUCCESS && !isFlushed)
        return `a completion of status ${entry.status}: ${this.describe()}`;
      if (entry.queueSequence !== (this.completed & SEND_COMMAND_SEQUENCE_MASK) || this.completed >= this.posted)
        return `completion ${entry.queueSequence} out of turn: ${this.describe()}`;
      this.completed++;
    }
    return undefined;
  }

  #reapReceives(): string | undefined {
    const { receiveCq } = this.receiver.parts;
    const grh = this.options.serviceType === ServiceType.UD ? GRH_SIZE : 0;
    for (let entry = receiveCq.poll(); entry !== undefined; entry = receiveCq.poll()) {
      const slot = this.#slotAddress(this.arrived);
      const size = this.#sizes[this.arrived % WINDOW];
      if (entry.status !== CompletionStatus.SUCCESS || entry.immediate !== this.arrived >>> 0)
        return `message ${entry.immediate} arrived with status ${entry.status}: ${this.describe()}`;
      if (entry.byteLength !== size + grh) return `${entry.byteLength} bytes arrived, not ${size}: ${this.describe()}`;
      if (!this.#isWhole(slot + grh, size, this.arrived))
        return `message ${this.arrived} is damaged: ${this.describe()}`;
      this.arrived++;
      this.#postReceive();
    }
    return undefined;
  }

  #isWhole(address: number, size: number, number: number): boolean {
    const bytes = this.to.bytes(address, size);
    if (size > INLINE_LONGEST) return bytes[0] === this.from.index + 1 && bytes[size - 1] === this.from.index + 1;
    return size < NUMBER_BYTES || this.to.access.view(address, NUMBER_BYTES).getUint32(0, true) === number;
  }
}

function createQueuePair(tenant: Tenant, { serviceType, qosLevel, user }: FlowOptions): DriverQueuePair {
  const { driver, pd } = tenant;
  const events = user && { collectContext: user.collectContext, eventQueue: user.eventQueue };
  const makeCq = () => driver.createCompletionQueue({ entriesLog2: QUEUE_LOG2 + 1, ...events });
  return driver.createQueuePair({
    pd,
    sendCq: makeCq(),
    receiveCq: makeCq(),
    sendEntriesLog2: QUEUE_LOG2,
    receiveEntriesLog2: QUEUE_LOG2,
    qosLevel,
    ...(user && { user }),
    creation: { serviceType },
  });
}

function inlineOf(number: number, size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  if (size >= NUMBER_BYTES) new DataView(bytes.buffer).setUint32(0, number, true);
  return bytes;
}
