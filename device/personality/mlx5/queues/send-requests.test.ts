// SPDX-License-Identifier: Apache-2.0
/**
 * Work requests of send queues become send commands: each opcode and service, data in the request
 * and lists, requests of many blocks around the end of the ring, and requests that are not
 * consistent.
 */
import t from 'tap';
import {
  ADDRESS_HANDLE_DESTINATION_GID_OFFSET,
  type AddressHandle,
  decodeAddressHandle,
  newAddressHandle,
} from '../../../../protocol/layout/gen/address-handle.gen.ts';
import { newSendCommand } from '../../../../protocol/layout/gen/send-command.gen.ts';
import { FaultKind, SendOpcode, ServiceType } from '../../../../protocol/layout/gen/values.gen.ts';
import { CompletionMode, FenceMode, SendOpcode as WorkOpcode } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { LIST_ELEMENTS_MAX } from '../../../hca/collect/physical-collect-buffer.ts';
import { CHANGE_KEY } from '../../../hca/function/request-opcodes.ts';
import { PageAccess } from '../../../rig/machine/guest-memory-model.ts';
import {
  atomic,
  BLOCK_BYTES,
  BLOCKS,
  DATA,
  data,
  inline,
  LONGEST,
  PAGE_BYTES,
  PD,
  PORT,
  pattern,
  QPN,
  type RequestPiece,
  remote,
  SendFixture,
  UNIT,
  vector,
  xrc,
} from '../../../rig/mlx5/driver/send-fixture.ts';
import { RequestBlock } from '../../shared/request-block.ts';
import { QUEUE_KEY } from '../memory/queue-memory.ts';

t.test('a SEND with one element, and what its head says', (t) => {
  const fixture = new SendFixture();
  const head = { solicited: 1, immediate: 0x89abcdef, fence: FenceMode.FENCE };
  const command = fixture.take(t, WorkOpcode.SEND_IMMEDIATE, [data()], head);
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
      sgeLkey: DATA.lkey,
    },
  );
  t.end();
});

t.test('modes of completions and fences', (t) => {
  for (const [completion, signaled] of [
    [CompletionMode.ON_ERROR, 0],
    [1, 0],
    [CompletionMode.ALWAYS, 1],
    [3, 1],
  ])
    t.equal(
      new SendFixture().take(t, WorkOpcode.SEND, [data()], { completion }).signaled,
      signaled,
      `mode ${completion}`,
    );
  // Mode 1 waits for requests that change keys alone, and those are executed in order.
  for (const [mode, fence] of [0, 0, 1, 1, 1, 0, 0, 0].entries())
    t.equal(new SendFixture().take(t, WorkOpcode.SEND, [data()], { fence: mode }).fence, fence, `fence ${mode}`);
  t.end();
});

t.test('each opcode of connections, with three elements', (t) => {
  for (const [opcode, wanted, target] of [
    [WorkOpcode.SEND, SendOpcode.SEND, []],
    [WorkOpcode.SEND_IMMEDIATE, SendOpcode.SEND_IMMEDIATE, []],
    [WorkOpcode.SEND_INVALIDATE, SendOpcode.SEND_INVALIDATE, []],
    [WorkOpcode.WRITE, SendOpcode.RDMA_WRITE, [remote]],
    [WorkOpcode.WRITE_IMMEDIATE, SendOpcode.RDMA_WRITE_IMMEDIATE, [remote]],
    [WorkOpcode.READ, SendOpcode.RDMA_READ, [remote]],
  ] as const)
    for (const service of [ServiceType.RC, ServiceType.UC, ServiceType.XRC_INITIATOR]) {
      const fixture = new SendFixture(service);
      const isXrc = service === ServiceType.XRC_INITIATOR;
      const elements = [10, 11, 12].map((byteCount) => data({ byteCount }));
      const command = fixture.take(t, opcode, [...(isXrc ? [xrc] : []), ...target, ...elements]);
      const what = `opcode ${opcode} of service ${service}`;
      t.match(command, { opcode: wanted, sgeCount: 3, messageLength: 33, collectLength: 64 + 48 }, what);
      t.equal(command.xrcSrqn, isXrc ? 0x4321 : 0, what);
      const { view } = fixture.buffer;
      if (target.length > 0)
        t.same([view.getBigUint64(24, true), view.getUint32(32, true)], [0x7_0000_1000n, 0xabc00], what);
      t.same(
        [72, 88, 104].map((at) => view.getUint32(at, true)),
        [10, 11, 12],
        what,
      );
    }
  t.end();
});

t.test('atomics', (t) => {
  for (const [opcode, wanted] of [
    [WorkOpcode.COMPARE_SWAP, SendOpcode.COMPARE_SWAP],
    [WorkOpcode.FETCH_ADD, SendOpcode.FETCH_ADD],
  ]) {
    const fixture = new SendFixture();
    const command = fixture.take(t, opcode, [remote, atomic, data({ byteCount: 8 })]);
    t.match(command, { opcode: wanted, sgeCount: 1, sgeLength: 8, collectLength: 64 + 16 });
    const { view } = fixture.buffer;
    t.same([view.getBigUint64(64, true), view.getBigUint64(72, true)], [0x1_0000_0002n, 0x3_0000_0004n]);
  }
  t.end();
});

t.test('requests without data for the transport', (t) => {
  t.match(new SendFixture().take(t, WorkOpcode.NOP, []), { opcode: SendOpcode.NOP, messageLength: 0 });
  t.match(
    new SendFixture().take(t, WorkOpcode.NOP, [data(), data({ lkey: QUEUE_KEY })]),
    { opcode: SendOpcode.NOP, messageLength: 0, sgeCount: 0 },
    'whatever follows a NOP',
  );
  t.match(new SendFixture().take(t, WorkOpcode.UMR, [vector(), data()], { immediate: 7 }), { opcode: CHANGE_KEY });
  t.match(
    new SendFixture().take(t, WorkOpcode.SEND, []),
    { sgeCount: 0, messageLength: 0, inline: 0 },
    'an empty SEND',
  );
  t.match(new SendFixture().take(t, WorkOpcode.WRITE, [remote]), { sgeCount: 0, messageLength: 0 }, 'an empty WRITE');
  t.end();
});

t.test('a datagram, with and without a route', (t) => {
  for (const hasRoute of [0, 1]) {
    const fixture = new SendFixture(ServiceType.UD);
    const given = {
      ...{ serviceLevel: 5, pathBits: 3, remoteLid: 0x456, trafficClass: 0x21, hopLimit: 9, hasRoute },
      ...{ gidIndex: 6, flowLabel: 0x12345 },
    };
    const command = fixture.take(t, WorkOpcode.SEND, [vector(given), data()]);
    t.match(command, { opcode: SendOpcode.SEND, sgeCount: 1, messageLength: 100 });
    const { view } = fixture.buffer;
    t.same([view.getUint32(24, true), view.getUint32(28, true)].sort(), [0x777, 0x9abc_def0].sort());
    const base = fixture.vectors.offsetOf(fixture.buffer);
    const found = decodeAddressHandle(fixture.vectors.view, base, newAddressHandle());
    const gid = fixture.vectors.bytes.slice(base + ADDRESS_HANDLE_DESTINATION_GID_OFFSET).slice(0, 16);
    const wanted: Partial<AddressHandle> = {
      ...{ pd: PD, port: PORT, globalRoute: hasRoute, serviceLevel: 5, dlid: 0x456, sourcePathBits: 3 },
      ...(hasRoute === 1 ? { flowLabel: 0x12345, sourceGidIndex: 6, trafficClass: 0x21, hopLimit: 9 } : {}),
    };
    t.match(found, wanted);
    if (hasRoute === 1)
      t.same(
        [...gid],
        Array.from({ length: 16 }, (_, index) => 0xa0 + index),
      );
  }
  const plain = new SendFixture(ServiceType.UD);
  plain.take(t, WorkOpcode.SEND, [vector({ hasRoute: 1, extended: 0 }), data()]);
  t.equal(
    decodeAddressHandle(plain.vectors.view, plain.vectors.offsetOf(plain.buffer), newAddressHandle()).globalRoute,
    0,
    'a vector that is not extended has no route',
  );
  t.end();
});

t.test('data in the request go into the command, or are read where they are', (t) => {
  for (const length of [0, 1, 11, 12, 13, 28, 255, 256]) {
    const fixture = new SendFixture();
    const short = fixture.take(t, WorkOpcode.SEND, [inline(pattern(length))]);
    t.match(short, { inline: 1, messageLength: length, collectLength: 64 + Math.ceil(length / 8) * 8, sgeCount: 0 });
    t.same([...fixture.buffer.bytes.slice(64, 64 + length)], [...pattern(length)], `${length} bytes`);
  }
  // The first piece ends with the first page, the last one with the ring.
  for (const length of [257, 300, 900]) {
    const fixture = new SendFixture();
    const long = fixture.take(t, WorkOpcode.SEND, [inline(pattern(length))]);
    t.match(long, { inline: 0, messageLength: length });
    t.same(fixture.gathered(t, long.sgeCount), [...pattern(length)], `${length} bytes`);
  }
  t.end();
});

t.test('data in the request beside other pieces', (t) => {
  for (const [what, pieces, messageLength] of [
    ['before an element', [inline(pattern(20)), data({ byteCount: 5 })], 25],
    ['behind an element', [data({ byteCount: 5 }), inline(pattern(20))], 25],
    ['twice', [inline(pattern(20)), inline(pattern(30))], 50],
  ] as const) {
    const fixture = new SendFixture();
    t.match(fixture.take(t, WorkOpcode.SEND, pieces), { inline: 0, sgeCount: 2, messageLength }, what);
    if (what !== 'behind an element') t.same(fixture.gathered(t, 1), [...pattern(20)], what);
  }
  t.end();
});

t.test('requests of all lengths, around the ring and past the end of their counters', (t) => {
  const fixture = new SendFixture();
  const { queue, qp } = fixture;
  let block = fixture.begin(0x10000 - 5 * BLOCKS);
  for (let round = 0; block < 0x10000 + 3 * BLOCKS; round++) {
    const length = 1 + ((round * 37) % 900);
    const bytes = fixture.write(WorkOpcode.SEND, [inline(pattern(length))]);
    fixture.ring();
    const number = qp.nextSequence;
    const command = fixture.load();
    if (fixture.buffer.fault !== FaultKind.NONE || command.messageLength !== length)
      t.fail(`round ${round}: fault ${fixture.buffer.fault}, ${command.messageLength} bytes of ${length}`);
    if (queue.place.counterOf(number) !== (block & 0xffff)) t.fail(`round ${round} begins elsewhere`);
    block += Math.ceil(bytes / BLOCK_BYTES);
    if (queue.nextBlock !== (block & 0xffff) || queue.isWaiting) t.fail(`round ${round} ends elsewhere`);
  }
  t.pass(`${block} blocks`);
  t.end();
});

t.test('a ring of one block', (t) => {
  const fixture = new SendFixture(ServiceType.RC, 1);
  for (let round = 0; round < 5; round++) {
    t.match(fixture.take(t, WorkOpcode.SEND, [data({ byteCount: round + 1 })]), { messageLength: round + 1 });
    t.equal(fixture.queue.nextBlock, round + 1);
  }
  t.notOk(fixture.ring(7), 'two more blocks than there are');
  t.end();
});

t.test('doorbells: only a record that can be', (t) => {
  const fixture = new SendFixture();
  t.notOk(fixture.ring(0), 'nothing new');
  t.notOk(fixture.ring(BLOCKS + 1), 'further than the ring');
  t.notOk(fixture.ring(0xffff), 'backwards');
  t.notOk(fixture.queue.isWaiting);
  t.ok(fixture.ring(BLOCKS), 'all of it');
  t.notOk(fixture.ring(BLOCKS), 'twice');
  t.ok(fixture.queue.isWaiting);
  fixture.queue.reset();
  t.notOk(fixture.queue.isWaiting);
  t.end();
});

t.test('requests that are not consistent', (t) => {
  const { COMMAND_LENGTH, COMMAND_OPCODE, COMMAND_SGE } = FaultKind;
  const { SEND, WRITE, READ, FETCH_ADD } = WorkOpcode;
  const { RC, UD, XRC_INITIATOR } = ServiceType;
  const cases: readonly [string, FaultKind, ServiceType, number, RequestPiece[], ds?: number][] = [
    ['no length', COMMAND_LENGTH, RC, SEND, [data()], 0],
    ['more blocks than are posted', COMMAND_LENGTH, RC, SEND, [data()], 5],
    ['a reserved opcode', COMMAND_OPCODE, RC, 0x30, [data()]],
    ['the last opcode', COMMAND_OPCODE, RC, 0xff, [data()]],
    ['no room for the target', COMMAND_SGE, RC, WRITE, []],
    ['no room for the SRQ', COMMAND_SGE, XRC_INITIATOR, SEND, []],
    ['no room for target and SRQ', COMMAND_SGE, XRC_INITIATOR, WRITE, [xrc]],
    ['no room for the vector', COMMAND_SGE, UD, SEND, [data(), data()]],
    ['no room for the operands', COMMAND_SGE, RC, FETCH_ADD, [remote]],
    ['an atomic without memory', COMMAND_SGE, RC, FETCH_ADD, [remote, atomic]],
    ['an atomic with two elements', COMMAND_SGE, RC, FETCH_ADD, [remote, atomic, data(), data()]],
    ['an atomic into the request', COMMAND_SGE, RC, FETCH_ADD, [remote, atomic, inline(pattern(8))]],
    ['a READ into the request', COMMAND_SGE, RC, READ, [remote, inline(pattern(8))]],
    ['a long READ into the request', COMMAND_SGE, RC, READ, [remote, inline(pattern(300))]],
    ['a READ into the request, too', COMMAND_SGE, RC, READ, [remote, data(), inline(pattern(8))]],
    ['inline data that go on behind the request', COMMAND_SGE, RC, SEND, [inline(pattern(8), 13)]],
    ['the longest inline data', COMMAND_SGE, RC, SEND, [inline(pattern(8), LONGEST - 1)]],
    ['inline data behind elements', COMMAND_SGE, RC, SEND, [data(), inline(pattern(8), 13)]],
    ['the key of queues', COMMAND_SGE, RC, SEND, [data({ lkey: QUEUE_KEY })]],
    ['too many elements', COMMAND_SGE, RC, SEND, Array.from({ length: LIST_ELEMENTS_MAX + 1 }, () => data())],
    [
      'inline data behind all elements',
      COMMAND_SGE,
      RC,
      SEND,
      [...Array.from({ length: LIST_ELEMENTS_MAX }, () => data()), inline(pattern(8))],
    ],
    [
      'too many bytes of an atomic',
      COMMAND_LENGTH,
      RC,
      FETCH_ADD,
      [remote, atomic, data({ byteCount: LONGEST - 1 }), data({ byteCount: LONGEST - 1 })],
    ],
    ['too many bytes', COMMAND_LENGTH, RC, SEND, [data({ byteCount: 0 }), data({ byteCount: 1 })]],
  ];
  for (const [what, fault, service, opcode, pieces, ds] of cases) {
    const fixture = new SendFixture(service);
    fixture.write(opcode, pieces, {}, ds);
    t.ok(fixture.ring());
    const command = fixture.load();
    t.equal(fixture.buffer.fault, fault, what);
    t.same([command.qpn, command.sequence], [QPN, 0], `${what}: what has failed is known`);
    t.notOk(fixture.queue.isWaiting, `${what}: the queue goes on behind it`);
  }
  t.end();
});

t.test('what can just be', (t) => {
  const list = (length: number) => Array.from({ length }, () => data());
  t.match(new SendFixture().take(t, WorkOpcode.SEND, list(16)), { sgeCount: 16, collectLength: 64 + 16 * 16 });
  t.match(new SendFixture().take(t, WorkOpcode.SEND, list(LIST_ELEMENTS_MAX)), { sgeCount: 31, collectLength: 0 });
  t.match(new SendFixture().take(t, WorkOpcode.SEND, [data({ byteCount: 0 })]), { sgeLength: LONGEST }, 'length 0');
  t.match(new SendFixture().take(t, WorkOpcode.SEND, [inline(pattern(4), 12)]), { messageLength: 12 }, 'to the end');
  t.end();
});

t.test('a queue that cannot be read', (t) => {
  for (const [what, page, length] of [
    ['the first block', 0, 10],
    ['what follows it', 1, 200],
  ] as const) {
    const fixture = new SendFixture();
    fixture.write(WorkOpcode.SEND, [inline(pattern(length))]);
    fixture.driver.memory.protect(fixture.pages[page], PAGE_BYTES, PageAccess.UNMAPPED);
    fixture.ring();
    fixture.load();
    t.equal(fixture.buffer.fault, FaultKind.DMA_READ, what);
    t.notOk(fixture.queue.isWaiting, what);
  }
  t.end();
});

t.test('a request that is read again has not become longer', (t) => {
  const fixture = new SendFixture();
  const block = new RequestBlock();
  fixture.write(WorkOpcode.UMR, [data(), data()]);
  fixture.write(WorkOpcode.SEND, [data({ byteCount: 77 })]);
  fixture.ring();
  fixture.load();
  const { queue } = fixture;
  t.equal(queue.read(0, block), 3 * UNIT);
  for (const [ds, length] of [
    [4, 4 * UNIT],
    [1, UNIT],
    [5, 0],
    [16, 0],
    [63, 0],
    [0, 0],
  ]) {
    fixture.byteAt(7).setUint8(0, ds);
    t.equal(queue.read(0, block), length, `ds ${ds}`);
    t.equal(queue.nextBlock, 1, 'the next one stays where it is');
  }
  t.match(fixture.load(), { messageLength: 77 });
  t.end();
});
