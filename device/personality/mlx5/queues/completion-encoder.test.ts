// SPDX-License-Identifier: Apache-2.0
/** Completions of the transport as entries of a CQ: each field, each kind, each error. */
import t from 'tap';
import {
  type CompletionEntry,
  encodeCompletionEntry,
  newCompletionEntry,
} from '../../../../protocol/layout/gen/completion-entry.gen.ts';
import {
  CompletionOpcode as WorkOpcode,
  CompletionStatus as WorkStatus,
} from '../../../../protocol/layout/gen/values.gen.ts';
import { TIMER_OFFSET } from '../../../../protocol/mlx5/gen/constants.gen.ts';
import type { Cqe } from '../../../../protocol/mlx5/gen/cqe.gen.ts';
import { getErrorCqeSyndrome, getErrorCqeVendorSyndrome } from '../../../../protocol/mlx5/gen/error-cqe.gen.ts';
import { CompletionOpcode, CompletionSyndrome, SendOpcode } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { CompletionFixture } from '../../../rig/mlx5/driver/completion-fixture.ts';
import type { Mlx5DriverCompletionQueue } from '../../../rig/mlx5/driver/completion-queue.ts';
import { CompletionEncoder, type CompletionIdentity } from './completion-encoder.ts';

const QPN = 0x123456;
const SRQN = 0x654321;
const PKEYS = Uint16Array.of(0xffff, 0x8123);

/** A CQ, and an encoder that posts to it. */
class EncoderFixture {
  readonly fixture = new CompletionFixture();
  readonly cq: Mlx5DriverCompletionQueue = this.fixture.create({ logCqSize: 8 });
  readonly encoder: CompletionEncoder;

  constructor(identity?: CompletionIdentity) {
    const places = { counterOf: (number: number): number => number * 16 + 3 };
    this.encoder = new CompletionEncoder(this.fixture.deviceQueue(this.cq), places, identity);
  }

  /** Posts an entry of the transport. */
  post(fields: Partial<CompletionEntry>, solicited = false): boolean {
    encodeCompletionEntry(this.encoder.begin(), 0, { ...newCompletionEntry(), qpn: QPN, ...fields });
    return this.encoder.post(solicited);
  }

  /** Posts an entry, and takes what software sees of it. */
  show(fields: Partial<CompletionEntry>): Cqe {
    this.post(fields);
    const [entry] = this.cq.take();
    this.cq.tell();
    return entry;
  }

  /** The entry that was taken last. */
  get last(): DataView {
    return this.cq.slot(this.cq.consumed - 1);
  }
}

t.test('sends', async (t) => {
  const encoder = new EncoderFixture();
  for (const [opcode, sendOpcode] of [
    [WorkOpcode.NOP, SendOpcode.NOP],
    [WorkOpcode.SEND, SendOpcode.SEND],
    [WorkOpcode.RDMA_WRITE, SendOpcode.WRITE],
    [WorkOpcode.RDMA_READ, SendOpcode.READ],
    [WorkOpcode.COMPARE_SWAP, SendOpcode.COMPARE_SWAP],
    [WorkOpcode.FETCH_ADD, SendOpcode.FETCH_ADD],
    [WorkOpcode.LOCAL_INVALIDATE, SendOpcode.UMR],
    [WorkOpcode.FAST_REGISTER, SendOpcode.UMR],
    [WorkOpcode.BIND_WINDOW, SendOpcode.UMR],
  ] as const) {
    const entry = encoder.show({ opcode, queueSequence: 5, byteLength: 77 });
    t.match(entry, { opcode: CompletionOpcode.REQUEST, sendOpcode, qpn: QPN, wqeCounter: 83, byteCount: 77 });
    t.match(entry, { format: 0, signature: 0, srqnOrUserIndex: 0, immediate: 0 });
  }
});

t.test('receives: kind, length, counter and where they come from', async (t) => {
  const encoder = new EncoderFixture({ ports: [{ pkeys: Uint16Array.of(1, 2) }, { pkeys: PKEYS }] });
  const receive = {
    receive: 1,
    opcode: WorkOpcode.RECEIVE,
    queueSequence: 2,
    byteLength: 0x80000001,
    immediate: 0xfedcba98,
    sourceQpn: 0xabcdef,
    sourceLid: 0xc001,
    serviceLevel: 0xf,
    globalRoute: 1,
    pathBits: 0x7f,
    port: 2,
    pkeyIndex: 1,
    srqn: SRQN,
    solicited: 1,
  };
  const common = {
    qpn: QPN,
    sendOpcode: 0,
    wqeCounter: 35,
    byteCount: 0x80000001,
    remoteQpn: 0xabcdef,
    remoteLid: 0xc001,
    serviceLevel: 0xf,
    hasRoute: 1,
    pathBits: 0x7f,
    srqnOrUserIndex: SRQN,
    solicited: 1,
  };
  const kinds: readonly (readonly [Partial<CompletionEntry>, number, number])[] = [
    [{}, CompletionOpcode.SEND, 0x8123],
    [{ hasImmediate: 1 }, CompletionOpcode.SEND_IMMEDIATE, 0xfedcba98],
    [{ hasInvalidate: 1 }, CompletionOpcode.SEND_INVALIDATE, 0xfedcba98],
    [{ opcode: WorkOpcode.RECEIVE_RDMA_IMMEDIATE, hasImmediate: 1 }, CompletionOpcode.WRITE_IMMEDIATE, 0xfedcba98],
  ];
  for (const [fields, opcode, immediate] of kinds)
    t.match(encoder.show({ ...receive, ...fields }), { ...common, opcode, immediate });
  const bare = encoder.show({ receive: 1, opcode: WorkOpcode.RECEIVE });
  t.match(bare, { hasRoute: 0, solicited: 0, pathBits: 0, remoteQpn: 0, serviceLevel: 0, srqnOrUserIndex: 0 });
});

t.test('times are those of the timer that software reads', async (t) => {
  const encoder = new EncoderFixture();
  const { driver } = encoder.fixture;
  for (const ns of [5, 2 ** 33, 2 ** 40 + 1])
    for (const receive of [0, 1]) {
      driver.machine.clock.advance(ns);
      const { timestamp } = encoder.show({ receive, opcode: receive === 1 ? WorkOpcode.RECEIVE : WorkOpcode.SEND });
      t.equal(timestamp, driver.readRegister(TIMER_OFFSET) * 2 ** 32 + driver.readRegister(TIMER_OFFSET + 4));
    }
});

t.test('a connected queue pair tells no P_Key', async (t) => {
  const encoder = new EncoderFixture();
  t.equal(encoder.show({ receive: 1, opcode: WorkOpcode.RECEIVE, port: 1, pkeyIndex: 1 }).immediate, 0);
});

t.test('the form of version 1 has the user index in the place of the SRQ', async (t) => {
  const encoder = new EncoderFixture({ userIndex: 0x777777 });
  for (const fields of [
    { opcode: WorkOpcode.SEND },
    { receive: 1, opcode: WorkOpcode.RECEIVE, srqn: SRQN },
    { receive: 1, status: WorkStatus.FLUSHED, srqn: SRQN },
    { opcode: WorkOpcode.SEND, status: WorkStatus.FLUSHED },
  ])
    t.equal(encoder.show(fields).srqnOrUserIndex, 0x777777);
  const zero = new EncoderFixture({ userIndex: 0 });
  t.equal(zero.show({ receive: 1, opcode: WorkOpcode.RECEIVE, srqn: SRQN }).srqnOrUserIndex, 0);
});

t.test('errors: syndrome, and what was found', async (t) => {
  const encoder = new EncoderFixture();
  for (const [status, syndrome] of [
    [WorkStatus.LOCAL_LENGTH_ERROR, CompletionSyndrome.LOCAL_LENGTH],
    [WorkStatus.LOCAL_QP_OPERATION_ERROR, CompletionSyndrome.LOCAL_QP],
    [WorkStatus.LOCAL_PROTECTION_ERROR, CompletionSyndrome.LOCAL_PROTECTION],
    [WorkStatus.FLUSHED, CompletionSyndrome.FLUSHED],
    [WorkStatus.WINDOW_BIND_ERROR, CompletionSyndrome.WINDOW_BIND],
    [WorkStatus.BAD_RESPONSE_ERROR, CompletionSyndrome.BAD_RESPONSE],
    [WorkStatus.LOCAL_ACCESS_ERROR, CompletionSyndrome.LOCAL_ACCESS],
    [WorkStatus.REMOTE_INVALID_REQUEST_ERROR, CompletionSyndrome.REMOTE_INVALID_REQUEST],
    [WorkStatus.REMOTE_ACCESS_ERROR, CompletionSyndrome.REMOTE_ACCESS],
    [WorkStatus.REMOTE_OPERATION_ERROR, CompletionSyndrome.REMOTE_OPERATION],
    [WorkStatus.RETRY_EXCEEDED, CompletionSyndrome.RETRIES_EXCEEDED],
    [WorkStatus.RNR_RETRY_EXCEEDED, CompletionSyndrome.RNR_RETRIES_EXCEEDED],
    [0xff, CompletionSyndrome.REMOTE_ABORTED],
  ] as const)
    for (const receive of [0, 1]) {
      const opcode = receive === 1 ? WorkOpcode.RECEIVE : WorkOpcode.RDMA_WRITE;
      const entry = encoder.show({ status, receive, opcode, vendorError: 0x5a, queueSequence: 1, srqn: SRQN });
      t.match(entry, {
        opcode: receive === 1 ? CompletionOpcode.RESPONSE_ERROR : CompletionOpcode.REQUEST_ERROR,
        sendOpcode: receive === 1 ? 0 : SendOpcode.WRITE,
        qpn: QPN,
        wqeCounter: 19,
        srqnOrUserIndex: SRQN,
        byteCount: 0,
      });
      t.same([getErrorCqeSyndrome(encoder.last, 0), getErrorCqeVendorSyndrome(encoder.last, 0)], [syndrome, 0x5a]);
    }
});

t.test('a queue in error tells the queue pair', async (t) => {
  const encoder = new EncoderFixture();
  while (encoder.cq.entries > encoder.fixture.deviceQueue(encoder.cq).producerCount)
    if (!encoder.post({ opcode: WorkOpcode.SEND })) t.fail('the queue has room');
  t.notOk(encoder.post({ opcode: WorkOpcode.SEND }));
  t.equal(encoder.encoder.number, encoder.cq.number);
});

t.test('an error wakes software that waits for solicited entries', async (t) => {
  const encoder = new EncoderFixture();
  encoder.cq.arm({ solicited: true });
  encoder.post({ opcode: WorkOpcode.SEND });
  t.same(encoder.fixture.takeEvents(), []);
  encoder.post({ opcode: WorkOpcode.SEND, status: WorkStatus.FLUSHED }, true);
  t.same(encoder.fixture.takeEvents(), [encoder.cq.number]);
});
