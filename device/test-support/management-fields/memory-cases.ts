// SPDX-License-Identifier: Apache-2.0
/**
 * Cases of the commands of protection domains, memory regions and memory windows (IBTA 11.2.1.5,
 * 11.2.8).
 */
import {
  AccessFlag,
  ManagementOpcode,
  ManagementStatus,
  MrKind,
  MrMask,
  MwKind,
  PageFlag,
} from '../../../protocol/layout/gen/values.gen.ts';
import {
  memoryRegionAttributes,
  memoryWindowAttributes,
  pageRange,
  protectionDomainAttributes,
} from '../../../protocol/layout/management.ts';
import {
  type CommandCase,
  each,
  ignored,
  queryOnly,
  type Request,
  refused,
  type Trials,
  taken,
} from './command-case.ts';
import { type Fixture, NO_OBJECT, NOWHERE } from './fixture.ts';
import { objectTrials } from './header-trials.ts';

const { BAD_ADDRESS, BAD_FIELD, BAD_OBJECT } = ManagementStatus;
const ALL_ACCESS = Object.values(AccessFlag).reduce((all, bit) => all | bit, 0);
const ALL_MR_MASK = Object.values(MrMask).reduce((all, bit) => all | bit, 0);
const PAGE_BYTES = 4096;
const PAGES = 8;
/** Where the region starts in its first page. */
const IN_PAGE = 0x100;
const ROOM = PAGES * PAGE_BYTES - IN_PAGE;
const PAGES_MAX = 1 << 20;
const FAST_PAGES_MAX = 512;

/** A command whose only field is the object number. */
export function objectCommand(opcode: ManagementOpcode, numberOf: (fixture: Fixture) => number): CommandCase {
  return {
    opcode,
    build: (fixture) => {
      const objectNumber = numberOf(fixture);
      return { header: { objectNumber }, headerTrials: objectTrials(objectNumber) };
    },
  };
}

const answered = each(['lkey', 'rkey'], ignored('only in the answer'));

const noDeviceMemory = each(['deviceMemory', 'deviceMemoryOffset'], ignored('only of regions of device memory'));

const accessTrials: Trials = {
  access: [
    refused(BAD_FIELD, [0x80, 0x80000000, 0xffffffff], { limit: ALL_ACCESS }),
    refused(BAD_FIELD, [AccessFlag.ON_DEMAND | AccessFlag.ZERO_BASED]),
    refused(BAD_FIELD, [AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC | AccessFlag.REMOTE_READ]),
  ],
};

function pagedRegion(fixture: Fixture) {
  return {
    pd: fixture.adapterFixture.pd,
    kind: MrKind.PAGED,
    access: AccessFlag.LOCAL_WRITE,
    startAddress: 0x5000_0000 + IN_PAGE,
    length: ROOM,
    pageListAddress: fixture.pageList,
    pageCount: PAGES,
    pageShift: 12,
  };
}

/** Address of a list of one page, which holds the list of the region's pages. */
function indirectList({ adapterFixture, memory }: Fixture): number {
  const { access, driver } = adapterFixture;
  const list = driver.allocator.allocate(PAGE_BYTES, PAGE_BYTES);
  const directory = driver.allocator.allocate(PAGES * 8);
  for (let page = 0; page < PAGES; page++)
    access.view(list, PAGE_BYTES).setBigUint64(page * 8, BigInt(memory + page * PAGE_BYTES), true);
  access.view(directory, 8).setBigUint64(0, BigInt(list), true);
  return directory;
}

/** `given`: fields that make these matter. */
function translationTrials(fixture: Fixture, kindMax: MrKind, given: Record<string, number> = {}): Trials {
  const directory = indirectList(fixture);
  const indirect = { ...given, indirect: 1, pageListAddress: directory };
  return {
    kind: [refused(BAD_FIELD, [7, 255], { limit: kindMax, given })],
    startAddress: [
      taken('any address that leaves room for the length', { values: [IN_PAGE, 2 ** 40 + IN_PAGE], given }),
      refused(BAD_FIELD, [2n ** 53n, 2n ** 64n - 1n], { limit: Number.MAX_SAFE_INTEGER - ROOM, given }),
    ],
    length: [refused(BAD_FIELD, [0, ROOM + 1, 2n ** 63n, 2n ** 64n - 1n], { limit: ROOM, given })],
    pageListAddress: [
      refused(BAD_ADDRESS, [NOWHERE, fixture.pageList + 4, fixture.crookedList], { given }),
      refused(BAD_ADDRESS, [NOWHERE, directory + 4, fixture.crookedList + 8], { given: indirect }),
    ],
    indirect: [taken('the list itself, or a list of its pages', { given: { ...given, pageListAddress: directory } })],
    pageCount: [
      refused(BAD_FIELD, [0, PAGES_MAX + 1, 0xffffffff], { limit: PAGES_MAX, given }),
      refused(BAD_FIELD, [0, FAST_PAGES_MAX + 1], { limit: FAST_PAGES_MAX, given: { ...given, kind: MrKind.FAST } }),
    ],
    pageShift: [refused(BAD_FIELD, [0, 11, 32, 255], { limit: 31, given })],
  };
}

function regionToModify(fixture: Fixture): Request {
  const objectNumber = fixture.adapterFixture.region.number;
  const translation = { ...pagedRegion(fixture), attributeMask: MrMask.TRANSLATION | MrMask.ACCESS };
  return {
    header: { objectNumber },
    payload: { ...pagedRegion(fixture), attributeMask: MrMask.ACCESS },
    headerTrials: objectTrials(objectNumber),
    payloadTrials: {
      ...translationTrials(fixture, MrKind.FAST, translation),
      ...noDeviceMemory,
      ...accessTrials,
      ...answered,
      pd: [refused(BAD_OBJECT, [0, NO_OBJECT], { given: { attributeMask: MrMask.PD | MrMask.ACCESS } })],
      attributeMask: [refused(BAD_FIELD, [8, 0x80000000, 0xffffffff], { limit: ALL_MR_MASK })],
      keyByte: [ignored('the keys of a region stay')],
    },
  };
}

export const memoryCases: readonly CommandCase[] = [
  {
    opcode: ManagementOpcode.CREATE_PD,
    table: protectionDomainAttributes,
    build: () => ({ payloadTrials: { token: [ignored('that of the header is taken')], ...queryOnly('references') } }),
  },
  {
    opcode: ManagementOpcode.MODIFY_PD,
    table: protectionDomainAttributes,
    build: ({ adapterFixture }) => ({
      header: { objectNumber: adapterFixture.pd },
      headerTrials: objectTrials(adapterFixture.pd),
      payloadTrials: { token: [taken('opaque')], ...queryOnly('references') },
    }),
  },
  objectCommand(ManagementOpcode.QUERY_PD, ({ adapterFixture }) => adapterFixture.pd),
  objectCommand(ManagementOpcode.DESTROY_PD, (fixture) => {
    return fixture.watch(ManagementOpcode.QUERY_PD, fixture.driver.createProtectionDomain());
  }),
  {
    opcode: ManagementOpcode.CREATE_MR,
    table: memoryRegionAttributes,
    build: (fixture) => ({
      payload: pagedRegion(fixture),
      payloadTrials: {
        ...translationTrials(fixture, MrKind.DEVICE),
        ...noDeviceMemory,
        ...accessTrials,
        ...answered,
        pd: [refused(BAD_OBJECT, [0, NO_OBJECT, 0xffffff])],
        keyByte: [taken('any byte is a good key')],
        attributeMask: [ignored('only to modify')],
      },
    }),
  },
  { opcode: ManagementOpcode.MODIFY_MR, table: memoryRegionAttributes, build: regionToModify },
  {
    opcode: ManagementOpcode.CREATE_MR,
    situation: 'on demand',
    table: memoryRegionAttributes,
    build: (fixture) => {
      const room = 2 ** 40;
      return {
        payload: { ...pagedRegion(fixture), access: ON_DEMAND, length: room },
        payloadTrials: {
          kind: [refused(BAD_FIELD, [MrKind.PHYSICAL, MrKind.FAST], { limit: MrKind.PAGED })],
          startAddress: [refused(BAD_FIELD, [2n ** 53n], { limit: Number.MAX_SAFE_INTEGER - room })],
          length: [refused(BAD_FIELD, [0, 2n ** 63n], { limit: Number.MAX_SAFE_INTEGER })],
          pageShift: [refused(BAD_FIELD, [0, 11, 32, 255], { limit: 31 })],
          ...each(['pageListAddress', 'pageCount', 'indirect'], ignored('the region begins without pages')),
          ...noDeviceMemory,
        },
      };
    },
  },
  {
    opcode: ManagementOpcode.RESOLVE_PAGES,
    table: pageRange,
    build: (fixture) => {
      const objectNumber = createOnDemand(fixture);
      return {
        header: { objectNumber },
        payload: { address: 4 * PAGE_BYTES, length: PAGES * PAGE_BYTES, pageListAddress: presentList(fixture) },
        headerTrials: objectTrials(objectNumber),
        payloadTrials: {
          ...rangeTrials(4096),
          pageListAddress: [refused(BAD_ADDRESS, [NOWHERE, fixture.pageList + 4, fixture.crookedList])],
          refuse: [taken('faults are refused, or pages come')],
        },
      };
    },
  },
  {
    opcode: ManagementOpcode.INVALIDATE_PAGES,
    table: pageRange,
    build: (fixture) => {
      const objectNumber = createOnDemand(fixture);
      return {
        header: { objectNumber },
        payload: { address: 4 * PAGE_BYTES, length: PAGES * PAGE_BYTES },
        headerTrials: objectTrials(objectNumber),
        payloadTrials: {
          ...rangeTrials(ON_DEMAND_PAGES),
          ...each(['pageListAddress', 'refuse'], ignored('only to make pages present')),
        },
      };
    },
  },
  objectCommand(ManagementOpcode.QUERY_MR, ({ adapterFixture }) => adapterFixture.region.number),
  objectCommand(ManagementOpcode.DESTROY_MR, (fixture) => {
    const { number } = fixture.driver.createDmaRegion(fixture.adapterFixture.pd);
    return fixture.watch(ManagementOpcode.QUERY_MR, number);
  }),
  {
    opcode: ManagementOpcode.CREATE_MW,
    table: memoryWindowAttributes,
    build: ({ adapterFixture }) => ({
      payload: { pd: adapterFixture.pd, kind: MwKind.TYPE_1 },
      payloadTrials: {
        pd: [refused(BAD_OBJECT, [0, NO_OBJECT, 0xffffff])],
        kind: [refused(BAD_FIELD, [0, 3, 255], { limit: MwKind.TYPE_2 })],
        rkey: [ignored('only in the answer')],
        ...queryOnly('startAddress', 'length', 'access', 'region', 'qpn'),
      },
    }),
  },
  objectCommand(ManagementOpcode.QUERY_MW, createWindow),
  objectCommand(ManagementOpcode.DESTROY_MW, createWindow),
];

const ON_DEMAND = AccessFlag.LOCAL_WRITE | AccessFlag.ON_DEMAND;
const ON_DEMAND_PAGES = 1 << 20;

function createOnDemand(fixture: Fixture): number {
  const { number } = fixture.driver.createMemoryRegion({
    ...pagedRegion(fixture),
    access: ON_DEMAND,
    startAddress: 0,
    length: ON_DEMAND_PAGES * PAGE_BYTES,
  });
  return fixture.watch(ManagementOpcode.QUERY_MR, number);
}

/** Address of a list of present pages. */
function presentList({ adapterFixture, memory }: Fixture): number {
  const list = adapterFixture.driver.allocator.allocate(PAGES * 8);
  const view = adapterFixture.access.view(list, PAGES * 8);
  for (let page = 0; page < PAGES; page++)
    view.setBigUint64(page * 8, BigInt(memory + page * PAGE_BYTES + PageFlag.PRESENT), true);
  return list;
}

/** `pagesMax`: pages of one command. The range begins at the fifth page. */
function rangeTrials(pagesMax: number): Trials {
  const last = (ON_DEMAND_PAGES - 1) * PAGE_BYTES;
  const longest = Math.min(pagesMax, ON_DEMAND_PAGES - 4) * PAGE_BYTES;
  return {
    address: [refused(BAD_FIELD, [1, PAGE_BYTES / 2, last + PAGE_BYTES, 2n ** 63n], { limit: last })],
    length: [refused(BAD_FIELD, [0, 1, longest + 1, longest + PAGE_BYTES, 2n ** 63n], { limit: longest })],
  };
}

function createWindow(fixture: Fixture): number {
  const { number } = fixture.driver.createMemoryWindow(fixture.adapterFixture.pd, MwKind.TYPE_2);
  return fixture.watch(ManagementOpcode.QUERY_MW, number);
}
