// SPDX-License-Identifier: Apache-2.0
/**
 * The requester alone, with a port that keeps its packets (IBTA 9.7.2, 9.7.3, 9.7.7.2, 10.8.3.3):
 * how long a turn is, which record is sent next and which must wait, and what the packets say.
 */
import t from 'tap';
import { BthOpcode } from '../../../../protocol/infiniband/gen/values.gen.ts';
import { FaultKind, QpState, SendOpcode, ServiceType } from '../../../../protocol/layout/gen/values.gen.ts';
import { RequesterFixture as Bench, MTU_BYTES } from '../../../rig/fixtures/requester-fixture.ts';
import { Step } from '../../function/timeline.ts';
import type { QueuePairTrace } from '../../trace/queue-pair-trace.ts';
import { RequestKind } from '../requester-opcodes.ts';
import { RequesterStep, RequesterWait } from '../state/requester-state.ts';

t.test('a turn ends when its bytes are used up; more weight is a longer turn (US 8,484,392 par. 41)', async (t) => {
  // A packet costs 2048 bytes besides its payload; the allowance of weight 1 is 8192.
  for (const [weight, lengthBytes, packets] of [
    [1, MTU_BYTES, 4],
    [1, 0, 4],
    [2, MTU_BYTES, 8],
    [2, 1, 8],
    [100, MTU_BYTES, 16],
  ] as const) {
    const bench = new Bench(ServiceType.RC, [1, weight]);
    Object.assign(bench.qp, { lane: 1 });
    for (let count = 0; count < 20; count++) bench.add(SendOpcode.SEND, lengthBytes);
    t.equal(bench.serve(), packets, `weight ${weight}, ${lengthBytes} bytes`);
    t.equal(bench.sent.length, packets);
    t.equal(bench.requester.packets, packets);
    t.equal(bench.requester.waiting, 1, 'the QP waits for its next turn');
  }
});

t.test('a QP without a lane of its own takes turns on lane 0', async (t) => {
  const bench = new Bench(ServiceType.RC, [2, 1]);
  for (let count = 0; count < 20; count++) bench.add(SendOpcode.SEND, 0);
  t.equal(bench.serve(), 8);
});

t.test('a QP waits for one turn, however often it is woken', async (t) => {
  const bench = new Bench();
  for (let count = 0; count < 3; count++) bench.requester.wake(bench.state);
  t.equal(bench.requester.waiting, 1);
  t.equal(bench.requester.serve(), 0);
  t.equal(bench.requester.waiting, 0);
  t.equal(bench.requester.serve(), 0, 'no QP waits');
});

t.test('a QP that may not send any more has no turn', async (t) => {
  for (const [fields, packets] of [
    [{ destroyed: true }, 0],
    [{ state: QpState.ERR }, 0],
    [{ state: QpState.RTR }, 0],
    [{ state: QpState.SQD }, 1],
  ] as const) {
    const bench = new Bench();
    bench.add(SendOpcode.SEND, 1);
    bench.requester.wake(bench.state);
    Object.assign(bench.qp, fields);
    bench.requester.serve();
    t.equal(bench.sent.length, packets, JSON.stringify(fields));
  }
});

t.test('a full port ends the turn; the message goes on in the next one', async (t) => {
  const bench = new Bench();
  bench.room = 2;
  bench.add(SendOpcode.SEND, 3 * MTU_BYTES);
  t.equal(bench.serve(), 2);
  t.equal(bench.requester.waiting, 0, 'QPs at a full port do not count');
  bench.room = 3;
  t.equal(bench.requester.serve(), 1);
  t.same(bench.psns, [100, 101, 102]);
  t.same(
    bench.sent.map(({ opcode }) => opcode),
    [BthOpcode.RC_SEND_FIRST, BthOpcode.RC_SEND_MIDDLE, BthOpcode.RC_SEND_LAST],
  );
  t.ok(bench.calls.includes('sent 0'));
});

t.test('a READ takes the PSNs of its responses, an atomic one; both ask for an acknowledgement', async (t) => {
  const bench = new Bench();
  bench.add(SendOpcode.RDMA_READ, 3 * MTU_BYTES, { remoteAddressHigh: 4, remoteAddressLow: 0xffffff00 });
  bench.add(SendOpcode.FETCH_ADD, 8);
  bench.add(SendOpcode.SEND, 0);
  t.equal(bench.serve(), 3);
  t.same(bench.psns, [100, 103, 104]);
  t.same(
    bench.sent.map(({ ackRequest }) => ackRequest),
    [1, 1, 1],
  );
  t.equal(bench.state.readsOutstanding, 2);
  t.same([bench.state.nextPsn, bench.state.sentPsn], [105, 105]);
});

t.test('the rest of a READ is asked for by its address, also beyond 4 GiB (IBTA 9.7.5.1.9)', async (t) => {
  const bench = new Bench();
  const read = bench.add(SendOpcode.RDMA_READ, 3 * MTU_BYTES, { remoteAddressHigh: 4, remoteAddressLow: 0xffffff00 });
  bench.serve();
  read.responsesReceived = 1;
  bench.state.unackedPsn = 101;
  bench.state.rewind(101);
  bench.serve();
  t.match(bench.sent[1], {
    psn: 101,
    virtualAddressHigh: 5,
    virtualAddressLow: 0,
    dmaLength: 2 * MTU_BYTES,
  });
});

t.test('unreliable messages are done when sent: without timer, without acknowledgement (IBTA 9.8.2)', async (t) => {
  const bench = new Bench(ServiceType.UC);
  const record = bench.add(SendOpcode.SEND, 2 * MTU_BYTES);
  t.equal(bench.serve(), 2);
  t.ok(record.done);
  t.same(bench.calls, ['sent 0', 'complete']);
  t.same(
    bench.sent.map(({ ackRequest }) => ackRequest),
    [0, 0],
  );
  t.notOk(bench.state.outstanding);
});

t.test('the timer of the oldest packet runs on while others are sent (IBTA 9.7.6.1.3)', async (t) => {
  const bench = new Bench();
  bench.add(SendOpcode.SEND, 2 * MTU_BYTES);
  bench.add(SendOpcode.SEND, 0);
  bench.serve();
  t.same(bench.calls, ['timer', 'sent 0', 'sent 1']);
});

t.test('while payload is read again the timeout starts anew; otherwise it is one (IBTA 9.7.6.1.3)', async (t) => {
  const bench = new Bench();
  t.notOk(bench.requester.defersTimeout(bench.state));
  t.same(bench.calls, []);
  bench.state.reading = true;
  t.ok(bench.requester.defersTimeout(bench.state));
  t.same(bench.calls, ['timer']);
});

t.test('a message that must wait begins not, and gives back the commands behind it', async (t) => {
  const waits: [string, RequesterWait, (bench: Bench) => void][] = [
    [
      'a fence waits for READs (IBTA 10.8.3.3)',
      RequesterWait.FENCE,
      (bench) => {
        bench.state.readsOutstanding = 1;
        bench.add(SendOpcode.SEND, 1, { fence: true });
      },
    ],
    [
      'a READ waits for the initiator depth',
      RequesterWait.READS,
      (bench) => {
        bench.state.readsOutstanding = 2;
        bench.add(SendOpcode.RDMA_READ, 1);
      },
    ],
    [
      'too many packets are unacknowledged',
      RequesterWait.WINDOW,
      (bench) => {
        bench.state.nextPsn += 65536;
        bench.add(SendOpcode.SEND, 1);
      },
    ],
    [
      'more than half of all PSNs would be outstanding (IBTA 9.7.1)',
      RequesterWait.WINDOW,
      (bench) => {
        bench.state.nextPsn += 2;
        bench.add(SendOpcode.RDMA_READ, (2 ** 23 - 1) * MTU_BYTES);
      },
    ],
    [
      'no credit is left while a message is outstanding (IBTA 9.7.7.2)',
      RequesterWait.CREDIT,
      (bench) => {
        Object.assign(bench.state, { creditsUnlimited: false, limitSequence: 4, sendSequence: 5 });
        bench.state.nextPsn += 1;
        bench.add(SendOpcode.SEND, 1);
      },
    ],
  ];
  for (const [name, wait, prepare] of waits) {
    const bench = new Bench();
    prepare(bench);
    t.equal(bench.serve(), 1, name);
    t.same([bench.state.wait, bench.sent.length, bench.calls], [wait, 0, ['return']], name);
  }
});

t.test('a message at its limit begins', async (t) => {
  const begins: [string, (bench: Bench) => void][] = [
    ['a fence without READs', (bench) => bench.add(SendOpcode.SEND, 1, { fence: true })],
    [
      'the last READ of the initiator depth',
      (bench) => {
        bench.state.readsOutstanding = 1;
        bench.add(SendOpcode.RDMA_READ, 1);
      },
    ],
    [
      'one packet below the window',
      (bench) => {
        bench.state.nextPsn += 65535;
        bench.add(SendOpcode.SEND, 1);
      },
    ],
    [
      'half of all PSNs',
      (bench) => {
        bench.state.nextPsn += 1;
        bench.add(SendOpcode.RDMA_READ, (2 ** 23 - 1) * MTU_BYTES);
      },
    ],
    ['the longest message, with nothing outstanding', (bench) => bench.add(SendOpcode.RDMA_READ, 2 ** 23 * MTU_BYTES)],
    [
      'the message with the last credit',
      (bench) => {
        Object.assign(bench.state, { creditsUnlimited: false, limitSequence: 5, sendSequence: 5 });
        bench.state.nextPsn += 1;
        bench.add(SendOpcode.SEND, 1);
      },
    ],
    [
      'a probe without credit (IBTA 9.7.7.2.5)',
      (bench) => {
        Object.assign(bench.state, { creditsUnlimited: false, limitSequence: 4, sendSequence: 5 });
        bench.add(SendOpcode.SEND, 1);
      },
    ],
    [
      'a WRITE, which needs no credit',
      (bench) => {
        Object.assign(bench.state, { creditsUnlimited: false, limitSequence: 4, sendSequence: 5 });
        bench.state.nextPsn += 1;
        bench.add(SendOpcode.RDMA_WRITE, 1);
      },
    ],
  ];
  for (const [name, prepare] of begins) {
    const bench = new Bench();
    prepare(bench);
    bench.serve();
    t.same([bench.state.wait, bench.sent.length], [RequesterWait.NONE, 1], name);
  }
});

t.test('nothing is sent during the wait that an RNR NAK asks for (IBTA 9.7.5.2.8)', async (t) => {
  const bench = new Bench();
  bench.add(SendOpcode.SEND, 1);
  bench.state.wait = RequesterWait.RNR;
  t.equal(bench.serve(), 0);
  t.equal(bench.sent.length, 0);
});

t.test('after a rewind, answered READs are not asked again', async (t) => {
  const bench = new Bench();
  bench.add(SendOpcode.SEND, 1);
  const read = bench.add(SendOpcode.RDMA_READ, 1);
  bench.add(SendOpcode.SEND, 1);
  bench.serve();
  read.done = true;
  bench.state.rewind(100);
  for (let turn = 0; turn < 2; turn++) bench.serve();
  t.same(bench.psns, [100, 101, 102, 100, 102]);
});

t.test('a record that fails stops those behind it, and keeps the PSNs that it has', async (t) => {
  const bench = new Bench();
  bench.readable = 2;
  bench.add(SendOpcode.SEND, 1);
  const failing = bench.add(SendOpcode.SEND, 3 * MTU_BYTES);
  bench.add(SendOpcode.SEND, 1);
  t.equal(bench.serve(), 3, 'two packets and the failure');
  t.match(failing, { done: true, fault: FaultKind.DMA_READ, firstPsn: 101, lastPsn: 103 });
  t.equal(bench.state.wait, RequesterWait.FAULT);
  t.same(bench.calls.slice(-2), ['complete', 'return']);
  bench.calls.length = 0;
  bench.state.wait = RequesterWait.NONE;
  bench.readable = 9;
  bench.state.rewind(100);
  bench.serve();
  t.same(bench.psns, [100, 101, 100], 'records before it may be sent again');
  t.equal(bench.state.wait, RequesterWait.FAULT);
  t.ok(bench.calls.includes('return'));
});

t.test('a malformed record has no PSN; nothing is returned when its report ends the wait', async (t) => {
  const bench = new Bench();
  const record = bench.add(SendOpcode.SEND, 1, { fault: FaultKind.COMMAND_LENGTH });
  t.equal(bench.serve(), 1);
  t.match(record, { done: true, firstPsn: 100, lastPsn: 99 });
  t.equal(bench.state.nextPsn, 100);
  const read = new Bench();
  Object.assign(read.qp.attributes, { maxReadsInitiated: 0 });
  t.equal(read.add(SendOpcode.RDMA_READ, 1).fault, FaultKind.NONE);
  read.serve();
  t.equal(read.state.oldest?.fault, FaultKind.COMMAND_OPCODE, 'a READ without initiator depth (IBTA 11.2.5.2)');
  const ended = new Bench();
  ended.add(SendOpcode.SEND, 1, { fault: FaultKind.COMMAND_LENGTH });
  const { calls, state } = ended;
  calls.push = (...names: string[]) => {
    if (names[0] === 'complete') state.wait = RequesterWait.NONE;
    return Array.prototype.push.apply(calls, names);
  };
  ended.serve();
  t.same([...calls], ['complete']);
});

t.test('local operations take no PSN; one that ends the connection ends the turn', async (t) => {
  const bench = new Bench();
  const kind = { kind: RequestKind.LOCAL };
  const first = bench.add(SendOpcode.NOP, 0, kind);
  bench.add(SendOpcode.SEND, 1);
  t.equal(bench.serve(), 2);
  t.ok(first.done && first.numbered);
  t.same(bench.psns, [100]);
  const failing = bench.add(SendOpcode.LOCAL_INVALIDATE, 0, kind);
  bench.local.push(FaultKind.KEY_STATE);
  t.equal(bench.serve(), 1);
  t.equal(failing.fault, FaultKind.KEY_STATE);
  t.same(bench.performed, [1, 2], 'loans end before each');
  const ended = new Bench();
  ended.add(SendOpcode.NOP, 0, kind);
  ended.add(SendOpcode.SEND, 1);
  const { calls, qp } = ended;
  calls.push = (...names: string[]) => {
    Object.assign(qp, { state: QpState.ERR });
    return Array.prototype.push.apply(calls, names);
  };
  ended.serve();
  t.equal(ended.sent.length, 0);
});

t.test('a traced message shows each packet that it sends', async (t) => {
  const bench = new Bench();
  const packets: number[][] = [];
  const trace = {
    sendPacket: (
      _state: unknown,
      _record: unknown,
      packet: number,
      _fields: unknown,
      _from: unknown,
      offset: number,
      headers: number,
      payload: number,
    ) => packets.push([packet, offset - bench.ring.writeOffset, headers, payload]),
  } as unknown as QueuePairTrace;
  bench.add(SendOpcode.SEND, MTU_BYTES + 4, { trace });
  bench.add(SendOpcode.RDMA_READ, 9, { trace });
  bench.serve();
  t.same(packets, [
    [0, 0, 20, MTU_BYTES],
    [1, 0, 20, 4],
    [0, 0, 36, 0],
  ]);
});

t.test('the state of a QP says at which step its last turn has ended', async (t) => {
  const turns: [string, RequesterStep, (bench: Bench) => void][] = [
    ['there is nothing to send', RequesterStep.SELECT, () => {}],
    ['everything is sent', RequesterStep.SELECT, (bench) => bench.add(SendOpcode.SEND, 1)],
    [
      'the message waits',
      RequesterStep.ADMIT,
      (bench) => {
        bench.state.readsOutstanding = 1;
        bench.add(SendOpcode.SEND, 1, { fence: true });
      },
    ],
    [
      'the port is full',
      RequesterStep.SEND,
      (bench) => {
        bench.room = 1;
        for (let count = 0; count < 2; count++) bench.add(SendOpcode.SEND, 1);
      },
    ],
    [
      'the payload cannot be read',
      RequesterStep.SEND,
      (bench) => {
        bench.readable = 0;
        bench.add(SendOpcode.SEND, 1);
      },
    ],
    [
      'an operation on a key fails',
      RequesterStep.LOCAL,
      (bench) => {
        bench.local.push(FaultKind.KEY_STATE);
        bench.add(SendOpcode.LOCAL_INVALIDATE, 0);
      },
    ],
  ];
  for (const [name, step, prepare] of turns) {
    const bench = new Bench();
    prepare(bench);
    const waits: unknown[] = [];
    const note = (kind: Step, ...numbers: number[]) => kind === Step.COMMAND_WAIT && waits.push(numbers[4]);
    Object.assign(bench.qp.owner, { timeline: { note } });
    t.equal(bench.state.step, RequesterStep.EXIT, 'before the first turn');
    bench.serve();
    t.equal(bench.state.step, step, name);
    t.same(waits, step === RequesterStep.ADMIT ? [step] : [], `${name}: the timeline has the state of a wait`);
    bench.state.start(0);
    t.equal(bench.state.step, RequesterStep.EXIT, 'of a new connection');
  }
});
