// SPDX-License-Identifier: Apache-2.0
/**
 * Which steps of a timeline belong to the packets of a message (IPCOM000010133D par. 1): each case
 * has steps of the message beside those of others that come near it.
 */
import t from 'tap';
import { AethKind, BthOpcode } from '../../../protocol/infiniband/gen/values.gen.ts';
import { syndromeOf } from '../../../protocol/infiniband/syndrome.ts';
import type { TraceBlock } from '../../../protocol/layout/gen/trace-block.gen.ts';
import { ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import { indexes, makeEnd, type Noted, OTHER_QP, QP } from '../../rig/fixtures/message-end.ts';
import { Step } from '../function/timeline.ts';
import { PagePart } from '../function/timeline-values.ts';
import { joinLids } from './loss-notes.ts';
import { findBlockSteps } from './message-life.ts';
import { findPeerSteps, findWireSteps } from './message-wire.ts';

const ACK = syndromeOf(AethKind.ACK, 0);
const NAK = syndromeOf(AethKind.NAK, 0);

t.test('answers and waits of a sent message', async (t) => {
  const block = { firstPsn: 10, lastPsn: 12, beginTime: 10, endTime: 100 };
  const steps: Noted[] = [
    [Step.RESEND, QP, 10],
    [Step.ANSWER, QP, 9, ACK],
    [Step.ANSWER, OTHER_QP, 10, ACK],
    [Step.ANSWER, QP, 10, NAK],
    [Step.RNR_WAIT, QP, 11],
    [Step.TIMEOUT, QP, 11],
    [Step.RETRY, QP, 11],
    [Step.RESEND, QP, 12],
    [Step.ANSWER_SENT, QP, 11, ACK],
    [Step.RESEND, QP, 13],
    [Step.ANSWER, QP, 15, ACK],
    [Step.ANSWER, QP, 12, ACK],
  ];
  t.same(indexes(findWireSteps(makeEnd(block, steps), 10)), [3, 4, 5, 6, 10]);
  t.same(indexes(findWireSteps(makeEnd(block, steps), 30)), [3, 4, 5, 6, 10], 'from the time on');
  t.same(indexes(findWireSteps(makeEnd(block, steps), 31)), [4, 5, 6, 10]);
  t.same(indexes(findWireSteps(makeEnd({ ...block, endTime: 99 }, steps), 10)), [3, 4, 5, 6]);
  t.same(indexes(findWireSteps(makeEnd({ ...block, endTime: 0, complete: 0 }, steps), 10)), [3, 4, 5, 6, 10]);
  t.same(findWireSteps(makeEnd({ ...block, packets: 0 }, steps), 0), [], 'nothing was sent');
  const acknowledged = makeEnd(block, [
    [Step.ANSWER, QP, 10, ACK],
    [Step.ANSWER, QP, 11, NAK],
    [Step.ANSWER, QP, 12, ACK],
    [Step.ANSWER, QP, 12, ACK],
  ]);
  t.same(indexes(findWireSteps(acknowledged, 0)), [0, 1, 2], 'the ACK of its first packet is not the last');
});

t.test('answers to a received message, up to the first ACK behind its end', async (t) => {
  const block = { receive: 1, packets: 0, firstPsn: 10, lastPsn: 12, beginTime: 0, endTime: 40 };
  const steps: Noted[] = [
    [Step.ANSWER_SENT, QP, 9, ACK],
    [Step.ANSWER_SENT, QP, 10, NAK],
    [Step.ANSWER, QP, 11, ACK],
    [Step.ANSWER_SENT, QP, 14, ACK],
    [Step.ANSWER_SENT, QP, 13, ACK],
    [Step.ANSWER_SENT, QP, 12, ACK],
  ];
  t.same(indexes(findWireSteps(makeEnd(block, steps), 0)), [1, 4]);
  t.same(indexes(findWireSteps(makeEnd({ ...block, endTime: 41 }, steps), 0)), [1, 5]);
});

t.test('a message has no step of another life of its QP', async (t) => {
  const block = { firstPsn: 10, lastPsn: 12, beginTime: 30, endTime: 0, complete: 0 };
  const steps: Noted[] = [
    [Step.TIMEOUT, QP, 10],
    [Step.QP_RESET, QP],
    [Step.TIMEOUT, QP, 10],
    [Step.PACKET, QP, 0, 10],
    [Step.TIMEOUT, QP, 10],
    [Step.QP_RESET, OTHER_QP],
    [Step.TIMEOUT, QP, 11],
    [Step.QP_RESET, QP],
    [Step.PACKET, QP, 0, 10],
    [Step.TIMEOUT, QP, 10],
  ];
  t.same(indexes(findWireSteps(makeEnd(block, steps), 0)), [2, 4, 6]);
  t.same(indexes(findBlockSteps(makeEnd(block, steps))), [3]);
  const reset = [...steps.slice(0, 7), [Step.FUNCTION_RESET, 0] as const, ...steps.slice(8)];
  t.same(indexes(findWireSteps(makeEnd(block, reset), 0)), [2, 4, 6]);
});

t.test('the link of its port goes down while a message is under way', async (t) => {
  const block = { port: 1, firstPsn: 10, lastPsn: 12, beginTime: 0, endTime: 39 };
  const steps: Noted[] = [
    [Step.LINK_DOWN, 1],
    [Step.LINK_DOWN, 2],
    [Step.LINK_DOWN, 1],
    [Step.PACKET_LOST, 1, 10],
    [Step.LINK_DOWN, 1],
  ];
  const down = (fields: Partial<TraceBlock>, sinceNs: number): number[] =>
    indexes(findWireSteps(makeEnd({ ...block, ...fields }, steps), sinceNs));
  t.same(down({}, 0), [0, 2], 'not behind its end, not at another port');
  t.same(down({}, 15), [2], 'from its begin on');
  t.same(down({ port: 2, receive: 1 }, 0), [1], 'at the receiver');
  t.same(down({ complete: 0 }, 0), [0, 2, 4], 'it has not ended');
});

t.test('pages, drops and losses of the packets of a message', async (t) => {
  const { PAYLOAD, RESPONSE, REQUEST, ANSWER } = PagePart;
  const [REQUEST_CODE, RESPONSE_CODE] = [BthOpcode.RC_SEND_ONLY, BthOpcode.RC_ACKNOWLEDGE];
  const steps: Noted[] = [
    [Step.PAGE_WAIT, QP, PAYLOAD, 10],
    [Step.PAGE_FAULT, QP],
    [Step.PAGE_WAIT, QP, RESPONSE, 13],
    [Step.PAGE_FAULT, QP],
    [Step.PAGE_WAIT, QP, REQUEST, 11],
    [Step.PAGE_ANSWERED, QP, 3, 0, RESPONSE, 12],
    [Step.PAGE_ANSWERED, QP, 3, 0, ANSWER, 12],
    [Step.PACKET_DROPPED, QP, 10, 0, 4, 0, RESPONSE_CODE],
    [Step.PACKET_DROPPED, QP, 10, 0, 4, 0, REQUEST_CODE],
    [Step.PACKET_DROPPED, QP, 10, 0, 5, 0, RESPONSE_CODE],
    [Step.PACKET_DROPPED, OTHER_QP, 10, 0, 4, 0, RESPONSE_CODE],
    [Step.PACKET_LOST, 8, 11, 0, joinLids(2, 4), 0, REQUEST_CODE],
    [Step.PACKET_LOST, 8, 11, 0, joinLids(2, 4), 0, RESPONSE_CODE],
    [Step.PACKET_LOST, 8, 13, 0, joinLids(2, 4), 0, REQUEST_CODE],
    [Step.PACKET_LOST, 9, 11, 0, joinLids(2, 4), 0, REQUEST_CODE],
    [Step.PACKET_LOST, 8, 11, 0, joinLids(3, 4), 0, REQUEST_CODE],
    [Step.PACKET_LOST, 8, 11, 0, joinLids(2, 5), 0, REQUEST_CODE],
  ];
  const block = { firstPsn: 10, lastPsn: 12, beginTime: 0, endTime: 1000, remoteQpn: 8, remoteLid: 4, port: 1 };
  const find = (fields: Partial<TraceBlock>, from = steps): number[] => {
    const { adapter, message } = makeEnd({ ...block, ...fields }, from);
    return indexes(findWireSteps({ adapter: { ...adapter, ports: [{ number: 1, lid: 2, lmc: 0 }] }, message }, 0));
  };
  t.same(find({}), [0, 1, 5, 7, 11]);
  t.same(find({ receive: 1 }), [4, 6, 8, 12]);
  t.same(find({ endTime: 60 }), [0, 1, 5, 11], 'responses behind the end answer nothing more');
  const datagrams: Noted[] = [
    [Step.PACKET_LOST, 8, 11, 0, joinLids(2, 4), QP, BthOpcode.UD_SEND_ONLY],
    [Step.PACKET_LOST, 8, 11, 0, joinLids(2, 4), OTHER_QP, BthOpcode.UD_SEND_ONLY],
  ];
  t.same(find({ serviceType: ServiceType.UD }, datagrams), [0], 'of its sender');
});

t.test('what the receiver noted of a message that it has no block of', async (t) => {
  const code = BthOpcode.RC_SEND_ONLY;
  const steps: Noted[] = [
    [Step.NO_RECEIVE_ENTRY, 8, 11],
    [Step.NO_RECEIVE_ENTRY, 8, 10],
    [Step.ANSWER_SENT, 8, 10, NAK],
    [Step.ANSWER_SENT, 8, 13, NAK],
    [Step.ANSWER_SENT, 9, 10, NAK],
    [Step.PACKET_REFUSED, 8, 12],
    [Step.PAGE_WAIT, 8, PagePart.REQUEST, 11],
    [Step.PAGE_WAIT, 8, PagePart.PAYLOAD, 11],
    [Step.PACKET_DROPPED, 8, 10, 0, 2, 0, code],
    [Step.PACKET_DROPPED, 8, 10, 0, 3, 0, code],
    [Step.PACKET_DROPPED, 8, 10, 0, 2, 0, BthOpcode.RC_ACKNOWLEDGE],
    [Step.ANSWER_SENT, 8, 10, NAK],
    [Step.QP_RESET, 8],
    [Step.ANSWER_SENT, 8, 10, NAK],
  ];
  const find = (fields: Partial<TraceBlock>, from = steps): number[] => {
    const block = { firstPsn: 10, lastPsn: 12, beginTime: 10, endTime: 1000, remoteQpn: 8, remoteLid: 4, port: 1 };
    const { adapter, message } = makeEnd({ ...block, ...fields }, from);
    const own = { ...adapter, ports: [{ number: 1, lid: 2, lmc: 0 }] };
    return indexes(findPeerSteps({ adapter: own, message }, adapter, 0));
  };
  t.same(find({}), [1, 2, 5, 6, 8, 11]);
  t.same(find({ endTime: 100 }), [1, 2, 5, 6, 8]);
  t.same(find({ packets: 0 }), []);
  t.same(find({ receive: 1 }), []);
  const datagram: Noted[] = [
    [Step.PACKET_DROPPED, 8, 10, 0, 2, OTHER_QP, BthOpcode.UD_SEND_ONLY],
    [Step.PACKET_DROPPED, 8, 10, 0, 2, QP, BthOpcode.UD_SEND_ONLY],
    [Step.PACKET_DROPPED, 8, 10, 0, 2, QP, BthOpcode.UD_SEND_ONLY],
  ];
  t.same(find({ serviceType: ServiceType.UD, beginTime: 0, endTime: 0 }, datagram), [1], 'PSNs come again');
});
