// SPDX-License-Identifier: Apache-2.0
/** Every field of every management command out of range, one at a time: the right status blames the right field, and nothing changes. */
import t, { type Test } from 'tap';
import { COMMAND_HEADER_BYTES } from '../../protocol/layout/gen/constants.gen.ts';
import * as cq from '../../protocol/layout/gen/cq-attributes.gen.ts';
import * as eq from '../../protocol/layout/gen/eq-attributes.gen.ts';
import * as mr from '../../protocol/layout/gen/mr-attributes.gen.ts';
import * as qpa from '../../protocol/layout/gen/qp-attributes.gen.ts';
import * as qpc from '../../protocol/layout/gen/qp-creation.gen.ts';
import {
  AccessFlag,
  CqMask,
  EqControl,
  EqMask,
  ManagementOpcode,
  ManagementStatus,
  MrKind,
  MrMask,
  managementOpcodeName,
  managementStatusName,
  QpMask,
  QpState,
  ServiceType,
} from '../../protocol/layout/gen/values.gen.ts';
import { cqPayload, eqPayload, mrPayload, qpCreationPayload, qpPayload } from '../hosts/in-process/driver/payloads.ts';
import { Bench } from '../test-support/adapter-fixture.ts';
import { benchObjects, digestState, type KnownObject } from '../test-support/state-digest.ts';

const { BAD_ADDRESS, BAD_FIELD, BAD_OBJECT, BAD_STATE, UNSUPPORTED } = ManagementStatus;
const NOWHERE = 0x10_0000;
const NO_OBJECT = 0x7ffff0;

/** A valid request, and fields that make it invalid. */
interface Case<T> {
  readonly change: Partial<T>;
  readonly status: number;
  /** Byte offset of the field to blame in the payload; undefined where the contract names none. */
  readonly blame?: number;
}

/** What the valid requests are made of. */
class Fixture {
  readonly bench = new Bench();
  readonly cqn = this.bench.createCompletionQueue().cqn;
  readonly qp = this.bench.createQueuePair({ state: 'init' });
  readonly memory = this.bench.driver.allocator.allocate(0x8000, 4096);
  readonly record = this.bench.driver.allocator.allocate(64);
  readonly descriptor = this.bench.driver.allocator.allocate(64);
  readonly pageList = this.bench.driver.allocator.allocate(64);
  readonly crookedList = this.bench.driver.allocator.allocate(64);

  constructor() {
    for (let page = 0; page < 8; page++) {
      this.bench.access.view(this.pageList, 64).setBigUint64(page * 8, BigInt(this.memory + page * 4096), true);
      this.bench.access
        .view(this.crookedList, 64)
        .setBigUint64(page * 8, BigInt(this.memory + page * 4096 + (page === 1 ? 8 : 0)), true);
    }
  }

  get objects(): KnownObject[] {
    return [
      ...benchObjects(this.bench),
      [ManagementOpcode.QUERY_CQ, this.cqn],
      [ManagementOpcode.QUERY_QP, this.qp.qpn],
    ];
  }
}

/** Checks that the valid request is accepted and that each case is refused as it should be. */
function check<T>(
  t: Test,
  fixture: Fixture,
  request: { opcode: number; objectNumber?: number; valid: Partial<T>; payload: (fields: Partial<T>) => Uint8Array },
  cases: readonly Case<T>[],
): void {
  const { opcode, objectNumber = 0, valid, payload } = request;
  const { management } = fixture.bench.driver;
  for (const { change, status, blame } of cases) {
    const before = digestState(fixture.bench, fixture.objects);
    const what = `${managementOpcodeName(opcode)} with ${JSON.stringify(change)}`;
    const result = management.execute({ opcode, objectNumber, payload: payload({ ...valid, ...change }) });
    t.equal(managementStatusName(result.status), managementStatusName(status), what);
    if (blame !== undefined) t.equal(result.badOffset, COMMAND_HEADER_BYTES + blame, `${what}: the field blamed`);
    if (digestState(fixture.bench, fixture.objects) !== before) t.fail(`${what} changed something`);
  }
  t.equal(
    management.execute({ opcode, objectNumber, payload: payload(valid) }).status,
    ManagementStatus.OK,
    `${managementOpcodeName(opcode)} itself`,
  );
  fixture.bench.finish();
}

t.test('create CQ', async (t) => {
  const fixture = new Fixture();
  const valid = {
    queueAddress: fixture.memory,
    recordAddress: fixture.record,
    entriesLog2: 6,
    eventQueue: fixture.bench.events.eqn,
  };
  check<cq.CqAttributes>(t, fixture, { opcode: ManagementOpcode.CREATE_CQ, valid, payload: cqPayload }, [
    { change: { entriesLog2: 23 }, status: BAD_FIELD, blame: cq.CQ_ATTRIBUTES_ENTRIES_LOG2_OFFSET },
    { change: { entriesLog2: 255 }, status: BAD_FIELD, blame: cq.CQ_ATTRIBUTES_ENTRIES_LOG2_OFFSET },
    { change: { queueAddress: fixture.memory + 8 }, status: BAD_ADDRESS, blame: cq.CQ_ATTRIBUTES_QUEUE_ADDRESS_OFFSET },
    {
      change: { recordAddress: fixture.record + 4 },
      status: BAD_ADDRESS,
      blame: cq.CQ_ATTRIBUTES_RECORD_ADDRESS_OFFSET,
    },
    { change: { eventQueue: NO_OBJECT }, status: BAD_OBJECT, blame: cq.CQ_ATTRIBUTES_EVENT_QUEUE_OFFSET },
    {
      change: { paged: 1, pageShift: 11, queueAddress: fixture.pageList },
      status: BAD_FIELD,
      blame: cq.CQ_ATTRIBUTES_PAGE_SHIFT_OFFSET,
    },
    {
      change: { paged: 1, pageShift: 32, queueAddress: fixture.pageList },
      status: BAD_FIELD,
      blame: cq.CQ_ATTRIBUTES_PAGE_SHIFT_OFFSET,
    },
    {
      change: { paged: 1, pageShift: 12, queueAddress: NOWHERE },
      status: BAD_ADDRESS,
      blame: cq.CQ_ATTRIBUTES_QUEUE_ADDRESS_OFFSET,
    },
    {
      change: { paged: 1, pageShift: 12, queueAddress: fixture.pageList + 4 },
      status: BAD_ADDRESS,
      blame: cq.CQ_ATTRIBUTES_QUEUE_ADDRESS_OFFSET,
    },
    {
      change: { paged: 1, pageShift: 12, entriesLog2: 7, queueAddress: fixture.crookedList },
      status: BAD_ADDRESS,
      blame: cq.CQ_ATTRIBUTES_QUEUE_ADDRESS_OFFSET,
    },
    { change: { moderationCount: 1 }, status: UNSUPPORTED },
    { change: { moderationPeriodUs: 1 }, status: UNSUPPORTED },
  ]);
});

t.test('modify CQ', async (t) => {
  const fixture = new Fixture();
  const valid = { attributeMask: CqMask.EVENT_QUEUE, eventQueue: fixture.bench.events.eqn };
  check<cq.CqAttributes>(
    t,
    fixture,
    { opcode: ManagementOpcode.MODIFY_CQ, objectNumber: fixture.cqn, valid, payload: cqPayload },
    [
      { change: { attributeMask: 16 }, status: BAD_FIELD, blame: cq.CQ_ATTRIBUTES_ATTRIBUTE_MASK_OFFSET },
      { change: { attributeMask: 0x80000001 }, status: BAD_FIELD, blame: cq.CQ_ATTRIBUTES_ATTRIBUTE_MASK_OFFSET },
      { change: { eventQueue: NO_OBJECT }, status: BAD_OBJECT, blame: cq.CQ_ATTRIBUTES_EVENT_QUEUE_OFFSET },
      {
        change: { attributeMask: CqMask.RESIZE, entriesLog2: 23 },
        status: BAD_FIELD,
        blame: cq.CQ_ATTRIBUTES_ENTRIES_LOG2_OFFSET,
      },
      {
        change: { attributeMask: CqMask.RESIZE | CqMask.EVENT_QUEUE, queueAddress: fixture.memory + 32 },
        status: BAD_ADDRESS,
        blame: cq.CQ_ATTRIBUTES_QUEUE_ADDRESS_OFFSET,
      },
      { change: { attributeMask: CqMask.MODERATION }, status: UNSUPPORTED },
    ],
  );
});

t.test('create EQ', async (t) => {
  const fixture = new Fixture();
  const valid = { queueAddress: fixture.memory, entriesLog2: 6, vector: 63, controls: EqControl.INTERRUPT };
  check<eq.EqAttributes>(t, fixture, { opcode: ManagementOpcode.CREATE_EQ, valid, payload: eqPayload }, [
    { change: { entriesLog2: 17 }, status: BAD_FIELD, blame: eq.EQ_ATTRIBUTES_ENTRIES_LOG2_OFFSET },
    { change: { vector: 64 }, status: BAD_FIELD, blame: eq.EQ_ATTRIBUTES_VECTOR_OFFSET },
    { change: { vector: 0xffff }, status: BAD_FIELD, blame: eq.EQ_ATTRIBUTES_VECTOR_OFFSET },
    { change: { controls: 3 }, status: BAD_FIELD, blame: eq.EQ_ATTRIBUTES_CONTROLS_OFFSET },
    {
      change: { queueAddress: fixture.memory + 32 },
      status: BAD_ADDRESS,
      blame: eq.EQ_ATTRIBUTES_QUEUE_ADDRESS_OFFSET,
    },
    {
      change: { paged: 1, pageShift: 0, queueAddress: fixture.pageList },
      status: BAD_FIELD,
      blame: eq.EQ_ATTRIBUTES_PAGE_SHIFT_OFFSET,
    },
    {
      change: { paged: 1, pageShift: 12, queueAddress: NOWHERE },
      status: BAD_ADDRESS,
      blame: eq.EQ_ATTRIBUTES_QUEUE_ADDRESS_OFFSET,
    },
    {
      change: { nextInterruptDelayNsHigh: 0x80000000 },
      status: BAD_FIELD,
      blame: eq.EQ_ATTRIBUTES_NEXT_INTERRUPT_DELAY_NS_OFFSET,
    },
    {
      change: { primarySummaryAddress: NOWHERE },
      status: BAD_ADDRESS,
      blame: eq.EQ_ATTRIBUTES_PRIMARY_SUMMARY_ADDRESS_OFFSET,
    },
    {
      change: { secondarySummaryCount: 1, secondarySummaryAddress: NOWHERE },
      status: BAD_ADDRESS,
      blame: eq.EQ_ATTRIBUTES_SECONDARY_SUMMARY_ADDRESS_OFFSET,
    },
    {
      change: { secondarySummaryCount: 65537, secondarySummaryAddress: fixture.memory },
      status: BAD_FIELD,
      blame: eq.EQ_ATTRIBUTES_SECONDARY_SUMMARY_COUNT_OFFSET,
    },
  ]);
});

t.test('modify EQ', async (t) => {
  const fixture = new Fixture();
  const valid = { attributeMask: EqMask.VECTOR | EqMask.CONTROLS, vector: 1, controls: EqControl.NOTHING };
  const request = {
    opcode: ManagementOpcode.MODIFY_EQ,
    objectNumber: fixture.bench.events.eqn,
    valid,
    payload: eqPayload,
  };
  check<eq.EqAttributes>(t, fixture, request, [
    { change: { attributeMask: 0x20 }, status: BAD_FIELD, blame: eq.EQ_ATTRIBUTES_ATTRIBUTE_MASK_OFFSET },
    { change: { vector: 64 }, status: BAD_FIELD, blame: eq.EQ_ATTRIBUTES_VECTOR_OFFSET },
    { change: { controls: 9 }, status: BAD_FIELD, blame: eq.EQ_ATTRIBUTES_CONTROLS_OFFSET },
    {
      change: { attributeMask: EqMask.DELAY | EqMask.VECTOR, nextInterruptDelayNsHigh: 0xfffffffe },
      status: BAD_FIELD,
      blame: eq.EQ_ATTRIBUTES_NEXT_INTERRUPT_DELAY_NS_OFFSET,
    },
  ]);
});

t.test('create MR', async (t) => {
  const fixture = new Fixture();
  const { pd } = fixture.bench;
  const valid = {
    pd,
    kind: MrKind.PAGED,
    access: AccessFlag.LOCAL_WRITE,
    startAddress: 0x5000_0100,
    length: 8 * 4096 - 0x100,
    pageListAddress: fixture.pageList,
    pageCount: 8,
    pageShift: 12,
  };
  check<mr.MrAttributes>(t, fixture, { opcode: ManagementOpcode.CREATE_MR, valid, payload: mrPayload }, [
    { change: { pd: NO_OBJECT }, status: BAD_OBJECT, blame: mr.MR_ATTRIBUTES_PD_OFFSET },
    { change: { pd: 0 }, status: BAD_OBJECT, blame: mr.MR_ATTRIBUTES_PD_OFFSET },
    { change: { kind: 3 }, status: BAD_FIELD, blame: mr.MR_ATTRIBUTES_KIND_OFFSET },
    { change: { access: 0x40 }, status: BAD_FIELD, blame: mr.MR_ATTRIBUTES_ACCESS_OFFSET },
    { change: { access: AccessFlag.REMOTE_WRITE }, status: BAD_FIELD, blame: mr.MR_ATTRIBUTES_ACCESS_OFFSET },
    {
      change: { access: AccessFlag.REMOTE_ATOMIC | AccessFlag.REMOTE_READ },
      status: BAD_FIELD,
      blame: mr.MR_ATTRIBUTES_ACCESS_OFFSET,
    },
    { change: { length: 0 }, status: BAD_FIELD, blame: mr.MR_ATTRIBUTES_LENGTH_OFFSET },
    { change: { length: 8 * 4096 - 0xff }, status: BAD_FIELD, blame: mr.MR_ATTRIBUTES_LENGTH_OFFSET },
    { change: { length: 2 ** 63 }, status: BAD_FIELD, blame: mr.MR_ATTRIBUTES_LENGTH_OFFSET },
    { change: { pageCount: 0 }, status: BAD_FIELD, blame: mr.MR_ATTRIBUTES_PAGE_COUNT_OFFSET },
    { change: { pageCount: 0xffffffff }, status: BAD_FIELD, blame: mr.MR_ATTRIBUTES_PAGE_COUNT_OFFSET },
    { change: { pageShift: 11 }, status: BAD_FIELD, blame: mr.MR_ATTRIBUTES_PAGE_SHIFT_OFFSET },
    { change: { pageShift: 32 }, status: BAD_FIELD, blame: mr.MR_ATTRIBUTES_PAGE_SHIFT_OFFSET },
    { change: { pageListAddress: NOWHERE }, status: BAD_ADDRESS, blame: mr.MR_ATTRIBUTES_PAGE_LIST_ADDRESS_OFFSET },
    {
      change: { pageListAddress: fixture.pageList + 4 },
      status: BAD_ADDRESS,
      blame: mr.MR_ATTRIBUTES_PAGE_LIST_ADDRESS_OFFSET,
    },
    {
      change: { pageListAddress: fixture.crookedList },
      status: BAD_ADDRESS,
      blame: mr.MR_ATTRIBUTES_PAGE_LIST_ADDRESS_OFFSET,
    },
  ]);
});

t.test('modify MR', async (t) => {
  const fixture = new Fixture();
  const valid = { attributeMask: MrMask.ACCESS, access: AccessFlag.LOCAL_WRITE | AccessFlag.REMOTE_WRITE };
  const request = {
    opcode: ManagementOpcode.MODIFY_MR,
    objectNumber: fixture.bench.region.number,
    valid,
    payload: mrPayload,
  };
  check<mr.MrAttributes>(t, fixture, request, [
    { change: { attributeMask: 8 }, status: BAD_FIELD, blame: mr.MR_ATTRIBUTES_ATTRIBUTE_MASK_OFFSET },
    {
      change: { attributeMask: MrMask.PD | MrMask.ACCESS, pd: NO_OBJECT },
      status: BAD_OBJECT,
      blame: mr.MR_ATTRIBUTES_PD_OFFSET,
    },
    { change: { access: 0x80000000 }, status: BAD_FIELD, blame: mr.MR_ATTRIBUTES_ACCESS_OFFSET },
    {
      change: { attributeMask: MrMask.TRANSLATION | MrMask.ACCESS, kind: 7 },
      status: BAD_FIELD,
      blame: mr.MR_ATTRIBUTES_KIND_OFFSET,
    },
  ]);
});

t.test('create QP', async (t) => {
  const fixture = new Fixture();
  const valid = {
    pd: fixture.bench.pd,
    serviceType: ServiceType.UD,
    sendCq: fixture.cqn,
    receiveCq: fixture.cqn,
    sendQueueAddress: fixture.memory,
    receiveQueueAddress: fixture.memory + 0x4000,
    recordAddress: fixture.record,
    descriptorAddress: fixture.descriptor,
    sendEntriesLog2: 4,
    sendStrideLog2: 9,
    receiveEntriesLog2: 4,
    receiveStrideLog2: 9,
  };
  const paged = { sendPaged: 1, sendPageShift: 12, sendQueueAddress: fixture.pageList };
  check<qpc.QpCreation>(t, fixture, { opcode: ManagementOpcode.CREATE_QP, valid, payload: qpCreationPayload }, [
    { change: { pd: NO_OBJECT }, status: BAD_OBJECT, blame: qpc.QP_CREATION_PD_OFFSET },
    { change: { sendCq: NO_OBJECT }, status: BAD_OBJECT, blame: qpc.QP_CREATION_SEND_CQ_OFFSET },
    { change: { receiveCq: NO_OBJECT }, status: BAD_OBJECT, blame: qpc.QP_CREATION_RECEIVE_CQ_OFFSET },
    {
      change: { serviceType: ServiceType.XRC_INITIATOR },
      status: UNSUPPORTED,
      blame: qpc.QP_CREATION_SERVICE_TYPE_OFFSET,
    },
    { change: { serviceType: ServiceType.GSI, specialPort: 1 }, status: UNSUPPORTED },
    { change: { serviceType: 2 }, status: BAD_FIELD, blame: qpc.QP_CREATION_SERVICE_TYPE_OFFSET },
    { change: { serviceType: 255 }, status: BAD_FIELD, blame: qpc.QP_CREATION_SERVICE_TYPE_OFFSET },
    { change: { sendEntriesLog2: 16 }, status: BAD_FIELD, blame: qpc.QP_CREATION_SEND_ENTRIES_LOG2_OFFSET },
    { change: { sendStrideLog2: 5 }, status: BAD_FIELD, blame: qpc.QP_CREATION_SEND_STRIDE_LOG2_OFFSET },
    { change: { sendStrideLog2: 10 }, status: BAD_FIELD, blame: qpc.QP_CREATION_SEND_STRIDE_LOG2_OFFSET },
    { change: { receiveEntriesLog2: 16 }, status: BAD_FIELD, blame: qpc.QP_CREATION_RECEIVE_ENTRIES_LOG2_OFFSET },
    { change: { receiveStrideLog2: 4 }, status: BAD_FIELD, blame: qpc.QP_CREATION_RECEIVE_STRIDE_LOG2_OFFSET },
    { change: { receiveStrideLog2: 10 }, status: BAD_FIELD, blame: qpc.QP_CREATION_RECEIVE_STRIDE_LOG2_OFFSET },
    {
      change: { sendQueueAddress: fixture.memory + 32 },
      status: BAD_ADDRESS,
      blame: qpc.QP_CREATION_SEND_QUEUE_ADDRESS_OFFSET,
    },
    {
      change: { receiveQueueAddress: fixture.memory + 8 },
      status: BAD_ADDRESS,
      blame: qpc.QP_CREATION_RECEIVE_QUEUE_ADDRESS_OFFSET,
    },
    { change: { ...paged, sendPageShift: 11 }, status: BAD_FIELD, blame: qpc.QP_CREATION_SEND_PAGE_SHIFT_OFFSET },
    {
      change: { ...paged, sendQueueAddress: NOWHERE },
      status: BAD_ADDRESS,
      blame: qpc.QP_CREATION_SEND_QUEUE_ADDRESS_OFFSET,
    },
    {
      change: { ...paged, sendQueueAddress: fixture.crookedList },
      status: BAD_ADDRESS,
      blame: qpc.QP_CREATION_SEND_QUEUE_ADDRESS_OFFSET,
    },
    {
      change: { receivePaged: 1, receivePageShift: 12, receiveQueueAddress: NOWHERE },
      status: BAD_ADDRESS,
      blame: qpc.QP_CREATION_RECEIVE_QUEUE_ADDRESS_OFFSET,
    },
    {
      change: { recordAddress: fixture.record + 4 },
      status: BAD_ADDRESS,
      blame: qpc.QP_CREATION_RECORD_ADDRESS_OFFSET,
    },
    {
      change: { descriptorAddress: fixture.descriptor + 8 },
      status: BAD_ADDRESS,
      blame: qpc.QP_CREATION_DESCRIPTOR_ADDRESS_OFFSET,
    },
    { change: { descriptorAddress: NOWHERE }, status: BAD_ADDRESS, blame: qpc.QP_CREATION_DESCRIPTOR_ADDRESS_OFFSET },
    { change: { srqn: 5 }, status: BAD_OBJECT },
  ]);
});

t.test('modify QP', async (t) => {
  const fixture = new Fixture();
  const attributeMask = QpMask.PKEY_INDEX | QpMask.PORT | QpMask.QKEY;
  const valid = { attributeMask, pkeyIndex: 127, port: 2, qkey: 5 };
  const request = { opcode: ManagementOpcode.MODIFY_QP, objectNumber: fixture.qp.qpn, valid, payload: qpPayload };
  check<qpa.QpAttributes>(t, fixture, request, [
    { change: { port: 0 }, status: BAD_FIELD },
    { change: { port: 3 }, status: BAD_FIELD },
    { change: { pkeyIndex: 128 }, status: BAD_FIELD, blame: qpa.QP_ATTRIBUTES_PKEY_INDEX_OFFSET },
    { change: { pkeyIndex: 0xffff }, status: BAD_FIELD, blame: qpa.QP_ATTRIBUTES_PKEY_INDEX_OFFSET },
    {
      change: { attributeMask: attributeMask | QpMask.RETRY_COUNT },
      status: BAD_FIELD,
      blame: qpa.QP_ATTRIBUTES_ATTRIBUTE_MASK_OFFSET,
    },
    {
      change: { attributeMask: attributeMask | 0x80000000 },
      status: BAD_FIELD,
      blame: qpa.QP_ATTRIBUTES_ATTRIBUTE_MASK_OFFSET,
    },
    { change: { attributeMask: attributeMask | QpMask.STATE, state: 7 }, status: BAD_FIELD },
    { change: { attributeMask: attributeMask | QpMask.STATE, state: 15 }, status: BAD_FIELD },
    { change: { attributeMask: attributeMask | QpMask.CURRENT_STATE, currentState: QpState.RTS }, status: BAD_STATE },
    { change: { attributeMask: QpMask.STATE | QpMask.SEND_PSN, state: QpState.RTS }, status: BAD_STATE },
  ]);
});

t.test('objects that are not there', async (t) => {
  const fixture = new Fixture();
  const { bench } = fixture;
  const classes: [number, number, (fields: object) => Uint8Array][] = [
    [ManagementOpcode.QUERY_MR, bench.region.number, mrPayload],
    [ManagementOpcode.QUERY_CQ, fixture.cqn, cqPayload],
    [ManagementOpcode.QUERY_EQ, bench.events.eqn, eqPayload],
    [ManagementOpcode.QUERY_QP, fixture.qp.qpn, qpPayload],
  ];
  for (const [query, good, payload] of classes) {
    for (const objectNumber of [0, good ^ 0x800000, good ^ 0x10000, 0xffffff, NO_OBJECT]) {
      const results = [
        bench.driver.management.execute({ opcode: query, objectNumber }),
        bench.driver.management.execute({ opcode: query + 1, objectNumber }),
        bench.driver.management.execute({ opcode: query - 1, objectNumber, payload: payload({}) }),
      ];
      for (const result of results) {
        t.equal(result.status, BAD_OBJECT, `${managementOpcodeName(query)} of ${objectNumber}`);
        t.equal(result.badOffset, 1, 'the object number is blamed');
      }
    }
  }
  bench.finish();
});
