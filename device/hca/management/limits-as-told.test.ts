// SPDX-License-Identifier: Apache-2.0
/**
 * The limits that QUERY_ADAPTER tells are those that hold (IBTA 11.2.1.2): exactly so many objects
 * of each kind, and queues, regions and ranges of exactly that size, whatever number of functions
 * shares the adapter.
 */
import t, { type Test } from 'tap';
import {
  type AdapterAttributes,
  decodeAdapterAttributes,
  newAdapterAttributes,
} from '../../../protocol/layout/gen/adapter-attributes.gen.ts';
import {
  DEVICE_MEMORY_ATTRIBUTES_SIZE,
  encodeDeviceMemoryAttributes,
  newDeviceMemoryAttributes,
} from '../../../protocol/layout/gen/device-memory-attributes.gen.ts';
import { PD_ATTRIBUTES_SIZE } from '../../../protocol/layout/gen/pd-attributes.gen.ts';
import {
  ManagementOpcode,
  ManagementStatus,
  MrKind,
  MwKind,
  managementStatusName,
  ServiceType,
} from '../../../protocol/layout/gen/values.gen.ts';
import { Driver } from '../../rig/driver/driver.ts';
import type { ManagementResult } from '../../rig/driver/management-channel.ts';
import {
  cqPayload,
  eqPayload,
  mrPayload,
  multicastPayload,
  mwPayload,
  qpCreationPayload,
  srqPayload,
} from '../../rig/driver/payloads.ts';
import { SamePages, writeSameList } from '../../rig/fixtures/page-lists.ts';
import { partOf } from '../../rig/fixtures/seeds.ts';
import { InProcessAccess } from '../../rig/machine/access.ts';
import { InProcessMachine } from '../../rig/machine/machine.ts';

const PAGE_BYTES = 4096;
const MEMORY_BYTES = 32 * 2 ** 20;
const PAGE_SHIFT = 12;
const STRIDE_LOG2 = 9;
/** log2 of the bytes of a completion. */
const ENTRY_LOG2 = 6;
const MLID = 0xc001;
/** What the limits do not depend on: such an adapter is built soon. */
const SMALL = { vcbCount: 68, portQueuePackets: 4 } as const;
/** With the most functions each has the fewest objects. */
const functionCounts = partOf([34, 1], 1);

const { OK, NO_RESOURCES, NO_TRANSLATIONS, BAD_FIELD } = ManagementStatus;
const opcodes = ManagementOpcode;
const NO_PAYLOAD = new Uint8Array(0);

/** A function that was brought up, what it tells, and memory that its objects share. */
class Told {
  readonly driver: Driver;
  readonly limits: AdapterAttributes;
  readonly pd: number;
  readonly page: number;
  readonly cqn: number;
  /** Objects that were made, by opcode. */
  readonly made = new Map<number, number>();

  constructor(functionCount: number) {
    const adapter = { functionCount, ...SMALL };
    const machine = new InProcessMachine({ memoryBytes: MEMORY_BYTES, functionCount, adapter });
    this.driver = new Driver(new InProcessAccess(machine)).bringUp();
    const { payload } = this.driver.management.perform({ opcode: opcodes.QUERY_ADAPTER });
    this.limits = decodeAdapterAttributes(payload, 0, newAdapterAttributes());
    this.page = this.driver.allocator.allocate(PAGE_BYTES, PAGE_BYTES);
    this.pd = this.create(opcodes.CREATE_PD, new Uint8Array(PD_ATTRIBUTES_SIZE)).objectNumber;
    this.cqn = this.create(opcodes.CREATE_CQ, this.cq()).objectNumber;
  }

  create(opcode: ManagementOpcode, payload: Uint8Array = NO_PAYLOAD, objectNumber = 0): ManagementResult {
    const result = this.driver.management.execute({ opcode, payload, objectNumber });
    if (result.status === OK) this.made.set(opcode, (this.made.get(opcode) ?? 0) + 1);
    return result;
  }

  /** Creates objects until one is refused. Returns how many there are, and why no more. */
  fill(opcode: ManagementOpcode, payload?: Uint8Array): readonly [number, string] {
    for (;;) {
      const { status } = this.create(opcode, payload);
      if (status !== OK) return [this.made.get(opcode) ?? 0, managementStatusName(status)];
    }
  }

  cq(fields: object = {}): Uint8Array {
    return cqPayload({ queueAddress: this.page, recordAddress: this.page, ...fields });
  }

  srq(fields: object = {}): Uint8Array {
    const { pd, page } = this;
    return srqPayload({ pd, queueAddress: page, recordAddress: page, strideLog2: STRIDE_LOG2, ...fields });
  }

  qp(fields: object = {}): Uint8Array {
    const { pd, page, cqn } = this;
    const strides = { sendStrideLog2: STRIDE_LOG2, receiveStrideLog2: STRIDE_LOG2 };
    const places = { sendQueueAddress: page, receiveQueueAddress: page, recordAddress: page, descriptorAddress: page };
    const queues = { sendCq: cqn, receiveCq: cqn, ...strides, ...places };
    return qpCreationPayload({ pd, serviceType: ServiceType.UD, ...queues, ...fields });
  }

  /** Attaches QPs to groups until one is refused. Returns how many were attached. */
  attach(next: (attached: number) => readonly [qpn: number, group: number]): number {
    for (let attached = 0; ; attached++) {
      const [qpn, group] = next(attached);
      const { status } = this.create(opcodes.ATTACH_MULTICAST, multicastPayload(groupId(group), MLID), qpn);
      if (status === NO_RESOURCES) return attached;
      if (status !== OK) throw new Error(`attachment ${attached}: ${managementStatusName(status)}`);
    }
  }
}

function groupId(number: number): Uint8Array {
  const gid = new Uint8Array(16).fill(0xff, 0, 1);
  new DataView(gid.buffer).setUint32(12, number);
  return gid;
}

function judgeGroups(t: Test, told: Told): void {
  const { maxMulticastGroups, maxQueuePairsPerGroup } = told.limits;
  const create = (): number => told.create(opcodes.CREATE_QP, told.qp()).objectNumber;
  const first = create();
  const members = told.attach((attached) => [attached === 0 ? first : create(), 0]);
  t.equal(members, maxQueuePairsPerGroup, 'members of one group');
  const groups = told.attach((attached) => [first, attached + 1]);
  t.equal(groups, maxMulticastGroups - members, 'groups of one member');
}

function judgeNumbers(t: Test, told: Told): void {
  const { pd, page } = told;
  const kinds: readonly [keyof AdapterAttributes, ManagementOpcode, Uint8Array?][] = [
    ['maxProtectionDomains', opcodes.CREATE_PD, new Uint8Array(PD_ATTRIBUTES_SIZE)],
    ['maxMemoryRegions', opcodes.CREATE_MR, mrPayload({ pd, kind: MrKind.PHYSICAL })],
    ['maxMemoryWindows', opcodes.CREATE_MW, mwPayload({ pd, kind: MwKind.TYPE_2 })],
    ['maxCompletionQueues', opcodes.CREATE_CQ, told.cq()],
    ['maxEventQueues', opcodes.CREATE_EQ, eqPayload({ queueAddress: page })],
    ['maxSharedReceiveQueues', opcodes.CREATE_SRQ, told.srq()],
    ['maxQueuePairs', opcodes.CREATE_QP, told.qp()],
    ['maxCollectContexts', opcodes.CREATE_COLLECT_CONTEXT],
  ];
  for (const [limit, opcode, payload] of kinds)
    t.same(told.fill(opcode, payload), [told.limits[limit], 'NO_RESOURCES'], limit);
}

/** With the largest regions and one for what is left, all translation entries are in use. */
function judgeTranslations(t: Test, told: Told): void {
  const { maxTranslationEntries, maxPagesPerRegion } = told.limits;
  const same = new SamePages(told.driver);
  const region = (pages: number): Uint8Array => mrPayload(same.region(told.pd, pages));
  const count = Math.floor(maxTranslationEntries / maxPagesPerRegion);
  t.same(told.fill(opcodes.CREATE_MR, region(maxPagesPerRegion)), [count, 'NO_TRANSLATIONS'], 'largest regions');
  const rest = maxTranslationEntries - count * maxPagesPerRegion;
  if (rest > 0) t.equal(told.create(opcodes.CREATE_MR, region(rest)).status, OK, 'what is left');
  t.equal(told.create(opcodes.CREATE_MR, region(1)).status, NO_TRANSLATIONS, 'all are in use');
}

function judgeDeviceMemory(t: Test, told: Told): void {
  const { maxDeviceMemoryBytes: limit } = told.limits;
  const create = (length: number): ManagementResult => {
    const payload = new Uint8Array(DEVICE_MEMORY_ATTRIBUTES_SIZE);
    encodeDeviceMemoryAttributes(new DataView(payload.buffer), 0, { ...newDeviceMemoryAttributes(), length });
    return told.create(opcodes.CREATE_DEVICE_MEMORY, payload);
  };
  t.match(create(limit + 1), { status: BAD_FIELD, limit }, 'more than all of the device memory');
  t.equal(create(limit).status, OK, 'all of the device memory');
}

for (const functionCount of functionCounts) {
  t.test(`numbers of objects, ${functionCount} functions`, async (t) => {
    const told = new Told(functionCount);
    judgeGroups(t, told);
    judgeTranslations(t, told);
    judgeDeviceMemory(t, told);
    judgeNumbers(t, told);
  });
}

/** Payload of a queue of 2^n entries, in the pages of a list, or in one piece without a list. */
type QueueOf = (entriesLog2: number, list: number) => Uint8Array;

/** A queue is made whose length is told, in one piece and in pages, and no longer one. */
function judgeLength(
  t: Test,
  told: Told,
  [limit, opcode, payload]: readonly [keyof AdapterAttributes, ManagementOpcode, QueueOf],
  list: number,
): void {
  const log2 = told.limits[limit];
  t.equal(told.create(opcode, payload(log2, 0)).status, OK, `${limit}, in one piece`);
  t.equal(told.create(opcode, payload(log2, list)).status, OK, `${limit}, in pages`);
  t.match(told.create(opcode, payload(log2 + 1, 0)), { status: BAD_FIELD, limit: log2 }, `beyond ${limit}`);
}

t.test('lengths of queues', async (t) => {
  const told = new Told(1);
  const { completionQueueMaxLog2 } = told.limits;
  const list = writeSameList(told.driver, 2 ** (completionQueueMaxLog2 + ENTRY_LOG2 - PAGE_SHIFT), told.page);
  const paged = { paged: 1, pageShift: PAGE_SHIFT, queueAddress: list };
  const sendPaged = { sendPaged: 1, sendPageShift: PAGE_SHIFT, sendQueueAddress: list };
  const receivePaged = { receivePaged: 1, receivePageShift: PAGE_SHIFT, receiveQueueAddress: list };
  const eq = (fields: object): Uint8Array => eqPayload({ queueAddress: told.page, ...fields });
  const kinds: readonly (readonly [keyof AdapterAttributes, ManagementOpcode, QueueOf])[] = [
    ['completionQueueMaxLog2', opcodes.CREATE_CQ, (log2, at) => told.cq({ entriesLog2: log2, ...(at && paged) })],
    ['eventQueueMaxLog2', opcodes.CREATE_EQ, (log2, at) => eq({ entriesLog2: log2, ...(at && paged) })],
    ['receiveQueueMaxLog2', opcodes.CREATE_SRQ, (log2, at) => told.srq({ entriesLog2: log2, ...(at && paged) })],
    [
      'receiveQueueMaxLog2',
      opcodes.CREATE_QP,
      (log2, at) => told.qp({ receiveEntriesLog2: log2, ...(at && receivePaged) }),
    ],
    ['sendQueueMaxLog2', opcodes.CREATE_QP, (log2, at) => told.qp({ sendEntriesLog2: log2, ...(at && sendPaged) })],
  ];
  for (const kind of kinds) judgeLength(t, told, kind, list);
});
