// SPDX-License-Identifier: Apache-2.0
/**
 * The answers of a responder and its state alone (IBTA 9.7.5.1.2 to 9.7.5.1.9, 9.7.5.2.4): which
 * acknowledgement is sent, the order of repeated answers, and how long a turn is.
 */
import t from 'tap';
import { AethKind, BthOpcode, NakCode } from '../../../../protocol/infiniband/gen/values.gen.ts';
import { newParsedPacket, PacketCheck, parsePacket } from '../../../../protocol/infiniband/packet.ts';
import { newPacketFields, type PacketFields, readPacketFields } from '../../../../protocol/infiniband/packet-fields.ts';
import { CREDITS_UNLIMITED } from '../../../../protocol/infiniband/syndrome.ts';
import { CompletionStatus, EventType, FaultKind, QpState } from '../../../../protocol/layout/gen/values.gen.ts';
import { PacketRing } from '../../../fabric/port/packet-ring.ts';
import type { Port } from '../../../fabric/port/port.ts';
import { DmaTiming } from '../../function/dma-timing.ts';
import type { KeyLookup } from '../../protection/key-lookup.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import type { QueuePairTrace } from '../../trace/queue-pair-trace.ts';
import { Path } from '../path.ts';
import { MessageKind, type ResponderResource, ResponderState } from '../state/responder-state.ts';
import { ResponderAnswers } from './responder-answers.ts';
import { ResponseReads } from './response-reads.ts';

const MTU_BYTES = 256;
const {
  RC_ACKNOWLEDGE: ACK,
  RC_ATOMIC_ACKNOWLEDGE: ATOMIC,
  RC_RDMA_READ_RESPONSE_FIRST: FIRST,
  RC_RDMA_READ_RESPONSE_MIDDLE: MIDDLE,
  RC_RDMA_READ_RESPONSE_LAST: LAST,
  RC_RDMA_READ_RESPONSE_ONLY: ONLY,
} = BthOpcode;

class Bench {
  nowNs = 0;
  readonly sent: PacketFields[] = [];
  readonly state: ResponderState;
  readonly qp: QueuePair;
  readonly answers: ResponderAnswers;
  readonly #ring = new PacketRing(64);
  /** Calls of `fail` and `awaitTurn`. */
  readonly failures: unknown[][] = [];
  turns = 0;
  credits = 5;
  room = 1000;
  /** Whether the key of READs is valid, and whether their memory can be read. */
  hasKey = true;
  isReadable = true;

  constructor(latencyNs = 0) {
    this.qp = {
      ...{ number: 5, owner: {}, state: QpState.RTS, receives: true, destroyed: false, pathMtuBytes: MTU_BYTES },
      attributes: { port: 1, pkeyIndex: 0, remoteQpn: 9 },
      portIndex: 0,
      failure: { note: () => {} },
    } as unknown as QueuePair;
    this.state = new ResponderState(this.qp, new Path());
    this.state.start(0, 4);
    const region = { owner: { dma: { at: () => ({}) } }, read: () => this.isReadable };
    const keys = { fault: FaultKind.KEY_BOUNDS, at: () => keys, checkRemote: () => (this.hasKey ? region : undefined) };
    Object.assign(keys, { pageFaults: { take: () => false, widen: () => {} } });
    const clock = { now: () => this.nowNs, setAlarm: () => {} };
    this.answers = new ResponderAnswers({
      ports: [this.#makePort()],
      keys: keys as unknown as KeyLookup,
      reader: { credits: () => this.credits } as never,
      reads: new ResponseReads(new DmaTiming(clock, { dmaLatencyNs: latencyNs })),
      fail: (_qp, event, fault, detail) => this.failures.push([event, fault, detail]),
      ...{ awaitTurn: () => this.turns++, takeLoans: () => {} },
    });
  }

  #makePort(): Port {
    const { sent } = this;
    const ring = this.#ring;
    const isFull = (): boolean => sent.length >= this.room;
    const port = {
      get congested() {
        return isFull();
      },
      pkeys: [0xffff],
      lid: 1,
      lmc: 0,
      ringFor: () => ring,
      transmit: (_ring: PacketRing, lengthBytes: number) => {
        const parsed = newParsedPacket();
        parsePacket(ring.view, ring.writeOffset, lengthBytes, parsed, PacketCheck.NONE);
        const fields = newPacketFields();
        readPacketFields(ring.view, parsed, fields);
        sent.push({ ...fields, payloadLengthBytes: parsed.payloadLengthBytes });
      },
    };
    return port as unknown as Port;
  }

  /** Queues the answer to a READ of `packets` packets, or to an atomic. */
  answer(place: number, firstPsn: number, packets: number, fields: Partial<ResponderResource> = {}): ResponderResource {
    const resource = this.state.resources[place];
    const lengthBytes = packets * MTU_BYTES;
    Object.assign(resource, { used: true, firstPsn, lastPsn: firstPsn + packets - 1, lengthBytes, packetsSent: 0 });
    Object.assign(resource, { isAtomic: false, address: 4096, msn: place, firstCount: firstPsn, ...fields });
    this.answers.enqueue(this.state, resource);
    return resource;
  }

  acknowledge(psn: number): void {
    this.answers.acknowledge(this.state, psn);
  }

  nak(psn: number): void {
    this.answers.queueSyndrome(this.state, AethKind.NAK, NakCode.PSN_SEQUENCE_ERROR, psn);
  }

  serveData(allowance = Number.POSITIVE_INFINITY): number {
    return this.answers.serveData(this.state, allowance);
  }

  /** Serves until nothing is left. */
  serveAll(): void {
    for (let turn = 0; this.answers.serve() + (this.state.inTurn ? this.serveData() : 0) > 0; turn++)
      if (turn === 1000) throw new Error('the answers have no end');
  }

  /** Opcode and PSN of the packets since the last call. */
  take(): number[][] {
    return this.sent.splice(0).map(({ opcode, psn }) => [opcode, psn]);
  }
}

t.test('acknowledgements that wait coalesce; each says the credits of the moment (IBTA 9.7.5.1.2)', async (t) => {
  const bench = new Bench();
  for (const psn of [1, 2, 3]) bench.acknowledge(psn);
  t.equal(bench.answers.waiting, 1);
  bench.credits = 0;
  bench.serveAll();
  t.match(bench.sent, [{ opcode: ACK, psn: 3, syndromeKind: AethKind.ACK, syndromeValue: 0, ackRequest: 0 }]);
  t.equal(bench.answers.packets, 1);
  t.equal(bench.answers.serve(), 0, 'no QP waits');
  bench.credits = -1;
  bench.acknowledge(4);
  bench.serveAll();
  t.equal(bench.sent.at(-1)?.syndromeValue, CREDITS_UNLIMITED, 'a shared receive queue grants no credits');
});

t.test('a waiting NAK is not replaced by the acknowledgement of an earlier packet, which it implies', async (t) => {
  for (const [psn, kind] of [
    [4, AethKind.NAK],
    [5, AethKind.ACK],
    [6, AethKind.ACK],
  ] as const) {
    const bench = new Bench();
    bench.nak(5);
    bench.acknowledge(psn);
    bench.serveAll();
    t.equal(bench.sent.length, 1);
    t.match(bench.sent, [{ syndromeKind: kind }], `PSN ${psn}`);
  }
  const bench = new Bench();
  bench.acknowledge(9);
  bench.acknowledge(8);
  bench.serveAll();
  t.same(bench.take(), [[ACK, 8]], 'the answer to a duplicate');
  bench.nak(5);
  bench.serveAll();
  bench.acknowledge(4);
  bench.serveAll();
  t.same(bench.take().length, 2, 'a NAK that was sent does not wait');
});

t.test('answers leave in the order of the requests; acknowledgements behind them wait', async (t) => {
  const bench = new Bench();
  bench.acknowledge(0);
  bench.answer(0, 1, 2);
  bench.acknowledge(3);
  bench.answer(1, 4, 1, { isAtomic: true, originalHigh: 7, originalLow: 8 });
  bench.acknowledge(5);
  bench.serveAll();
  t.match(bench.sent[4], { opcode: ATOMIC, originalHigh: 7, originalLow: 8, syndromeValue: 4 });
  t.same(bench.take(), [
    [ACK, 0],
    [FIRST, 1],
    [LAST, 2],
    [ACK, 3],
    [ATOMIC, 4],
    [ACK, 5],
  ]);
});

t.test('READ data takes turns of its lane, as long as their allowance', async (t) => {
  // A packet costs 2048 bytes besides its payload.
  for (const [allowance, packets] of [
    [1, 1],
    [2 * (2048 + MTU_BYTES), 2],
    [2 * (2048 + MTU_BYTES) + 1, 3],
    [Number.POSITIVE_INFINITY, 16],
  ]) {
    const bench = new Bench();
    bench.answer(0, 0, 20);
    t.same([bench.turns, bench.answers.waiting], [1, 0]);
    t.equal(bench.serveData(allowance), packets, `allowance ${allowance}`);
    t.equal(bench.answers.turnCost, packets * (2048 + MTU_BYTES));
    t.equal(bench.turns, 2, 'the rest waits for the next turn');
  }
  const bench = new Bench();
  bench.room = 2;
  bench.answer(0, 0, 4);
  bench.answer(1, 4, 1);
  t.equal(bench.turns, 1, 'one turn for both');
  t.equal(bench.serveData(), 2, 'until the port is full');
  bench.room = 100;
  t.equal(bench.serveData(), 3);
  t.same(bench.take(), [
    [FIRST, 0],
    [MIDDLE, 1],
    [MIDDLE, 2],
    [LAST, 3],
    [ONLY, 4],
  ]);
  t.equal(bench.turns, 2);
});

t.test('data that guest memory has not delivered yet has no turn', async (t) => {
  const bench = new Bench(100);
  bench.answer(0, 0, 1);
  bench.nowNs = 99;
  bench.answers.land();
  t.equal(bench.turns, 0);
  bench.nowNs = 100;
  bench.answers.land();
  t.equal(bench.turns, 1);
  t.equal(bench.serveData(), 1);
});

t.test('a duplicate READ restarts an answer under way, only backwards (IBTA 9.7.5.1.4)', async (t) => {
  for (const [offset, rest] of [
    [
      0,
      [
        [FIRST, 0],
        [MIDDLE, 1],
        [MIDDLE, 2],
        [LAST, 3],
      ],
    ],
    [
      1,
      [
        [FIRST, 1],
        [MIDDLE, 2],
        [LAST, 3],
      ],
    ],
    [
      2,
      [
        [MIDDLE, 2],
        [LAST, 3],
      ],
    ],
    [
      3,
      [
        [MIDDLE, 2],
        [LAST, 3],
      ],
    ],
  ] as const) {
    const bench = new Bench();
    const resource = bench.answer(0, 0, 4);
    bench.serveData(2 * (2048 + MTU_BYTES));
    bench.take();
    bench.answers.repeat(bench.state, resource, offset);
    bench.serveAll();
    t.same(bench.take(), rest, `from packet ${offset} on`);
  }
});

t.test('repeated answers come in the order of their PSNs; one that they interrupt goes on', async (t) => {
  const bench = new Bench();
  const [first, second] = [bench.answer(0, 0, 2), bench.answer(1, 2, 1)];
  bench.serveAll();
  bench.take();
  bench.answer(2, 3, 3);
  bench.serveData(1);
  bench.answers.repeat(bench.state, second, 0);
  bench.answers.repeat(bench.state, first, 1);
  bench.answers.repeat(bench.state, first, 1);
  bench.serveAll();
  t.same(bench.take(), [
    [FIRST, 3],
    [ONLY, 1],
    [ONLY, 2],
    [MIDDLE, 4],
    [LAST, 5],
  ]);
  bench.answer(3, 6, 1);
  const behind = new Bench();
  const [long, next] = [behind.answer(0, 0, 3), behind.answer(1, 3, 1)];
  behind.serveAll();
  behind.take();
  behind.answers.repeat(behind.state, long, 0);
  behind.serveData(1);
  behind.answers.repeat(behind.state, next, 0);
  behind.serveAll();
  t.same(
    behind.take(),
    [
      [FIRST, 0],
      [MIDDLE, 1],
      [LAST, 2],
      [ONLY, 3],
    ],
    'one behind it interrupts none',
  );
  const again = new Bench();
  const [early, late] = [again.answer(0, 0, 1), again.answer(1, 1, 1)];
  again.serveAll();
  again.take();
  again.answers.repeat(again.state, early, 0);
  again.answers.repeat(again.state, late, 0);
  again.serveAll();
  t.same(again.take(), [
    [ONLY, 0],
    [ONLY, 1],
  ]);
});

t.test('a QP that does not receive any more answers nothing, except the NAK that ended it', async (t) => {
  for (const [fields, refused, packets] of [
    [{ destroyed: true }, false, 0],
    [{ destroyed: true, receives: false, state: QpState.ERR }, true, 0],
    [{ receives: false, state: QpState.ERR }, false, 0],
    [{ receives: false, state: QpState.ERR }, true, 1],
    [{ receives: false, state: QpState.RESET }, true, 0],
  ] as const) {
    const bench = new Bench();
    bench.nak(1);
    const resource = bench.answer(0, 2, 1);
    bench.state.refused = refused;
    Object.assign(bench.qp, fields);
    t.equal(bench.answers.serve(), packets, JSON.stringify(fields));
    t.equal(bench.sent.length, packets);
    if (packets === 0) t.notOk(resource.active || bench.state.acknowledge.pending, 'all answers are dropped');
  }
});

t.test('memory that cannot be read ends an answer with a NAK (IBTA 9.7.5.2.4)', async (t) => {
  for (const [fields, code, event, fault] of [
    [{ hasKey: false }, NakCode.REMOTE_ACCESS_ERROR, EventType.QP_ACCESS_ERROR, FaultKind.KEY_BOUNDS],
    [{ isReadable: false }, NakCode.REMOTE_OPERATIONAL_ERROR, EventType.QP_FATAL, FaultKind.DMA_READ],
  ] as const) {
    const bench = new Bench();
    bench.answer(0, 0, 3);
    bench.acknowledge(3);
    bench.serveData(1);
    Object.assign(bench, fields);
    bench.serveAll();
    t.match(bench.sent[1], { opcode: ACK, psn: 1, syndromeKind: AethKind.NAK, syndromeValue: code });
    t.equal(bench.sent.length, 2);
    t.same(bench.failures, [[event, fault, 4096 + MTU_BYTES]]);
    t.ok(bench.state.refused);
  }
});

t.test('a late duplicate whose memory is gone has no answer, and fails nothing', async (t) => {
  const bench = new Bench();
  const resource = bench.answer(0, 0, 2);
  bench.serveAll();
  bench.take();
  bench.answers.repeat(bench.state, resource, 0);
  bench.acknowledge(5);
  bench.hasKey = false;
  bench.serveAll();
  t.same(bench.take(), [[ACK, 5]]);
  t.same([bench.failures, bench.state.refused], [[], false]);
});

t.test('a traced answer shows its packets: READ data, or the result of an atomic', async (t) => {
  const bench = new Bench();
  const kept: number[][] = [];
  const ended: number[] = [];
  const trace = {
    keepAnswer: (...[, done, , , offset, startsAt, bytes]: readonly number[]) =>
      kept.push([done, startsAt - offset, bytes]),
    endAnswer: (resource: ResponderResource, status: CompletionStatus) => {
      resource.trace = undefined;
      ended.push(status);
    },
  } as unknown as QueuePairTrace;
  const resources = [bench.answer(0, 0, 2), bench.answer(1, 2, 1, { isAtomic: true }), bench.answer(2, 3, 1)];
  for (const resource of resources) resource.trace = trace;
  bench.serveAll();
  t.same(kept, [
    [0, 24, MTU_BYTES],
    [MTU_BYTES, 24, MTU_BYTES],
    [0, 24, 8],
    [0, 24, MTU_BYTES],
  ]);
  t.same(ended, [CompletionStatus.SUCCESS, CompletionStatus.SUCCESS, CompletionStatus.SUCCESS]);
});

t.test('a connection starts without anything of the one before', async (t) => {
  const bench = new Bench();
  const { state } = bench;
  const resource = bench.answer(0, 0, 2);
  bench.acknowledge(2);
  const ended: number[] = [];
  resource.trace = { endAnswer: (_: unknown, status: number) => ended.push(status) } as unknown as QueuePairTrace;
  Object.assign(state, { nakSent: true, refused: true, message: MessageKind.WRITE, wqeTaken: true, established: true });
  state.start(77, 2);
  t.match(state, { expectedPsn: 77, msn: 0, established: false, nakSent: false, refused: false, wqeTaken: false });
  t.same([state.message, state.queue.length, state.resources.length], [MessageKind.NONE, 0, 2]);
  t.notOk(resource.active || resource.after.pending || state.acknowledge.pending);
  t.same(ended, [CompletionStatus.FLUSHED]);
  t.ok(state.resources.every(({ used }) => !used));
});

t.test('a changed depth keeps the newest requests that can be repeated (IBTA 11.2.5.2)', async (t) => {
  const { state } = new Bench();
  for (const [index, resource] of state.resources.entries()) resource.firstPsn = index;
  const psns = () => state.resources.map(({ firstPsn }) => firstPsn);
  state.resourceNext = 1;
  state.resize(3);
  t.same([psns(), state.resourceNext], [[2, 3, 0], 0], 'number 1 was the oldest');
  state.resize(4);
  t.equal(state.resources[0].used, false, 'a new one is overwritten first');
  t.same(psns().slice(1), [2, 3, 0]);
  state.resourceNext = 2;
  state.resize(5);
  t.same(psns().slice(1), [3, 0, state.resources[3].firstPsn, 2]);
  t.equal(new Set(state.resources).size, 5, 'each is there once');
});

t.test('an acknowledgement behind a withdrawn answer is sent, unless a later one waits', async (t) => {
  const bench = new Bench();
  const { state } = bench;
  const [first, second] = [bench.answer(0, 0, 1), bench.answer(1, 1, 1)];
  first.after.set(AethKind.ACK, 0, 0, 1);
  state.withdraw(second);
  t.notOk(second.active);
  state.withdraw(second);
  state.withdraw(first);
  t.match(state.acknowledge, { pending: true, psn: 0 });
  t.notOk(first.after.pending);
  const later = new Bench();
  const [one, two] = [later.answer(0, 0, 1), later.answer(1, 1, 1)];
  one.after.set(AethKind.ACK, 0, 0, 1);
  two.after.set(AethKind.ACK, 0, 1, 2);
  later.state.withdraw(one);
  t.equal(two.after.psn, 1, 'it acknowledges more');
});
