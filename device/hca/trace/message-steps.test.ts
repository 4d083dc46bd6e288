// SPDX-License-Identifier: Apache-2.0
/**
 * Which steps of a timeline belong to a message (IPCOM000010133D par. 1; IPCOM000126453D par. 2-4):
 * each case has steps of the message beside those of others that come near it.
 */
import t from 'tap';
import type { TraceBlock } from '../../../protocol/layout/gen/trace-block.gen.ts';
import { CompletionStatus, EventType, SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import { indexes, makeEnd, type Noted, OTHER_QP, QP, SEQUENCE, STEP_NS } from '../../rig/fixtures/message-end.ts';
import { Step } from '../function/timeline.ts';
import { EventCause, NO_VCB } from '../function/timeline-values.ts';
import { type AdapterTrace, clockOffsetNs, distinguishAdapters, findOtherSide } from './adapter-trace.ts';
import { findSignals, hasCompletion } from './message-signals.ts';
import { findCommandSteps, findEntrySteps, findFunctionSteps } from './message-steps.ts';

const CQ = 20;
const OTHER_CQ = 21;
const EQ = 30;
const OTHER_EQ = 31;

t.test('the way of a command: buffer, lists, kick, launch and what it asks for', async (t) => {
  const steps: Noted[] = [
    [Step.BIND, 2, 7],
    [Step.BIND, 3, 8],
    [Step.BIND, 3, 9],
    [Step.KICK, OTHER_QP, SEQUENCE, 2],
    [Step.LIST_ENTER, QP],
    [Step.KICK, QP, SEQUENCE, 3],
    [Step.LIST_ENTER, OTHER_QP],
    [Step.LIST_ENTER, QP],
    [Step.BIND, 3, 10],
    [Step.KICK, QP, SEQUENCE + 1, 4],
    [Step.LIST_LEAVE, QP],
    [Step.SUMMARY, QP],
    [Step.LAUNCH, QP, SEQUENCE],
    [Step.COMMAND, QP],
    [Step.SGE, QP],
    [Step.SGE, QP],
    [Step.LAUNCH, OTHER_QP, SEQUENCE],
    [Step.SGE, OTHER_QP],
  ];
  t.same(indexes(findCommandSteps(makeEnd({}, steps))), [2, 5, 7, 10, 12, 13, 14, 15]);
  t.same(indexes(findCommandSteps(makeEnd({}, steps.slice(0, 15)))), [2, 5, 7, 10, 12, 13, 14], 'at the end');
  t.same(indexes(findCommandSteps(makeEnd({}, steps.slice(0, 13)))), [2, 5, 7, 10, 12]);
  t.same(indexes(findCommandSteps(makeEnd({}, steps.slice(6)))), [6, 7, 8, 9], 'without a kick, from the launch on');
  t.same(findCommandSteps(makeEnd({ receive: 1 }, steps)), []);
  t.same(findCommandSteps(makeEnd({ qpn: 99 }, steps)), [], 'a QP that the adapter does not list');
  t.same(findCommandSteps(makeEnd({}, steps.slice(0, 12))), [], 'a command that was not launched');
  const foreign = steps.map((_, index) => (index === 10 ? 2 : 1));
  t.notOk(indexes(findCommandSteps(makeEnd({}, steps, foreign))).includes(10), 'a step of another function');
});

t.test('the buffer of a command is the one bound last under its own VCB', async (t) => {
  const steps: Noted[] = [
    [Step.BIND, 3, 8],
    [Step.BIND, 2, 9],
    [Step.SWEEP, 3],
    [Step.KICK, QP, SEQUENCE, 3],
    [Step.LAUNCH, QP, SEQUENCE],
  ];
  t.same(indexes(findCommandSteps(makeEnd({}, steps))), [0, 3, 4]);
});

t.test('a launch is that of the sequence number and QP, the last one before the message begins', async (t) => {
  const steps: Noted[] = [
    [Step.LAUNCH, QP, SEQUENCE],
    [Step.LAUNCH, QP, SEQUENCE],
    [Step.LAUNCH, OTHER_QP, SEQUENCE],
    [Step.LAUNCH, QP, SEQUENCE + 1],
    [Step.LAUNCH, QP, SEQUENCE],
  ];
  t.same(indexes(findCommandSteps(makeEnd({ beginTime: 4 * STEP_NS }, steps))), [0, 1, 4]);
  t.same(indexes(findCommandSteps(makeEnd({ beginTime: 4 * STEP_NS - 1 }, steps))), [0, 1]);
  const asking: Noted[] = [
    [Step.LAUNCH, QP, SEQUENCE],
    [Step.COMMAND, QP],
    [Step.LAUNCH, QP, SEQUENCE + 1],
    [Step.COMMAND, QP],
  ];
  t.same(indexes(findCommandSteps(makeEnd({}, asking))), [0, 1], 'what the next command asks for is not its own');
});

t.test('what ended an earlier command of the same number hides its steps', async (t) => {
  const kick: Noted = [Step.KICK, QP, SEQUENCE, 3];
  const launch: Noted = [Step.LAUNCH, QP, SEQUENCE];
  for (const [name, between, hides] of [
    ['its completion', [Step.SEND_COMPLETION, QP, SEQUENCE, CQ], true],
    ['a reset of the QP', [Step.QP_RESET, QP], true],
    ['a command far away in the numbers', [Step.LAUNCH, QP, SEQUENCE + 20000], true],
    ['a command far away, before', [Step.LAUNCH, QP, (SEQUENCE - 20000) & 0xffff], true],
    ['a command near it', [Step.LAUNCH, QP, SEQUENCE + (1 << 14)], false],
    ['a kick far away', [Step.KICK, QP, SEQUENCE + 20000, 9], false],
    ['the completion of another number', [Step.SEND_COMPLETION, QP, SEQUENCE + 1, CQ], false],
    ['a reset of another QP', [Step.QP_RESET, OTHER_QP], false],
  ] as const) {
    const found = indexes(findCommandSteps(makeEnd({}, [kick, between, kick, launch])));
    t.same(found, hides ? [2, 3] : [0, 2, 3], name);
  }
});

t.test('what happened to the function while the command waited: spilling, sweeps, its share', async (t) => {
  const steps: Noted[] = [
    [Step.SWEEP, 1],
    [Step.KICK, QP, SEQUENCE, 3],
    [Step.SPILL_BEGIN, 1],
    [Step.SPILL, QP, SEQUENCE],
    [Step.SPILL_END, 1],
    [Step.SHARE, 1],
    [Step.LAUNCH, QP, SEQUENCE],
    [Step.SWEEP, 1],
    [Step.SWEEP, 1],
  ];
  const find = (block: Partial<TraceBlock>) => indexes(findFunctionSteps(makeEnd(block, steps)));
  t.same(find({}), [2, 4, 5, 7, 8]);
  t.same(find({ endTime: 7 * STEP_NS }), [2, 4, 5, 7], 'up to its end');
  t.same(find({ endTime: 7 * STEP_NS - 1 }), [2, 4, 5]);
  t.same(find({ complete: 0, endTime: 0 }), [2, 4, 5, 7, 8], 'or until now');
  t.same(find({ receive: 1 }), []);
});

t.test('copies of a command that software cancelled, with their first store', async (t) => {
  const steps: Noted[] = [
    [Step.BIND, 3, 0],
    [Step.CANCEL, QP, SEQUENCE - 1, 3],
    [Step.BIND, 3, 0],
    [Step.BIND, 4, 1],
    [Step.CANCEL, QP, SEQUENCE, 3],
    [Step.CANCEL, OTHER_QP, SEQUENCE, 4],
    [Step.CANCEL, QP, SEQUENCE, NO_VCB],
    [Step.DOORBELL, QP, SEQUENCE],
    [Step.LAUNCH, QP, SEQUENCE],
  ];
  t.same(indexes(findCommandSteps(makeEnd({}, steps))), [2, 4, 6, 7, 8]);
});

t.test('changes of the lane that a command is launched from, while it is under way', async (t) => {
  const steps: Noted[] = [
    [Step.LANE, 7, 1],
    [Step.DOORBELL, QP, SEQUENCE],
    [Step.LANE, 6, 1],
    [Step.LANE, 7, 1],
    [Step.LAUNCH, QP, SEQUENCE, 7],
    [Step.LANE, 7, 5],
  ];
  t.same(indexes(findFunctionSteps(makeEnd({}, steps))), [3, 5]);
  t.same(indexes(findFunctionSteps(makeEnd({}, steps.slice(0, 4)))), [], 'no launch, no lane');
});

t.test('the receive WQE of a message: the last one of its number before its completion', async (t) => {
  const steps: Noted[] = [
    [Step.ENTRY, QP, SEQUENCE],
    [Step.ENTRY_SGE, QP, SEQUENCE],
    [Step.ENTRY, QP, SEQUENCE],
    [Step.ENTRY_SGE, QP, SEQUENCE],
    [Step.ENTRY_SGE, QP, SEQUENCE],
    [Step.ENTRY, OTHER_QP, SEQUENCE],
    [Step.ENTRY_SGE, OTHER_QP, SEQUENCE],
    [Step.ENTRY, QP, SEQUENCE + 1],
    [Step.RECEIVE_COMPLETION, QP, SEQUENCE, CQ, 1],
    [Step.ENTRY, QP, SEQUENCE],
    [Step.ENTRY_SGE, QP, SEQUENCE],
  ];
  const block = { receive: 1, opcode: SendOpcode.SEND, beginTime: 0 };
  t.same(indexes(findEntrySteps(makeEnd(block, steps))), [2, 3, 4]);
  t.same(indexes(findEntrySteps(makeEnd({ ...block, sequence: SEQUENCE + 1 }, steps))), [], 'not completed');
  t.same(indexes(findEntrySteps(makeEnd(block, [steps[0], steps[8]]))), [0], 'without elements');
  t.same(findEntrySteps(makeEnd(block, steps.slice(5, 9))), [], 'its WQE is not in the timeline');
  t.same(findEntrySteps(makeEnd({ ...block, opcode: SendOpcode.RDMA_WRITE }, steps)), [], 'it takes none');
  const sent: Noted[] = [
    ...steps.slice(0, 2),
    [Step.LAUNCH, QP, SEQUENCE],
    [Step.SEND_COMPLETION, QP, SEQUENCE, CQ, 1],
  ];
  t.same(findEntrySteps(makeEnd({}, sent)), [], 'a command has none');
});

t.test('which messages have a completion', async (t) => {
  const has = (block: Partial<TraceBlock>): boolean => hasCompletion(makeEnd(block, []));
  t.ok(has({ opcode: SendOpcode.RDMA_WRITE }), 'sent');
  t.notOk(has({ complete: 0 }));
  t.ok(has({ status: CompletionStatus.FLUSHED }), 'a flushed command');
  for (const [opcode, wanted] of [
    [SendOpcode.SEND, true],
    [SendOpcode.SEND_IMMEDIATE, true],
    [SendOpcode.SEND_INVALIDATE, true],
    [SendOpcode.RDMA_WRITE_IMMEDIATE, true],
    [SendOpcode.RDMA_WRITE, false],
    [SendOpcode.RDMA_READ, false],
    [SendOpcode.FETCH_ADD, false],
  ] as const) {
    t.equal(has({ receive: 1, opcode }), wanted, `opcode ${opcode}`);
    t.notOk(has({ receive: 1, opcode, status: CompletionStatus.FLUSHED }), 'ended by a reset');
  }
});

t.test('the completion is the first one of the number behind the launch, in the same life of the queue', async (t) => {
  const completion: Noted = [Step.SEND_COMPLETION, QP, SEQUENCE, CQ, 1];
  const launch: Noted = [Step.LAUNCH, QP, SEQUENCE];
  const posted = (block: Partial<TraceBlock>, steps: readonly Noted[]) =>
    findSignals(makeEnd(block, steps)).posted?.index;
  t.equal(posted({}, [completion, launch, [Step.SEND_COMPLETION, OTHER_QP, SEQUENCE], completion, completion]), 3);
  t.equal(posted({}, [launch, [Step.RECEIVE_COMPLETION, QP, SEQUENCE, CQ], completion]), 2);
  t.equal(posted({}, [launch, [Step.QP_RESET, QP], completion]), undefined);
  t.equal(posted({}, [launch, [Step.QP_RESET, OTHER_QP], completion]), 2);
  t.equal(posted({}, [launch, completion, [Step.QP_RESET, QP]]), 1);
  t.equal(posted({ beginTime: 5 }, [launch, launch, completion]), undefined, 'it belongs to the next launch');
  t.equal(posted({ complete: 0 }, [launch, completion]), undefined);
  const receive: Noted = [Step.RECEIVE_COMPLETION, QP, SEQUENCE, CQ, 1];
  const received = { receive: 1, opcode: SendOpcode.SEND };
  t.equal(posted({ ...received, beginTime: STEP_NS }, [receive, receive]), 1, 'from the begin of the message on');
  t.equal(posted({ ...received, beginTime: STEP_NS + 1 }, [receive, receive]), undefined);
  t.equal(posted({ ...received, beginTime: 0 }, [launch, launch, receive]), 2, 'launches are of the other queue');
  t.equal(posted({ ...received, beginTime: 0 }, [[Step.QP_RESET, QP], receive]), undefined);
  t.same(findSignals(makeEnd({ complete: 0 }, [])), {
    posted: undefined,
    noEvent: undefined,
    taken: undefined,
    event: undefined,
    summaries: [],
    noInterrupt: undefined,
    request: undefined,
    wait: undefined,
    interrupt: undefined,
  });
});

t.test('the event of a completion: at once, by arming, or with a later one', async (t) => {
  const COUNT = 7;
  const launch: Noted = [Step.LAUNCH, QP, SEQUENCE];
  const posted: Noted = [Step.SEND_COMPLETION, QP, SEQUENCE, CQ, COUNT];
  const event: Noted = [Step.EQE, EQ, EventType.COMPLETION, CQ, COUNT];
  const by = (cause: number, count = COUNT): Noted => [Step.EQE, EQ, EventType.COMPLETION, CQ, count, 0, cause];
  const others: Noted[] = [
    [Step.EQE, EQ, EventType.COMPLETION, OTHER_CQ],
    [Step.EQE, EQ, EventType.QP_FATAL, CQ],
    [Step.ARM, OTHER_CQ, COUNT],
    [Step.NO_EVENT, OTHER_CQ, COUNT],
    [Step.NO_EVENT, CQ, COUNT + 1],
    [Step.SEND_COMPLETION, OTHER_QP, 3, OTHER_CQ],
  ];
  const find = (...steps: readonly Noted[]) => {
    const { event, noEvent, taken } = findSignals(makeEnd({}, [event0, launch, posted, ...steps]));
    return [event?.step.index, event && (event.later ? 'later' : event.cause), noEvent?.index, taken?.index];
  };
  const event0 = event;
  const { COMPLETION, ARMING, TIME } = EventCause;
  t.same(find(...others, event), [9, COMPLETION, undefined, undefined]);
  const noEvent: Noted = [Step.NO_EVENT, CQ, COUNT, 1];
  t.same(find(noEvent, noEvent, [Step.ARM, CQ, COUNT - 1], by(ARMING)), [6, ARMING, 3, undefined]);
  for (const step of [Step.SEND_COMPLETION, Step.RECEIVE_COMPLETION])
    t.same(find([step, OTHER_QP, 3, CQ], by(COMPLETION, COUNT + 1)), [4, 'later', undefined, undefined]);
  t.same(find(noEvent, by(TIME, COUNT + 1)), [4, TIME, 3, undefined], 'a later count alone says nothing');
  t.same(find(noEvent, [Step.CQ_BEGIN, CQ], event), [undefined, undefined, 3, undefined], 'of another CQ');
  t.same(find([Step.FUNCTION_RESET, 0], event), [undefined, undefined, undefined, undefined], 'of another life');
  t.same(find(noEvent, [Step.ARM, CQ, COUNT], event), [undefined, undefined, 3, 4], 'software has taken it');
  t.same(find([Step.ARM, CQ, COUNT + 1], event), [undefined, undefined, undefined, 3]);
  t.same(find([Step.ARM, CQ, COUNT], event), [undefined, undefined, undefined, 3], 'an arming is no missing event');
  t.same(find(noEvent), [undefined, undefined, 3, undefined]);
  t.same(find(...others), [undefined, undefined, undefined, undefined]);
});

t.test('the interrupt of an event: summary bytes, request, vector', async (t) => {
  const NUMBER = 4;
  const VECTOR = 2;
  const steps: Noted[] = [
    [Step.INTERRUPT, VECTOR],
    [Step.LAUNCH, QP, SEQUENCE],
    [Step.SEND_COMPLETION, QP, SEQUENCE, CQ, 1],
    [Step.EQE, EQ, EventType.COMPLETION, CQ, 1, NUMBER],
    [Step.SUMMARY, OTHER_EQ],
    [Step.SUMMARY, EQ],
    [Step.EQE, OTHER_EQ, EventType.COMPLETION, OTHER_CQ],
    [Step.SUMMARY, EQ, 1],
    [Step.INTERRUPT_REQUEST, 9, OTHER_EQ, NUMBER],
    [Step.INTERRUPT_REQUEST, 9, EQ, NUMBER - 1],
    [Step.INTERRUPT, VECTOR],
    [Step.INTERRUPT_REQUEST, VECTOR, EQ, NUMBER],
    [Step.SUMMARY, VECTOR],
    [Step.INTERRUPT, 9],
    [Step.INTERRUPT, VECTOR],
    [Step.EQE, EQ, EventType.COMPLETION, CQ],
    [Step.SUMMARY, EQ],
    [Step.NO_INTERRUPT, OTHER_EQ, NUMBER],
    [Step.NO_INTERRUPT, EQ, NUMBER + 1],
  ];
  const found = findSignals(makeEnd({}, steps));
  t.same(indexes(found.summaries), [5, 7], 'up to the next event');
  t.same([found.request?.index, found.interrupt?.index, found.noInterrupt], [11, 14, undefined]);
  const quiet = findSignals(makeEnd({}, [...steps.slice(0, 11), [Step.NO_INTERRUPT, EQ, NUMBER]]));
  t.same([quiet.request, quiet.interrupt, quiet.noInterrupt?.index], [undefined, undefined, 11]);
  const request: Noted = [Step.INTERRUPT_REQUEST, VECTOR, EQ, NUMBER];
  const other: Noted = [Step.SUMMARY, VECTOR, EQ, NUMBER];
  t.equal(findSignals(makeEnd({}, [...steps.slice(1, 4), other, request])).request?.index, 4);
  const wait: Noted = [Step.INTERRUPT_WAIT, VECTOR];
  const sent: Noted = [Step.INTERRUPT, VECTOR];
  const behind = (...more: Noted[]) => {
    const { wait, interrupt } = findSignals(makeEnd({}, [...steps.slice(1, 4), request, ...more]));
    return [wait?.index, interrupt?.index];
  };
  t.same(behind([Step.INTERRUPT_WAIT, 9], wait, sent), [5, 6]);
  t.same(behind(sent, wait), [undefined, 4], 'the wait is for a later request');
  t.same(behind([Step.FUNCTION_RESET, 0], wait, sent), [undefined, undefined], 'the request is forgotten');
  const another = findSignals(makeEnd({}, [...steps.slice(1, 4), [Step.EQ_BEGIN, EQ], request]));
  t.equal(another.request, undefined, 'a request of another EQ');
});

t.test('the other side is the nearest in time of those that match, on one clock', async (t) => {
  const sent = { receive: 0, remoteLid: 1, remoteQpn: 8, port: 1, firstPsn: 3, beginTime: 1000 };
  const from = makeEnd(sent, []);
  const adapter = { ...from.adapter, ports: [{ number: 1, lid: 1, lmc: 0 }], wallTimeNs: 500 };
  const end = { adapter, message: from.message };
  const received = { receive: 1, qpn: 8, remoteQpn: QP, remoteLid: 1, port: 1, firstPsn: 3 };
  const peer = (wallTimeNs: number, ...blocks: Partial<TraceBlock>[]): AdapterTrace => ({
    ...adapter,
    wallTimeNs,
    messages: blocks.map((block) => makeEnd({ ...received, ...block }, []).message),
  });
  const begin = (...all: AdapterTrace[]) => findOtherSide(end, all).end?.message.block.beginTime;
  t.equal(clockOffsetNs(peer(700), adapter), 200);
  t.equal(begin(peer(500, { beginTime: 900 }, { beginTime: 1050 }, { beginTime: 1200 })), 1050);
  t.equal(begin(peer(800, { beginTime: 650 }, { beginTime: 1050 })), 650, 'its clock is 300 ns ahead');
  t.equal(begin(peer(500, { beginTime: 900 }), peer(800, { beginTime: 710 }), peer(500, { beginTime: 1100 })), 710);
  t.equal(begin(peer(500, { beginTime: 900 }, { beginTime: 1100 })), 900, 'the first of equals');
  t.equal(begin(peer(500, { serviceType: 1 })), undefined);
  t.equal(begin(peer(500, { packets: 0 })), 1e6, 'a refused packet has a block, too');
  const answer = { adapter, message: makeEnd({ ...received, packets: 0, remoteQpn: 8 }, []).message };
  const sender = { ...sent, qpn: 8 };
  t.notOk(findOtherSide(answer, [peer(500, { ...sender, packets: 0 })]).end, 'it sent no packet');
  t.ok(findOtherSide(answer, [peer(500, sender)]).end);
  for (const [remoteLid, missing] of [
    [0xbfff, 'adapter'],
    [0xc000, 'unicast'],
    [0xc001, 'unicast'],
  ] as const) {
    const group = makeEnd({ ...sent, remoteLid }, []);
    t.same(findOtherSide({ adapter, message: group.message }, [adapter]), { missing });
  }
  t.same(findOtherSide({ adapter, message: makeEnd({ ...sent, packets: 0 }, []).message }, []), { missing: 'packet' });
});

t.test('adapters of equal names are told apart by their LIDs', async (t) => {
  const { adapter } = makeEnd({}, []);
  const named = (name: string, lid: number): AdapterTrace => ({
    ...adapter,
    name,
    ports: [{ number: 1, lid, lmc: 0 }],
  });
  const all = [named('a', 1), named('b', 2), named('a', 3), { ...adapter, name: 'a' }];
  t.match(distinguishAdapters(all), [
    { name: 'a@LID1', ownName: 'a' },
    { name: 'b', ownName: undefined },
    { name: 'a@LID3', ownName: 'a' },
    { name: 'a@LID0', ownName: 'a' },
  ]);
  t.same(distinguishAdapters(all.slice(0, 2)), all.slice(0, 2));
});
