// SPDX-License-Identifier: Apache-2.0
/**
 * Send contexts at their limits: counters at their wrap with a full and an empty context, credit
 * words in one line, draining, egress order, and credit lines that are unmapped and mapped again
 * under load (US 2015/0378953 claim 1; docs/DOCUMENTS.md decision 9; docs/HAZARDS.md, hazards 21,
 * 22 and 26).
 */
import t from 'tap';
import {
  SEND_CONTEXT_BLOCKS_MAX,
  SEND_CONTEXT_WINDOW_BYTES,
  SEND_COUNTER_MASK,
} from '../../../protocol/layout/gen/constants.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import { FaultKind, PortState, SendContextState, SendHaltCause } from '../../../protocol/layout/gen/values.gen.ts';
import { DriverSendContext, type SendStore } from '../../rig/driver/send-context.ts';
import { AdapterFixture, type AdapterFixtureOptions } from '../../rig/fixtures/adapter-fixture.ts';
import { CREDIT_VECTOR, SendContextFixture } from '../../rig/fixtures/send-context-fixture.ts';
import { InProcessAccess } from '../../rig/machine/access.ts';
import { AccessKind } from '../../rig/machine/access-log.ts';
import { PageAccess } from '../../rig/machine/guest-memory-model.ts';

const COUNTER = SEND_COUNTER_MASK + 1;
const PAGE_BYTES = 4096;
const WORD_BYTES = 8;
const SMALL = Uint8Array.of(1, 2, 3, 4);

/** A packet of one block to a QP that does not exist: only its credit matters. */
function toAbsentQp(fixture: SendContextFixture): Uint8Array {
  return fixture.packet(SMALL, { destQpn: 0xfffffe });
}

t.test('hazard 21: the counter wraps with the context full, empty and in between, whatever its size', async (t) => {
  for (const blocks of [2, 64, 1000, SEND_CONTEXT_BLOCKS_MAX]) {
    const fixture = new SendContextFixture({ blocks, threshold: blocks });
    const { context } = fixture;
    const packet = toAbsentQp(fixture);
    const send = (count: number): void => {
      for (let index = 0; index < count; index++) if (!context.send(packet)) t.fail(`no credit at ${context.sent}`);
    };
    const returnAll = (): void => {
      fixture.settle();
      context.force();
      context.refresh();
    };
    // Sends packets until the counter is at `start`, as many at a time as fit.
    const advance = (start: number): void => {
      while (context.sent < start) {
        send(Math.min(blocks, start - context.sent));
        returnAll();
      }
    };
    for (const start of [COUNTER - 1, 2 * COUNTER - blocks, 3 * COUNTER - (blocks >> 1)]) {
      advance(start);
      t.equal(context.available, blocks, 'empty');
      send(blocks);
      t.equal(context.available, 0, 'full');
      t.notOk(context.send(toAbsentQp(fixture)), 'the device has returned none of them');
      returnAll();
      t.equal(context.word.freeCounter, (start + blocks) % COUNTER);
      t.equal(context.available, blocks, `${blocks} blocks from ${start} on`);
    }
    t.equal(fixture.query().haltCause, SendHaltCause.NONE);
    fixture.finish();
  }
});

t.test('credit words of up to eight contexts share a line: each return is one store of its own word', async (t) => {
  const fixture = new SendContextFixture();
  const { driver, host } = fixture.adapterFixture;
  const creditAddress = driver.allocator.allocate(WORD_BYTES * 8, WORD_BYTES * 8);
  const line = fixture.adapterFixture.access.view(creditAddress, WORD_BYTES * 8);
  const contexts = Array.from({ length: 8 }, () =>
    driver.createSendContext({ blocks: 8, threshold: 8, creditAddress }),
  );
  for (const context of contexts) context.enable();
  const words = (): string[] =>
    Array.from({ length: 8 }, (_, index) => line.getBigUint64(index * 8, true).toString(16));
  for (const [index, context] of contexts.entries()) {
    const before = words();
    const mark = host.log.count;
    for (let count = 0; count <= index; count++) t.ok(context.send(toAbsentQp(fixture)));
    fixture.settle();
    context.force();
    const stores = host.log
      .effectsSince(mark)
      .filter(
        ({ kind, address }) => kind === AccessKind.VALIDITY && address >= creditAddress && address < creditAddress + 64,
      );
    t.same(
      stores.map(({ address, lengthBytes }) => [address - creditAddress, lengthBytes]),
      [[(context.number % 8) * WORD_BYTES, WORD_BYTES]],
    );
    t.equal(context.word.freeCounter, index + 1);
    const changed = words().flatMap((word, slot) => (word === before[slot] ? [] : [slot]));
    t.same(changed, [context.number % 8], 'no other word');
  }
  fixture.finish();
});

t.test('a packet raises an interrupt when it leaves if it asks for one, and only then', async (t) => {
  const fixture = new SendContextFixture();
  for (const interrupt of [0, 1, 0, 1]) {
    const before = fixture.interrupts;
    const stores = fixture.context.allocate(toAbsentQp(fixture), { interrupt }) as SendStore[];
    for (const store of stores.slice(1)) fixture.context.write(store);
    fixture.settle();
    t.equal(fixture.interrupts, before, 'not before it is whole');
    fixture.context.write(stores[0]);
    fixture.settle();
    t.equal(fixture.interrupts, before + interrupt);
  }
  fixture.finish();
});

t.test(
  'a context disabled with complete packets waiting drains: these leave, others do not, and their credits return',
  async (t) => {
    const fixture = new SendContextFixture({ blocks: 512, threshold: 512 });
    const { context } = fixture;
    const waiting = (): number => fixture.query().packetsWaiting;
    // Written while the machine does not run.
    for (let count = 0; count < 100; count++) t.ok(context.send(toAbsentQp(fixture)));
    const half = context.allocate(toAbsentQp(fixture)) as SendStore[];
    context.write(half[0]);
    context.disable();
    t.equal(context.state, SendContextState.DRAINING);
    t.equal(context.word.freeCounter, 0);
    for (const store of half.slice(1)) context.write(store);
    fixture.settle();
    t.equal(context.state, SendContextState.DISABLED);
    t.equal(waiting(), 0);
    t.equal(fixture.query().packetsSent, 100, 'the incomplete packet has not left');
    t.equal(fixture.query().writesDropped, half.length - 1);
    t.equal(context.word.freeCounter, 100, 'returned without being asked');
    t.equal(context.word.dueForce, 1);
    context.enable();
    t.ok(context.send(toAbsentQp(fixture), { creditReturn: 1 }));
    fixture.settle();
    t.equal(context.word.freeCounter, 1);
    fixture.finish();
  },
);

t.test(
  'hazard 22: packets leave in order of completion, or in an order drawn from a seed, the same each time',
  async (t) => {
    const order = (sendEgressSeed: number | undefined): number[] => {
      const fixture = new SendContextFixture(
        { blocks: 64, threshold: 0 },
        { adapter: sendEgressSeed === undefined ? {} : { sendEgressSeed } },
      );
      const buffers = Array.from({ length: 32 }, () => fixture.postReceive(64));
      const packets = buffers.map((_, index) =>
        fixture.context.allocate(fixture.packet(Uint8Array.of(index, 0, 0, 0))),
      );
      // The youngest first.
      for (const stores of packets.reverse()) for (const store of stores as SendStore[]) fixture.context.write(store);
      fixture.settle();
      const arrived = buffers.map((buffer) => fixture.received(buffer)?.[0] ?? -1);
      t.equal(fixture.context.word.freeCounter, 32);
      fixture.finish();
      return arrived;
    };
    const asWritten = Array.from({ length: 32 }, (_, index) => 31 - index);
    t.same(order(undefined), asWritten);
    const [first, again, other] = [5, 5, 6].map(order);
    t.same(first, again);
    t.notSame(first, asWritten);
    t.notSame(first, other);
    t.same(
      [...first].sort((left, right) => left - right),
      asWritten.reverse(),
      'each of them once',
    );
  },
);

t.test(
  'a credit line unmapped and mapped again under load: one context halts, no credit is lost, others are unaffected',
  async (t) => {
    for (const seed of [1, 2, 3]) {
      const fixture = new SendContextFixture({ blocks: 16, threshold: 2 }, { seed });
      const { driver, host, random, machine } = fixture.adapterFixture;
      const other = fixture.context;
      const line = driver.allocator.allocate(PAGE_BYTES, PAGE_BYTES);
      const context = driver.createSendContext({
        blocks: 16,
        threshold: 2,
        creditAddress: line,
        vector: CREDIT_VECTOR,
      });
      context.enable();
      const sent = [0, 0];
      const ended = [0, 0];
      let halts = 0;
      for (let turn = 0; turn < 1500; turn++) {
        if (random.oneIn(20)) host.memory.protect(line, 1, random.pick([PageAccess.UNMAPPED, PageAccess.READ_WRITE]));
        for (const [index, one] of [context, other].entries())
          if (one.send(toAbsentQp(fixture), { creditReturn: random.below(2) }, () => ended[index]++)) sent[index]++;
        machine.step();
        for (const one of [context, other]) one.refresh();
        if (context.state === SendContextState.HALTED) {
          halts++;
          host.memory.protect(line, 1, PageAccess.READ_WRITE);
          context.restart();
          t.equal(context.available, 16);
        }
      }
      host.memory.protect(line, 1, PageAccess.READ_WRITE);
      fixture.settle();
      context.restart();
      other.force();
      other.refresh();
      t.ok(halts > 10, `${halts} halts; seed ${seed}`);
      t.same(ended, sent, 'every packet ended once');
      t.equal(other.available, 16);
      t.equal(other.state, SendContextState.ENABLED);
      t.equal(fixture.adapterFixture.faults(FaultKind.SEND_CONTEXT_HALTED), halts);
      fixture.finish();
    }
  },
);

/**
 * Enables the context without reading the status back, which a driver must do: an earlier credit
 * return may arrive after the zeros.
 */
class HastyContext extends DriverSendContext {
  override restart(): void {
    this.disable();
    this.enable();
  }

  override get status(): number {
    return 0;
  }
}

/**
 * Restarts a context repeatedly while its credits return late. Returns the number of times that the
 * driver counted wrong credits.
 */
function countWrongCredits(seed: number, SendContext: typeof DriverSendContext): number {
  const options: AdapterFixtureOptions = { seed, ordering: { mode: 'pcie', seed }, classes: { SendContext } };
  const fixture = new SendContextFixture({ blocks: 16, threshold: 0 }, options);
  const { machine, random } = fixture.adapterFixture;
  machine.onStep = () => {};
  const { context } = fixture;
  let wrong = 0;
  for (let round = 0; round < 40; round++) {
    for (let count = random.between(1, 8); count > 0; count--) context.send(toAbsentQp(fixture));
    for (let count = random.between(1, 6); count > 0; count--) machine.step();
    context.restart();
    for (let count = random.between(1, 60); count > 0; count--) machine.step();
    // Nothing was sent since the restart.
    if (context.word.freeCounter !== 0) wrong++;
  }
  return wrong;
}

t.test(
  'hazard 26: counters zeroed while an old credit return is in flight: reading the state back pushes it ahead',
  async (t) => {
    let hasty = 0;
    for (let seed = 1; seed <= 20; seed++) {
      t.equal(countWrongCredits(seed, DriverSendContext), 0, `seed ${seed}`);
      hasty += countWrongCredits(seed, HastyContext);
    }
    t.ok(hasty > 0, 'a driver that does not read the state back is detected');
  },
);

t.test(
  'hazard 26: a packet written before the context is enabled, or behind its halt, is dropped and counted',
  async (t) => {
    const fixture = new SendContextFixture({ blocks: 16, threshold: 0 });
    const { context } = fixture;
    const stores = context.allocate(toAbsentQp(fixture)) as SendStore[];
    context.halt();
    t.equal(context.state, SendContextState.HALTED, 'the state is there before its interrupt');
    t.equal(fixture.interrupts, 0);
    for (const store of stores) context.write(store);
    fixture.settle();
    t.equal(fixture.interrupts, 1);
    context.disable();
    for (const store of stores) context.write(store);
    context.enable();
    t.equal(fixture.query().writesDropped, 2 * stores.length);
    t.equal(fixture.query().packetsSent, 0);
    t.ok(context.send(toAbsentQp(fixture)));
    fixture.settle();
    t.equal(fixture.query().packetsSent, 1);
    fixture.finish();
  },
);

t.test('a port that is down: packets for VL15 and others are dropped, and their credits come back', async (t) => {
  const fixture = new SendContextFixture({ blocks: 16, threshold: 0, virtualLanes: 1 | (1 << 15) });
  const [port] = fixture.adapterFixture.machine.device.ports;
  port.setState(PortState.DOWN);
  const { context } = fixture;
  t.ok(context.send(toAbsentQp(fixture)));
  t.ok(context.send(fixture.packet(new Uint8Array(256), { destQpn: 0, srcQpn: 0 }), { virtualLane: 15 }));
  fixture.settle();
  t.match(fixture.query(), { packetsSent: 0, packetsDropped: 2, haltCause: SendHaltCause.NONE });
  context.refresh();
  t.equal(context.available, 16);
  fixture.finish();
});

t.test('a context is reached by its own function only, whatever another one writes', async (t) => {
  const fixture = new AdapterFixture({ functionCount: 2 });
  const context = fixture.driver.createSendContext({ blocks: 8 });
  context.enable();
  const foreign = new InProcessAccess(fixture.machine, 1);
  const { status } = context;
  foreign.writePio(context.number * SEND_CONTEXT_WINDOW_BYTES, 8, 0, 0);
  foreign.writeRegister(CSR.SEND_CONTEXT_CONTROL + context.number * 4, 4, 0, 0);
  fixture.settle();
  t.equal(context.status, status);
  t.equal(context.state, SendContextState.ENABLED);
  const faults = (kind: FaultKind): number => foreign.readRegister(CSR.FAULT_COUNT + kind * 4, 4);
  t.equal(faults(FaultKind.PIO_UNSUPPORTED), 1);
  t.equal(faults(FaultKind.REGISTER_RESERVED), 1);
  t.same(fixture.allFaults(), {}, 'its own function counts no fault');
  fixture.finish();
});
