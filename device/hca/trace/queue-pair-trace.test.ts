// SPDX-License-Identifier: Apache-2.0
/**
 * The trace of one QP alone (IPCOM000010133D par. 1, 4): which messages get a block, how a block
 * ends, and that a hook which comes late never writes into the block of another message.
 */
import t from 'tap';
import { BthOpcode } from '../../../protocol/infiniband/gen/values.gen.ts';
import { opcodeFlags } from '../../../protocol/infiniband/opcodes.ts';
import { newParsedPacket, type ParsedPacket } from '../../../protocol/infiniband/packet.ts';
import { encodeSendCommand, newSendCommand, SEND_COMMAND_SIZE } from '../../../protocol/layout/gen/send-command.gen.ts';
import { CompletionStatus, FaultKind, SendOpcode, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import { PacketRing } from '../../fabric/port/packet-ring.ts';
import { Step } from '../function/timeline.ts';
import { PacketMove } from '../function/timeline-values.ts';
import type { QueuePairTrace, TraceSettings } from './queue-pair-trace.ts';
import type { TracedCommand, TracedQueuePair } from './traced.ts';
import { decodeMessages, type TracedMessage } from './traced-message.ts';
import { Traces } from './traces.ts';

const { SUCCESS, FLUSHED, REMOTE_ACCESS_ERROR } = CompletionStatus;
const { SENT, SENT_AGAIN, RECEIVED } = PacketMove;
const HEADERS_BYTES = 20;
const MTU_BYTES = 256;
const RESPONSE = { opcode: BthOpcode.RC_RDMA_READ_RESPONSE_FIRST, psn: 80 };
const REQUESTER = { path: { dlid: 9 }, sendSequence: 5 };

/** A QP with a trace, on a clock that the test sets. */
class Bench {
  nowNs = 0;
  readonly ring = new PacketRing(2);
  readonly events: number[] = [];
  /** What became of each packet, in the timeline. */
  readonly moves: PacketMove[] = [];
  readonly qp: TracedQueuePair & { trace: QueuePairTrace | undefined };
  readonly #traces: Traces;

  constructor(serviceType: ServiceType = ServiceType.RC, settings: Partial<TraceSettings> = {}) {
    this.#traces = new Traces({ now: () => this.nowNs, setAlarm: () => {} }, 1);
    this.qp = {
      number: 7,
      tokenLow: 0,
      tokenHigh: 0,
      serviceType,
      attributes: { port: 1, remoteQpn: 8 },
      pathMtuBytes: MTU_BYTES,
      owner: {
        number: 0,
        timeline: { note: (step, _function, _qp, _block, _psn, _opcode, _bytes, move) => this.#note(step, move) },
        postAsynchronous: (_type, _subject, fault) => this.events.push(fault),
      },
      trace: undefined,
    };
    this.#traces.enable(this.qp, { blocksLog2: 3, snapLength: 1024, stopOnError: false, byGuest: true, ...settings });
  }

  #note(step: Step, move: number | undefined): void {
    if (step === Step.PACKET) this.moves.push(move as PacketMove);
  }

  get trace(): QueuePairTrace {
    if (this.qp.trace === undefined) throw new Error('the QP is not traced');
    return this.qp.trace;
  }

  read(): TracedMessage[] {
    const blocks: Uint8Array[] = [];
    this.#traces.read(this.trace, 0, (bytes, lengthBytes) => blocks.push(bytes.slice(0, lengthBytes)) > 0);
    return blocks.flatMap((block) => decodeMessages(block, 1));
  }

  get blocks(): TracedMessage['block'][] {
    return this.read().map(({ block }) => block);
  }

  /** A command that was launched now. */
  launch(fields: Partial<TracedCommand> = {}): TracedCommand {
    const command = { opcode: SendOpcode.SEND, sequence: 3, messageLength: 600, firstPsn: 100, lastPsn: 102 };
    const record = { ...command, launchedNs: 0, traceBlock: -1, ...fields };
    this.trace.launch(record);
    return record;
  }

  /** Sends packet `number` of the record, full ones before the third. */
  send(record: TracedCommand, number: number): void {
    const payload = number < 2 ? MTU_BYTES : 88;
    const name = { opcode: BthOpcode.RC_SEND_MIDDLE, psn: record.firstPsn + number };
    this.trace.sendPacket(REQUESTER, record, number, name, this.ring, 0, HEADERS_BYTES, payload);
  }

  end(record: TracedCommand, status: CompletionStatus = SUCCESS, fault: FaultKind = FaultKind.NONE): void {
    this.trace.endRecord(REQUESTER, record, status, fault);
  }

  /** A packet that arrived. */
  packet(opcode: BthOpcode, psn: number, payloadLengthBytes = MTU_BYTES): ParsedPacket {
    const flags = opcodeFlags[opcode];
    return { ...newParsedPacket(), opcode, flags, psn, slid: 6, payloadOffset: HEADERS_BYTES, payloadLengthBytes };
  }

  /** A packet of a message is placed behind `messageBytes`. */
  place(opcode: BthOpcode, psn: number, messageBytes: number, wqeNumber = 4): void {
    const state = { wqeNumber, msn: 2, messageBytes };
    this.trace.placePacket({ state, packet: this.packet(opcode, psn), ring: this.ring });
  }

  refuse(opcode: BthOpcode, psn: number): void {
    const state = { wqeNumber: 4, msn: 2, messageBytes: 0 };
    const request = { state, packet: this.packet(opcode, psn), ring: this.ring };
    this.trace.refuse(request, REMOTE_ACCESS_ERROR, FaultKind.KEY_INVALID);
  }
}

t.test('a message gets its block with its first packet; packets sent again are counted', async (t) => {
  const bench = new Bench();
  bench.nowNs = 10;
  const record = bench.launch({ opcode: SendOpcode.RDMA_WRITE });
  t.same(bench.blocks, [], 'no packet, no block');
  bench.nowNs = 20;
  for (const number of [0, 1, 0, 1]) bench.send(record, number);
  t.match(bench.blocks, [{ packets: 2, retries: 2, packetsKept: 2, complete: 0, endTime: 0 }]);
  bench.send(record, 2);
  bench.nowNs = 90;
  bench.end(record);
  t.match(bench.blocks, [
    {
      qpn: 7,
      port: 1,
      receive: 0,
      opcode: SendOpcode.RDMA_WRITE,
      sequence: 3,
      firstPsn: 100,
      lastPsn: 102,
      remoteQpn: 8,
      remoteLid: 9,
      messageLength: 600,
      messageSequence: REQUESTER.sendSequence - 2,
      packets: 3,
      retries: 2,
      complete: 1,
      beginTime: 10,
      endTime: 90,
    },
  ]);
});

t.test('a reliable message ends with its acknowledgement, an unreliable one with its last packet', async (t) => {
  for (const [serviceType, endTime] of [
    [ServiceType.RC, 90],
    [ServiceType.UC, 20],
  ] as const) {
    const bench = new Bench(serviceType);
    const record = bench.launch();
    bench.nowNs = 20;
    for (const number of [0, 1, 2]) bench.send(record, number);
    bench.nowNs = 90;
    bench.end(record);
    t.match(bench.blocks, [{ complete: 1, endTime, packets: 3 }]);
  }
});

t.test('messages that one acknowledgement completes end at one time', async (t) => {
  const bench = new Bench();
  const records = [1, 2, 3, 4].map((sequence) => bench.launch({ sequence }));
  bench.trace.pause();
  bench.send(records[0], 0);
  bench.trace.resume();
  for (const record of records.slice(1)) bench.send(record, 0);
  bench.nowNs = 50;
  bench.end(records[0]);
  for (const record of records.slice(1, 3)) {
    bench.trace.endRecord(REQUESTER, record, SUCCESS, FaultKind.NONE, true);
    bench.nowNs += 10;
  }
  bench.end(records[3]);
  t.match(
    bench.blocks.map(({ sequence, endTime }) => [sequence, endTime]),
    [
      [2, 50],
      [3, 50],
      [4, 70],
    ],
    'the first one has no block',
  );
});

t.test('a message whose first packet was sent in a pause has no block, also behind the pause', async (t) => {
  const bench = new Bench();
  const paused = bench.launch();
  bench.trace.pause();
  bench.send(paused, 0);
  bench.trace.resume();
  bench.send(paused, 1);
  bench.end(paused);
  t.same(bench.blocks, []);
  const before = bench.launch();
  bench.trace.launch(before);
  bench.send(before, 1);
  bench.send(before, 0);
  bench.end(before);
  t.same(bench.blocks, [], 'nor has one that was under way when the trace began');
  const next = bench.launch({ sequence: 9 });
  bench.send(next, 0);
  bench.trace.pause();
  bench.send(next, 1);
  bench.end(next);
  t.match(bench.blocks, [{ sequence: 9, packets: 2, complete: 1 }], 'a message under way goes on in a pause');
});

t.test('a command that ends without a packet has a block without PSN, unless the trace is paused', async (t) => {
  const bench = new Bench();
  bench.nowNs = 5;
  const record = bench.launch();
  bench.nowNs = 8;
  bench.end(record, FLUSHED);
  const unnumbered = { firstPsn: 0, lastPsn: 0, messageSequence: 0, packets: 0, packetsKept: 0 };
  t.match(bench.blocks, [{ ...unnumbered, sequence: 3, status: FLUSHED, beginTime: 5, endTime: 8 }]);
  bench.trace.pause();
  bench.end(bench.launch(), FLUSHED);
  t.equal(bench.blocks.length, 1);
});

t.test('hazard 40: hooks of a message whose block was overwritten change no other block', async (t) => {
  const bench = new Bench(ServiceType.RC, { blocksLog2: 0 });
  const old = bench.launch();
  bench.send(old, 0);
  const next = bench.launch({ sequence: 4, messageLength: MTU_BYTES });
  bench.send(next, 0);
  const wanted = bench.read();
  bench.send(old, 0);
  bench.send(old, 1);
  bench.trace.keepAnswer(old.traceBlock, MTU_BYTES, RESPONSE, bench.ring, 0, HEADERS_BYTES, 10);
  bench.end(old);
  t.same(bench.read(), wanted);
  bench.place(BthOpcode.RC_SEND_FIRST, 50, 0);
  bench.end(bench.launch({ sequence: 5 }), FLUSHED);
  const flushed = bench.read();
  bench.place(BthOpcode.RC_SEND_LAST, 51, MTU_BYTES);
  bench.trace.endMessage(SUCCESS, FaultKind.NONE);
  t.same(bench.read(), flushed);
});

/** A datagram command in the queue. */
function datagram(sequence: number): DataView {
  const view = new DataView(new ArrayBuffer(SEND_COMMAND_SIZE));
  encodeSendCommand(view, 0, { ...newSendCommand(), opcode: SendOpcode.SEND_IMMEDIATE, sequence, messageLength: 44 });
  return view;
}

t.test('a datagram has one block, with its packet or without', async (t) => {
  const bench = new Bench(ServiceType.UD);
  for (const [sequence, isSent] of [
    [1, true],
    [2, false],
    [3, true],
  ] as const) {
    bench.nowNs = sequence * 100;
    bench.trace.beginCommand();
    bench.nowNs += 10;
    if (isSent) bench.trace.sendDatagram(datagram(sequence), 70 + sequence, 30, 40, bench.ring, 0, HEADERS_BYTES, 44);
    bench.nowNs += 10;
    bench.trace.endCommand(datagram(sequence), isSent ? SUCCESS : FLUSHED, FaultKind.NONE);
  }
  const common = { opcode: SendOpcode.SEND_IMMEDIATE, receive: 0, complete: 1, messageLength: 44, messageSequence: 0 };
  t.match(bench.blocks, [
    { ...common, sequence: 1, firstPsn: 71, lastPsn: 71, remoteQpn: 30, remoteLid: 40, beginTime: 100, endTime: 110 },
    { ...common, sequence: 2, firstPsn: 0, lastPsn: 0, remoteQpn: 0, remoteLid: 0, beginTime: 200, endTime: 220 },
    { ...common, sequence: 3, firstPsn: 73, lastPsn: 73, beginTime: 300, endTime: 310, packets: 1 },
  ]);
  bench.trace.pause();
  bench.trace.beginCommand();
  bench.trace.sendDatagram(datagram(4), 74, 30, 40, bench.ring, 0, HEADERS_BYTES, 44);
  bench.trace.endCommand(datagram(4), SUCCESS, FaultKind.NONE);
  bench.trace.receiveDatagram(bench.packet(BthOpcode.UD_SEND_ONLY, 1), bench.ring, 1, SUCCESS, FaultKind.NONE);
  t.equal(bench.blocks.length, 3, 'none in a pause');
});

t.test('a received message is one block, as its packets show it', async (t) => {
  const bench = new Bench();
  bench.place(BthOpcode.RC_RDMA_WRITE_FIRST, 50, 0, 0);
  t.match(bench.blocks, [{ opcode: SendOpcode.RDMA_WRITE, packets: 1, complete: 0 }]);
  bench.place(BthOpcode.RC_RDMA_WRITE_MIDDLE, 51, MTU_BYTES, 0);
  bench.place(BthOpcode.RC_RDMA_WRITE_LAST_WITH_IMMEDIATE, 52, 2 * MTU_BYTES, 4);
  bench.trace.endMessage(SUCCESS, FaultKind.NONE);
  bench.trace.endMessage(REMOTE_ACCESS_ERROR, FaultKind.KEY_INVALID);
  t.match(bench.blocks, [
    {
      opcode: SendOpcode.RDMA_WRITE_IMMEDIATE,
      receive: 1,
      sequence: 4,
      firstPsn: 50,
      lastPsn: 52,
      remoteQpn: 8,
      remoteLid: 6,
      messageLength: 3 * MTU_BYTES,
      messageSequence: 2,
      packets: 3,
      packetsKept: 3,
      status: SUCCESS,
      complete: 1,
    },
  ]);
});

t.test('a message that never ends is flushed by the next one and by a reset of the QP', async (t) => {
  const bench = new Bench(ServiceType.UC);
  bench.place(BthOpcode.UC_SEND_FIRST, 50, 0);
  bench.place(BthOpcode.UC_SEND_FIRST, 60, 0);
  t.match(bench.blocks, [
    { firstPsn: 50, complete: 1, status: FLUSHED },
    { firstPsn: 60, complete: 0 },
  ]);
  bench.trace.reset();
  bench.place(BthOpcode.UC_SEND_LAST, 61, MTU_BYTES);
  t.match(bench.blocks, [{}, { firstPsn: 60, lastPsn: 60, complete: 1, status: FLUSHED }]);
});

t.test('a refused packet fails the message that it continues, or the one that it begins', async (t) => {
  const bench = new Bench();
  const refused = { complete: 1, status: REMOTE_ACCESS_ERROR, faultKind: FaultKind.KEY_INVALID };
  bench.place(BthOpcode.RC_RDMA_WRITE_FIRST, 50, 0);
  bench.refuse(BthOpcode.RC_RDMA_WRITE_MIDDLE, 51);
  t.match(bench.blocks, [{ ...refused, firstPsn: 50, packets: 1 }]);
  bench.refuse(BthOpcode.RC_RDMA_WRITE_MIDDLE, 52);
  bench.refuse(BthOpcode.RC_RDMA_WRITE_ONLY, 53);
  t.match(bench.blocks, [{}, { ...refused, firstPsn: 52, packets: 0 }, { ...refused, firstPsn: 53, packets: 0 }]);
  bench.place(BthOpcode.RC_SEND_FIRST, 54, 0);
  bench.refuse(BthOpcode.RC_SEND_ONLY, 55);
  t.match(bench.blocks[4], { ...refused, firstPsn: 55, packets: 0 }, 'ONLY begins a message, also within one');
  t.equal(bench.blocks.length, 5);
});

t.test('an answer is a block of its own: a READ with its length, an atomic with 8 bytes', async (t) => {
  const bench = new Bench();
  for (const [isAtomic, messageLength, opcode, wire] of [
    [false, 600, SendOpcode.RDMA_READ, BthOpcode.RC_RDMA_READ_REQUEST],
    [true, 8, SendOpcode.COMPARE_SWAP, BthOpcode.RC_COMPARE_SWAP],
  ] as const) {
    const resource = { isAtomic, lengthBytes: 600, lastPsn: 82, msn: 3, traceBlock: -1, trace: undefined };
    const state = { wqeNumber: 4, msn: 3, messageBytes: 0 };
    bench.nowNs = 0;
    bench.trace.beginAnswer({ state, packet: bench.packet(wire, 80, 0), ring: bench.ring }, resource);
    bench.nowNs = 30;
    for (let times = 0; times < 2; times++)
      bench.trace.keepAnswer(resource.traceBlock, 0, RESPONSE, bench.ring, 0, HEADERS_BYTES, 8);
    t.same(bench.moves.splice(0), [RECEIVED, SENT, SENT_AGAIN]);
    bench.trace.endAnswer(resource, SUCCESS, FaultKind.NONE);
    t.match(bench.blocks.at(-1), {
      opcode,
      firstPsn: 80,
      lastPsn: 82,
      messageLength,
      messageSequence: 2,
      packetsKept: 2,
      sequence: 0,
      endTime: 30,
    });
    t.equal(resource.trace, undefined);
  }
  bench.trace.pause();
  const resource = { isAtomic: false, lengthBytes: 9, lastPsn: 90, msn: 4, traceBlock: 0, trace: undefined };
  const wanted = bench.read();
  const state = { wqeNumber: 4, msn: 4, messageBytes: 0 };
  const packet = bench.packet(BthOpcode.RC_RDMA_READ_REQUEST, 90, 0);
  bench.trace.beginAnswer({ state, packet, ring: bench.ring }, resource);
  t.same(bench.read(), wanted, 'none in a pause');
});

t.test('with stopOnError the first failed message is the last block; flushed ones do not stop it', async (t) => {
  for (const byGuest of [true, false]) {
    const bench = new Bench(ServiceType.RC, { stopOnError: true, byGuest });
    bench.end(bench.launch(), FLUSHED);
    bench.end(bench.launch());
    t.notOk(bench.trace.stopped);
    bench.end(bench.launch(), REMOTE_ACCESS_ERROR, FaultKind.KEY_ACCESS);
    t.ok(bench.trace.stopped);
    const record = bench.launch();
    bench.send(record, 0);
    bench.end(record, REMOTE_ACCESS_ERROR);
    t.equal(bench.blocks.length, 3);
    t.same(bench.events, byGuest ? [FaultKind.KEY_ACCESS] : [], 'a guest gets one event for its own trace');
    bench.trace.resume();
    t.ok(bench.trace.stopped, 'the end of a pause does not start it again');
  }
});

t.test('a block says how much of a longer message it keeps', async (t) => {
  const bench = new Bench(ServiceType.RC, { snapLength: 300 });
  for (const messageLength of [299, 300, 301]) {
    const record = bench.launch({ messageLength });
    bench.send(record, 0);
    bench.send(record, 1);
    bench.end(record);
  }
  t.same(
    bench.blocks.map(({ truncated, snapLength }) => [truncated, snapLength]),
    [
      [0, 300],
      [0, 300],
      [1, 300],
    ],
  );
});
