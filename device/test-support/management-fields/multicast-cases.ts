// SPDX-License-Identifier: Apache-2.0
/** Cases of the commands of multicast groups (IBTA 10.5.2, 11.3). The object is the queue pair. */
import { ManagementOpcode, ManagementStatus, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import { multicastAttributes } from '../../../protocol/layout/management.ts';
import { type CommandCase, type Fields, queryOnly, type Request, refused, type Trials, taken } from './command-case.ts';
import { type Fixture, NO_OBJECT } from './fixture.ts';

const { BAD_FIELD, BAD_OBJECT, BAD_STATE, UNSUPPORTED } = ManagementStatus;
const LAST_LID = 0xfffe;
const GROUP: Fields = { mgid: mgidOf(1), mlid: 0xc001 };
const GID_BYTES = 16;

function mgidOf(last: number): Uint8Array {
  const mgid = new Uint8Array(16);
  mgid.set([0xff, 0x12, 0x40, 0x1b, 0xff, 0xff]);
  mgid[15] = last;
  return mgid;
}

function unicastGid(): Uint8Array {
  return new Uint8Array(GID_BYTES).fill(0xfe);
}

/** A datagram QP that is attached to `groups` groups, and trials of the object number. */
function memberOf(fixture: Fixture, groups: number): { readonly qpn: number; readonly objectNumber: Trials } {
  const { qpn } = fixture.createQueuePair({ state: 'init' });
  fixture.watch(ManagementOpcode.QUERY_MULTICAST, qpn);
  const { management } = fixture.driver;
  for (let group = 0; group < groups; group++) {
    const payload = new Uint8Array(multicastAttributes.sizeBytes);
    payload.set(mgidOf(1 + group));
    payload.set([1, 0xc0], GID_BYTES);
    management.perform({ opcode: ManagementOpcode.ATTACH_MULTICAST, objectNumber: qpn, payload });
  }
  return { qpn, objectNumber: { objectNumber: [refused(BAD_OBJECT, [0, 1, NO_OBJECT, 0xffffff])] } };
}

function toAttach(fixture: Fixture): Request {
  const { qpn, objectNumber } = memberOf(fixture, 0);
  const connected = fixture.createQueuePair({ state: 'reset', creation: { serviceType: ServiceType.RC } }).qpn;
  return {
    header: { objectNumber: qpn },
    payload: GROUP,
    headerTrials: { objectNumber: [...(objectNumber.objectNumber ?? []), refused(UNSUPPORTED, [connected])] },
    payloadTrials: {
      mgid: [refused(BAD_FIELD, [unicastGid(), new Uint8Array(GID_BYTES)]), taken('any', { values: [mgidOf(9)] })],
      mlid: [
        refused(BAD_FIELD, [0, 1, 0xbfff, 0xffff], { limit: LAST_LID }),
        taken('any', { values: [0xc000, LAST_LID] }),
      ],
      ...queryOnly('groups'),
    },
  };
}

function toDetach(fixture: Fixture): Request {
  const { qpn, objectNumber } = memberOf(fixture, 1);
  return {
    header: { objectNumber: qpn },
    payload: GROUP,
    headerTrials: objectNumber,
    payloadTrials: {
      mgid: [refused(BAD_STATE, [mgidOf(2), unicastGid()])],
      mlid: [refused(BAD_STATE, [0, 0xc000, 0xffff])],
      ...queryOnly('groups'),
    },
  };
}

function toQuery(fixture: Fixture): Request {
  const { qpn, objectNumber } = memberOf(fixture, 2);
  return {
    header: { objectNumber: qpn, modifier: 1 },
    headerTrials: { ...objectNumber, modifier: [refused(BAD_FIELD, [2, 0xffffffff], { limit: 1 })] },
  };
}

export const multicastCases: readonly CommandCase[] = [
  { opcode: ManagementOpcode.ATTACH_MULTICAST, table: multicastAttributes, build: toAttach },
  { opcode: ManagementOpcode.QUERY_MULTICAST, build: toQuery },
  { opcode: ManagementOpcode.DETACH_MULTICAST, table: multicastAttributes, build: toDetach },
];
