// SPDX-License-Identifier: Apache-2.0
/**
 * PIO send contexts and credit return (US 2015/0378953 claim 1; docs/DOCUMENTS.md decision 9;
 * docs/HAZARDS.md, hazards 21 to 26).
 */
import t from 'tap';
import {
  SEND_CONTEXT_MAX,
  SEND_CONTEXT_WINDOW_BYTES,
  SEND_START_OF_PACKET_OFFSET as START_ALIAS,
} from '../../../protocol/layout/gen/constants.gen.ts';
import { CSR, CSR_ADAPTER_CONTROL_FREEZE_SENDS_MASK } from '../../../protocol/layout/gen/registers.gen.ts';
import {
  EventType,
  FaultKind,
  ManagementOpcode,
  ManagementStatus,
  SendContextMask,
  SendContextState,
  SendHaltCause,
} from '../../../protocol/layout/gen/values.gen.ts';
import { sendContextPayload } from '../../rig/driver/payloads.ts';
import type { SendStore } from '../../rig/driver/send-context.ts';
import { SendContextFixture } from '../../rig/fixtures/send-context-fixture.ts';
import { PageAccess } from '../../rig/machine/guest-memory-model.ts';

t.test(
  'a packet composed by software arrives; its credits come back by request, at the threshold, or when forced',
  async (t) => {
    const fixture = new SendContextFixture({ blocks: 16, threshold: 4 });
    const { context } = fixture;
    const payload = fixture.adapterFixture.random.bytes(100);
    for (const [control, counter, reason] of [
      [{ creditReturn: 1 }, 3, 'dueRequest'],
      [{}, 3, undefined],
      [{}, 9, 'dueThreshold'],
      [{}, 9, undefined],
    ] as const) {
      const buffer = fixture.postReceive();
      t.ok(context.send(fixture.packet(payload), control));
      fixture.settle();
      t.same(fixture.received(buffer), payload);
      t.equal(context.word.freeCounter, counter);
      if (reason !== undefined) t.equal(context.word[reason], 1);
    }
    context.force();
    fixture.settle();
    t.equal(context.word.freeCounter, 12);
    t.equal(context.word.dueForce, 1);
    context.refresh();
    t.equal(context.available, 16);
    t.equal(fixture.query().creditReturns, 3);
    fixture.finish();
  },
);

t.test(
  'hazard 23: a threshold that is not reached returns nothing until forced; force held at 1 gives nothing more',
  async (t) => {
    const fixture = new SendContextFixture({ blocks: 16, threshold: 16 });
    const { context } = fixture;
    const send = (): void => {
      fixture.postReceive();
      t.ok(context.send(fixture.packet(new Uint8Array(8))));
      fixture.settle();
    };
    for (let count = 0; count < 16; count++) send();
    t.equal(context.word.freeCounter, 0);
    t.notOk(context.send(fixture.packet(new Uint8Array(8))), 'the driver has no credit');
    context.force();
    t.ok(context.send(fixture.packet(new Uint8Array(8))), 'now it has');
    fixture.settle();
    const { access } = fixture.adapterFixture;
    const control = CSR.SEND_CONTEXT_CONTROL + context.number * 4;
    access.writeRegister(control, 4, 0b11, 0);
    const counter = context.word.freeCounter;
    send();
    access.writeRegister(control, 4, 0b11, 0);
    t.equal(context.word.freeCounter, counter, 'no edge');
    access.writeRegister(control, 4, 0b01, 0);
    access.writeRegister(control, 4, 0b11, 0);
    t.not(context.word.freeCounter, counter);
    const { management } = fixture.adapterFixture.driver;
    const before = fixture.query().creditReturns;
    const payload = sendContextPayload({ attributeMask: SendContextMask.THRESHOLD, threshold: 3 });
    management.perform({ opcode: ManagementOpcode.MODIFY_SEND_CONTEXT, objectNumber: context.number, payload });
    t.equal(fixture.query().creditReturns, before + 1, 'another threshold returns once in any case');
    fixture.finish();
  },
);

t.test(
  'hazard 22: a packet that leaves before an older one returns no credit until the older one has left',
  async (t) => {
    const fixture = new SendContextFixture({ blocks: 16, threshold: 0 });
    const { context } = fixture;
    const first = context.allocate(fixture.packet(new Uint8Array(200)));
    const second = context.allocate(fixture.packet(Uint8Array.of(1, 2, 3, 4)), { creditReturn: 1 });
    const buffer = fixture.postReceive();
    for (const store of second as SendStore[]) context.write(store);
    fixture.settle();
    t.same(fixture.received(buffer), Uint8Array.of(1, 2, 3, 4), 'the younger packet has left');
    t.equal(context.word.freeCounter, 0);
    t.equal(fixture.query().creditReturns, 0);
    fixture.postReceive();
    for (const store of first as SendStore[]) context.write(store);
    fixture.settle();
    t.equal(context.word.freeCounter, 5, 'the whole run');
    t.equal(context.word.dueRequest, 1);
    fixture.finish();
  },
);

t.test(
  'hazard 21: stores of many packets in any order, egress in any order: every packet once, credits exact, through many wraps',
  async (t) => {
    for (const seed of [1, 2, 3, 4, 5, 6]) {
      const blocks = [2 + seed, 1024, 64][seed % 3];
      const egress = seed % 2 === 0 ? { sendEgressSeed: seed } : {};
      const fixture = new SendContextFixture({ blocks, threshold: seed }, { seed, adapter: egress });
      const { context } = fixture;
      const { random, machine } = fixture.adapterFixture;
      let [sent, freed, expected] = [0, 0, 0];
      const arrived = new Set<number>();
      let open: { store: SendStore; packet: number }[] = [];
      const buffers: Uint8Array[] = [];
      const largest = Math.min(blocks * 64 - 8 - 28, 1500) & ~3;
      while (arrived.size < 400) {
        while (buffers.length < 200) buffers.push(fixture.postReceive(2048));
        if (sent < 400 && random.oneIn(2)) {
          const payload = new Uint8Array(4 + (random.below(largest - 3) & ~3));
          new DataView(payload.buffer).setUint32(0, sent);
          const order = sent;
          const stores = context.allocate(fixture.packet(payload), { creditReturn: random.below(2) }, () => {
            if (order !== expected++) t.fail(`freed out of order; seed ${seed}`);
            freed++;
          });
          if (stores !== undefined) {
            const packet = sent++;
            open.push(...stores.map((store) => ({ store, packet })));
          } else context.force();
        }
        open = random.shuffle(open);
        const now = random.below(open.length + 1);
        for (const { store, packet } of open.splice(0, now)) {
          context.write(store);
          // Repeats a store while its packet is not complete.
          if (random.oneIn(8) && open.some((other) => other.packet === packet)) context.write(store);
        }
        machine.step();
        context.refresh();
        for (
          let entry = fixture.receiver.parts.receiveCq.poll();
          entry;
          entry = fixture.receiver.parts.receiveCq.poll()
        ) {
          const buffer = buffers.shift() as Uint8Array;
          const mark = new DataView(buffer.buffer, buffer.byteOffset).getUint32(40);
          if (arrived.has(mark)) t.fail(`packet ${mark} twice; seed ${seed}`);
          arrived.add(mark);
        }
        if (fixture.query().haltCause !== SendHaltCause.NONE)
          throw new Error(`halted: ${fixture.query().haltCause}; seed ${seed}`);
      }
      fixture.settle();
      context.force();
      context.refresh();
      t.equal(context.available, blocks, `all credits are back; seed ${seed}`);
      t.equal(freed, 400);
      fixture.adapterFixture.machine.runUntilIdle();
    }
  },
);

t.test(
  'hazard 24: the last credit comes back before the interrupt is enabled: the forced return wakes the waiter',
  async (t) => {
    const fixture = new SendContextFixture({ blocks: 4, threshold: 4 });
    const { context } = fixture;
    fixture.postReceive();
    t.ok(context.send(fixture.packet(new Uint8Array(200))));
    fixture.settle();
    t.notOk(context.send(fixture.packet(new Uint8Array(200))));
    let woken = 0;
    t.equal(fixture.interrupts, 0);
    context.wantCredits(() => woken++);
    fixture.settle();
    t.equal(fixture.interrupts, 1);
    context.refresh();
    t.equal(woken, 1);
    t.ok(context.send(fixture.packet(new Uint8Array(200))));
    fixture.postReceive();
    fixture.settle();
    context.force();
    fixture.settle();
    t.equal(fixture.interrupts, 1, 'no waiter is left');
    fixture.finish();
  },
);

const misuse: readonly [string, SendHaltCause, (fixture: SendContextFixture, base: number) => void][] = [
  [
    'a packet that starts without its mark',
    SendHaltCause.INCONSISTENT_SOP,
    ({ adapterFixture }, base) => adapterFixture.access.writePio(base, 8, 0, 0),
  ],
  [
    'a start inside a packet',
    SendHaltCause.INCONSISTENT_SOP,
    ({ adapterFixture }, base) => {
      adapterFixture.access.writePio(START_ALIAS + base, 8, 40, 0);
      adapterFixture.access.writePio(START_ALIAS + base + 64, 8, 0, 0);
    },
  ],
  [
    'a start that came before the packet it is inside of',
    SendHaltCause.INCONSISTENT_SOP,
    ({ adapterFixture }, base) => {
      adapterFixture.access.writePio(START_ALIAS + base + 64, 8, 12, 0);
      adapterFixture.access.writePio(START_ALIAS + base, 8, 40, 0);
    },
  ],
  [
    'a write beyond the context',
    SendHaltCause.OUT_OF_BOUNDS,
    ({ adapterFixture }, base) => adapterFixture.access.writePio(base + 8 * 64, 8, 0, 0),
  ],
  [
    'a write that crosses',
    SendHaltCause.CROSSES_BOUNDARY,
    ({ adapterFixture }, base) => adapterFixture.access.writePio(START_ALIAS + base + 60, 8, 0, 0),
  ],
  [
    'a length of nothing',
    SendHaltCause.BAD_LENGTH,
    ({ adapterFixture }, base) => adapterFixture.access.writePio(START_ALIAS + base, 8, 0, 0),
  ],
  [
    'a length beyond the context',
    SendHaltCause.BAD_LENGTH,
    ({ adapterFixture }, base) => adapterFixture.access.writePio(START_ALIAS + base, 8, 129, 0),
  ],
  [
    'more packets than blocks',
    SendHaltCause.OVERFLOW,
    ({ adapterFixture }, base) => {
      adapterFixture.access.writePio(START_ALIAS + base, 8, 80, 0);
      adapterFixture.access.writePio(START_ALIAS + base + 5 * 64, 8, 80, 0);
    },
  ],
];

for (const [what, cause, provoke] of misuse) {
  t.test(`hazard 25: ${what} halts the context, is reported, and affects no other context`, async (t) => {
    const fixture = new SendContextFixture({ blocks: 8 });
    const { driver, access } = fixture.adapterFixture;
    const other = driver.createSendContext({ blocks: 8 });
    other.enable();
    provoke(fixture, fixture.context.number * SEND_CONTEXT_WINDOW_BYTES);
    fixture.settle();
    const { state, haltCause } = fixture.query();
    t.equal(state, SendContextState.HALTED);
    t.equal(haltCause, cause);
    t.equal(fixture.context.word.status, 1);
    t.equal(fixture.context.word.dueError, 1);
    t.ok(fixture.interrupts > 0);
    t.equal(fixture.adapterFixture.faults(FaultKind.SEND_CONTEXT_HALTED), 1);
    const events = fixture.adapterFixture.asynchronous.walk();
    t.same(
      events.map(({ eventType, objectNumber }) => [eventType, objectNumber]),
      [[EventType.SEND_CONTEXT_HALTED, fixture.context.number]],
    );
    access.writePio(fixture.context.number * SEND_CONTEXT_WINDOW_BYTES, 8, 0, 0);
    t.equal(fixture.query().writesDropped > 0, true, 'a halted context takes nothing');
    const buffer = fixture.postReceive();
    t.ok(other.send(fixture.packet(Uint8Array.of(7, 7, 7, 7))));
    fixture.settle();
    t.same(fixture.received(buffer), Uint8Array.of(7, 7, 7, 7));
    const again = fixture.postReceive();
    fixture.context.restart();
    t.ok(fixture.context.send(fixture.packet(Uint8Array.of(8, 8, 8, 8)), { creditReturn: 1 }));
    fixture.settle();
    t.same(fixture.received(again), Uint8Array.of(8, 8, 8, 8));
    fixture.context.refresh();
    t.equal(fixture.context.available, 8);
    fixture.finish();
  });
}

t.test('hazard 26: halting and restarting under load drops incomplete packets and loses no credit', async (t) => {
  for (const seed of [11, 12, 13]) {
    const fixture = new SendContextFixture({ blocks: 16, threshold: 2 }, { seed });
    const { context } = fixture;
    const { random, machine } = fixture.adapterFixture;
    let [posted, ended] = [0, 0];
    for (let round = 0; round < 300; round++) {
      fixture.postReceive(512);
      const stores = context.allocate(fixture.packet(new Uint8Array(4 * random.below(100))), {}, () => ended++);
      if (stores !== undefined) posted++;
      const count = random.oneIn(5) ? random.below((stores?.length ?? 0) + 1) : stores?.length;
      for (const store of stores?.slice(0, count) ?? []) context.write(store);
      if (count !== stores?.length || random.oneIn(10)) {
        if (random.oneIn(2)) context.halt();
        context.restart();
        if (posted !== ended) t.fail(`${posted - ended} packets were not reported; seed ${seed}`);
        if (context.available !== 16) t.fail(`credits are lost; seed ${seed}`);
      }
      machine.step();
      context.refresh();
      while (fixture.receiver.parts.receiveCq.poll());
    }
    t.equal(context.state, SendContextState.ENABLED);
    fixture.adapterFixture.machine.runUntilIdle();
  }
});

t.test('the physical function freezes all send contexts; thawed, software restarts them', async (t) => {
  const fixture = new SendContextFixture({ blocks: 8 }, { adapter: { functionCount: 2 } });
  const { context } = fixture;
  const { access, driver } = fixture.adapterFixture;
  const other = driver.createSendContext({ blocks: 8 });
  const disabled = driver.createSendContext({ blocks: 8 });
  other.enable();
  const adapter = fixture.adapterFixture.machine.device;
  const write = (number: number, value: number): void =>
    adapter.functions[number].registers.write(CSR.ADAPTER_CONTROL, 4, value, 0);
  write(1, CSR_ADAPTER_CONTROL_FREEZE_SENDS_MASK);
  t.equal(context.state, SendContextState.ENABLED, 'a virtual function cannot');
  access.writeRegister(CSR.ADAPTER_CONTROL, 4, CSR_ADAPTER_CONTROL_FREEZE_SENDS_MASK, 0);
  t.same([context.state, other.state], [SendContextState.FROZEN, SendContextState.FROZEN]);
  t.equal(fixture.query().haltCause, SendHaltCause.FREEZE);
  disabled.enable();
  t.equal(disabled.state, SendContextState.DISABLED, 'none is enabled meanwhile');
  access.writeRegister(CSR.ADAPTER_CONTROL, 4, 0, 0);
  t.equal(context.state, SendContextState.HALTED);
  const buffer = fixture.postReceive();
  context.restart();
  t.ok(context.send(fixture.packet(Uint8Array.of(9, 9, 9, 9))));
  fixture.settle();
  t.same(fixture.received(buffer), Uint8Array.of(9, 9, 9, 9));
  fixture.finish();
});

t.test('packets that a function may not send are dropped and halt the context', async (t) => {
  const payload = new Uint8Array(8);
  const cases: [string, Parameters<SendContextFixture['packet']>[1], object?][] = [
    ['a lane that is not allowed', {}, { virtualLane: 1 }],
    ['subnet management without VL15', { destQpn: 0, srcQpn: 0 }],
    ["another's QP as its source", { srcQpn: 0x123456 }],
    ['a source LID that is not the port', { slid: 77 }],
    ['a connected opcode', { opcode: 4 }],
    ['a P_Key that is not allowed', { pKey: 0x8001 }],
  ];
  for (const [what, change, control] of cases) {
    const fixture = new SendContextFixture({ checkPkey: 1, pkey: 0xffff, threshold: 0 });
    t.ok(fixture.context.send(fixture.packet(payload, change), control));
    fixture.settle();
    t.equal(fixture.query().haltCause, SendHaltCause.DISALLOWED_PACKET, what);
    t.equal(fixture.query().packetsDropped, 1);
    t.equal(fixture.context.word.freeCounter, 1, 'its credit comes back');
    t.notOk(fixture.receiver.parts.receiveCq.ready);
    fixture.finish();
  }
});

/** Number of packets that port 2 received and dropped. */
function drops({ adapterFixture }: SendContextFixture): number {
  return adapterFixture.access.readRegister(CSR.PORT_RECEIVE_DROPS + 8, 8);
}

t.test('the receiver drops packets whose test bits make a wrong ICRC or VCRC', async (t) => {
  const fixture = new SendContextFixture();
  for (const control of [{ badIcrc: 1 }, { badVcrc: 1 }]) {
    const before = drops(fixture);
    fixture.postReceive();
    t.ok(fixture.context.send(fixture.packet(new Uint8Array(8)), control));
    fixture.settle();
    t.notOk(fixture.receiver.parts.receiveCq.ready);
    t.equal(drops(fixture), before + 1);
  }
  t.equal(fixture.query().packetsSent, 2);
  fixture.finish();
});

t.test('credits that cannot be written halt the context; none is lost when their line is back', async (t) => {
  const fixture = new SendContextFixture({ blocks: 8, threshold: 0 });
  const { host, driver } = fixture.adapterFixture;
  const page = 4096;
  const hole = Math.ceil(driver.allocator.allocate(2 * page) / page) * page;
  const context = driver.createSendContext({ blocks: 8, threshold: 0, creditAddress: hole });
  context.enable();
  host.memory.protect(hole, page, PageAccess.UNMAPPED);
  fixture.postReceive();
  t.ok(context.send(fixture.packet(new Uint8Array(8))));
  fixture.settle();
  t.equal(context.state, SendContextState.HALTED);
  host.memory.protect(hole, page, PageAccess.READ_WRITE);
  context.restart();
  fixture.settle();
  t.equal(context.state, SendContextState.ENABLED);
  t.equal(context.available, 8);
  fixture.finish();
});

t.test('fields out of range, contexts beyond the last, and contexts of other functions are refused', async (t) => {
  const fixture = new SendContextFixture();
  const { management, allocator } = fixture.adapterFixture.driver;
  const valid = { blocks: 8, virtualLanes: 1, port: 1, creditAddress: allocator.allocate(64) };
  const create = (change: object): number =>
    management.execute({
      opcode: ManagementOpcode.CREATE_SEND_CONTEXT,
      payload: sendContextPayload({ ...valid, ...change }),
    }).status;
  const { BAD_FIELD, BAD_ADDRESS, BAD_OBJECT, BAD_STATE, IN_USE, SHARE_USED_UP, OK } = ManagementStatus;
  for (const change of [
    { blocks: 1 },
    { blocks: 1025 },
    { virtualLanes: 0 },
    { port: 0 },
    { port: 3 },
    { vector: 64 },
    { threshold: 9 },
  ])
    t.equal(create(change), BAD_FIELD, JSON.stringify(change));
  for (const creditAddress of [valid.creditAddress + 8, 64]) t.equal(create({ creditAddress }), BAD_ADDRESS);
  const objectNumber = fixture.context.number;
  const modify = (attributeMask: number): number =>
    management.execute({
      opcode: ManagementOpcode.MODIFY_SEND_CONTEXT,
      objectNumber,
      payload: sendContextPayload({ ...valid, attributeMask }),
    }).status;
  t.equal(modify(0x40), BAD_FIELD);
  t.equal(modify(SendContextMask.CREDIT_ADDRESS), BAD_STATE);
  t.equal(modify(SendContextMask.THRESHOLD), OK);
  t.equal(management.execute({ opcode: ManagementOpcode.DESTROY_SEND_CONTEXT, objectNumber }).status, IN_USE);
  t.equal(management.execute({ opcode: ManagementOpcode.QUERY_SEND_CONTEXT, objectNumber: 159 }).status, BAD_OBJECT);
  for (let count = 1; count < SEND_CONTEXT_MAX; count++) t.equal(create({}), OK);
  t.equal(create({}), SHARE_USED_UP);
  fixture.adapterFixture.access.writePio(160 * SEND_CONTEXT_WINDOW_BYTES, 8, 0, 0);
  t.equal(fixture.adapterFixture.faults(FaultKind.PIO_UNSUPPORTED), 1);
  fixture.finish();
});
