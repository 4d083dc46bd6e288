// SPDX-License-Identifier: Apache-2.0
/**
 * Hazards 1 to 8, 19 and 20 of docs/HAZARDS.md: each is provoked, and the defined result follows.
 */
import t, { type Test } from 'tap';
import {
  CANCEL_OFFSET,
  CANCEL_VALUE_HIGH,
  DATA_BYTES,
  PAGE_BYTES,
} from '../../../protocol/layout/gen/constants.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import { CompletionStatus, FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import { planStores, storeCollected } from '../../rig/driver/collect-writer.ts';
import type { DriverQueuePair } from '../../rig/driver/queue-pair.ts';
import { AdapterFixture, type Pair } from '../../rig/fixtures/adapter-fixture.ts';
import { countCollecting } from '../../rig/fixtures/invariants.ts';
import { InProcessAccess } from '../../rig/machine/access.ts';

const GRH = 40;
const COUNT = 40;

/**
 * Fills the next slot of the sender. Returns the stores of the collect copy, which are not yet
 * written, and a function that writes one.
 */
function prepare(
  fixture: AdapterFixture,
  { sender, receiver, to }: Pair,
  payload: Uint8Array,
  qp: DriverQueuePair = sender,
) {
  const buffer = fixture.postReceive(receiver, GRH + 256);
  const bytes = qp.fill(to({ inline: payload })).slice();
  qp.advanceSendTail();
  const view = new DataView(bytes.buffer);
  const store = (item: { offset: number; sizeBytes: number }) =>
    storeCollected(fixture.access, qp.parts.page, view, item);
  const intact = () => payload.every((byte, index) => buffer.bytes[GRH + index] === byte);
  return { bytes, stores: planStores(bytes.length), store, intact };
}

/** Both ends completed exactly once, with success. */
function checkOnce(t: Test, { sender, receiver }: Pair, what: string): void {
  t.same(
    sender.parts.sendCq.drain().map(({ status }) => status),
    [CompletionStatus.SUCCESS],
    what,
  );
  t.equal(receiver.parts.receiveCq.drain().length, 1, what);
}

t.test('hazard 1: the words of a command arrive in any order: the same packet, one kick', async (t) => {
  const fixture = new AdapterFixture({ seed: 1, adapter: { writeCombining: { seed: 1, lines: 6 } } });
  const pair = fixture.createPair();
  for (let round = 0; round < COUNT; round++) {
    const { stores, store, intact } = prepare(fixture, pair, fixture.random.bytes(fixture.random.below(257)));
    for (const item of fixture.random.shuffle(stores)) store(item);
    fixture.settle();
    checkOnce(t, pair, `seed 1, round ${round}`);
    t.ok(intact(), `seed 1, round ${round}`);
  }
  t.equal(fixture.read(CSR.COLLECT_KICKS), COUNT);
  t.equal(fixture.read(CSR.COMMANDS_COLLECTED), COUNT);
  fixture.finish();
});

t.test('hazard 2: the word with the length arrives last: no kick before it', async (t) => {
  const fixture = new AdapterFixture({ seed: 2 });
  const pair = fixture.createPair();
  const { stores, store, intact } = prepare(fixture, pair, fixture.random.bytes(100));
  for (const item of stores.slice(1)) store(item);
  fixture.settle();
  t.equal(fixture.read(CSR.COLLECT_KICKS), 0);
  t.equal(countCollecting(fixture.access), 1);
  store(stores[0] as (typeof stores)[0]);
  fixture.settle();
  t.equal(fixture.read(CSR.COLLECT_KICKS), 1);
  checkOnce(t, pair, 'after it');
  t.ok(intact());
  fixture.finish();
});

t.test(
  'hazard 3: one word is missing for ever: the VCB stays bound until cancel, and the PCB is not lost',
  async (t) => {
    const fixture = new AdapterFixture({ seed: 3, adapter: { pcbCount: 1, pcbGuaranteed: [1, 0] } });
    const pair = fixture.createPair();
    for (let missing = 0; missing < 8; missing++) {
      const { stores, store } = prepare(fixture, pair, new Uint8Array(0));
      for (const item of stores.toSpliced(missing, 1)) store(item);
      fixture.settle();
      t.same([fixture.read(CSR.PCB_IN_USE), countCollecting(fixture.access)], [1, 1], `without word ${missing}`);
      t.notOk(pair.sender.parts.sendCq.ready);
      pair.sender.cancel();
      t.same([fixture.read(CSR.PCB_IN_USE), countCollecting(fixture.access)], [0, 0]);
      pair.sender.ring();
      fixture.settle();
      checkOnce(t, pair, 'the send queue still holds the command');
    }
    fixture.finish();
  },
);

t.test('hazard 4: two processors write into one VCB at once: the checksum fails, no mixed packet', async (t) => {
  const fixture = new AdapterFixture({ seed: 4 });
  const pair = fixture.createPair();
  for (let round = 0; round < COUNT; round++) {
    const both = [0, 1].map((which) => prepare(fixture, pair, new Uint8Array(64).fill(2 * round + which)));
    const stores = both.flatMap(({ stores, store }) => stores.map((item) => () => store(item)));
    for (const store of fixture.random.shuffle(stores)) store();
    pair.sender.cancel();
    pair.sender.ring();
    fixture.settle();
    t.equal(pair.sender.parts.sendCq.drain().length, 2, `seed 4, round ${round}`);
    t.equal(pair.receiver.parts.receiveCq.drain().length, 2);
    for (const { intact } of both) t.ok(intact(), `seed 4, round ${round}: not mixed`);
  }
  t.ok(fixture.faults(FaultKind.COMMAND_CHECKSUM) > 0, 'and it is counted');
  fixture.finish();
});

t.test('hazard 5: words arrive twice: the scoreboard counts them once', async (t) => {
  const fixture = new AdapterFixture({ seed: 5, adapter: { writeCombining: { seed: 5, lines: 6 } } });
  const pair = fixture.createPair();
  for (let round = 0; round < COUNT; round++) {
    const { bytes, intact } = prepare(fixture, pair, fixture.random.bytes(64));
    pair.sender.collect(bytes, { storeBytes: 0, random: fixture.random, repeat: true });
    fixture.settle();
    checkOnce(t, pair, `seed 5, round ${round}`);
    t.ok(intact());
  }
  t.equal(fixture.read(CSR.COLLECT_KICKS), COUNT);
  t.equal(countCollecting(fixture.access), 0, 'no repetition began another command');
  fixture.finish();
});

t.test('hazard 6: a command begins before the last one in its VCB was kicked: never merged', async (t) => {
  const fixture = new AdapterFixture({ seed: 6 });
  const pair = fixture.createPair();
  for (const backwards of [false, true])
    for (let kept = 1; kept < 15; kept++) {
      const first = prepare(fixture, pair, new Uint8Array(64).fill(1));
      const second = prepare(fixture, pair, new Uint8Array(64).fill(2));
      const [mixed, early] = [fixture.faults(FaultKind.COMMAND_CHECKSUM), fixture.read(CSR.DOORBELLS_IMPLICIT)];
      for (const item of first.stores.slice(0, kept)) first.store(item);
      for (const item of backwards ? second.stores.toReversed() : second.stores) second.store(item);
      const what = `${kept} words of the first, then the second ${backwards ? 'backwards' : 'forwards'}`;
      // Written backwards, the command is complete as soon as it reaches the words of the first
      // one. Written forwards, it has overwritten them and is early.
      t.equal(fixture.faults(FaultKind.COMMAND_CHECKSUM) - mixed, backwards ? 1 : 0, what);
      t.equal(fixture.read(CSR.DOORBELLS_IMPLICIT) - early, 1, what);
      pair.sender.cancel();
      pair.sender.ring();
      fixture.settle();
      t.equal(pair.sender.parts.sendCq.drain().length, 2, what);
      t.equal(pair.receiver.parts.receiveCq.drain().length, 2);
      t.ok(first.intact() && second.intact());
    }
  t.equal(fixture.read(CSR.COMMANDS_COLLECTED), 0, 'no copy was executed');
  fixture.finish();
});

t.test('hazard 7: the copy differs from the send queue: it is dropped, the send queue executes', async (t) => {
  const fixture = new AdapterFixture({ seed: 7 });
  const pair = fixture.createPair();
  for (let round = 0; round < COUNT; round++) {
    const { bytes, intact } = prepare(fixture, pair, fixture.random.bytes(64));
    const at = fixture.random.between(8, bytes.length - 1);
    bytes[at] = (bytes[at] ?? 0) ^ (1 + fixture.random.below(255));
    pair.sender.collect(bytes);
    fixture.settle();
    checkOnce(t, pair, `seed 7, round ${round}, byte ${at}`);
    t.ok(intact());
  }
  t.equal(fixture.faults(FaultKind.COMMAND_CHECKSUM), COUNT);
  t.equal(fixture.read(CSR.COMMANDS_FETCHED), COUNT);
  t.equal(fixture.read(CSR.COMMANDS_COLLECTED), 0);
  fixture.finish();
});

t.test('hazard 8: no PCB at the first word, one before the last: still a doorbell, not half a command', async (t) => {
  const fixture = new AdapterFixture({ seed: 8, adapter: { pcbCount: 1, pcbGuaranteed: [1, 0] } });
  const pair = fixture.createPair();
  const holder = fixture.createQueuePair();
  fixture.access.writeCollect(holder.parts.page + 8, 8, 0, 0);
  t.equal(fixture.read(CSR.PCB_AVAILABLE), 0);
  const { stores, store, intact } = prepare(fixture, pair, fixture.random.bytes(64));
  for (const item of stores.slice(0, 5)) store(item);
  t.equal(fixture.read(CSR.PCB_REFUSALS), 1);
  holder.cancel();
  t.equal(fixture.read(CSR.PCB_AVAILABLE), 1);
  for (const item of stores.slice(5)) store(item);
  fixture.settle();
  checkOnce(t, pair, 'by doorbell');
  t.ok(intact());
  t.same([fixture.read(CSR.DOORBELLS_IMPLICIT), fixture.read(CSR.COMMANDS_COLLECTED)], [1, 0]);
  fixture.finish();
});

t.test(
  'hazard 19: the share of PCBs changes under commands: use above it converges and is never negative',
  async (t) => {
    const fixture = new AdapterFixture({
      seed: 19,
      functionCount: 2,
      adapter: { vcbCount: 16, pcbCount: 16, pcbGuaranteed: [4, 4] },
    });
    const { collectBuffers } = fixture.machine.device;
    const other = new InProcessAccess(fixture.machine, 1);
    const half = (access: InProcessAccess, page: number) => access.writeCollect(page * PAGE_BYTES + 8, 8, 0, 0);
    const cancel = (page: number) =>
      fixture.access.writeCollect(page * PAGE_BYTES + CANCEL_OFFSET, 8, 0, CANCEL_VALUE_HIGH);
    fixture.machine.onStep = () => {};
    for (let page = 0; page < 12; page++) half(fixture.access, page);
    t.same(
      [fixture.read(CSR.PCB_IN_USE), fixture.read(CSR.PCB_IN_USE_FUNCTION), fixture.read(CSR.PCB_IN_USE_DEVICE)],
      [11, 2, 8],
    );
    collectBuffers.setShare(0, 1, 1, 0);
    collectBuffers.setShare(1, 15, 15, 0);
    t.same([fixture.read(CSR.PCB_COUNT), fixture.read(CSR.PCB_IN_USE), fixture.read(CSR.PCB_AVAILABLE)], [1, 11, 0]);
    for (let page = 0; page < 16; page++) half(other, page);
    t.equal(other.readRegister(CSR.PCB_IN_USE, 4), 5, 'the other one has the free ones');
    for (let page = 0; page < 11; page++) {
      cancel(page);
      t.equal(fixture.read(CSR.PCB_IN_USE), 10 - page);
      t.equal(collectBuffers.findError(), undefined, `after ${page + 1} came back`);
    }
    cancel(11);
    t.same([fixture.read(CSR.PCB_IN_USE), fixture.read(CSR.PCB_AVAILABLE), collectBuffers.deviceShared], [0, 1, 0]);
    t.equal(other.readRegister(CSR.PCB_AVAILABLE, 4), 10, 'and has all it was given now');
  },
);

t.test('hazard 20: a function writes beyond its VCBs: dropped and counted, without effect on others', async (t) => {
  const fixture = new AdapterFixture({ seed: 20, functionCount: 3, adapter: { vcbCount: 10, vcbLimit: 16 } });
  const victim = new InProcessAccess(fixture.machine, 0);
  const rogue = new InProcessAccess(fixture.machine, 1);
  const adapter = fixture.machine.device;
  adapter.vcbSpace.place(2, 30, 4);
  const before = JSON.stringify(fixture.allFaults());
  const faults = () => rogue.readRegister(CSR.FAULT_COUNT + FaultKind.COLLECT_OUT_OF_RANGE * 4, 4);
  let writes = 0;
  for (const page of [10, 11, 15])
    for (const inPage of [0, 8, DATA_BYTES - 8]) {
      rogue.writeCollect(page * PAGE_BYTES + inPage, 8, 0xffffffff, 0xffffffff);
      t.equal(faults(), ++writes);
    }
  t.same(
    [0, 1, 2].map((number) => adapter.functions[number]?.collect.inUseCount),
    [0, 0, 0],
  );
  rogue.writeCollect(9 * PAGE_BYTES, 1, 0, 0);
  t.equal(rogue.readRegister(CSR.VCB_IN_USE, 4), 1 << 9, 'its own last one works');
  adapter.vcbSpace.place(1, 10, 4);
  t.equal(rogue.readRegister(CSR.VCB_COUNT, 4), 4);
  const second = adapter.functions[1];
  second.setDivider((second.collect.vcbCount - 1) * PAGE_BYTES);
  t.equal(rogue.readRegister(CSR.QOS_DIVIDER, 8), 3 * PAGE_BYTES);
  t.equal(adapter.functions[1]?.collect.levelOneCount, 1);
  rogue.writeCollect(9 * PAGE_BYTES + 1, 1, 0, 0);
  t.equal(faults(), writes, 'a command begun before its share shrank may go on');
  rogue.writeCollect(9 * PAGE_BYTES + CANCEL_OFFSET, 8, 0, CANCEL_VALUE_HIGH);
  rogue.writeCollect(9 * PAGE_BYTES, 1, 0, 0);
  t.equal(faults(), writes + 1, 'and then no more');
  t.equal(JSON.stringify(fixture.allFaults()), before);
  t.equal(countCollecting(victim), 0);
  fixture.proveItWorks();
});
