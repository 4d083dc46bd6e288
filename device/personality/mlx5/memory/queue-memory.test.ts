// SPDX-License-Identifier: Apache-2.0
/** Reads of queues and of their doorbell records, and what happens where there is no memory. */
import t from 'tap';
import { FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import { PAGE_LIST } from '../../../hca/function/fault-log.ts';
import { KeyFixture, PAGE_BYTES, pattern } from '../../../rig/mlx5/driver/key-fixture.ts';
import { RequestBlock } from '../../shared/request-block.ts';
import { PageList } from './page-list.ts';
import { QueueMemory, ReceiveCounter, SendCounter } from './queue-memory.ts';

const START = 64;
const MISSING = 0x1000;

/** A buffer that begins in the first of two pages, and ends with one that is not memory. */
function makeMemory() {
  const fixture = new KeyFixture();
  const { dma, faults } = fixture.keys.owner;
  const pages = fixture.pages(2, pattern);
  const list = new PageList(Float64Array.of(...pages, MISSING), PAGE_BYTES, START);
  return { fixture, dma, faults, pages, memory: new QueueMemory(dma, list) };
}

const patternAt = (offset: number, length: number): number[] =>
  Array.from({ length }, (_, index) => pattern(START + offset + index));

t.test('a request is read from page to page, to where it belongs', async (t) => {
  const { dma, memory, pages } = makeMemory();
  const target = new RequestBlock();
  const end = PAGE_BYTES - START;
  for (const [offset, length, at] of [
    [0, 64, 0],
    [end - 64, 64, 0],
    [end - 64, 192, 64],
    [end, 16, 16],
  ]) {
    target.bytes.fill(0);
    t.equal(memory.readTo(PAGE_LIST, offset, length, target, at), FaultKind.NONE);
    const wanted = [...new Uint8Array(at), ...patternAt(offset, length), 0];
    t.same([...target.bytes.subarray(0, wanted.length)], wanted, `${length} bytes at ${offset} to ${at}`);
  }
  t.equal(memory.read(PAGE_LIST, 32, 8, target), FaultKind.NONE);
  t.same([...target.bytes.subarray(0, 8)], patternAt(32, 8));
  t.same([memory.addressOf(0), memory.addressOf(end)], [pages[0] + START, pages[1]]);
  t.same([memory.isInPage(end - 64, 64), memory.isInPage(end - 64, 65)], [true, false]);
  t.same([memory.locate(dma, end - 16, 64), dma.address], [16, pages[0] + PAGE_BYTES - 16]);
});

t.test('a page that is not memory ends a read, and is reported', async (t) => {
  const { faults, memory } = makeMemory();
  const target = new RequestBlock();
  t.equal(memory.read(PAGE_LIST, 2 * PAGE_BYTES - START - 64, 128, target), FaultKind.DMA_READ);
  t.same([faults.counts[FaultKind.DMA_READ], faults.firstAddressLow], [1, MISSING]);
});

t.test('each counter has its own dword of the record, of which 16 bits count', async (t) => {
  const { fixture, dma, pages } = makeMemory();
  const [record] = pages;
  const counters = [new ReceiveCounter(dma, record), new SendCounter(dma, record)];
  const read = () => counters.map((counter) => counter.read(PAGE_LIST));
  fixture.bytes(record, 8).set([0xff, 0xff, 0x12, 0x34, 0xff, 0xff, 0x56, 0x78]);
  t.same(read(), [0x1234, 0x5678]);
  fixture.bytes(record, 8).set([0, 0, 0, 1, 0, 0, 0, 2]);
  t.same(read(), [1, 2]);
  fixture.driver.port.setBusMaster(false);
  t.same(read(), [undefined, undefined], 'a record that cannot be read');
});
