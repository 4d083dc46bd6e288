// SPDX-License-Identifier: Apache-2.0
/**
 * Guest memory that is unmapped, at every place where the adapter accesses it: the result is a
 * completion status, an event or a counted fault, and all other objects go on (docs/DOCUMENTS.md
 * decision 15).
 */
import t from 'tap';
import { CSR } from '../../protocol/layout/gen/registers.gen.ts';
import { CompletionStatus, EventType, FaultKind, QpState, SendOpcode } from '../../protocol/layout/gen/values.gen.ts';
import { PageAccess } from '../hosts/in-process/guest-memory-model.ts';
import { Bench, type Pair } from '../test-support/adapter-fixture.ts';

const GRH = 40;
const { LOCAL_PROTECTION_ERROR, SUCCESS } = CompletionStatus;
const NOP = { header: { opcode: SendOpcode.NOP } };

/** Takes a range of memory from the device. */
function unmap(bench: Bench, address: number, lengthBytes = 1, access: PageAccess = PageAccess.UNMAPPED): void {
  bench.host.memory.protect(address, lengthBytes, access);
  if (access === PageAccess.UNMAPPED) bench.access.port.memoryUnmapped(address, lengthBytes);
}

/** A separate page, so that its removal affects nothing else. */
function lonePage(bench: Bench): number {
  return bench.driver.allocator.allocate(4096, 4096);
}

t.test('the payload of a send is gone', async (t) => {
  for (const pieces of [1, 2]) {
    const bench = new Bench();
    const { sender, to } = bench.createPair();
    const good = bench.sge(bench.createBuffer(16));
    const page = lonePage(bench);
    unmap(bench, page);
    const gone = { address: page, length: 16, lkey: bench.region.lkey };
    sender.post(to({ sges: pieces === 1 ? [gone] : [good, gone] }));
    const entry = sender.parts.sendCq.take();
    t.equal(entry.status, LOCAL_PROTECTION_ERROR);
    t.equal(entry.vendorError, FaultKind.DMA_READ);
    t.equal(bench.faults(FaultKind.DMA_READ), 1);
    bench.proveItWorks();
    bench.finish();
  }
});

t.test('a page of a memory region in pages is gone', async (t) => {
  const bench = new Bench();
  const { sender, to } = bench.createPair();
  const pages = [lonePage(bench), lonePage(bench)];
  const pageListAddress = bench.driver.allocator.allocate(16);
  pages.forEach((page, index) => {
    bench.access.view(pageListAddress, 16).setBigUint64(index * 8, BigInt(page), true);
  });
  const shape = {
    pd: bench.pd,
    kind: 1,
    access: 1,
    startAddress: 0,
    length: 8192,
    pageListAddress,
    pageCount: 2,
    pageShift: 12,
  };
  const region = bench.driver.createMemoryRegion(shape);
  unmap(bench, pages[1] as number);
  sender.post(to({ sges: [{ address: 0, length: 4096, lkey: region.lkey }] }));
  t.equal(sender.parts.sendCq.take().status, SUCCESS, 'the first page is there');
  sender.post(to({ sges: [{ address: 4090, length: 12, lkey: region.lkey }] }));
  t.equal(sender.parts.sendCq.take().vendorError, FaultKind.DMA_READ);
  bench.finish();
});

t.test('the slot of a send queue is gone', async (t) => {
  const bench = new Bench();
  const { sender, receiver, to } = bench.createPair();
  bench.postReceive(receiver, GRH);
  unmap(bench, sender.parts.sendBuffer.slotAddress(0), 64);
  sender.post(to(), 'collect');
  t.equal(sender.parts.sendCq.take().status, SUCCESS, 'a collect copy needs no slot');
  sender.post(to(), 'doorbell');
  const entry = sender.parts.sendCq.take();
  t.not(entry.status, SUCCESS);
  t.equal(entry.vendorError, FaultKind.DMA_READ);
  bench.proveItWorks();
  bench.finish();
});

t.test('the record of a queue pair is gone', async (t) => {
  const bench = new Bench();
  const page = lonePage(bench);
  const qp = bench.createQueuePair({ state: 'reset', creation: { recordAddress: page } });
  qp.start();
  unmap(bench, page);
  qp.ring();
  bench.settle();
  t.equal(qp.query().state, QpState.ERR, 'the queue pair cannot go on');
  t.ok(
    bench.asynchronous
      .walk()
      .some(({ eventType, objectNumber }) => eventType === EventType.QP_FATAL && objectNumber === qp.qpn),
  );
  t.ok(bench.faults(FaultKind.DMA_READ) >= 1);
  bench.proveItWorks();
  bench.finish();
});

t.test('the receive queue or the receive buffer is gone, or read-only', async (t) => {
  const cases: [string, (bench: Bench, pair: Pair) => void, number][] = [
    [
      'slot',
      (bench, { receiver }) => unmap(bench, receiver.parts.receiveBuffer.slotAddress(0), 64),
      FaultKind.DMA_READ,
    ],
    [
      'buffer',
      (bench, { receiver }) => {
        const page = lonePage(bench);
        receiver.toReset();
        receiver.start({ port: 2, qkey: 0x1234 });
        receiver.postReceive([{ address: page, length: 100, lkey: bench.region.lkey }]);
        unmap(bench, page);
      },
      FaultKind.DMA_WRITE,
    ],
    [
      'read-only buffer',
      (bench, { receiver }) => {
        const page = lonePage(bench);
        receiver.toReset();
        receiver.start({ port: 2, qkey: 0x1234 });
        receiver.postReceive([{ address: page, length: 100, lkey: bench.region.lkey }]);
        unmap(bench, page, 1, PageAccess.READ_ONLY);
      },
      FaultKind.DMA_WRITE,
    ],
  ];
  for (const [name, spoil, cause] of cases) {
    const bench = new Bench();
    const pair = bench.createPair();
    bench.postReceive(pair.receiver, GRH + 8);
    spoil(bench, pair);
    pair.sender.post(pair.to({ inline: new Uint8Array(8) }));
    t.equal(pair.sender.parts.sendCq.take().status, SUCCESS, name);
    const entry = pair.receiver.parts.receiveCq.take(`a failed receive (${name})`);
    t.not(entry.status, SUCCESS, name);
    t.equal(entry.vendorError, cause, name);
    t.equal(pair.receiver.query().state, QpState.ERR, name);
    bench.proveItWorks();
    bench.finish();
  }
});

t.test('the address handle table is gone, or was never set', async (t) => {
  const bench = new Bench();
  const { sender, to } = bench.createPair();
  bench.access.writeRegister(CSR.ADDRESS_HANDLE_TABLE, 8, 0x1000, 0);
  sender.post(to());
  t.equal(sender.parts.sendCq.take().vendorError, FaultKind.DMA_READ);
  t.equal(bench.faults(FaultKind.DMA_READ), 1);
  bench.access.writeRegister(CSR.ADDRESS_HANDLE_COUNT, 4, 0, 0);
  const other = bench.createQueuePair();
  other.post(to());
  t.equal(other.parts.sendCq.take().vendorError, FaultKind.ADDRESS_HANDLE);
  bench.finish();
});

t.test('the event queue is gone: completions go on, the asynchronous queue gets an event', async (t) => {
  const bench = new Bench();
  const eventQueue = bench.driver.createEventQueue({ vector: 20 });
  const qp = bench.createQueuePair({ sendCq: bench.createCompletionQueue({ eventQueue }) });
  unmap(bench, eventQueue.buffer.address, 4096);
  qp.parts.sendCq.notify();
  qp.post(NOP);
  t.equal(qp.parts.sendCq.take().status, SUCCESS);
  bench.settle();
  t.equal(bench.host.raised[20], 0);
  t.ok(
    bench.asynchronous
      .walk()
      .some(({ eventType, objectNumber }) => eventType === EventType.EQ_ERROR && objectNumber === eventQueue.eqn),
  );
  bench.proveItWorks();
  bench.finish();
});

t.test('the asynchronous event queue itself is gone', async (t) => {
  const bench = new Bench();
  unmap(bench, bench.asynchronous.buffer.address, 4096);
  const sendCq = bench.createCompletionQueue({ entriesLog2: 0 });
  const qp = bench.createQueuePair({ sendCq });
  for (let count = 0; count < 3; count++) qp.post(NOP);
  bench.settle();
  t.equal(qp.query().state, QpState.ERR);
  bench.proveItWorks();
  bench.finish();
});

t.test('the descriptor is gone when a stop doorbell is to write it', async (t) => {
  const bench = new Bench();
  const page = lonePage(bench);
  const qp = bench.createQueuePair({ creation: { descriptorAddress: page } });
  unmap(bench, page);
  qp.stop();
  bench.settle();
  t.equal(bench.faults(FaultKind.DMA_WRITE), 1);
  bench.proveItWorks();
  bench.finish();
});

t.test('the record of a full completion queue is gone', async (t) => {
  const bench = new Bench();
  const sendCq = bench.createCompletionQueue({ entriesLog2: 1 });
  const qp = bench.createQueuePair({ sendCq });
  const before = bench.faults(FaultKind.DMA_READ);
  for (let count = 0; count < 2; count++) {
    qp.post(NOP);
    sendCq.take();
  }
  unmap(bench, sendCq.recordAddress);
  qp.post(NOP);
  bench.settle();
  t.ok(bench.faults(FaultKind.DMA_READ) > before);
  t.not(qp.query().state, QpState.RTS, 'it cannot complete, so it cannot go on');
  bench.finish();
});

t.test('memory comes and goes at random under load: nothing leaks, and other queue pairs go on', async (t) => {
  const seed = 91;
  const bench = new Bench({ seed, memoryBytes: 64 * 1024 * 1024 });
  const { random } = bench;
  const safe = bench.createPair();
  for (let round = 0; round < 150; round++) {
    const start = bench.driver.allocator.allocate(4096, 4096);
    const pair = bench.createPair();
    const end = bench.driver.allocator.allocate(4096, 4096);
    for (let count = 0; count < 4; count++) {
      bench.postReceive(pair.receiver, GRH + 64);
      pair.sender.post(
        pair.to({ sges: [bench.sge(bench.createBuffer(32))] }),
        random.pick(['collect', 'slot'] as const),
      );
    }
    pair.sender.ring();
    const hole = start + random.below((end - start) / 4096) * 4096;
    unmap(bench, hole, 4096, random.pick([PageAccess.UNMAPPED, PageAccess.READ_ONLY]));
    bench.settle();
    bench.host.memory.protect(hole, 4096, PageAccess.READ_WRITE);
    bench.asynchronous.walk();
    pair.sender.toError();
    pair.receiver.toError();
    pair.sender.destroy();
    pair.receiver.destroy();
    const buffer = bench.postReceive(safe.receiver, GRH + 8);
    const payload = random.bytes(8);
    safe.sender.post(safe.to({ inline: payload }));
    if (safe.sender.parts.sendCq.take().status !== SUCCESS)
      t.fail(`seed ${seed}, round ${round}: the safe pair failed`);
    safe.receiver.parts.receiveCq.take();
    t.same(buffer.bytes.slice(GRH), payload, `seed ${seed}, round ${round}`);
    bench.driver.addressHandles.rewind(1);
  }
  bench.finish();
});
