// SPDX-License-Identifier: Apache-2.0
/**
 * Guest memory that is unmapped, at every place where the adapter accesses it: the result is a
 * completion status, an event or a counted fault, and all other objects go on (docs/DOCUMENTS.md
 * decision 15).
 */
import t from 'tap';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import {
  CompletionStatus,
  EventType,
  FaultKind,
  ManagementOpcode,
  QpState,
  SendOpcode,
} from '../../../protocol/layout/gen/values.gen.ts';
import { AdapterFixture, type Pair } from '../../rig/fixtures/adapter-fixture.ts';
import { PageAccess } from '../../rig/machine/guest-memory-model.ts';

const GRH = 40;
const { LOCAL_PROTECTION_ERROR, SUCCESS } = CompletionStatus;
const NOP = { header: { opcode: SendOpcode.NOP } };

/** Takes a range of memory from the device. */
function unmap(
  fixture: AdapterFixture,
  address: number,
  lengthBytes = 1,
  access: PageAccess = PageAccess.UNMAPPED,
): void {
  fixture.host.memory.protect(address, lengthBytes, access);
  if (access === PageAccess.UNMAPPED) fixture.access.port.memoryUnmapped(address, lengthBytes);
}

/** A separate page, so that its removal affects nothing else. */
function lonePage(fixture: AdapterFixture): number {
  return fixture.driver.allocator.allocate(4096, 4096);
}

t.test('the payload of a send is gone', async (t) => {
  for (const pieces of [1, 2]) {
    const fixture = new AdapterFixture();
    const { sender, to } = fixture.createPair();
    const good = fixture.sge(fixture.createBuffer(16));
    const page = lonePage(fixture);
    unmap(fixture, page);
    const gone = { address: page, length: 16, lkey: fixture.region.lkey };
    sender.post(to({ sges: pieces === 1 ? [gone] : [good, gone] }));
    const entry = sender.parts.sendCq.take();
    t.equal(entry.status, LOCAL_PROTECTION_ERROR);
    t.equal(entry.vendorError, FaultKind.DMA_READ);
    t.equal(fixture.faults(FaultKind.DMA_READ), 1);
    fixture.proveItWorks();
    fixture.finish();
  }
});

t.test('a page of a memory region in pages is gone', async (t) => {
  const fixture = new AdapterFixture();
  const { sender, to } = fixture.createPair();
  const pages = [lonePage(fixture), lonePage(fixture)];
  const pageListAddress = fixture.driver.allocator.allocate(16);
  pages.forEach((page, index) => {
    fixture.access.view(pageListAddress, 16).setBigUint64(index * 8, BigInt(page), true);
  });
  const shape = {
    pd: fixture.pd,
    kind: 1,
    access: 1,
    startAddress: 0,
    length: 8192,
    pageListAddress,
    pageCount: 2,
    pageShift: 12,
  };
  const region = fixture.driver.createMemoryRegion(shape);
  unmap(fixture, pages[1] as number);
  sender.post(to({ sges: [{ address: 0, length: 4096, lkey: region.lkey }] }));
  t.equal(sender.parts.sendCq.take().status, SUCCESS, 'the first page is there');
  sender.post(to({ sges: [{ address: 4090, length: 12, lkey: region.lkey }] }));
  t.equal(sender.parts.sendCq.take().vendorError, FaultKind.DMA_READ);
  fixture.finish();
});

t.test('the slot of a send queue is gone', async (t) => {
  const fixture = new AdapterFixture();
  const { sender, receiver, to } = fixture.createPair();
  fixture.postReceive(receiver, GRH);
  unmap(fixture, sender.parts.sendBuffer.slotAddress(0), 64);
  sender.post(to(), 'collect');
  t.equal(sender.parts.sendCq.take().status, SUCCESS, 'a collect copy needs no slot');
  sender.post(to(), 'doorbell');
  const entry = sender.parts.sendCq.take();
  t.not(entry.status, SUCCESS);
  t.equal(entry.vendorError, FaultKind.DMA_READ);
  fixture.proveItWorks();
  fixture.finish();
});

t.test('the record of a queue pair is gone', async (t) => {
  const fixture = new AdapterFixture();
  const page = lonePage(fixture);
  const qp = fixture.createQueuePair({ state: 'reset', creation: { recordAddress: page } });
  qp.start();
  unmap(fixture, page);
  qp.ring();
  fixture.settle();
  t.equal(qp.query().state, QpState.ERR, 'the queue pair cannot go on');
  t.ok(
    fixture.asynchronous
      .walk()
      .some(({ eventType, objectNumber }) => eventType === EventType.QP_FATAL && objectNumber === qp.qpn),
  );
  t.ok(fixture.faults(FaultKind.DMA_READ) >= 1);
  fixture.proveItWorks();
  fixture.finish();
});

t.test('the receive queue or the receive buffer is gone, or read-only', async (t) => {
  const cases: [string, (fixture: AdapterFixture, pair: Pair) => void, number][] = [
    [
      'slot',
      (fixture, { receiver }) => unmap(fixture, receiver.parts.receiveBuffer.slotAddress(0), 64),
      FaultKind.DMA_READ,
    ],
    [
      'buffer',
      (fixture, { receiver }) => {
        const page = lonePage(fixture);
        receiver.toReset();
        receiver.start({ port: 2, qkey: 0x1234 });
        receiver.postReceive([{ address: page, length: 100, lkey: fixture.region.lkey }]);
        unmap(fixture, page);
      },
      FaultKind.DMA_WRITE,
    ],
    [
      'read-only buffer',
      (fixture, { receiver }) => {
        const page = lonePage(fixture);
        receiver.toReset();
        receiver.start({ port: 2, qkey: 0x1234 });
        receiver.postReceive([{ address: page, length: 100, lkey: fixture.region.lkey }]);
        unmap(fixture, page, 1, PageAccess.READ_ONLY);
      },
      FaultKind.DMA_WRITE,
    ],
  ];
  for (const [name, spoil, cause] of cases) {
    const fixture = new AdapterFixture();
    const pair = fixture.createPair();
    fixture.postReceive(pair.receiver, GRH + 8);
    spoil(fixture, pair);
    pair.sender.post(pair.to({ inline: new Uint8Array(8) }));
    t.equal(pair.sender.parts.sendCq.take().status, SUCCESS, name);
    const entry = pair.receiver.parts.receiveCq.take(`a failed receive (${name})`);
    t.not(entry.status, SUCCESS, name);
    t.equal(entry.vendorError, cause, name);
    t.equal(pair.receiver.query().state, QpState.ERR, name);
    fixture.proveItWorks();
    fixture.finish();
  }
});

t.test('the address handle table is gone, or was never set', async (t) => {
  const fixture = new AdapterFixture();
  const { sender, to } = fixture.createPair();
  fixture.access.writeRegister(CSR.ADDRESS_HANDLE_TABLE, 8, 0x1000, 0);
  sender.post(to());
  t.equal(sender.parts.sendCq.take().vendorError, FaultKind.DMA_READ);
  t.equal(fixture.faults(FaultKind.DMA_READ), 1);
  fixture.access.writeRegister(CSR.ADDRESS_HANDLE_COUNT, 4, 0, 0);
  const other = fixture.createQueuePair();
  other.post(to());
  t.equal(other.parts.sendCq.take().vendorError, FaultKind.ADDRESS_HANDLE);
  fixture.finish();
});

t.test('the event queue is gone: completions go on, the asynchronous queue gets an event', async (t) => {
  const fixture = new AdapterFixture();
  const eventQueue = fixture.driver.createEventQueue({ vector: 20 });
  const qp = fixture.createQueuePair({ sendCq: fixture.createCompletionQueue({ eventQueue }) });
  unmap(fixture, eventQueue.buffer.address, 4096);
  qp.parts.sendCq.notify();
  qp.post(NOP);
  t.equal(qp.parts.sendCq.take().status, SUCCESS);
  fixture.settle();
  t.equal(fixture.host.raised[20], 0);
  t.ok(
    fixture.asynchronous
      .walk()
      .some(({ eventType, objectNumber }) => eventType === EventType.EQ_ERROR && objectNumber === eventQueue.eqn),
  );
  fixture.proveItWorks();
  fixture.finish();
});

t.test('the asynchronous event queue itself is gone', async (t) => {
  const fixture = new AdapterFixture();
  unmap(fixture, fixture.asynchronous.buffer.address, 4096);
  const sendCq = fixture.createCompletionQueue({ entriesLog2: 0 });
  const qp = fixture.createQueuePair({ sendCq });
  for (let count = 0; count < 3; count++) qp.post(NOP);
  fixture.settle();
  t.equal(qp.query().state, QpState.ERR);
  fixture.proveItWorks();
  fixture.finish();
});

t.test('the descriptor is gone when a stop doorbell is to write it', async (t) => {
  const fixture = new AdapterFixture();
  const page = lonePage(fixture);
  const qp = fixture.createQueuePair({ creation: { descriptorAddress: page } });
  unmap(fixture, page);
  qp.stop();
  fixture.settle();
  t.equal(fixture.faults(FaultKind.DMA_WRITE), 1);
  fixture.proveItWorks();
  fixture.finish();
});

t.test('the record of a full completion queue is gone', async (t) => {
  const fixture = new AdapterFixture();
  const sendCq = fixture.createCompletionQueue({ entriesLog2: 1 });
  const qp = fixture.createQueuePair({ sendCq });
  const before = fixture.faults(FaultKind.DMA_READ);
  for (let count = 0; count < 2; count++) {
    qp.post(NOP);
    sendCq.take();
  }
  unmap(fixture, sendCq.recordAddress);
  qp.post(NOP);
  fixture.settle();
  t.ok(fixture.faults(FaultKind.DMA_READ) > before);
  t.not(qp.query().state, QpState.RTS, 'it cannot complete, so it cannot go on');
  fixture.finish();
});

t.test('memory comes and goes at random under load: nothing leaks, and other queue pairs go on', async (t) => {
  const seed = 91;
  const fixture = new AdapterFixture({ seed, memoryBytes: 64 * 1024 * 1024 });
  const { random } = fixture;
  const safe = fixture.createPair();
  for (let round = 0; round < 150; round++) {
    const start = fixture.driver.allocator.allocate(4096, 4096);
    const pair = fixture.createPair();
    const end = fixture.driver.allocator.allocate(4096, 4096);
    for (let count = 0; count < 4; count++) {
      fixture.postReceive(pair.receiver, GRH + 64);
      pair.sender.post(
        pair.to({ sges: [fixture.sge(fixture.createBuffer(32))] }),
        random.pick(['collect', 'slot'] as const),
      );
    }
    pair.sender.ring();
    const hole = start + random.below((end - start) / 4096) * 4096;
    unmap(fixture, hole, 4096, random.pick([PageAccess.UNMAPPED, PageAccess.READ_ONLY]));
    fixture.settle();
    fixture.host.memory.protect(hole, 4096, PageAccess.READ_WRITE);
    fixture.asynchronous.walk();
    pair.sender.toError();
    pair.receiver.toError();
    pair.sender.destroy();
    pair.receiver.destroy();
    for (const { parts } of [pair.sender, pair.receiver])
      fixture.driver.management.perform({ opcode: ManagementOpcode.DESTROY_CQ, objectNumber: parts.sendCq.cqn });
    const buffer = fixture.postReceive(safe.receiver, GRH + 8);
    const payload = random.bytes(8);
    safe.sender.post(safe.to({ inline: payload }));
    if (safe.sender.parts.sendCq.take().status !== SUCCESS)
      t.fail(`seed ${seed}, round ${round}: the safe pair failed`);
    safe.receiver.parts.receiveCq.take();
    t.same(buffer.bytes.slice(GRH), payload, `seed ${seed}, round ${round}`);
    fixture.driver.addressHandles.rewind(1);
  }
  fixture.finish();
});
