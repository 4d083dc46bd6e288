// SPDX-License-Identifier: Apache-2.0
/**
 * Traffic through the transport of one adapter in this process, from QPs of port 1 to QPs of port
 * 2, with as little driver work as possible: all slots are filled beforehand, then sequence
 * numbers, tails and consumer counts move in guest memory, and doorbells ring. Called by
 * transport.ts and qos.ts.
 */

import type { AdapterOptions } from '../../device/hca/adapter/options.ts';
import { Driver } from '../../device/rig/driver/driver.ts';
import type { DriverQueuePair } from '../../device/rig/driver/queue-pair.ts';
import type { DriverMemoryRegion } from '../../device/rig/driver/requests.ts';
import type { SendRequest } from '../../device/rig/driver/send-request.ts';
import { setCompletionQueueRecordConsumed } from '../../protocol/layout/gen/completion-queue-record.gen.ts';
import { PAGE_BYTES, TRACE_SNAP_LENGTH } from '../../protocol/layout/gen/constants.gen.ts';
import { DOORBELL_QPN_SHIFT } from '../../protocol/layout/gen/doorbell.gen.ts';
import {
  setQueuePairRecordReceiveTail,
  setQueuePairRecordSendTail,
} from '../../protocol/layout/gen/queue-pair-record.gen.ts';
import {
  encodeReceiveEntry,
  RECEIVE_ENTRY_SEQUENCE_MASK,
  RECEIVE_ENTRY_SIZE,
  setReceiveEntrySequence,
} from '../../protocol/layout/gen/receive-entry.gen.ts';
import { CSR } from '../../protocol/layout/gen/registers.gen.ts';
import { SEND_COMMAND_SEQUENCE_MASK, setSendCommandSequence } from '../../protocol/layout/gen/send-command.gen.ts';
import { encodeSge } from '../../protocol/layout/gen/sge.gen.ts';
import { AccessFlag, MrKind, SendOpcode, ServiceType } from '../../protocol/layout/gen/values.gen.ts';
import { FlatMachine } from './flat-machine.ts';

const MEMORY_BYTES = 1 << 30;
const ADDRESS_BYTES = 8;
const GRH = 40;
const QKEY = 1;
const PATH_MTU_4096 = 5;
/** Slots of 64 bytes hold commands and receive entries with one element. */
const STRIDE_LOG2 = 6;
/** Rounds of receives that are posted at a time: as the next one begins, its credits are known. */
const ROUNDS_AHEAD = 2;
const RIGHTS = AccessFlag.LOCAL_WRITE | AccessFlag.REMOTE_WRITE | AccessFlag.REMOTE_READ;

/** The messages, and the number of QPs. */
export interface Traffic {
  readonly serviceType: ServiceType;
  readonly opcode: SendOpcode;
  /** Bytes of a message. */
  readonly size: number;
  readonly queuePairs: number;
  /** Messages of one doorbell, a power of two; the last one is signaled. */
  readonly batch: number;
  /**
   * Messages posted on all QPs before the adapter runs until it is idle: a multiple of `batch`, and
   * a multiple of `batch * queuePairs` or less than that.
   */
  readonly inFlight: number;
  /** Switches between the two ports; none when absent. */
  readonly hops?: number;
  /** True for a region with pages, as programs register one; else it is all of memory. */
  readonly paged?: boolean;
}

/** Offsets in guest memory of one sender and its receiver, and their progress. */
interface Pair {
  readonly qpn: number;
  readonly sendRecord: number;
  readonly sendSlots: number;
  readonly sendStride: number;
  readonly sendCqRecord: number;
  readonly receiveRecord: number;
  readonly receiveSlots: number;
  readonly receiveStride: number;
  readonly receiveCqRecord: number;
  posted: number;
  /** Messages completed before the adapter ran last. */
  settled: number;
  receivesPosted: number;
}

export class TransportTraffic {
  /** Messages sent so far. */
  messages = 0;
  readonly #machine: FlatMachine;
  readonly #driver: Driver;
  readonly #memory: DataView;
  readonly #traffic: Traffic;
  readonly #pairs: Pair[];
  readonly #entries: number;
  #next = 0;

  /** `options`: those of the adapter that differ from the default. */
  constructor(traffic: Traffic, options: Partial<AdapterOptions> = {}, memoryBytes = MEMORY_BYTES, memoryBase = 0) {
    this.#machine = new FlatMachine(memoryBytes, options, memoryBase, traffic.hops);
    this.#driver = new Driver(this.#machine).bringUp();
    this.#memory = new DataView(this.#machine.memory.buffer);
    this.#traffic = traffic;
    this.#entries = Math.max(traffic.batch, traffic.inFlight / traffic.queuePairs);
    const pd = this.#driver.createProtectionDomain();
    const targetBytes = traffic.size + GRH;
    const source = this.#driver.allocator.allocate(traffic.size);
    const target = this.#driver.allocator.allocate(targetBytes);
    const end = target + targetBytes;
    const region = traffic.paged ? this.#registerPages(pd, source, end) : this.#driver.createDmaRegion(pd, RIGHTS);
    const addressHandle = this.#driver.addressHandles.add({ port: 1, dlid: 2, pd });
    const base = {
      opcode: traffic.opcode,
      sges: [{ address: source, length: traffic.size, lkey: region.lkey }],
    };
    this.#pairs = Array.from({ length: traffic.queuePairs }, () => {
      const [from, to] = this.#connect(pd);
      const where =
        traffic.serviceType === ServiceType.UD
          ? { remoteQpn: to.qpn, qkey: QKEY, addressHandle }
          : { remote: { address: target, rkey: region.rkey } };
      this.#fill(from, to, { ...base, ...where }, { address: target, length: targetBytes, lkey: region.lkey });
      return pairOf(from, to, memoryBase);
    });
  }

  /** Sends `inFlight` messages: posts to the next QPs, then runs the adapter until it is idle. */
  round(): void {
    const { batch, inFlight } = this.#traffic;
    for (let posted = 0; posted < inFlight; posted += batch) {
      this.#post(this.#pairs[this.#next]);
      if (++this.#next === this.#pairs.length) this.#next = 0;
    }
    this.#machine.settle();
    this.messages += inFlight;
  }

  /** Traces every QP from now on, as `vuhca trace on` does. */
  trace(blocksLog2 = 6): void {
    const { tables, traces } = this.#machine.adapter;
    const settings = { blocksLog2, snapLength: TRACE_SNAP_LENGTH, stopOnError: false, byGuest: false };
    tables.queuePairs.forEach((qp) => {
      if (!traces.enable(qp, settings)) throw new Error(`no memory to trace QP ${qp.number}`);
    });
  }

  /** Throws unless all messages have been launched and have completed. */
  verify(): void {
    // Commands that had to wait are launched again, so there are at least as many launches as
    // messages.
    const launches = this.#machine.readRegister(CSR.LANE_LAUNCHES, 4);
    const unfinished = this.#machine.readRegister(CSR.COMPLETION_CREDITS_USED, 4);
    if (launches < this.messages || unfinished !== 0)
      throw new Error(`${launches} launches for ${this.messages} messages, ${unfinished} did not complete`);
  }

  /** Registers the memory from `start` to `end`, whose virtual addresses are those of the bus. */
  #registerPages(pd: number, start: number, end: number): DriverMemoryRegion {
    const first = start - (start % PAGE_BYTES);
    const pageCount = Math.ceil((end - first) / PAGE_BYTES);
    const pageListAddress = this.#driver.allocator.allocate(pageCount * ADDRESS_BYTES);
    const list = this.#machine.view(pageListAddress, pageCount * ADDRESS_BYTES);
    for (let page = 0; page < pageCount; page++)
      list.setBigUint64(page * ADDRESS_BYTES, BigInt(first + page * PAGE_BYTES), true);
    const pages = { pageListAddress, pageCount, pageShift: Math.log2(PAGE_BYTES) };
    const range = { startAddress: start, length: end - start };
    return this.#driver.createMemoryRegion({ pd, kind: MrKind.PAGED, access: RIGHTS, ...range, ...pages });
  }

  #post(pair: Pair): void {
    const memory = this.#memory;
    const { batch } = this.#traffic;
    const first = pair.posted;
    for (let number = first; number < first + batch; number++) {
      const slot = number & (this.#entries - 1);
      setSendCommandSequence(memory, pair.sendSlots + slot * pair.sendStride, number & SEND_COMMAND_SEQUENCE_MASK);
    }
    // At the first post of a round, everything posted before has completed and been seen.
    if (first % this.#entries === 0) pair.settled = first;
    pair.posted += batch;
    if (this.#traffic.opcode === SendOpcode.SEND) this.#postReceives(pair);
    setQueuePairRecordSendTail(memory, pair.sendRecord, pair.posted & SEND_COMMAND_SEQUENCE_MASK);
    setCompletionQueueRecordConsumed(memory, pair.sendCqRecord, (pair.settled / batch) >>> 0);
    this.#machine.writeRegister(
      CSR.SEND_DOORBELL,
      8,
      (pair.qpn << DOORBELL_QPN_SHIFT) >>> 0,
      first & SEND_COMMAND_SEQUENCE_MASK,
    );
  }

  #postReceives(pair: Pair): void {
    const memory = this.#memory;
    const entries = this.#receiveEntries();
    const until = pair.posted + entries - this.#entries;
    for (let number = pair.receivesPosted; number < until; number++) {
      const slot = number & (entries - 1);
      setReceiveEntrySequence(
        memory,
        pair.receiveSlots + slot * pair.receiveStride,
        number & RECEIVE_ENTRY_SEQUENCE_MASK,
      );
    }
    pair.receivesPosted = until;
    setQueuePairRecordReceiveTail(memory, pair.receiveRecord, until & RECEIVE_ENTRY_SEQUENCE_MASK);
    setCompletionQueueRecordConsumed(memory, pair.receiveCqRecord, pair.settled >>> 0);
  }

  #receiveEntries(): number {
    return ROUNDS_AHEAD * this.#entries;
  }

  #connect(pd: number): [DriverQueuePair, DriverQueuePair] {
    const { serviceType } = this.#traffic;
    const entriesLog2 = Math.log2(this.#entries);
    const make = (): DriverQueuePair =>
      this.#driver.createQueuePair({
        pd,
        sendCq: this.#driver.createCompletionQueue({ entriesLog2: entriesLog2 + 1 }),
        receiveCq: this.#driver.createCompletionQueue({ entriesLog2: entriesLog2 + 1 }),
        sendEntriesLog2: entriesLog2,
        receiveEntriesLog2: Math.log2(this.#receiveEntries()),
        strideLog2: STRIDE_LOG2,
        creation: { serviceType, checksumOff: 1 },
      });
    const from = make();
    const to = make();
    if (serviceType === ServiceType.UD) {
      from.start({ port: 1, qkey: QKEY });
      to.start({ port: 2, qkey: QKEY });
    } else {
      const common = { reliable: serviceType === ServiceType.RC, pathMtu: PATH_MTU_4096 };
      from.connect({ port: 1, dlid: 2, remoteQpn: to.qpn, ...common });
      to.connect({ port: 2, dlid: 1, remoteQpn: from.qpn, ...common });
    }
    return [from, to];
  }

  #fill(
    from: DriverQueuePair,
    to: DriverQueuePair,
    request: SendRequest,
    element: { address: number; length: number; lkey: number },
  ): void {
    for (let slot = 0; slot < this.#entries; slot++) {
      from.fill({ ...request, signaled: (slot + 1) % this.#traffic.batch === 0 });
      from.sendTail = (from.sendTail + 1) & SEND_COMMAND_SEQUENCE_MASK;
    }
    for (let slot = 0; slot < this.#receiveEntries(); slot++) {
      const view = to.parts.receiveBuffer.slot(slot);
      encodeReceiveEntry(view, 0, { sgeCount: 1, sequence: slot });
      encodeSge(view, RECEIVE_ENTRY_SIZE, element);
    }
  }
}

function pairOf(from: DriverQueuePair, to: DriverQueuePair, memoryBase: number): Pair {
  const { sendBuffer } = from.parts;
  const { receiveBuffer } = to.parts;
  return {
    qpn: from.qpn,
    sendRecord: from.parts.recordAddress - memoryBase,
    sendSlots: sendBuffer.address - memoryBase,
    sendStride: sendBuffer.strideBytes,
    sendCqRecord: from.parts.sendCq.recordAddress - memoryBase,
    receiveRecord: to.parts.recordAddress - memoryBase,
    receiveSlots: receiveBuffer.address - memoryBase,
    receiveStride: receiveBuffer.strideBytes,
    receiveCqRecord: to.parts.receiveCq.recordAddress - memoryBase,
    posted: 0,
    settled: 0,
    receivesPosted: 0,
  };
}
