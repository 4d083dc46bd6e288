// SPDX-License-Identifier: Apache-2.0
/**
 * A hostile user process of one function: it has pages of a collect context and of device memory,
 * and queue pairs, completion queues and memory of its own, and writes arbitrary values to all of
 * them. It knows the numbers and keys of all others. Its kernel starts failed queue pairs again,
 * and now and then the process dies and another one begins. Used by `ProcessIsolation`
 * (docs/HAZARDS.md, user processes).
 */
import {
  CANCEL_OFFSET,
  CANCEL_VALUE_HIGH,
  DATA_BYTES,
  DEVICE_MEMORY_OFFSET,
  DOORBELL_OFFSET,
  KICK_OFFSET,
  NOTIFY_OFFSET,
  PAGE_BYTES,
  STOP_OFFSET,
} from '../../../protocol/layout/gen/constants.gen.ts';
import { DOORBELL_QPN_SHIFT } from '../../../protocol/layout/gen/doorbell.gen.ts';
import {
  AccessFlag,
  ManagementOpcode,
  QpState,
  SendOpcode,
  ServiceType,
} from '../../../protocol/layout/gen/values.gen.ts';
import type { Random } from '../../random.ts';
import { DriverCollectContext, takeBackPage } from '../driver/collect-context.ts';
import { createDeviceMemory, type DriverDeviceMemory } from '../driver/device-memory.ts';
import type { DriverEventQueue } from '../driver/event-queue.ts';
import type { DriverQueuePair } from '../driver/queue-pair.ts';
import type { DriverMemoryRegion } from '../driver/requests.ts';
import { buildSendCommand } from '../driver/send-request.ts';
import type { Tenant } from '../qos/tenant.ts';

const STORE_SIZES = [1, 2, 4, 8, 8, 8] as const;
const CONTROLS = [NOTIFY_OFFSET, KICK_OFFSET, STOP_OFFSET, DOORBELL_OFFSET, DOORBELL_OFFSET, CANCEL_OFFSET] as const;
/** Rights of all regions of device memory here: a request with a known key reaches the memory. */
export const DEVICE_RIGHTS =
  AccessFlag.LOCAL_WRITE | AccessFlag.REMOTE_WRITE | AccessFlag.REMOTE_READ | AccessFlag.ZERO_BASED;
const SEND_OPCODES = Object.values(SendOpcode);
const MEMORY_BYTES = 4096;
const QUEUE_LOG2 = 2;
/** log2 of the slot bytes: header and four SGEs. */
const STRIDE_LOG2 = 7;

/** Numbers and keys of others that the process knows. */
export interface ForeignNumbers {
  readonly queuePairs: readonly number[];
  readonly completionQueues: readonly number[];
  readonly keys: readonly number[];
}

export class HostileProcess {
  acts = 0;
  /** Processes that have died. */
  deaths = 0;
  readonly #tenant: Tenant;
  readonly #random: Random;
  readonly #foreign: ForeignNumbers;
  readonly #events: DriverEventQueue;
  readonly #pages: readonly number[];
  readonly #memory: number;
  readonly #pd: number;
  readonly #lkey: number;
  readonly #handle: number;
  #context!: DriverCollectContext;
  #queuePairs: DriverQueuePair[] = [];
  /** Its page of device memory, and a region with it. */
  #deviceMemory!: DriverDeviceMemory;
  #deviceRegion!: DriverMemoryRegion;

  constructor(
    tenant: Tenant,
    random: Random,
    foreign: ForeignNumbers,
    events: DriverEventQueue,
    pages: readonly number[],
  ) {
    this.#tenant = tenant;
    this.#random = random;
    this.#foreign = foreign;
    this.#events = events;
    this.#pages = pages;
    const { driver } = tenant;
    this.#pd = driver.createProtectionDomain();
    this.#memory = driver.allocator.allocate(MEMORY_BYTES);
    const startAddress = this.#memory;
    this.#lkey = driver.createMemoryRegion({ pd: this.#pd, access: 1, startAddress, length: MEMORY_BYTES }).lkey;
    this.#handle = driver.addressHandles.add({ port: 1, dlid: tenant.lidOf(1), pd: this.#pd });
    this.#begin();
  }

  /** Numbers of its completion queues. */
  get completionQueues(): readonly number[] {
    return this.#queuePairs.map(({ parts }) => parts.sendCq.cqn);
  }

  /** One hostile act. */
  act(): void {
    this.acts++;
    const draw = this.#random.below(100);
    if (draw < 25) this.#store();
    else if (draw < 30) this.#storeDevice();
    else if (draw < 60) this.#control();
    else if (draw < 75) this.#forge();
    else if (draw < 90) this.#post();
    else this.#scribble();
  }

  /** Its kernel starts queue pairs that failed, as the process has asked for. */
  recover(): void {
    for (const qp of this.#queuePairs) {
      const { state } = qp.query();
      if (state !== QpState.RTS && state !== QpState.RESET) qp.toReset();
      if (state !== QpState.RTS) this.#start(qp);
      qp.parts.sendCq.drain();
    }
  }

  /** The process dies: its kernel destroys everything. */
  end(): void {
    const { management } = this.#tenant.driver;
    this.deaths++;
    for (const qp of this.#queuePairs) {
      qp.destroy();
      management.perform({ opcode: ManagementOpcode.DESTROY_CQ, objectNumber: qp.parts.sendCq.cqn });
    }
    management.perform({ opcode: ManagementOpcode.DESTROY_MR, objectNumber: this.#deviceRegion.number });
    if (this.#deviceMemory.free() !== 0) throw new Error('The device memory of a dead process is in use.');
    for (const page of this.#pages) takeBackPage(management, page);
    if (this.#context.destroy().status !== 0) throw new Error('The context of a dead process is in use.');
    this.#queuePairs = [];
  }

  /** The process dies, and another one begins. */
  restart(): void {
    this.end();
    this.#begin();
  }

  #begin(): void {
    const { driver } = this.#tenant;
    this.#context = new DriverCollectContext(driver.management);
    const collectContext = this.#context.number;
    for (const page of this.#pages) this.#context.give(page);
    this.#deviceMemory = createDeviceMemory(driver, PAGE_BYTES, Math.log2(PAGE_BYTES));
    this.#deviceRegion = this.#deviceMemory.register(this.#pd, DEVICE_RIGHTS);
    for (const serviceType of [ServiceType.UD, ServiceType.RC, ServiceType.UC]) {
      const sendCq = driver.createCompletionQueue({ entriesLog2: 3, collectContext, eventQueue: this.#events });
      const qp = driver.createQueuePair({
        pd: this.#pd,
        sendCq,
        sendEntriesLog2: QUEUE_LOG2,
        receiveEntriesLog2: QUEUE_LOG2,
        strideLog2: STRIDE_LOG2,
        user: { collectContext, page: this.#pages[0] as number },
        creation: { serviceType },
      });
      this.#start(qp);
      this.#queuePairs.push(qp);
    }
  }

  /** From RESET to RTS; a connected queue pair is connected to itself. */
  #start(qp: DriverQueuePair): void {
    const index = this.#queuePairs.indexOf(qp);
    const serviceType = [ServiceType.UD, ServiceType.RC, ServiceType.UC][index < 0 ? this.#queuePairs.length : index];
    if (serviceType === ServiceType.UD) qp.start({ port: 1, qkey: 1 });
    else
      qp.connect({
        port: 1,
        dlid: this.#tenant.lidOf(1),
        remoteQpn: qp.qpn,
        reliable: serviceType === ServiceType.RC,
        retryCount: 0,
        timeout: 0,
      });
  }

  #value(): number {
    const random = this.#random;
    const { queuePairs, completionQueues, keys } = this.#foreign;
    switch (random.below(7)) {
      case 0:
        return 0;
      case 1:
        return 0xffffffff;
      case 2:
        return (random.pick(queuePairs) << DOORBELL_QPN_SHIFT) >>> 0;
      case 3:
        return random.pick(completionQueues) | (random.below(8) << 24);
      case 4:
        return random.pick(keys);
      case 5:
        return random.below(4096);
      default:
        return random.next();
    }
  }

  /** A store of anything anywhere in its pages. */
  #store(): void {
    const random = this.#random;
    const size = random.pick(STORE_SIZES);
    const offset = random.below((random.oneIn(2) ? DATA_BYTES : PAGE_BYTES) / size) * size;
    this.#tenant.access.writeCollect(random.pick(this.#pages) + offset, size, this.#value(), this.#value());
  }

  /** A load and a store of anything anywhere in its page of device memory, the only one it maps. */
  #storeDevice(): void {
    const random = this.#random;
    const size = random.pick(STORE_SIZES);
    const place = DEVICE_MEMORY_OFFSET + this.#deviceMemory.offset + random.below(PAGE_BYTES / size) * size;
    this.#tenant.access.readRegister(place, size);
    this.#tenant.access.writeRegister(place, size, this.#value(), this.#value());
  }

  /** A control word: doorbell, stop, request for an event, kick or cancel, for any queue. */
  #control(): void {
    const random = this.#random;
    const { access } = this.#tenant;
    const offset = random.pick(CONTROLS);
    const page = random.pick(this.#pages);
    const own = random.pick(this.#queuePairs);
    let low = this.#value();
    if (offset === NOTIFY_OFFSET)
      low =
        (random.oneIn(2) ? own.parts.sendCq.cqn : random.pick(this.#foreign.completionQueues)) |
        (random.below(8) << 24);
    else if (offset !== CANCEL_OFFSET)
      low = ((random.oneIn(2) ? own.qpn : random.pick(this.#foreign.queuePairs)) << DOORBELL_QPN_SHIFT) >>> 0;
    if (offset === STOP_OFFSET && low >>> DOORBELL_QPN_SHIFT === own.qpn && !random.oneIn(20)) return;
    const high = offset === CANCEL_OFFSET ? CANCEL_VALUE_HIGH : random.below(0x10000);
    access.writeCollect(page + offset, 8, low, high);
  }

  /** A command of a queue pair of others, as its owner would write it, checksum included. */
  #forge(): void {
    const random = this.#random;
    const page = random.pick(this.#pages);
    const { access } = this.#tenant;
    const bytes = buildSendCommand(
      { inline: random.bytes(8), opcode: random.pick(SEND_OPCODES) },
      { qpn: random.pick(this.#foreign.queuePairs), sequence: random.below(64), qosLevel: 0, checksumKey: 0, qkey: 1 },
    );
    const view = new DataView(bytes.buffer);
    access.writeCollect(page + CANCEL_OFFSET, 8, 0, CANCEL_VALUE_HIGH);
    for (let at = 0; at < bytes.length; at += 8)
      access.writeCollect(page + at, 8, view.getUint32(at, true), view.getUint32(at + 4, true));
  }

  /** A well-formed command of its own, with foreign keys and addresses. */
  #post(): void {
    const random = this.#random;
    const qp = random.pick(this.#queuePairs);
    const foreignKey = (): number => random.pick(this.#foreign.keys);
    qp.parts.sendCq.drain();
    const sge = {
      address: this.#memory + random.below(2 * MEMORY_BYTES),
      length: random.below(512),
      lkey: random.pick([this.#lkey, this.#deviceRegion.lkey, foreignKey(), foreignKey()]),
    };
    qp.post(
      {
        opcode: random.pick(SEND_OPCODES),
        sges: [sge],
        remote: {
          address: random.oneIn(4) ? random.below(2 * PAGE_BYTES) : this.#address(),
          rkey: random.oneIn(8) ? this.#deviceRegion.rkey : foreignKey(),
        },
        addressHandle: random.oneIn(2) ? this.#handle : random.below(70),
        remoteQpn: random.pick(this.#foreign.queuePairs),
        qkey: this.#value(),
      },
      random.pick(['collect', 'doorbell', 'slot']),
    );
  }

  /** Overwrites a record or a queue entry of its own, which the adapter reads. */
  #scribble(): void {
    const random = this.#random;
    const { parts } = random.pick(this.#queuePairs);
    const slot = 2 ** STRIDE_LOG2 * random.below(2 ** QUEUE_LOG2);
    const [address, words] = random.pick([
      [parts.recordAddress, 4],
      [parts.sendCq.recordAddress, 2],
      [parts.sendBuffer.address + slot, 32],
      [parts.receiveBuffer.address + slot, 32],
      [parts.sendCq.buffer.address, 128],
    ] as const);
    this.#tenant.access.view(address, words * 4).setUint32(random.below(words) * 4, this.#value(), true);
  }

  #address(): number {
    const { memoryAddress, memoryBytes } = this.#tenant.access;
    return memoryAddress + this.#random.below(memoryBytes);
  }
}
