// SPDX-License-Identifier: Apache-2.0
/**
 * Resizing a shared receive queue with posted WQEs: none is lost, doubled or out of order, and
 * numbers go on (IBTA 11.2.3.3).
 */
import t from 'tap';
import { RECEIVE_ENTRY_SEQUENCE_MASK } from '../../../protocol/layout/gen/receive-entry.gen.ts';
import { CompletionStatus, EventType, ManagementStatus, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import type { DriverQueuePair } from '../../rig/driver/queue-pair.ts';
import type { DriverSharedReceiveQueue } from '../../rig/driver/shared-receive-queue.ts';
import { AdapterFixture, type Buffer } from '../../rig/fixtures/adapter-fixture.ts';
import { ledger } from '../../rig/fixtures/ledger.ts';

const BUFFERS = 64;
const BYTES = 16;

/** One RC connection whose receiver takes from a shared queue. WQE n names buffer n modulo 64. */
class SharedReceiver {
  readonly fixture: AdapterFixture;
  readonly srq: DriverSharedReceiveQueue;
  readonly #sender: DriverQueuePair;
  readonly #receiver: DriverQueuePair;
  readonly #targets: Buffer[];
  #taken: number;

  constructor(paged: boolean, first = 0) {
    const fixture = new AdapterFixture();
    this.fixture = fixture;
    this.srq = fixture.driver.createSharedReceiveQueue({ pd: fixture.pd, entriesLog2: 4, paged });
    const creation = { serviceType: ServiceType.RC };
    this.#sender = fixture.createQueuePair({ state: 'reset', creation });
    this.#receiver = fixture.createQueuePair({ state: 'reset', creation: { ...creation, srqn: this.srq.srqn } });
    this.#sender.connect({ reliable: true, port: 1, dlid: fixture.lidOf(2), remoteQpn: this.#receiver.qpn });
    this.#receiver.connect({ reliable: true, port: 2, dlid: fixture.lidOf(1), remoteQpn: this.#sender.qpn });
    this.#targets = Array.from({ length: BUFFERS }, () => fixture.createBuffer(BYTES));
    this.srq.tail = first;
    this.#taken = first;
    const device = fixture.machine.device.tables.sharedReceiveQueues.get(this.srq.srqn);
    if (device === undefined) throw new Error('there is no SRQ');
    [device.ring.head, device.ring.tail] = [first, first];
  }

  /** Posted WQEs that no message has taken. */
  get posted(): number {
    return (this.srq.tail - this.#taken) & RECEIVE_ENTRY_SEQUENCE_MASK;
  }

  post(count: number): void {
    for (let posted = 0; posted < count; posted++)
      this.srq.postReceive([this.fixture.sge(this.#targets[this.srq.tail % BUFFERS] as Buffer)]);
  }

  /** Sends messages and returns what is wrong with them. */
  send(count: number): unknown[] {
    const wrong: unknown[] = [];
    for (let sent = 0; sent < count; sent++) {
      const content = this.fixture.createBuffer(this.fixture.random.bytes(BYTES));
      const target = this.#targets[this.#taken % BUFFERS] as Buffer;
      this.#sender.post({ sges: [this.fixture.sge(content)] });
      const { status } = this.#sender.parts.sendCq.take();
      const { queueSequence } = this.#receiver.parts.receiveCq.take();
      const isWhole = content.bytes.every((byte, index) => byte === target.bytes[index]);
      if (status !== CompletionStatus.SUCCESS || queueSequence !== this.#taken || !isWhole)
        wrong.push({ number: this.#taken, status, queueSequence, isWhole });
      this.#taken = (this.#taken + 1) & RECEIVE_ENTRY_SEQUENCE_MASK;
    }
    return wrong;
  }

  resize(entriesLog2: number): number {
    return this.srq.resize(this.fixture.driver.allocator, entriesLog2).status;
  }
}

t.test('posted WQEs move to a larger and to a smaller ring, contiguous and in pages', async (t) => {
  ledger(t, '11.2.3.3', 'Resizing a shared receive queue keeps the entries that are posted to it');
  for (const paged of [false, true])
    for (const first of [0, RECEIVE_ENTRY_SEQUENCE_MASK - 20]) {
      const shared = new SharedReceiver(paged, first);
      shared.post(13);
      t.same(shared.send(6), []);
      shared.post(9);
      for (const entriesLog2 of [6, 5, 7, 4]) {
        t.equal(shared.resize(entriesLog2), ManagementStatus.OK, `to 2^${entriesLog2}`);
        t.same(shared.send(5), []);
        shared.post(2);
      }
      t.same(shared.send(shared.posted), []);
      shared.fixture.finish();
    }
});

t.test('a ring too small for the posted WQEs or for the limit is refused; nothing changes', async (t) => {
  ledger(t, '11.2.3.3', 'A shared receive queue is not made smaller than the entries in it or than its limit');
  const shared = new SharedReceiver(false);
  shared.post(9);
  const refused = shared.srq.resize(shared.fixture.driver.allocator, 3);
  t.match(refused, { status: ManagementStatus.BAD_FIELD, limit: 9 }, 'the entries that need room');
  t.same(shared.send(4), []);
  shared.srq.setLimit(3);
  t.equal(shared.resize(1), ManagementStatus.BAD_FIELD);
  t.equal(shared.resize(3), ManagementStatus.OK);
  t.equal(shared.fixture.asynchronous.walk().length, 0, 'five are left: not below the limit');
  t.same(shared.send(3), []);
  t.match(shared.fixture.asynchronous.take()[0], { eventType: EventType.SRQ_LIMIT, objectNumber: shared.srq.srqn });
  t.same(shared.send(2), []);
  shared.fixture.finish();
});
