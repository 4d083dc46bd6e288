// SPDX-License-Identifier: Apache-2.0
/**
 * Work requests of send queues become send commands: each opcode and service, inline data and
 * lists, the chain of sizes and opcodes behind a doorbell, and requests that are not consistent.
 */
import t, { type Test } from 'tap';
import {
  decodeSendCommand,
  newSendCommand,
  type SendCommand,
} from '../../../../protocol/layout/gen/send-command.gen.ts';
import { FaultKind, FaultObject, SendOpcode, ServiceType } from '../../../../protocol/layout/gen/values.gen.ts';
import { encodeAtomicSegment } from '../../../../protocol/mthca/gen/atomic-segment.gen.ts';
import { encodeDataSegment } from '../../../../protocol/mthca/gen/data-segment.gen.ts';
import { encodeDatagramSegment, newDatagramSegment } from '../../../../protocol/mthca/gen/datagram-segment.gen.ts';
import { encodeNextSegment, newNextSegment } from '../../../../protocol/mthca/gen/next-segment.gen.ts';
import { encodeRemoteSegment } from '../../../../protocol/mthca/gen/remote-segment.gen.ts';
import { WorkOpcode } from '../../../../protocol/mthca/gen/values.gen.ts';
import { PhysicalCollectBuffer } from '../../../hca/collect/physical-collect-buffer.ts';
import type { QueuePair } from '../../../hca/queues/queue-pair.ts';
import { Path } from '../../../hca/transport/path.ts';
import { MthcaDriver, makeMthcaMachine } from '../../../rig/mthca/driver/mthca-driver.ts';
import { PD } from '../../../rig/mthca/driver/profile.ts';
import { AddressVectors } from '../../shared/address-vectors.ts';
import type { PersonalityPort } from '../../shared/personality-port.ts';
import { QueueBuffer } from '../memory/queue-buffer.ts';
import { SendPlace, SendQueue } from './send-queue.ts';
import { SendRequests } from './send-requests.ts';

const ENTRIES = 4;
const STRIDE = 512;
const OFFSET = 0x100;
const QPN = 0x12345;
const DATA = { isInline: 0, byteCount: 100, key: 0x700, address: 0x1_2345_6789 };

/** A send queue in guest memory, and a collect buffer. */
function begin(serviceType: ServiceType = ServiceType.RC): Fixture {
  const driver = new MthcaDriver(makeMthcaMachine());
  driver.start();
  const address = driver.allocate(0x1000);
  const { regions, underlying } = driver.device.hca;
  const memory = new QueueBuffer(regions, driver.createRegion(address, 0x1000), PD, 0);
  const qp = { number: QPN, faultObject: FaultObject.QP, serviceType, owner: underlying, nextSequence: 0 };
  const place = new SendPlace(memory, OFFSET, ENTRIES, STRIDE);
  return new Fixture(driver, address, new SendQueue({ ...qp, pd: { number: PD } } as unknown as QueuePair, place));
}

class Fixture {
  readonly buffer = new PhysicalCollectBuffer(0);
  readonly vectors = new AddressVectors(1);
  readonly queue: SendQueue;
  readonly #driver: MthcaDriver;
  readonly #address: number;
  readonly #requests = new SendRequests(this.vectors);

  constructor(driver: MthcaDriver, address: number, queue: SendQueue) {
    this.#driver = driver;
    this.#address = address;
    this.queue = queue;
  }

  /** The slot of a request, with an empty head. */
  slot(number: number, head: object = {}): DataView {
    const view = this.#driver.memory.view(this.#address + this.queue.place.offsetOf(number), STRIDE);
    encodeNextSegment(view, 0, { ...newNextSegment(), ...head });
    return view;
  }

  ring(head: number, opcode: number, size: number, count = 1, fence = 0): boolean {
    return this.queue.ring({ count, head, fence, opcode, qpn: QPN, size });
  }

  load(number = 0): SendCommand {
    this.#requests.load(this.queue, number, this.buffer);
    return decodeSendCommand(this.buffer.view, 0, newSendCommand());
  }

  get ports(): readonly PersonalityPort[] {
    return this.#driver.device.ports;
  }

  get addressOfSlot(): number {
    return this.queue.place.buffer.addressOf(this.queue.place.offsetOf(0));
  }

  /** Loads request 0, which must have the fault. */
  refuse(t: Test, fault: FaultKind, message: string): void {
    const command = this.load();
    t.equal(this.buffer.fault, fault, message);
    t.same([command.qpn, command.sequence], [QPN, 0], 'what has failed is known');
  }
}

t.test('a SEND with one element', (t) => {
  const fixture = begin();
  encodeDataSegment(fixture.slot(0, { signaled: 1, solicited: 1, immediate: 0x89abcdef }), 16, DATA);
  t.ok(fixture.ring(0, WorkOpcode.SEND_IMMEDIATE, 2, 1, 1));
  const command = fixture.load();
  t.equal(fixture.buffer.fault, FaultKind.NONE);
  t.same(
    { ...command, target: undefined },
    {
      ...newSendCommand(),
      target: undefined,
      opcode: SendOpcode.SEND_IMMEDIATE,
      qpn: QPN,
      collectLength: 64,
      sgeCount: 1,
      signaled: 1,
      solicited: 1,
      fence: 1,
      messageLength: 100,
      immediate: 0x89abcdef,
      sgeAddress: DATA.address,
      sgeLength: 100,
      sgeLkey: DATA.key,
    },
  );
  t.end();
});

t.test('a WRITE with a list, and a READ', (t) => {
  const fixture = begin();
  for (const [opcode, wanted] of [
    [WorkOpcode.RDMA_WRITE, SendOpcode.RDMA_WRITE],
    [WorkOpcode.RDMA_WRITE_IMMEDIATE, SendOpcode.RDMA_WRITE_IMMEDIATE],
    [WorkOpcode.RDMA_READ, SendOpcode.RDMA_READ],
  ]) {
    const view = fixture.slot(0);
    encodeRemoteSegment(view, 16, { address: 0x7_0000_1000, key: 0xabc00 });
    for (const index of [0, 1, 2]) encodeDataSegment(view, 32 + index * 16, { ...DATA, byteCount: 10 + index });
    fixture.queue.posted = 0;
    t.ok(fixture.ring(0, opcode, 5));
    const command = fixture.load();
    t.equal(fixture.buffer.fault, FaultKind.NONE);
    t.equal(command.opcode, wanted);
    t.same([command.sgeCount, command.messageLength, command.collectLength], [3, 33, 64 + 48]);
    const { view: bytes } = fixture.buffer;
    t.same([bytes.getBigUint64(24, true), bytes.getUint32(32, true)], [0x7_0000_1000n, 0xabc00], 'the target');
    t.same([bytes.getUint32(72, true), bytes.getUint32(88, true), bytes.getUint32(104, true)], [10, 11, 12]);
  }
  t.end();
});

t.test('atomics', (t) => {
  const fixture = begin();
  const view = fixture.slot(0);
  encodeRemoteSegment(view, 16, { address: 0x1000, key: 5 });
  encodeAtomicSegment(view, 32, { swapOrAddHigh: 1, swapOrAddLow: 2, compareHigh: 3, compareLow: 4 });
  encodeDataSegment(view, 48, { ...DATA, byteCount: 8 });
  t.ok(fixture.ring(0, WorkOpcode.COMPARE_AND_SWAP, 4));
  const command = fixture.load();
  t.equal(fixture.buffer.fault, FaultKind.NONE);
  t.same([command.opcode, command.sgeCount, command.sgeLength], [SendOpcode.COMPARE_SWAP, 1, 8]);
  const { view: bytes } = fixture.buffer;
  t.same([bytes.getBigUint64(64, true), bytes.getBigUint64(72, true)], [0x1_0000_0002n, 0x3_0000_0004n]);
  encodeDataSegment(view, 64, DATA);
  fixture.queue.posted = 0;
  t.ok(fixture.ring(0, WorkOpcode.FETCH_AND_ADD, 5));
  fixture.refuse(t, FaultKind.COMMAND_SGE, 'two elements');
  t.end();
});

t.test('inline data go into the command, or are read where they are', (t) => {
  const fixture = begin();
  const view = fixture.slot(0);
  for (let at = 16; at < STRIDE; at++) view.setUint8(at, at);
  view.setUint32(16, 2 ** 31 + 77);
  t.ok(fixture.ring(0, WorkOpcode.SEND, 1 + 6));
  const short = fixture.load();
  t.same([short.inline, short.messageLength, short.collectLength, short.sgeCount], [1, 77, 64 + 80, 0]);
  t.same(
    fixture.buffer.bytes.slice(64, 64 + 77),
    Uint8Array.from({ length: 77 }, (_, index) => 20 + index),
  );
  view.setUint32(16, 2 ** 31 + 300);
  fixture.queue.posted = 0;
  t.ok(fixture.ring(0, WorkOpcode.SEND, 1 + 19));
  const long = fixture.load();
  t.equal(fixture.buffer.fault, FaultKind.NONE);
  t.same([long.inline, long.messageLength, long.sgeCount, long.sgeLength], [0, 300, 1, 300]);
  t.equal(long.sgeAddress, fixture.addressOfSlot + 20);
  t.equal(long.sgeLkey, fixture.queue.place.buffer.key);
  t.end();
});

t.test('a datagram has its address vector', (t) => {
  const fixture = begin(ServiceType.UD);
  const view = fixture.slot(0);
  const vector = { ...newDatagramSegment(), port: 2, pd: PD, lid: 9, serviceLevel: 3, qpn: 0x77, qkey: 0x80000001 };
  encodeDatagramSegment(view, 16, vector);
  encodeDataSegment(view, 64, DATA);
  t.ok(fixture.ring(0, WorkOpcode.SEND, 5));
  fixture.load();
  t.equal(fixture.buffer.fault, FaultKind.NONE);
  const { view: bytes } = fixture.buffer;
  t.same([bytes.getUint32(24, true), bytes.getUint32(28, true)], [0x77, 0x80000001]);
  const { qp } = fixture.queue;
  const path = new Path();
  const [first, second] = fixture.ports;
  t.equal(fixture.vectors.load(qp, fixture.buffer, second, path), FaultKind.NONE);
  t.same([path.dlid, path.serviceLevel, path.globalRoute], [9, 3, 0]);
  t.equal(fixture.vectors.load(qp, fixture.buffer, first, path), FaultKind.ADDRESS_HANDLE, 'of the other port');
  const stranger = { pd: { number: PD + 1 } } as unknown as QueuePair;
  t.equal(fixture.vectors.load(stranger, fixture.buffer, second, path), FaultKind.ADDRESS_HANDLE, 'of another PD');
  encodeDatagramSegment(view, 16, { ...vector, lid: 0xc001 });
  fixture.load();
  t.equal(fixture.vectors.load(qp, fixture.buffer, second, path), FaultKind.ADDRESS_HANDLE, 'a group without a GRH');
  t.end();
});

t.test('requests behind a doorbell are described by those before them', (t) => {
  const fixture = begin();
  t.ok(fixture.ring(0, WorkOpcode.SEND, 1, 2));
  t.ok(fixture.ring(2, WorkOpcode.RDMA_WRITE, 2));
  fixture.slot(0, { nextOpcode: WorkOpcode.NOP, nextSize: 1, nextFence: 1 });
  fixture.slot(1, { nextOpcode: WorkOpcode.SEND, nextSize: 3 });
  fixture.slot(2, {});
  t.equal(fixture.load(0).opcode, SendOpcode.SEND);
  const second = fixture.load(1);
  t.same([second.opcode, second.sequence, second.fence], [SendOpcode.NOP, 1, 1]);
  t.equal(fixture.load(2).opcode, SendOpcode.RDMA_WRITE, 'the doorbell counts, not the request before');
  t.same([fixture.load(0).opcode, fixture.load(1).opcode], [SendOpcode.SEND, SendOpcode.NOP], 'and again');
  t.end();
});

t.test('doorbells that name no new requests', (t) => {
  const fixture = begin();
  t.notOk(fixture.ring(0, WorkOpcode.SEND, 1, 0), 'none');
  t.notOk(fixture.ring(0, WorkOpcode.SEND, 1, ENTRIES + 1), 'more than there are');
  t.notOk(fixture.ring(1, WorkOpcode.SEND, 1), 'a gap');
  t.ok(fixture.ring(0, WorkOpcode.SEND, 1, ENTRIES));
  t.notOk(fixture.ring(0, WorkOpcode.SEND, 1), 'again');
  t.notOk(fixture.ring(ENTRIES, WorkOpcode.SEND, 1), 'one too many');
  t.end();
});

t.test('requests that are not consistent', (t) => {
  const cases: [string, FaultKind, number, number, (view: DataView) => void][] = [
    ['no size', FaultKind.COMMAND_SGE, WorkOpcode.SEND, 0, () => {}],
    ['a size beyond the entry', FaultKind.COMMAND_SGE, WorkOpcode.SEND, 33, () => {}],
    ['no such opcode', FaultKind.COMMAND_OPCODE, 0x1f, 1, () => {}],
    ['a window', FaultKind.COMMAND_OPCODE, WorkOpcode.BIND_WINDOW, 2, () => {}],
    ['no target', FaultKind.COMMAND_SGE, WorkOpcode.RDMA_WRITE, 1, () => {}],
    ['no operands', FaultKind.COMMAND_SGE, WorkOpcode.FETCH_AND_ADD, 2, () => {}],
    ['inline data beyond the request', FaultKind.COMMAND_SGE, WorkOpcode.SEND, 2, (v) => v.setUint32(16, 2 ** 31 + 13)],
    ['too many elements', FaultKind.COMMAND_SGE, WorkOpcode.SEND, 18, () => {}],
    [
      'too long a message',
      FaultKind.COMMAND_LENGTH,
      WorkOpcode.SEND,
      3,
      (view) => {
        for (const at of [16, 32]) encodeDataSegment(view, at, { ...DATA, byteCount: 2 ** 30 + 1 });
      },
    ],
  ];
  for (const [message, fault, opcode, size, fill] of cases) {
    const fixture = begin();
    fill(fixture.slot(0));
    t.ok(fixture.ring(0, opcode, size));
    fixture.refuse(t, fault, message);
  }
  t.end();
});

t.test('a queue whose memory is gone', (t) => {
  const fixture = begin();
  const queue = new SendQueue(fixture.queue.qp, new SendPlace(fixture.queue.place.buffer, 0x1000, ENTRIES, STRIDE));
  t.ok(queue.ring({ count: 1, head: 0, fence: 0, opcode: WorkOpcode.SEND, qpn: QPN, size: 2 }));
  new SendRequests(fixture.vectors).load(queue, 0, fixture.buffer);
  t.equal(fixture.buffer.fault, FaultKind.KEY_BOUNDS);
  t.end();
});
