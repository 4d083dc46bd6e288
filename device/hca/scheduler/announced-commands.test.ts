// SPDX-License-Identifier: Apache-2.0
/**
 * Stores that software makes after the doorbell or the copy that announces them are found, at
 * whatever time the adapter reads (docs/HAZARDS.md, "What a doorbell announces"), and orderly
 * software is not blamed.
 */
import t from 'tap';
import {
  ADDRESS_HANDLE_HOP_LIMIT_OFFSET,
  ADDRESS_HANDLE_SIZE,
} from '../../../protocol/layout/gen/address-handle.gen.ts';
import { DOORBELL_SIZE } from '../../../protocol/layout/gen/doorbell.gen.ts';
import {
  QUEUE_PAIR_RECORD_SIZE,
  setQueuePairRecordSendTail,
} from '../../../protocol/layout/gen/queue-pair-record.gen.ts';
import { SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import type { Random } from '../../random.ts';
import type { DriverQueuePair } from '../../rig/driver/queue-pair.ts';
import { AdapterFixture, type AdapterFixtureOptions, type Pair } from '../../rig/fixtures/adapter-fixture.ts';
import type { LateStore } from '../function/announced-memory.ts';
import type { QueuePair } from '../queues/queue-pair.ts';

const SEQUENCE_BITS = 0xffff;
const MEMORY_BYTES = 1 << 20;
const NEAR_WRAP = 0xffff - 100;

/** How the adapter reads: at once, or after a while. */
const latency = { dmaLatencyNs: 2000 };
/** When the late store comes: before the adapter has worked, or after. */
const delays = ['at once', 'after the adapter'] as const;
const ways = ['doorbell', 'register', 'collect', 'refused'] as const;
type Way = (typeof ways)[number];
type Setting = readonly [adapter: AdapterFixtureOptions['adapter'], way: Way, delay: (typeof delays)[number]];
const settings: readonly Setting[] = [
  ...delays.flatMap((delay) => [
    ...ways.map((way): Setting => [{}, way, delay]),
    ...(['doorbell', 'collect'] as const).map((way): Setting => [latency, way, delay]),
  ]),
  // A copy that waits in the processor is announced when it leaves it.
  [{ writeCombining: { seed: 3 } }, 'collect', 'after the adapter'],
];

interface Planted {
  readonly fixture: AdapterFixture;
  readonly pair: Pair;
  readonly qp: DriverQueuePair;
  readonly way: Way;
  /** Lets time pass as the case says. */
  readonly pass: () => void;
}

function plant(adapter: AdapterFixtureOptions['adapter'], way: Way, delay: (typeof delays)[number]): Planted {
  const pcbs = way === 'refused' ? { pcbCount: 1, pcbGuaranteed: [0, 0] as [number, number] } : {};
  const fixture = new AdapterFixture({
    seed: 7,
    memoryBytes: MEMORY_BYTES,
    adapter: { orderCheck: true, ...adapter, ...pcbs },
  });
  const pair = fixture.createPair();
  for (let count = 0; count < 4; count++) fixture.postReceive(pair.receiver, 256);
  // Takes the only buffer, so that further commands find none.
  if (way === 'refused') pair.receiver.collect(pair.receiver.fill({}).subarray(0, DOORBELL_SIZE));
  fixture.machine.expectsLateStores = true;
  const pass = (): void => (delay === 'at once' ? undefined : finishWork(fixture));
  return { fixture, pair, qp: pair.sender, way, pass };
}

function finishWork({ machine }: AdapterFixture): void {
  machine.runUntilIdle();
  while (machine.clock.jumpToAlarm()) machine.runUntilIdle();
}

/** Writes the tail alone. */
function setTail({ fixture, qp }: Planted, tail: number): void {
  const record = fixture.access.view(qp.parts.recordAddress, QUEUE_PAIR_RECORD_SIZE);
  setQueuePairRecordSendTail(record, 0, tail);
}

/** Tells the adapter of command `sequence`, whose bytes are `bytes`. */
function announce({ qp, way }: Planted, bytes: Uint8Array, sequence: number): void {
  if (way === 'doorbell' || way === 'register') qp.ring(sequence & SEQUENCE_BITS, way);
  else qp.collect(bytes);
}

/** The bytes of the next command, of which the slot still holds what was there before. */
function build({ qp, pair, fixture }: Planted): { bytes: Uint8Array; slot: Uint8Array; before: Uint8Array } {
  const view = qp.parts.sendBuffer.slot(qp.sendTail);
  const slot = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  const before = slot.slice();
  const inline = new Uint8Array(24).map(() => fixture.random.below(256));
  const bytes = qp.fill(pair.to({ inline, header: { opcode: SendOpcode.SEND } })).slice();
  return { bytes, slot, before };
}

/** Each bug posts one command, and makes a store too late. */
const bugs: Record<string, (planted: Planted) => void> = {
  'the tail': (planted) => {
    const { bytes } = build(planted);
    announce(planted, bytes, planted.qp.sendTail);
    planted.pass();
    setTail(planted, planted.qp.sendTail + 1);
  },
  'the slot': (planted) => {
    const { bytes, slot, before } = build(planted);
    slot.set(before);
    setTail(planted, planted.qp.sendTail + 1);
    announce(planted, bytes, planted.qp.sendTail);
    planted.pass();
    slot.set(bytes);
  },
  'slot and tail': (planted) => {
    const { bytes, slot, before } = build(planted);
    slot.set(before);
    announce(planted, bytes, planted.qp.sendTail);
    planted.pass();
    slot.set(bytes);
    setTail(planted, planted.qp.sendTail + 1);
  },
  'one byte of the payload': (planted) => {
    const { bytes, slot } = build(planted);
    const at = bytes.length - 3;
    slot[at] ^= 0x55;
    setTail(planted, planted.qp.sendTail + 1);
    announce(planted, bytes, planted.qp.sendTail);
    planted.pass();
    slot[at] = bytes[at];
  },
};

for (const [what, commit] of Object.entries(bugs)) {
  t.test(`found: ${what}, stored after it was announced`, async (t) => {
    for (const setting of settings) {
      const planted = plant(...setting);
      const { fixture, qp } = planted;
      commit(planted);
      finishWork(fixture);
      // Software goes on, for instance looks at a register.
      fixture.read(0);
      const found = fixture.machine.lateStores;
      const name = JSON.stringify(setting);
      t.ok(found.length > 0, name);
      for (const late of found) t.match(late, { object: qp.qpn, index: 0 } satisfies Partial<LateStore>, name);
    }
  });
}

t.test('found: an address handle that is stored after the doorbell of its command', async (t) => {
  for (const way of ways) {
    const planted = plant({}, way, 'at once');
    const { fixture, qp, pair } = planted;
    const { bytes } = build(planted);
    setTail(planted, qp.sendTail + 1);
    announce(planted, bytes, qp.sendTail);
    const { address } = fixture.driver.addressHandles;
    const handle = fixture.access.view(address + pair.handle * ADDRESS_HANDLE_SIZE, ADDRESS_HANDLE_SIZE);
    handle.setUint8(ADDRESS_HANDLE_HOP_LIMIT_OFFSET, handle.getUint8(ADDRESS_HANDLE_HOP_LIMIT_OFFSET) ^ 1);
    finishWork(fixture);
    t.match(
      fixture.machine.lateStores,
      [{ kind: 'address handle', object: qp.qpn, index: 0, offset: ADDRESS_HANDLE_HOP_LIMIT_OFFSET }],
      way,
    );
  }
});

t.test('a reset forgets what was announced', async (t) => {
  const fixture = new AdapterFixture({ memoryBytes: MEMORY_BYTES, adapter: { orderCheck: true } });
  const qp = fixture.createQueuePair();
  const post = (wrId: number): unknown => qp.post({ header: { opcode: SendOpcode.NOP, immediate: wrId } }, 'slot');
  for (const round of [1, 2, 3]) {
    for (let count = 0; count < 4; count++) post(round);
    // The adapter has read none of them when the queue pair is reset.
    qp.ring();
    qp.toReset();
    qp.start();
  }
  for (let count = 0; count < 4; count++) post(9);
  qp.ring();
  fixture.settle();
  t.equal(qp.parts.sendCq.drain().length, 4);
  t.same(fixture.machine.lateStores, []);
});

t.test('a tail beyond the queue announces no command', async (t) => {
  const { fixture, qp, ...planted } = plant({}, 'doorbell', 'at once');
  const device = fixture.machine.device.tables.queuePairs.get(qp.qpn) as QueuePair;
  setTail({ fixture, qp, ...planted }, 1000);
  qp.ring(0);
  t.equal(device.owner.announced?.has('command', device, 0), false);
});

t.test('the report names queue, slot and bytes', async (t) => {
  const planted = plant({ dmaLatencyNs: 2000 }, 'doorbell', 'at once');
  bugs['one byte of the payload'](planted);
  finishWork(planted.fixture);
  const { qp, fixture } = planted;
  const [late, ...others] = fixture.machine.lateStores;
  t.match(late, { kind: 'command', object: qp.qpn, index: 0, offset: 64 + 24 - 3, differing: 1, seen: 'fetch' });
  t.same(others, []);
});

/** Posts up to 4 commands in order, and tells of them in one of the ways that are allowed. */
function postOrderly(qp: DriverQueuePair, random: Random, room: number): number {
  const count = random.between(1, room);
  const first = qp.sendTail;
  const copies = Array.from({ length: count }, () => {
    const copy = qp.fill({ header: { opcode: SendOpcode.NOP } }).slice();
    qp.advanceSendTail();
    return copy;
  });
  if (random.oneIn(2)) {
    qp.ring(first);
    return count;
  }
  for (const copy of random.oneIn(2) ? copies : copies.reverse()) if (!random.oneIn(4)) qp.collect(copy);
  qp.ring(random.pick([first, (qp.sendTail - 1) & SEQUENCE_BITS]), 'register');
  return count;
}

t.test('orderly software is not blamed, through the wrap of sequence numbers and after a reset', async (t) => {
  const fewBuffers = { pcbCount: 2, pcbGuaranteed: [0, 0] as [number, number] };
  for (const [seed, adapter] of [fewBuffers, {}, { dmaLatencyNs: 500 }, { writeCombining: { seed: 5 } }].entries()) {
    const fixture = new AdapterFixture({ seed, memoryBytes: MEMORY_BYTES, adapter: { orderCheck: true, ...adapter } });
    const { machine, random } = fixture;
    const qp = fixture.createQueuePair({
      sendEntriesLog2: 5,
      sendCq: fixture.createCompletionQueue({ entriesLog2: 6 }),
    });
    machine.onStep = () => {};
    const device = machine.device.tables.queuePairs.get(qp.qpn) as QueuePair;
    for (const part of ['nextSequence', 'fetchSequence'] as const) device[part] = NEAR_WRAP;
    qp.sendTail = NEAR_WRAP;
    let outstanding = 0;
    for (const goal of [400, 200]) {
      for (let posted = 0; posted < goal; ) {
        const fresh = outstanding < 32 ? postOrderly(qp, random, Math.min(8, 32 - outstanding)) : 0;
        posted += fresh;
        outstanding += fresh - qp.parts.sendCq.drain().length;
        if (!machine.step()) machine.clock.jumpToAlarm();
      }
      finishWork(fixture);
      outstanding = 0;
      qp.parts.sendCq.drain();
      qp.toReset();
      qp.start();
    }
    t.same(machine.lateStores, [], `seed ${seed}, ${JSON.stringify(adapter)}`);
  }
});
