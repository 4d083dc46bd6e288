// SPDX-License-Identifier: Apache-2.0
/**
 * Cases of the commands of completion queues, event queues and shared receive queues (IBTA 11.2.3,
 * 11.2.5).
 */
import {
  CqMask,
  EqControl,
  EqMask,
  ManagementOpcode,
  ManagementStatus,
  SrqMask,
} from '../../../protocol/layout/gen/values.gen.ts';
import {
  completionQueueAttributes,
  eventQueueAttributes,
  sharedReceiveQueueAttributes,
} from '../../../protocol/layout/management.ts';
import {
  type CommandCase,
  each,
  type Fields,
  ignored,
  queryOnly,
  type Request,
  refused,
  type Trials,
  taken,
} from './command-case.ts';
import { type Fixture, NO_OBJECT, NOWHERE } from './fixture.ts';
import { objectTrials } from './header-trials.ts';
import { objectCommand } from './memory-cases.ts';

const { BAD_ADDRESS, BAD_FIELD, BAD_OBJECT } = ManagementStatus;
const COMPLETION_ENTRIES_MAX_LOG2 = 22;
const EVENT_ENTRIES_MAX_LOG2 = 16;
const RECEIVE_ENTRIES_MAX_LOG2 = 15;

/** Entries of 64 bytes that fill two pages. */
const TWO_PAGES_LOG2 = 7;

/** Trials of the memory of a queue. `twoPagesLog2`: entries that fill two pages. */
function memoryTrials(fixture: Fixture, given: Fields = {}, twoPagesLog2 = TWO_PAGES_LOG2): Trials {
  const paged = { ...given, paged: 1, pageShift: 12, queueAddress: fixture.pageList };
  return {
    queueAddress: [
      refused(BAD_ADDRESS, [fixture.memory + 4, fixture.memory + 8, fixture.memory + 16], { given }),
      refused(BAD_ADDRESS, [NOWHERE, fixture.pageList + 4], { given: paged }),
      refused(BAD_ADDRESS, [fixture.crookedList], { given: { ...paged, entriesLog2: twoPagesLog2 } }),
    ],
    paged: [taken('one piece or a list of pages', { given: paged, values: [0, 1] })],
    pageShift: [
      ignored('only of a list of pages', { given }),
      refused(BAD_FIELD, [0, 11, 32, 255], { limit: 31, given: paged }),
    ],
  };
}

const completionQueries = queryOnly('producerCount', 'consumed', 'notifyState', 'eqPending', 'error');

function completionQueueToCreate(fixture: Fixture): Request {
  return {
    payload: {
      queueAddress: fixture.memory,
      recordAddress: fixture.record,
      entriesLog2: 6,
      eventQueue: fixture.adapterFixture.events.eqn,
    },
    payloadTrials: {
      ...memoryTrials(fixture),
      ...completionQueries,
      entriesLog2: [refused(BAD_FIELD, [23, 255], { limit: COMPLETION_ENTRIES_MAX_LOG2 })],
      recordAddress: [refused(BAD_ADDRESS, [fixture.record + 4, fixture.record + 1])],
      eventQueue: [refused(BAD_OBJECT, [NO_OBJECT, 0xffffff]), taken('0: no events', { values: [0] })],
      ...each(['moderationCount', 'moderationPeriodUs'], taken('any moderation', { values: [0, 1, 0xffff] })),
      summaryIndex: [taken('an index without a byte writes none')],
      attributeMask: [ignored('only to modify')],
      collectContext: [refused(BAD_OBJECT, [5, NO_OBJECT, 0xffffff])],
    },
  };
}

function completionQueueToModify(fixture: Fixture): Request {
  const resized = { attributeMask: CqMask.RESIZE | CqMask.EVENT_QUEUE, queueAddress: fixture.memory, entriesLog2: 6 };
  const offered = CqMask.EVENT_QUEUE | CqMask.MODERATION | CqMask.RESIZE | CqMask.SUMMARY_INDEX;
  const moderated = { attributeMask: CqMask.MODERATION };
  return {
    header: { objectNumber: fixture.cqn },
    payload: { attributeMask: CqMask.EVENT_QUEUE, eventQueue: fixture.adapterFixture.asynchronous.eqn },
    headerTrials: objectTrials(fixture.cqn),
    payloadTrials: {
      ...memoryTrials(fixture, resized),
      ...completionQueries,
      entriesLog2: [refused(BAD_FIELD, [23, 255], { limit: COMPLETION_ENTRIES_MAX_LOG2, given: resized })],
      recordAddress: [ignored('the record stays where it is', { given: resized })],
      eventQueue: [refused(BAD_OBJECT, [NO_OBJECT, 0xffffff]), taken('0: no events', { values: [0] })],
      ...each(
        ['moderationCount', 'moderationPeriodUs'],
        taken('any moderation', { given: moderated, values: [0, 1, 0xffff] }),
      ),
      summaryIndex: [taken('an index without a byte writes none', { given: { attributeMask: CqMask.SUMMARY_INDEX } })],
      collectContext: [ignored('stays that of the creation')],
      attributeMask: [refused(BAD_FIELD, [16, 0x80000001, 0xffffffff], { limit: offered })],
    },
  };
}

const eventQueries = queryOnly(
  ...['nextInterruptTime', 'producerCount', 'consumed', 'completionEventCounter'],
  ...['interrupts', 'unresponsive'],
);

/** `given`: fields that make these matter. */
function eventTrials({ memory }: Fixture, given: Fields = {}): Trials {
  const longest = 2 ** 63 - 1024;
  return {
    vector: [refused(BAD_FIELD, [64, 0xffff], { limit: 63, given })],
    controls: [refused(BAD_FIELD, [3, 9, 255], { limit: EqControl.INTERRUPT, given })],
    nextInterruptDelayNs: [
      taken('below 2^63, or all ones', { values: [1, 2n ** 63n - 1n, 2n ** 64n - 1n], given }),
      refused(BAD_FIELD, [2n ** 63n, 0xffff_fffe_0000_0000n, 2n ** 64n - 2n], { limit: longest, given }),
    ],
    primarySummaryAddress: [refused(BAD_ADDRESS, [NOWHERE, 2n ** 64n - 1n], { given })],
    secondarySummaryAddress: [
      refused(BAD_ADDRESS, [NOWHERE, 0], {
        given: { ...given, secondarySummaryCount: 1, secondarySummaryAddress: memory },
      }),
    ],
    secondarySummaryCount: [
      refused(BAD_FIELD, [65537, 0xffffffff], {
        limit: 65536,
        given: { ...given, secondarySummaryAddress: memory },
      }),
    ],
    asynchronous: [taken('either', { given })],
  };
}

function eventQueueToCreate(fixture: Fixture): Request {
  return {
    payload: { queueAddress: fixture.memory, entriesLog2: 6, vector: 63, controls: EqControl.INTERRUPT },
    payloadTrials: {
      ...memoryTrials(fixture),
      ...eventTrials(fixture),
      ...eventQueries,
      entriesLog2: [refused(BAD_FIELD, [17, 255], { limit: EVENT_ENTRIES_MAX_LOG2 })],
      error: [ignored('a new queue is in order')],
      attributeMask: [ignored('only to modify')],
    },
  };
}

function eventQueueToModify(fixture: Fixture): Request {
  const { eqn } = fixture.adapterFixture.events;
  const all = Object.values(EqMask).reduce((mask, bit) => mask | bit, 0);
  return {
    header: { objectNumber: eqn },
    payload: { attributeMask: EqMask.VECTOR | EqMask.CONTROLS, vector: 1, controls: EqControl.NOTHING },
    headerTrials: objectTrials(eqn),
    payloadTrials: {
      ...eventTrials(fixture, { attributeMask: all }),
      ...eventQueries,
      ...each(['queueAddress', 'entriesLog2', 'pageShift', 'paged'], ignored('the queue stays where it is')),
      error: [refused(BAD_FIELD, [1], { limit: 0, given: { attributeMask: all } })],
      attributeMask: [refused(BAD_FIELD, [0x40, 0x80000000, 0xffffffff], { limit: all })],
    },
  };
}

const receiveQueries = queryOnly('head', 'error');

function receiveQueueToCreate(fixture: Fixture): Request {
  return {
    payload: {
      pd: fixture.adapterFixture.pd,
      queueAddress: fixture.memory,
      recordAddress: fixture.record,
      entriesLog2: 4,
      strideLog2: 9,
    },
    payloadTrials: {
      ...memoryTrials(fixture, {}, 4),
      ...receiveQueries,
      pd: [refused(BAD_OBJECT, [0, NO_OBJECT, 0xffffff])],
      entriesLog2: [refused(BAD_FIELD, [16, 255], { limit: RECEIVE_ENTRIES_MAX_LOG2 })],
      strideLog2: [refused(BAD_FIELD, [0, 4, 10, 255], { limit: 9 })],
      recordAddress: [refused(BAD_ADDRESS, [fixture.record + 4, fixture.record + 1])],
      limit: [refused(BAD_FIELD, [17, 0xffffffff], { limit: 16 })],
      attributeMask: [ignored('only to modify')],
      xrcDomain: [refused(BAD_OBJECT, [1, NO_OBJECT, 0xffffff])],
      completionQueue: [refused(BAD_FIELD, [1, 0xffffff])],
    },
  };
}

function receiveQueueToModify(fixture: Fixture): Request {
  const objectNumber = createReceiveQueue(fixture);
  const all = SrqMask.LIMIT | SrqMask.RESIZE;
  const resize = { attributeMask: SrqMask.RESIZE, queueAddress: fixture.memory, entriesLog2: 4 };
  return {
    header: { objectNumber },
    payload: { attributeMask: SrqMask.LIMIT, limit: 16 },
    headerTrials: objectTrials(objectNumber),
    payloadTrials: {
      ...memoryTrials(fixture, resize, 4),
      ...receiveQueries,
      ...each(
        ['pd', 'strideLog2', 'recordAddress', 'xrcDomain', 'completionQueue'],
        ignored('limit and size can be modified'),
      ),
      entriesLog2: [refused(BAD_FIELD, [16, 255], { limit: RECEIVE_ENTRIES_MAX_LOG2, given: resize })],
      limit: [refused(BAD_FIELD, [17, 0xffffffff], { limit: 16 })],
      attributeMask: [refused(BAD_FIELD, [4, 0x80000001, 0xffffffff], { limit: all })],
    },
  };
}

function createReceiveQueue(fixture: Fixture): number {
  const { srqn } = fixture.driver.createSharedReceiveQueue({ pd: fixture.adapterFixture.pd });
  return fixture.watch(ManagementOpcode.QUERY_SRQ, srqn);
}

export const queueCases: readonly CommandCase[] = [
  { opcode: ManagementOpcode.CREATE_CQ, table: completionQueueAttributes, build: completionQueueToCreate },
  { opcode: ManagementOpcode.MODIFY_CQ, table: completionQueueAttributes, build: completionQueueToModify },
  objectCommand(ManagementOpcode.QUERY_CQ, ({ cqn }) => cqn),
  objectCommand(ManagementOpcode.DESTROY_CQ, ({ cqn }) => cqn),
  { opcode: ManagementOpcode.CREATE_EQ, table: eventQueueAttributes, build: eventQueueToCreate },
  { opcode: ManagementOpcode.MODIFY_EQ, table: eventQueueAttributes, build: eventQueueToModify },
  objectCommand(ManagementOpcode.QUERY_EQ, ({ adapterFixture }) => adapterFixture.events.eqn),
  objectCommand(ManagementOpcode.DESTROY_EQ, ({ adapterFixture }) => adapterFixture.asynchronous.eqn),
  { opcode: ManagementOpcode.CREATE_SRQ, table: sharedReceiveQueueAttributes, build: receiveQueueToCreate },
  { opcode: ManagementOpcode.MODIFY_SRQ, table: sharedReceiveQueueAttributes, build: receiveQueueToModify },
  objectCommand(ManagementOpcode.QUERY_SRQ, createReceiveQueue),
  objectCommand(ManagementOpcode.DESTROY_SRQ, createReceiveQueue),
];
