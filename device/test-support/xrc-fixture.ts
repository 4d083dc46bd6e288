// SPDX-License-Identifier: Apache-2.0
/**
 * The fixture of tests of XRC (IBTA annex A14): an initiator on port 1, a target on port 2 in an
 * XRC domain, and XRC shared receive queues in it, each with its PD, its memory and its CQ.
 */
import { type EventType, ServiceType } from '../../protocol/layout/gen/values.gen.ts';
import type { DriverCompletionQueue } from '../hosts/in-process/driver/completion-queue.ts';
import type { DriverQueuePair } from '../hosts/in-process/driver/queue-pair.ts';
import type { DriverMemoryRegion } from '../hosts/in-process/driver/requests.ts';
import type { SendRequest } from '../hosts/in-process/driver/send-request.ts';
import type { DriverSharedReceiveQueue } from '../hosts/in-process/driver/shared-receive-queue.ts';
import {
  connectInitiator,
  connectTarget,
  createXrcDomain,
  createXrcInitiator,
  createXrcQueue,
  createXrcTarget,
  type XrcConnection,
} from '../hosts/in-process/driver/xrc.ts';
import { AdapterFixture, type AdapterFixtureOptions, type Buffer } from './adapter-fixture.ts';
import { FULL_ACCESS } from './connected-fixture.ts';

/** An XRC SRQ, and what belongs to it. */
export interface SharedQueue {
  readonly srq: DriverSharedReceiveQueue;
  readonly cq: DriverCompletionQueue;
  readonly pd: number;
  /** All of memory, for its PD only. */
  readonly region: DriverMemoryRegion;
}

export class XrcFixture {
  readonly fixture: AdapterFixture;
  readonly domain: number;
  readonly initiator: DriverQueuePair;
  readonly target: DriverQueuePair;

  constructor(connection: Partial<XrcConnection> = {}, options: AdapterFixtureOptions = {}) {
    const fixture = new AdapterFixture(options);
    this.fixture = fixture;
    this.domain = createXrcDomain(fixture.driver);
    [this.initiator, this.target] = this.connect(connection);
  }

  /** An initiator on port 1, connected to a target on port 2, which stays in RTR. */
  connect(connection: Partial<XrcConnection> = {}): [DriverQueuePair, DriverQueuePair] {
    const { fixture } = this;
    const sendCq = fixture.createCompletionQueue({ entriesLog2: 8 });
    const initiator = createXrcInitiator(fixture.driver, { pd: fixture.pd, sendCq, sendEntriesLog2: 6 });
    const target = createXrcTarget(fixture.driver, this.domain, sendCq);
    const ends = { pathMtu: 1, ...connection };
    connectInitiator(initiator, { port: 1, dlid: fixture.lidOf(2), remoteQpn: target.qpn, ...ends });
    connectTarget(target, { port: 2, dlid: fixture.lidOf(1), remoteQpn: initiator.qpn, ...ends }, false);
    return [initiator, target];
  }

  /** An SRQ in the domain of the target unless given. */
  createQueue(domain = this.domain, entriesLog2 = 4): SharedQueue {
    const { driver } = this.fixture;
    const pd = driver.createProtectionDomain();
    const cq = this.fixture.createCompletionQueue({ entriesLog2: 8 });
    const srq = createXrcQueue(driver, { pd, domain, cq, entriesLog2 });
    return { srq, cq, pd, region: driver.createDmaRegion(pd, FULL_ACCESS) };
  }

  /** Posts a new receive buffer of `lengthBytes` and returns it. */
  postReceive({ srq, region }: SharedQueue, lengthBytes: number): Buffer {
    const buffer = this.fixture.createBuffer(lengthBytes);
    srq.postReceive([{ address: buffer.address, length: lengthBytes, lkey: region.lkey }]);
    return buffer;
  }

  /** Sends a request to the SRQ with number `srqn`; returns the status of its completion. */
  send(srqn: number, request: SendRequest): number {
    this.initiator.post({ ...request, header: { xrcSrqn: srqn } });
    return this.initiator.parts.sendCq.take().status;
  }

  /** Takes the asynchronous events: type, and number of the object. */
  events(): [EventType, number][] {
    const found = this.fixture.asynchronous.walk();
    return found.map(({ eventType, objectNumber }) => [eventType as EventType, objectNumber]);
  }
}

/** A QP in RESET of any transport service, with the objects that the service needs. */
export function createOfService(fixture: AdapterFixture, serviceType: ServiceType): DriverQueuePair {
  const { driver } = fixture;
  if (serviceType === ServiceType.XRC_TARGET)
    return createXrcTarget(driver, createXrcDomain(driver), fixture.createCompletionQueue());
  const specialPort = serviceType === ServiceType.SMI || serviceType === ServiceType.GSI ? 1 : 0;
  const noReceives = serviceType === ServiceType.XRC_INITIATOR ? { receiveCq: 0 } : {};
  return fixture.createQueuePair({ state: 'reset', creation: { serviceType, specialPort, ...noReceives } });
}
