// SPDX-License-Identifier: Apache-2.0
/**
 * An event queue with summary bytes and timer (IPCOM000126453D), and CQs, each with a QP, that post
 * to it. For the tests of event queues in device/events.
 */
import { DWORD_RANGE, highDword, lowDword } from '../../protocol/layout/dwords.ts';
import { decodeEqAttributes, newEqAttributes } from '../../protocol/layout/gen/eq-attributes.gen.ts';
import { CSR } from '../../protocol/layout/gen/registers.gen.ts';
import { type EqControl, ManagementOpcode, SendOpcode } from '../../protocol/layout/gen/values.gen.ts';
import type { DriverCompletionQueue } from '../hosts/in-process/driver/completion-queue.ts';
import type { DriverEventQueue } from '../hosts/in-process/driver/event-queue.ts';
import { eqPayload } from '../hosts/in-process/driver/payloads.ts';
import type { DriverQueuePair } from '../hosts/in-process/driver/queue-pair.ts';
import { AdapterFixture, type AdapterFixtureOptions } from './adapter-fixture.ts';

export const NOP = { header: { opcode: SendOpcode.NOP } };
export const VECTOR = 20;
export const delayOf = (ns: number) => ({
  nextInterruptDelayNsLow: lowDword(ns),
  nextInterruptDelayNsHigh: highDword(ns),
});
export const POLL_ONLY = { nextInterruptDelayNsLow: 0xffffffff, nextInterruptDelayNsHigh: 0xffffffff };

/** An event queue with summary bytes, and CQs, each with a QP, that post to it. */
export class EventQueueFixture {
  readonly adapterFixture: AdapterFixture;
  readonly events: DriverEventQueue;
  readonly qps: readonly DriverQueuePair[];

  constructor(
    attributes: { delayNs?: number; controls?: EqControl; nextInterruptDelayNsLow?: number } = {},
    queues = 4,
    options: AdapterFixtureOptions = {},
  ) {
    this.adapterFixture = new AdapterFixture(options);
    const { delayNs = 0, ...rest } = attributes;
    this.events = this.adapterFixture.driver.createEventQueue({
      vector: VECTOR,
      summaryCount: queues,
      attributes: { ...delayOf(delayNs), ...rest },
    });
    this.qps = Array.from({ length: queues }, (_, summaryIndex) => {
      const sendCq = this.adapterFixture.createCompletionQueue({ eventQueue: this.events, summaryIndex });
      sendCq.notify();
      return this.adapterFixture.createQueuePair({ sendCq });
    });
  }

  get queues(): DriverCompletionQueue[] {
    return this.qps.map(({ parts }) => parts.sendCq);
  }

  get interrupts(): number {
    return this.adapterFixture.host.raised[VECTOR] ?? 0;
  }

  /** Primary byte, then the secondary ones. */
  get summary(): number[] {
    const view = this.events.summary as DataView;
    return Array.from({ length: view.byteLength }, (_, index) => view.getUint8(index));
  }

  clearSummary(): void {
    this.summary.forEach((_, index) => void (this.events.summary as DataView).setUint8(index, 0));
  }

  /** Causes one completion on CQ number `index`. */
  complete(index: number): void {
    this.qps[index].post(NOP);
    this.adapterFixture.settle();
  }

  /** Takes a CQ's entries and clears its EQ pending bit without arming again. */
  clearPending(index: number): void {
    const { sendCq } = this.qps[index].parts;
    sendCq.drain();
    sendCq.notify({ clearPending: true });
    this.adapterFixture.settle();
  }

  /** Changes the attributes that the mask among them names. */
  modify(attributes: Parameters<typeof eqPayload>[0]): void {
    this.adapterFixture.driver.management.perform({
      opcode: ManagementOpcode.MODIFY_EQ,
      objectNumber: this.events.eqn,
      payload: eqPayload(attributes),
    });
  }

  query() {
    const { management } = this.adapterFixture.driver;
    const { payload } = management.perform({ opcode: ManagementOpcode.QUERY_EQ, objectNumber: this.events.eqn });
    return decodeEqAttributes(payload, 0, newEqAttributes());
  }

  /** Sets local time to `ns` after its wrap; negative: before it. */
  setTimeFromWrap(ns: number): void {
    const low = ((ns % DWORD_RANGE) + DWORD_RANGE) % DWORD_RANGE;
    const high = (Math.floor(ns / DWORD_RANGE) + DWORD_RANGE) % DWORD_RANGE;
    this.adapterFixture.access.writeRegister(CSR.LOCAL_TIME, 8, low, high);
  }

  finish(): void {
    this.adapterFixture.finish();
  }
}
