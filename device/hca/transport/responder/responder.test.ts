// SPDX-License-Identifier: Apache-2.0
/**
 * The responder alone (IBTA 9.7.4, 9.7.5, 9.8.2): each check of a request packet in its order, what
 * is placed and completed, and what is answered. Its parts only note what they are asked.
 */
import t from 'tap';
import { AethKind, type BthOpcode, NakCode, BthOpcode as op } from '../../../../protocol/infiniband/gen/values.gen.ts';
import { MESSAGE_MAX_BYTES } from '../../../../protocol/layout/gen/constants.gen.ts';
import {
  AccessFlag,
  CompletionStatus,
  EventType,
  FaultKind,
  QpState,
  ServiceType,
} from '../../../../protocol/layout/gen/values.gen.ts';
import { ResponderFixture as Bench, MTU_BYTES, type PeerRequest } from '../../../rig/fixtures/responder-fixture.ts';
import { Step } from '../../function/timeline.ts';
import { MessageKind, ResponderStep, responderStepNames } from '../state/responder-state.ts';

t.test('a SEND is placed packet by packet and completes its receive WQE', async (t) => {
  const bench = new Bench();
  t.ok(bench.receive(op.RC_SEND_FIRST, { bytes: MTU_BYTES, ack: 0 }));
  t.ok(bench.receive(op.RC_SEND_MIDDLE, { bytes: MTU_BYTES }));
  t.ok(bench.receive(op.RC_SEND_LAST_WITH_IMMEDIATE, { bytes: 10, value: 99 }));
  t.same(bench.placed, [
    [0, MTU_BYTES],
    [MTU_BYTES, MTU_BYTES],
    [2 * MTU_BYTES, 10],
  ]);
  t.same(bench.take(), [
    ['ack', 1],
    ['ack', 2],
  ]);
  t.match(bench.completions, [
    {
      status: CompletionStatus.SUCCESS,
      byteLength: 2 * MTU_BYTES + 10,
      queueSequence: 33,
      hasImmediate: 1,
      hasInvalidate: 0,
      immediate: 99,
      globalRoute: 0,
      sourceQpn: 9,
    },
  ]);
  t.match(bench.state, { expectedPsn: 3, msn: 1, message: MessageKind.NONE, wqeTaken: false });
  bench.receive(op.RC_SEND_ONLY, { bytes: 4, fields: { grhOffset: 8 } });
  t.match(bench.completions[1], { hasImmediate: 0, globalRoute: 1, immediate: 0 });
});

t.test('a SEND ends loans and invalidates its key first; a key that may not be invalidated refuses it', async (t) => {
  const bench = new Bench();
  bench.receive(op.RC_SEND_ONLY_WITH_INVALIDATE, { bytes: 4, value: 0x77 });
  t.match(bench.completions, [{ hasInvalidate: 1, hasImmediate: 0, immediate: 0x77 }]);
  t.same(bench.take(), [['loans'], ['invalidate', 0x77], ['ack', 0]]);
  bench.mayInvalidate = false;
  bench.receive(op.RC_SEND_ONLY_WITH_INVALIDATE, { bytes: 4, value: 0x78 });
  t.match(bench.take(), [
    ['loans'],
    ['invalidate', 0x78],
    ['nak', NakCode.REMOTE_ACCESS_ERROR, 1],
    ['note'],
    ['fail', EventType.QP_ACCESS_ERROR, FaultKind.KEY_STATE, 0x78],
  ]);
  t.equal(bench.completions[1].status, CompletionStatus.REMOTE_INVALID_REQUEST_ERROR);
});

t.test('a WRITE is placed at its address, its key is checked for each packet', async (t) => {
  const bench = new Bench();
  const length = MTU_BYTES + 10;
  bench.receive(op.RC_RDMA_WRITE_FIRST, { bytes: MTU_BYTES, length });
  bench.receive(op.RC_RDMA_WRITE_LAST_WITH_IMMEDIATE, { bytes: 10, value: 5 });
  t.same(bench.placed, [
    [4096, MTU_BYTES],
    [4096 + MTU_BYTES, 10],
  ]);
  t.equal(bench.take().filter(([name]) => name === 'key').length, 4);
  t.match(bench.completions, [{ byteLength: length, immediate: 5 }], 'immediate data takes a receive WQE');
  bench.receive(op.RC_RDMA_WRITE_ONLY, { bytes: 20, length: 20, ack: 0 });
  t.same(bench.take(), [['key', 4096, 0x55, 20, AccessFlag.REMOTE_WRITE]], 'once for an ONLY packet');
  t.equal(bench.completions.length, 1);
  t.equal(bench.state.msn, 2);
  bench.hasKey = false;
  bench.receive(op.RC_RDMA_WRITE_ONLY, { bytes: 0, length: 0 });
  t.same(bench.take(), [['ack', 3]], 'for no bytes the key is ignored (IBTA 9.7.4.1.7)');
});

t.test('a READ and an atomic take a resource and the PSNs of their answers', async (t) => {
  const bench = new Bench();
  t.ok(bench.receive(op.RC_RDMA_READ_REQUEST, { length: 2 * MTU_BYTES + 1 }));
  t.ok(bench.receive(op.RC_FETCH_ADD));
  t.same(bench.take(), [
    ['key', 4096, 0x55, 2 * MTU_BYTES + 1, AccessFlag.REMOTE_READ],
    ['answer', 0, 2],
    ['answer', 3, 3],
  ]);
  t.match(bench.state.resources, [
    { isAtomic: false, address: 4096, rkey: 0x55, lengthBytes: 2 * MTU_BYTES + 1, msn: 1 },
    { isAtomic: true, originalHigh: 1, originalLow: 2, msn: 2 },
  ]);
  t.equal(bench.state.expectedPsn, 4);
  bench.receive(op.RC_RDMA_READ_REQUEST, { length: 1 });
  t.match(bench.take()[0], ['nak', NakCode.INVALID_REQUEST, 4], 'beyond the depth while both are queued');
});

t.test('what is not expected: a later PSN is NAKed once, an earlier one is a duplicate', async (t) => {
  const bench = new Bench();
  const { responder } = bench;
  bench.receive(op.RC_SEND_ONLY);
  bench.take();
  t.ok(bench.receive(op.RC_SEND_ONLY, { psn: 3 }));
  t.notOk(bench.receive(op.RC_SEND_ONLY, { psn: 4 }));
  t.same(bench.take(), [['nak', NakCode.PSN_SEQUENCE_ERROR, 1]]);
  t.ok(bench.receive(op.RC_SEND_ONLY, { psn: 0 }));
  t.same(bench.take(), [['ack', 0]]);
  t.ok(bench.receive(op.RC_SEND_ONLY, { psn: 1 }));
  bench.receive(op.RC_SEND_ONLY, { psn: 3 });
  t.same(bench.take(), [
    ['ack', 1],
    ['nak', NakCode.PSN_SEQUENCE_ERROR, 2],
  ]);
  t.match(responder, { sequenceErrors: 3, duplicates: 1, dropped: 1 });
});

t.test('unreliable: after a gap the next message begins anew, the rest of one is dropped (IBTA 9.8.2)', async (t) => {
  const bench = new Bench(ServiceType.UC);
  const { responder, state } = bench;
  bench.receive(op.UC_SEND_FIRST, { bytes: MTU_BYTES });
  t.notOk(bench.receive(op.UC_SEND_LAST, { psn: 2, bytes: 4 }), 'a packet was lost');
  t.same([state.expectedPsn, state.message], [3, MessageKind.NONE]);
  t.notOk(bench.receive(op.UC_SEND_LAST, { bytes: 4 }));
  t.ok(bench.receive(op.UC_SEND_ONLY, { psn: 9, bytes: 4 }));
  t.same([bench.completions.length, state.expectedPsn], [1, 10]);
  t.ok(bench.receive(op.UC_SEND_FIRST, { bytes: MTU_BYTES }));
  t.ok(bench.receive(op.UC_SEND_ONLY, { bytes: 4 }), 'the sender gave up the message before');
  t.same(bench.take(), [], 'nothing is acknowledged');
  t.match(responder, { sequenceErrors: 2, dropped: 2, duplicates: 0 });
  bench.hasKey = false;
  t.notOk(bench.receive(op.UC_RDMA_WRITE_ONLY, { bytes: 4, length: 4 }), 'a refused request is dropped');
  t.same(
    bench.take().filter(([name]) => name !== 'key'),
    [],
  );
});

t.test('without a receive WQE: an RNR NAK once, or a drop (IBTA 9.7.5.2.8)', async (t) => {
  const bench = new Bench();
  bench.hasWqe = false;
  t.ok(bench.receive(op.RC_SEND_ONLY));
  t.notOk(bench.receive(op.RC_SEND_ONLY, { psn: 1 }));
  t.same(bench.take(), [['rnr', 7, 0]]);
  t.ok(bench.receive(op.RC_SEND_ONLY));
  t.same(bench.take(), [['rnr', 7, 0]], 'the same packet again');
  t.equal(bench.responder.receiverNotReady, 2);
  t.ok(bench.receive(op.RC_RDMA_WRITE_ONLY), 'a WRITE needs none');
  const unreliable = new Bench(ServiceType.UC);
  unreliable.hasWqe = false;
  t.notOk(unreliable.receive(op.UC_SEND_ONLY));
  t.same([unreliable.take(), unreliable.state.expectedPsn], [[], 1]);
});

t.test('a wrong request is refused with its NAK, and fails the QP', async (t) => {
  const { INVALID_REQUEST, REMOTE_ACCESS_ERROR, REMOTE_OPERATIONAL_ERROR } = NakCode;
  const none = (): void => {};
  const begun = (bench: Bench): void => void bench.receive(op.RC_SEND_FIRST, { bytes: MTU_BYTES });
  const cases: readonly [string, (bench: Bench) => void, BthOpcode, PeerRequest, NakCode, FaultKind][] = [
    ['a rest without a beginning', none, op.RC_SEND_LAST, { bytes: 4 }, INVALID_REQUEST, FaultKind.COMMAND_OPCODE],
    ['a new message within one', begun, op.RC_SEND_ONLY, {}, INVALID_REQUEST, FaultKind.COMMAND_OPCODE],
    ['a READ within a message', begun, op.RC_RDMA_READ_REQUEST, {}, INVALID_REQUEST, FaultKind.COMMAND_OPCODE],
    ['the rest of another kind', begun, op.RC_RDMA_WRITE_LAST, { bytes: 4 }, INVALID_REQUEST, FaultKind.COMMAND_OPCODE],
    ['a FIRST that is not full', none, op.RC_SEND_FIRST, { bytes: 255 }, INVALID_REQUEST, FaultKind.COMMAND_LENGTH],
    ['a MIDDLE that is not full', begun, op.RC_SEND_MIDDLE, { bytes: 255 }, INVALID_REQUEST, FaultKind.COMMAND_LENGTH],
    ['an empty LAST', begun, op.RC_SEND_LAST, {}, INVALID_REQUEST, FaultKind.COMMAND_LENGTH],
    ['an ONLY above the MTU', none, op.RC_SEND_ONLY, { bytes: 257 }, INVALID_REQUEST, FaultKind.COMMAND_LENGTH],
    [
      'a WRITE of other length',
      none,
      op.RC_RDMA_WRITE_ONLY,
      { bytes: 4, length: 5 },
      INVALID_REQUEST,
      FaultKind.COMMAND_LENGTH,
    ],
    [
      'a FIRST WRITE that is whole',
      none,
      op.RC_RDMA_WRITE_FIRST,
      { bytes: 256, length: 256 },
      INVALID_REQUEST,
      FaultKind.COMMAND_LENGTH,
    ],
    [
      'a WRITE that is too long',
      none,
      op.RC_RDMA_WRITE_FIRST,
      { bytes: 256, length: MESSAGE_MAX_BYTES + 1 },
      INVALID_REQUEST,
      FaultKind.COMMAND_LENGTH,
    ],
    [
      'a READ that is too long',
      none,
      op.RC_RDMA_READ_REQUEST,
      { length: MESSAGE_MAX_BYTES + 1 },
      INVALID_REQUEST,
      FaultKind.COMMAND_LENGTH,
    ],
    [
      'a WRITE to a wrong key',
      (bench) => Object.assign(bench, { hasKey: false }),
      op.RC_RDMA_WRITE_ONLY,
      { bytes: 4, length: 4 },
      REMOTE_ACCESS_ERROR,
      FaultKind.KEY_BOUNDS,
    ],
    [
      'a READ from a wrong key',
      (bench) => Object.assign(bench, { hasKey: false }),
      op.RC_RDMA_READ_REQUEST,
      { length: 4 },
      REMOTE_ACCESS_ERROR,
      FaultKind.KEY_BOUNDS,
    ],
    [
      'a READ from a QP without the right',
      (bench) => Object.assign(bench.qp.attributes, { access: AccessFlag.REMOTE_WRITE }),
      op.RC_RDMA_READ_REQUEST,
      { length: 4 },
      INVALID_REQUEST,
      FaultKind.KEY_ACCESS,
    ],
    [
      'a WRITE to a QP without the right',
      (bench) => Object.assign(bench.qp.attributes, { access: AccessFlag.REMOTE_READ }),
      op.RC_RDMA_WRITE_ONLY,
      {},
      INVALID_REQUEST,
      FaultKind.KEY_ACCESS,
    ],
    [
      'an atomic to a QP without the right',
      (bench) => Object.assign(bench.qp.attributes, { access: AccessFlag.REMOTE_READ }),
      op.RC_FETCH_ADD,
      {},
      INVALID_REQUEST,
      FaultKind.KEY_ACCESS,
    ],
    [
      'unwritable memory',
      (bench) => Object.assign(bench, { isWritable: false }),
      op.RC_RDMA_WRITE_ONLY,
      { bytes: 4, length: 4 },
      REMOTE_OPERATIONAL_ERROR,
      FaultKind.DMA_WRITE,
    ],
    [
      'an atomic that is not aligned',
      (bench) => Object.assign(bench, { atomicFault: FaultKind.COMMAND_LENGTH }),
      op.RC_FETCH_ADD,
      {},
      INVALID_REQUEST,
      FaultKind.COMMAND_LENGTH,
    ],
    [
      'an atomic that cannot read',
      (bench) => Object.assign(bench, { atomicFault: FaultKind.DMA_READ }),
      op.RC_FETCH_ADD,
      {},
      REMOTE_OPERATIONAL_ERROR,
      FaultKind.DMA_READ,
    ],
    [
      'an atomic that cannot write',
      (bench) => Object.assign(bench, { atomicFault: FaultKind.DMA_WRITE }),
      op.RC_FETCH_ADD,
      {},
      REMOTE_OPERATIONAL_ERROR,
      FaultKind.DMA_WRITE,
    ],
    [
      'an atomic to a wrong key',
      (bench) => Object.assign(bench, { atomicFault: FaultKind.KEY_PD }),
      op.RC_FETCH_ADD,
      {},
      REMOTE_ACCESS_ERROR,
      FaultKind.KEY_PD,
    ],
    ['a message beyond its WQE', none, op.RC_SEND_ONLY, { bytes: 201 }, INVALID_REQUEST, FaultKind.RECEIVE_TOO_SHORT],
    [
      'a WQE with a fault',
      (bench) => Object.assign(bench, { wqeFault: FaultKind.KEY_PD }),
      op.RC_SEND_ONLY,
      {},
      REMOTE_OPERATIONAL_ERROR,
      FaultKind.KEY_PD,
    ],
    [
      'an unwritable WQE',
      (bench) => Object.assign(bench, { isWritable: false }),
      op.RC_SEND_ONLY,
      {},
      REMOTE_OPERATIONAL_ERROR,
      FaultKind.DMA_WRITE,
    ],
  ];
  for (const [name, prepare, opcode, request, code, fault] of cases) {
    const bench = new Bench(ServiceType.RC, name === 'a message beyond its WQE' ? 200 : 1000);
    prepare(bench);
    const psn = bench.state.expectedPsn;
    bench.take();
    t.ok(bench.receive(opcode, request), name);
    const calls = bench.take().filter(([call]) => call !== 'key');
    t.same(calls[0], ['nak', code, psn], name);
    t.match(calls.at(-1), ['fail'], name);
    t.equal(calls.at(-1)?.[2], fault, name);
    t.ok(bench.state.refused, name);
    t.notOk(
      calls.some(([call]) => call === 'answer'),
      name,
    );
  }
});

t.test('the largest messages are accepted', async (t) => {
  const bench = new Bench();
  t.ok(bench.receive(op.RC_RDMA_READ_REQUEST, { length: MESSAGE_MAX_BYTES }));
  bench.receive(op.RC_RDMA_WRITE_FIRST, { bytes: MTU_BYTES, length: MESSAGE_MAX_BYTES });
  t.notOk(bench.state.refused);
});

t.test('a message whose CQE cannot be posted is not acknowledged', async (t) => {
  for (const serviceType of [ServiceType.RC, ServiceType.UC]) {
    const bench = new Bench(serviceType);
    bench.onPost = () => Object.assign(bench.qp, { state: QpState.ERR });
    bench.receive(serviceType === ServiceType.RC ? op.RC_SEND_ONLY : op.UC_SEND_ONLY, { bytes: 4 });
    t.same(bench.take(), serviceType === ServiceType.RC ? [['nak', NakCode.REMOTE_OPERATIONAL_ERROR, 0]] : []);
    t.equal(bench.state.msn, 0);
  }
});

t.test('the first packet in RTR establishes the connection, once; a QP that receives nothing drops', async (t) => {
  for (const [state, calls] of [
    [QpState.RTR, 1],
    [QpState.RTS, 0],
  ] as const) {
    const bench = new Bench();
    Object.assign(bench.qp, { state });
    for (let count = 0; count < 2; count++) bench.receive(op.RC_SEND_ONLY);
    t.equal(bench.take().filter(([name]) => name === 'established').length, calls);
    t.ok(bench.state.established);
    Object.assign(bench.qp, { receives: false });
    t.notOk(bench.receive(op.RC_SEND_ONLY));
    t.equal(bench.responder.dropped, 0);
  }
});

t.test('the error state flushes the message in progress and drops answers, except a fatal NAK', async (t) => {
  for (const refused of [false, true]) {
    const bench = new Bench();
    const { state } = bench;
    bench.receive(op.RC_SEND_FIRST, { bytes: MTU_BYTES });
    state.acknowledge.set(AethKind.NAK, 0, 0, 0);
    state.refused = refused;
    bench.responder.abandon(state);
    t.match(bench.completions, [{ status: CompletionStatus.FLUSHED, queueSequence: 33 }]);
    t.same([state.message, state.acknowledge.pending, state.wqeTaken], [MessageKind.NONE, refused, false]);
    bench.responder.abandon(state);
    t.equal(bench.completions.length, 1, 'once');
  }
});

t.test('the state of a QP says at which step its last request has ended', async (t) => {
  const steps: [ResponderStep, BthOpcode, PeerRequest, Partial<Bench>?][] = [
    [ResponderStep.ACKNOWLEDGE, op.RC_SEND_ONLY, { bytes: 4 }],
    [ResponderStep.READ, op.RC_RDMA_READ_REQUEST, { length: 4 }],
    [ResponderStep.ATOMIC, op.RC_FETCH_ADD, {}],
    [ResponderStep.DUPLICATE, op.RC_SEND_ONLY, { psn: 2 ** 24 - 1, bytes: 4 }],
    [ResponderStep.CHECK_PSN, op.RC_SEND_ONLY, { psn: 5, bytes: 4 }],
    [ResponderStep.CHECK_OPCODE_SEQUENCE, op.RC_SEND_LAST, { bytes: 4 }],
    [ResponderStep.CHECK_RESOURCES, op.RC_SEND_ONLY, { bytes: 4 }, { hasWqe: false }],
    [ResponderStep.CHECK_LENGTH, op.RC_SEND_ONLY, { bytes: MTU_BYTES + 1 }],
    [ResponderStep.CHECK_RKEY, op.RC_RDMA_WRITE_ONLY, { bytes: 4, length: 4 }, { hasKey: false }],
    [ResponderStep.EXECUTE, op.RC_SEND_ONLY, { bytes: 4 }, { isWritable: false }],
    [ResponderStep.COMPLETE, op.RC_SEND_ONLY_WITH_INVALIDATE, { bytes: 4 }, { mayInvalidate: false }],
    [ResponderStep.READ, op.RC_RDMA_READ_REQUEST, { length: 4 }, { hasKey: false }],
    [ResponderStep.PLACEMENT, op.RC_ATOMIC_WRITE, { bytes: 4, length: 4 }],
  ];
  for (const [step, opcode, request, parts = {}] of steps) {
    const bench = Object.assign(new Bench(), parts);
    const checks: unknown[] = [];
    const note = (kind: Step, ...numbers: number[]) => kind === Step.PACKET_REFUSED && checks.push(numbers[5]);
    Object.assign(bench.qp.owner, { timeline: { note } });
    t.equal(bench.state.step, ResponderStep.EXIT, 'before the first packet');
    bench.receive(opcode, request);
    const name = `${responderStepNames[step]}: ${Object.keys(parts)}`;
    t.equal(bench.state.step, step, name);
    const isFailed = bench.take().some(([call]) => call === 'fail');
    t.same(checks, isFailed ? [step] : [], `${name}: the timeline has the step of a refusal`);
    bench.state.start(0, 2);
    t.equal(bench.state.step, ResponderStep.EXIT, 'of a new connection');
  }
});
