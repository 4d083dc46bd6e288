// SPDX-License-Identifier: Apache-2.0
/**
 * Cases of the commands about the adapter, its ports and GID tables (IBTA 11.2.1.2, 14.2.5.5) and
 * its resources (docs/PROGRAMMING.md, Resources).
 */
import { ManagementOpcode, ManagementStatus, ResourceKind } from '../../../protocol/layout/gen/values.gen.ts';
import { gidAttributes, resourceChange } from '../../../protocol/layout/management.ts';
import { type CommandCase, type Fields, type Request, refused, type Trial, taken } from './command-case.ts';
import type { Fixture } from './fixture.ts';

const { BAD_FIELD, BAD_OBJECT, NO_RESOURCES } = ManagementStatus;
const PORTS = 2;
const GID_ENTRIES = 128;
const LANES = 40;
const FUNCTIONS = 2;
const NO_LEVEL = 15;
const GID_BYTES = 16;

const port: readonly Trial[] = [refused(BAD_FIELD, [0, PORTS + 1, 0xffffffff], { limit: PORTS })];
const noObject: readonly Trial[] = [taken('about no object; the answer repeats it')];

function gid(...last: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(GID_BYTES);
  bytes.set(last, GID_BYTES - last.length);
  return bytes;
}

function multicastGid(): Uint8Array {
  const bytes = gid(7);
  bytes[0] = 0xff;
  return bytes;
}

function gidToModify(fixture: Fixture): Request {
  const entries = [1, 6, GID_ENTRIES - 1].map((entry) => fixture.watch(ManagementOpcode.QUERY_GID, entry, 1));
  return {
    header: { objectNumber: entries[1] as number, modifier: 1 },
    payload: { gid: gid(0xfe, 0x80, 5) },
    headerTrials: {
      objectNumber: [refused(BAD_OBJECT, [0, GID_ENTRIES, 0xffffff], { limit: GID_ENTRIES - 1 })],
      modifier: port,
    },
    payloadTrials: {
      gid: [
        taken('a unicast GID, or zero to empty the entry', { values: [gid(), gid(2)] }),
        refused(BAD_FIELD, [gid(1), multicastGid(), portGid(fixture)]),
      ],
    },
  };
}

/** The GID that stands in entry 0 of port 1. */
function portGid({ driver }: Fixture): Uint8Array {
  const { payload } = driver.management.perform({ opcode: ManagementOpcode.QUERY_GID, modifier: 1 });
  return new Uint8Array(payload.buffer).slice(0, GID_BYTES);
}

function resourcesToRequest(fixture: Fixture): Request {
  for (const number of [0, 1]) fixture.watch(ManagementOpcode.QUERY_RESOURCES, number);
  fixture.watch(ManagementOpcode.QUERY_LANE, 0);
  const [lane, map] = [{ resource: ResourceKind.TVL_WEIGHT }, { resource: ResourceKind.TVL_MAP }];
  const ownLevel = { target: 0, qosLevel: 0 };
  return {
    header: { modifier: 2 },
    payload: { resource: ResourceKind.PCBS, qosLevel: NO_LEVEL, target: 1, amount: 1 },
    headerTrials: {
      objectNumber: noObject,
      modifier: [refused(BAD_FIELD, [0, 33, 0xffffffff], { limit: 32 })],
    },
    payloadTrials: {
      resource: [refused(BAD_FIELD, [0, 6, 15, 25, 31, 36, 47, 57, 255], { limit: ResourceKind.TVL_TABLE_ENTRY })],
      qosLevel: [
        refused(BAD_FIELD, [2, 14], { limit: 1, given: ownLevel }),
        refused(BAD_FIELD, [0, 1], { limit: NO_LEVEL, given: { ...lane, target: 0 } }),
      ],
      word: [refused(BAD_FIELD, [1, 15]), refused(BAD_FIELD, [2, 15], { limit: 1, given: { ...map, amount: 0 } })],
      target: [
        refused(BAD_OBJECT, [FUNCTIONS, 0xffff], { limit: FUNCTIONS - 1 }),
        refused(BAD_OBJECT, [LANES, 0xffff], { limit: LANES - 1, given: lane }),
      ],
      amount: amountTrials(lane, map),
    },
  };
}

/**
 * The limits are those of the fixture's adapter with two functions, the second one with one PCB.
 */
function amountTrials(lane: Fields, map: Fields): readonly Trial[] {
  const of = (resource: number): Fields => ({ resource, target: 3 });
  return [
    refused(NO_RESOURCES, [7, 0xffffffff], { limit: 6 }),
    refused(BAD_FIELD, [9, 0xffffffff], { limit: 8, given: { resource: ResourceKind.VCBS } }),
    refused(BAD_FIELD, [0, 256, 0xffffffff], { limit: 255, given: lane }),
    refused(BAD_FIELD, [4, 0xffffffff], { limit: 3, given: of(ResourceKind.TVL_SHARED_CREDITS) }),
    refused(BAD_FIELD, [0x100, 0xffffffff], { limit: 0xff, given: { ...map, word: 1 } }),
  ];
}

/** A query of nothing but its modifier or object number. */
function query(opcode: ManagementOpcode, request: Request, functions = 1): CommandCase {
  return { opcode, functions, build: () => request };
}

export const resourceCases: readonly CommandCase[] = [
  query(ManagementOpcode.QUERY_ADAPTER, { headerTrials: { objectNumber: noObject } }),
  query(ManagementOpcode.QUERY_PORT, {
    header: { modifier: PORTS },
    headerTrials: { objectNumber: noObject, modifier: port },
  }),
  query(ManagementOpcode.QUERY_GID, {
    header: { modifier: 1, objectNumber: 0 },
    headerTrials: {
      objectNumber: [refused(BAD_OBJECT, [GID_ENTRIES, 0xffffff], { limit: GID_ENTRIES - 1 })],
      modifier: port,
    },
  }),
  query(ManagementOpcode.QUERY_PKEYS, {
    header: { modifier: 1, objectNumber: 3 },
    headerTrials: { objectNumber: [refused(BAD_OBJECT, [4, 0xffffff], { limit: 3 })], modifier: port },
  }),
  query(ManagementOpcode.QUERY_GIDS, {
    header: { modifier: 1, objectNumber: 15 },
    headerTrials: { objectNumber: [refused(BAD_OBJECT, [16, 0xffffff], { limit: 15 })], modifier: port },
  }),
  { opcode: ManagementOpcode.MODIFY_GID, table: gidAttributes, build: gidToModify },
  {
    opcode: ManagementOpcode.REQUEST_RESOURCES,
    table: resourceChange,
    copies: 2,
    functions: FUNCTIONS,
    build: resourcesToRequest,
  },
  query(
    ManagementOpcode.QUERY_RESOURCES,
    {
      header: { objectNumber: 1 },
      headerTrials: { objectNumber: [refused(BAD_OBJECT, [FUNCTIONS, 0xffffff], { limit: FUNCTIONS - 1 })] },
    },
    FUNCTIONS,
  ),
  query(ManagementOpcode.QUERY_LANE, {
    header: { objectNumber: LANES - 1 },
    headerTrials: { objectNumber: [refused(BAD_OBJECT, [LANES, 0xffffff], { limit: LANES - 1 })] },
  }),
];
