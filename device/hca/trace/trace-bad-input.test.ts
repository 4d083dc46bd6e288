// SPDX-License-Identifier: Apache-2.0
/**
 * Traces under misuse (docs/DOCUMENTS.md decision 10): rings of every size as they wrap, buffers
 * that are unmapped under load, traced QPs that are destroyed, reset and created again. Only the QP
 * concerned is affected, and nothing is lost.
 */
import t from 'tap';
import { TRACE_BLOCKS_MAX_LOG2 } from '../../../protocol/layout/gen/constants.gen.ts';
import { CompletionStatus, ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { type Connected, connect } from '../../rig/fixtures/connected-fixture.ts';
import { TraceFixture } from '../../rig/fixtures/trace-fixture.ts';
import { PageAccess } from '../../rig/machine/guest-memory-model.ts';
import { SimulatedClock } from '../../rig/machine/simulated-clock.ts';
import { BlockEncoder } from './block-encoder.ts';
import { Field, TraceRing } from './trace-ring.ts';
import { decodeMessages } from './traced-message.ts';

const PAGE = 4096;
const subject = { number: 1, serviceType: 0, attributes: { port: 1, remoteQpn: 0 } };

/** Sends messages and lets them end. Throws unless each arrives. */
function send(fixture: AdapterFixture, { a, b }: Connected, count: number): void {
  for (let sent = 0; sent < count; sent++) {
    b.postReceive([fixture.sge(fixture.createBuffer(64))]);
    a.post({ sges: [fixture.sge(fixture.createBuffer(64))] });
    const { status } = a.parts.sendCq.take();
    fixture.settle();
    if (status !== CompletionStatus.SUCCESS || b.parts.receiveCq.drain().length !== 1)
      throw new Error(`message ${sent} of ${count} did not arrive`);
  }
}

t.test('rings of every size, from 1 block to the maximum, work before and after wrapping', async (t) => {
  const encoder = new BlockEncoder();
  for (let blocksLog2 = 0; blocksLog2 <= TRACE_BLOCKS_MAX_LOG2; blocksLog2++) {
    const clock = new SimulatedClock();
    const ring = new TraceRing(blocksLog2, 0, clock);
    const blocks = 2 ** blocksLog2;
    for (const [total, tail] of [
      [blocks, 0],
      [blocks + 1, 1],
      [2 * blocks + 3, blocks + 3],
    ] as const) {
      while (ring.head < total) {
        // Message n begins at 10 n ns and takes 5 ns.
        const index = ring.open(ring.head * 10);
        ring.words[ring.slotOf(index) + Field.FIRST_PSN] = index;
        clock.advance(index * 10 + 5 - clock.now());
        ring.beginEnd();
        ring.end(index, CompletionStatus.SUCCESS, 0);
      }
      t.same([ring.tail, ring.lost], [tail, tail], `${blocks} blocks, ${total} begun`);
      t.equal(ring.has(tail - 1), false);
      for (const index of [tail, total - 1]) {
        encoder.encode(ring, index, subject);
        const [message] = decodeMessages(encoder.bytes, 1);
        t.match(message?.block, {
          index,
          firstPsn: index,
          beginTime: index * 10,
          endTime: index * 10 + 5,
          complete: 1,
        });
      }
    }
    t.equal(ring.words[ring.slotOf(ring.head - 1) + Field.PACKETS_KEPT], 0);
  }
});

t.test('unmapping the buffer of a read under load fails that read only; no block or message is lost', async (t) => {
  const fixture = new AdapterFixture({ seed: 80, budget: 5 });
  const trace = new TraceFixture(fixture);
  const connected = connect(fixture, { pathMtu: 1 });
  const { a, b } = connected;
  trace.modify(a.qpn, { blocksLog2: 6 });
  const target = fixture.driver.allocator.allocate(4 * PAGE, PAGE);
  const read = { bufferAddress: target, bufferLength: 4 * PAGE };
  for (let round = 0; round < 6; round++) {
    // A long message is in flight while the buffer is unmapped.
    b.postReceive([fixture.sge(fixture.createBuffer(8000))]);
    a.post({ sges: [fixture.sge(fixture.createBuffer(8000))] });
    for (let step = 0; step < 4; step++) fixture.machine.step();
    // The first page, or a later one that is reached after some blocks have been written.
    const hole = target + (round % 3) * PAGE;
    fixture.host.memory.protect(hole, PAGE, PageAccess.UNMAPPED);
    const { status } = trace.readInto(a.qpn, read);
    t.equal(status, ManagementStatus.BAD_ADDRESS, `round ${round}`);
    fixture.host.memory.protect(hole, PAGE, PageAccess.READ_WRITE);
    t.equal(a.parts.sendCq.take().status, CompletionStatus.SUCCESS);
    fixture.settle();
    b.parts.receiveCq.drain();
    t.match(trace.query(a.qpn), { head: round + 1, tail: 0, lost: 0 });
  }
  const { messages } = trace.read(a.qpn);
  t.equal(messages.length, 6);
  t.ok(messages.every(({ block }) => block.complete === 1 && block.messageLength === 8000));
  fixture.finish();
});

t.test('a read-only buffer is refused like an unmapped one', async (t) => {
  const fixture = new AdapterFixture({ seed: 81 });
  const trace = new TraceFixture(fixture);
  const connected = connect(fixture);
  trace.modify(connected.a.qpn);
  send(fixture, connected, 1);
  const target = fixture.driver.allocator.allocate(PAGE, PAGE);
  fixture.host.memory.protect(target, PAGE, PageAccess.READ_ONLY);
  const answer = trace.readInto(connected.a.qpn, { bufferAddress: target, bufferLength: PAGE });
  t.equal(answer.status, ManagementStatus.BAD_ADDRESS);
  t.equal(trace.read(connected.a.qpn).messages.length, 1);
});

t.test('a trace ends with its QP when traced QPs are reset, destroyed and created again under load', async (t) => {
  const fixture = new AdapterFixture({ seed: 82, budget: 5 });
  const trace = new TraceFixture(fixture);
  const { traces } = fixture.machine.device;
  const seen = new Set<number>();
  const bystander = connect(fixture);
  trace.modify(bystander.a.qpn, { blocksLog2: 6 });
  const before = traces.getUsed(0);
  for (let round = 0; round < 8; round++) {
    const { a, b } = connect(fixture, { pathMtu: 1 });
    for (const { qpn } of [a, b]) {
      t.notOk(seen.has(qpn), 'a new QPN');
      seen.add(qpn);
      t.match(trace.query(qpn), { enable: 0, head: 0 }, 'a new QP is not traced');
      trace.modify(qpn);
    }
    b.postReceive([fixture.sge(fixture.createBuffer(8000))]);
    a.post({ sges: [fixture.sge(fixture.createBuffer(8000))] });
    for (let step = 0; step <= round; step++) fixture.machine.step();
    if (round % 2 === 1) {
      a.toReset();
      t.equal(trace.query(a.qpn).enable, 1, 'the trace survives RESET');
      t.ok(trace.read(a.qpn).messages.every(({ block }) => block.complete === 1));
    }
    a.destroy();
    b.destroy();
    t.equal(trace.readInto(a.qpn, {}).status, ManagementStatus.BAD_OBJECT);
    t.equal(traces.getUsed(0), before, 'its memory is free');
    send(fixture, bystander, 1);
  }
  const { messages, attributes } = trace.read(bystander.a.qpn);
  t.equal(messages.length, 8);
  t.equal(attributes.lost, 0);
  t.ok(messages.every(({ block }) => block.status === CompletionStatus.SUCCESS && block.messageLength === 64));
  fixture.finish();
});
