// SPDX-License-Identifier: Apache-2.0
/** Cases of the commands of device memory, and of memory regions of it. */
import {
  AccessFlag,
  ManagementOpcode,
  ManagementStatus,
  MrKind,
  MrMask,
} from '../../../protocol/layout/gen/values.gen.ts';
import { deviceMemoryAttributes, memoryRegionAttributes } from '../../../protocol/layout/management.ts';
import { createDeviceMemory } from '../../hosts/in-process/driver/device-memory.ts';
import { type CommandCase, each, ignored, queryOnly, type Request, refused, taken } from './command-case.ts';
import { type Fixture, NO_OBJECT } from './fixture.ts';
import { noObject, objectTrials } from './header-trials.ts';
import { objectCommand } from './memory-cases.ts';

const { BAD_FIELD, BAD_OBJECT } = ManagementStatus;
/** Of the function. */
const DEVICE_MEMORY_BYTES = 256 * 1024;
const LENGTH = 1000;
const OFFSET = 200;
const ROOM = LENGTH - OFFSET;

function createRange(fixture: Fixture): number {
  const { number } = createDeviceMemory(fixture.driver, LENGTH, 12);
  return fixture.watch(ManagementOpcode.QUERY_DEVICE_MEMORY, number);
}

function regionToCreate(fixture: Fixture): Request {
  return {
    payload: {
      pd: fixture.adapterFixture.pd,
      kind: MrKind.DEVICE,
      access: AccessFlag.LOCAL_WRITE | AccessFlag.ZERO_BASED,
      length: ROOM,
      deviceMemory: createRange(fixture),
      deviceMemoryOffset: OFFSET,
    },
    payloadTrials: {
      deviceMemory: [refused(BAD_OBJECT, [0, NO_OBJECT, 0xffffff])],
      deviceMemoryOffset: [
        refused(BAD_FIELD, [LENGTH + 1, 0xffffffff], { limit: LENGTH, given: { length: 0 } }),
        taken('any byte of the range', { values: [0, 1, LENGTH - 1], given: { length: 1 } }),
      ],
      length: [
        refused(BAD_FIELD, [ROOM + 1, 2n ** 63n, 2n ** 64n - 1n], { limit: ROOM }),
        taken('any part of the range', { values: [0, 1, ROOM] }),
      ],
      startAddress: [refused(BAD_FIELD, [2n ** 53n], { limit: Number.MAX_SAFE_INTEGER - ROOM })],
      access: [refused(BAD_FIELD, [AccessFlag.REMOTE_WRITE])],
      pageShift: [taken('shown by queries')],
      ...each(['pageListAddress', 'pageCount', 'indirect'], ignored('there are no pages')),
    },
  };
}

function regionToModify(fixture: Fixture): Request {
  const range = createDeviceMemory(fixture.driver, LENGTH);
  const objectNumber = fixture.watch(ManagementOpcode.QUERY_MR, range.register(fixture.adapterFixture.pd).number);
  return {
    header: { objectNumber },
    payload: { access: AccessFlag.ZERO_BASED, attributeMask: MrMask.ACCESS },
    headerTrials: objectTrials(objectNumber),
    payloadTrials: {
      ...each(['deviceMemory', 'deviceMemoryOffset', 'length'], ignored('a region keeps its device memory')),
    },
  };
}

export const deviceMemoryCases: readonly CommandCase[] = [
  {
    opcode: ManagementOpcode.CREATE_DEVICE_MEMORY,
    table: deviceMemoryAttributes,
    build: () => ({
      payload: { length: LENGTH, alignmentLog2: 6 },
      headerTrials: { objectNumber: [noObject] },
      payloadTrials: {
        length: [
          refused(BAD_FIELD, [0, DEVICE_MEMORY_BYTES + 1, 2n ** 64n - 1n], {
            limit: DEVICE_MEMORY_BYTES,
          }),
        ],
        alignmentLog2: [
          refused(BAD_FIELD, [20, 255], { limit: 19 }),
          taken('up to all of the room', { values: [0, 18] }),
        ],
        offset: [ignored('only in the answer')],
        ...queryOnly('regions'),
      },
    }),
  },
  objectCommand(ManagementOpcode.QUERY_DEVICE_MEMORY, createRange),
  objectCommand(ManagementOpcode.DESTROY_DEVICE_MEMORY, createRange),
  {
    opcode: ManagementOpcode.CREATE_MR,
    situation: 'device memory',
    table: memoryRegionAttributes,
    build: regionToCreate,
  },
  {
    opcode: ManagementOpcode.MODIFY_MR,
    situation: 'device memory',
    table: memoryRegionAttributes,
    build: regionToModify,
  },
];
