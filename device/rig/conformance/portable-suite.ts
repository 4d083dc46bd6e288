// SPDX-License-Identifier: Apache-2.0
/**
 * Cases for every host: they use only `HardwareAccess` and the driver built on it.
 * `portable.test.ts` runs them in process, `device/process/host/two-processes.test.ts` over a
 * vfio-user socket. Each case gets a function after reset, and throws if it fails.
 */

import { strict as assert } from 'node:assert';
import { GRH_SIZE } from '../../../protocol/infiniband/gen/grh.gen.ts';
import {
  CSR,
  getCsrDeviceStatusEnabled,
  setCsrDoorbellPolicyLinkCheck,
} from '../../../protocol/layout/gen/registers.gen.ts';
import {
  CompletionStatus,
  EventType,
  FaultKind,
  LinkCheck,
  ManagementOpcode,
  ManagementStatus,
  OverflowPolicy,
  QpState,
} from '../../../protocol/layout/gen/values.gen.ts';
import { Random } from '../../random.ts';
import { Driver } from '../driver/driver.ts';
import type { HardwareAccess } from '../driver/hardware-access.ts';
import type { DriverQueuePair } from '../driver/queue-pair.ts';
import type { SendRequest } from '../driver/send-request.ts';

/** One case. Throws if it fails. */
interface PortableCase {
  readonly name: string;
  run(access: HardwareAccess): void;
}

/** A datagram QP on each port, and helpers to exchange messages. */
class DatagramFixture {
  readonly driver: Driver;
  readonly pd: number;
  readonly lkey: number;
  readonly sender: DriverQueuePair;
  readonly receiver: DriverQueuePair;
  readonly handle: number;
  readonly access: HardwareAccess;

  constructor(access: HardwareAccess) {
    this.access = access;
    this.driver = new Driver(access).bringUp();
    this.pd = this.driver.createProtectionDomain();
    this.lkey = this.driver.createDmaRegion(this.pd).lkey;
    const [sender, receiver] = [1, 2].map((port) => {
      const events = this.driver.createEventQueue({ vector: port });
      const sendCq = this.driver.createCompletionQueue({ eventQueue: events });
      return this.driver.createQueuePair({ pd: this.pd, sendCq, sendEntriesLog2: 6 }).start({ port });
    });
    this.sender = sender as DriverQueuePair;
    this.receiver = receiver as DriverQueuePair;
    const dlid = access.readRegister(CSR.PORT_LID + 4, 4);
    this.handle = this.driver.addressHandles.add({ port: 1, dlid, pd: this.pd });
  }

  /** Posts a receive buffer; returns its bytes. */
  postReceive(lengthBytes: number): Uint8Array {
    const address = this.driver.allocator.allocate(lengthBytes);
    this.receiver.postReceive([{ address, length: lengthBytes, lkey: this.lkey }]);
    const view = this.access.view(address, lengthBytes);
    return new Uint8Array(view.buffer, view.byteOffset, lengthBytes);
  }

  to(request: SendRequest = {}): SendRequest {
    return { remoteQpn: this.receiver.qpn, addressHandle: this.handle, ...request };
  }

  /** Sends one datagram and checks that it arrives. */
  exchange(payload: Uint8Array, post: (request: SendRequest) => void): void {
    const target = this.postReceive(GRH_SIZE + payload.length);
    post(this.to({ inline: payload }));
    assert.equal(this.sender.parts.sendCq.take().status, CompletionStatus.SUCCESS);
    const entry = this.receiver.parts.receiveCq.take();
    assert.equal(entry.status, CompletionStatus.SUCCESS);
    assert.equal(entry.byteLength, GRH_SIZE + payload.length);
    assert.deepEqual(target.slice(GRH_SIZE), payload);
  }
}

/** All cases. */
export const portableCases: readonly PortableCase[] = [
  { name: 'a datagram by collect buffer, with stores of every size in any order', run: collectStyles },
  { name: 'a datagram by doorbell, in the collect page and by register', run: doorbells },
  { name: 'a doorbell whose link is checked by read, and by compare-and-swap', run: linkChecks },
  { name: 'a half-written command is cancelled', run: cancelled },
  { name: 'a command executes once, however often it is announced', run: repeated },
  { name: 'a refused management command changes nothing', run: refused },
  { name: 'a completion event is posted on request', run: notified },
  { name: 'a failed send stops the send queue', run: failed },
  { name: 'the error state flushes requests', run: flushed },
  { name: 'a function can be set up again after a reset by register', run: resetByRegister },
];

/** Runs a case on a function, and resets the function for the next case. */
export function runPortableCase(portable: PortableCase, access: HardwareAccess): void {
  portable.run(access);
  new Driver(access).reset();
}

function collectStyles(access: HardwareAccess): void {
  const fixture = new DatagramFixture(access);
  const random = new Random(1);
  for (const storeBytes of [0, 1, 2, 4, 8] as const) {
    const style = { storeBytes, random, repeat: true, lengthLast: true };
    fixture.exchange(random.bytes(random.below(257)), (request) => fixture.sender.post(request, 'collect', style));
  }
}

function doorbells(access: HardwareAccess): void {
  const fixture = new DatagramFixture(access);
  for (const by of ['doorbell', 'register'] as const) {
    fixture.exchange(Uint8Array.of(1, 2, 3), (request) => fixture.sender.post(request, by));
  }
  assert.equal(access.readRegister(CSR.DOORBELLS_EXPLICIT, 4), 2);
}

function linkChecks(access: HardwareAccess): void {
  const fixture = new DatagramFixture(access);
  for (const linkCheck of [LinkCheck.READ, LinkCheck.COMPARE_SWAP]) {
    const policy = setCsrDoorbellPolicyLinkCheck(OverflowPolicy.NEWEST, linkCheck);
    access.writeRegister(CSR.DOORBELL_POLICY, 4, policy, 0);
    const before = access.readRegister(CSR.LINK_CHECKS, 4);
    fixture.exchange(Uint8Array.of(1, 2, 3), (request) => fixture.sender.post(request, 'register'));
    assert.equal(access.readRegister(CSR.LINK_CHECKS, 4), before + 1);
  }
  assert.equal(access.readRegister(CSR.FAULT_COUNT + FaultKind.DESCRIPTOR_LINK * 4, 4), 0);
  assert.equal(access.view(fixture.sender.parts.descriptorAddress, 4).getUint32(0, true), 0xffffffff, 'not linked');
}

function cancelled(access: HardwareAccess): void {
  const fixture = new DatagramFixture(access);
  const { sender } = fixture;
  fixture.exchange(Uint8Array.of(5), (request) => {
    const bytes = sender.fill(request);
    sender.advanceSendTail();
    sender.collect(bytes.subarray(8));
    assert.equal(access.readRegister(CSR.PCB_IN_USE, 4), 1);
    sender.cancel();
    assert.equal(access.readRegister(CSR.PCB_IN_USE, 4), 0);
    sender.ring();
  });
  assert.equal(access.readRegister(CSR.COLLECT_CANCELS, 4), 1);
}

function repeated(access: HardwareAccess): void {
  const fixture = new DatagramFixture(access);
  const { sender } = fixture;
  for (let count = 0; count < 8; count++) {
    fixture.exchange(Uint8Array.of(count), (request) => {
      const bytes = sender.post(request);
      sender.ring();
      sender.collect(bytes);
      sender.ring(0, 'register');
    });
  }
  access.settle();
  assert.ok(!sender.parts.sendCq.ready);
  assert.ok(!fixture.receiver.parts.receiveCq.ready);
}

function refused(access: HardwareAccess): void {
  const fixture = new DatagramFixture(access);
  const { management } = fixture.driver;
  const busy = management.execute({ opcode: ManagementOpcode.DESTROY_PD, objectNumber: fixture.pd });
  assert.equal(busy.status, ManagementStatus.IN_USE);
  assert.equal(management.execute({ opcode: 0xee }).status, ManagementStatus.BAD_OPCODE);
  assert.equal(fixture.sender.modify({ attributeMask: 1, state: QpState.INIT }).status, ManagementStatus.BAD_STATE);
  fixture.exchange(Uint8Array.of(1), (request) => fixture.sender.post(request));
}

function notified(access: HardwareAccess): void {
  const fixture = new DatagramFixture(access);
  const events = fixture.driver.createEventQueue({ vector: 3 });
  const sendCq = fixture.driver.createCompletionQueue({ eventQueue: events, token: 0x77 });
  const qp = fixture.driver.createQueuePair({ pd: fixture.pd, sendCq }).start();
  sendCq.notify();
  qp.post({ header: { opcode: 0 } });
  const [event] = events.take();
  assert.equal(event?.eventType, EventType.COMPLETION);
  assert.equal(event?.objectNumber, sendCq.cqn);
  assert.equal(event?.token, 0x77);
}

function failed(access: HardwareAccess): void {
  const fixture = new DatagramFixture(access);
  const { sender } = fixture;
  sender.post(fixture.to({ sges: [{ address: 4, length: 4, lkey: 0 }] }));
  const entry = sender.parts.sendCq.take();
  assert.equal(entry.status, CompletionStatus.LOCAL_PROTECTION_ERROR);
  assert.equal(entry.vendorError, FaultKind.KEY_INVALID);
  assert.equal(sender.query().state, QpState.SQE);
}

function flushed(access: HardwareAccess): void {
  const fixture = new DatagramFixture(access);
  fixture.postReceive(64);
  fixture.receiver.toError();
  assert.equal(fixture.receiver.parts.receiveCq.take().status, CompletionStatus.FLUSHED);
}

function resetByRegister(access: HardwareAccess): void {
  const first = new DatagramFixture(access);
  first.driver.reset();
  assert.equal(getCsrDeviceStatusEnabled(access.readRegister(CSR.DEVICE_STATUS, 4)), 0);
  const second = new DatagramFixture(access);
  second.exchange(Uint8Array.of(9, 9), (request) => second.sender.post(request));
  const { status } = second.driver.management.execute({ opcode: ManagementOpcode.QUERY_PD, objectNumber: first.pd });
  assert.equal(status, ManagementStatus.BAD_OBJECT);
}
