// SPDX-License-Identifier: Apache-2.0
/**
 * Cases of the commands with which software changes ports and node, and gives datagrams to the
 * agents (IBTA 11.2.1.3, 13.4).
 */
import { ManagementOpcode, ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import { adapterChanges, madRequest, portChanges } from '../../../protocol/layout/management.ts';
import { type CommandCase, each, queryOnly, type Request, refused, type Trial, taken } from './command-case.ts';
import { type Fixture, NOWHERE } from './fixture.ts';

const { BAD_ADDRESS, BAD_FIELD } = ManagementStatus;
const PORTS = 2;
/** IsSM, and the bits of communication, SNMP, device and vendor management. */
const SOFTWARE_BITS = 0x001b0002;
const NOTICE_BIT = 4;
const MAD_BYTES = 256;
/** Get of the node information, by LID. */
const GET_NODE_INFO = [1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0x11];

const headerTrials = {
  objectNumber: [taken('about no object; the answer repeats it')],
  modifier: [refused(BAD_FIELD, [0, PORTS + 1, 0xffffffff], { limit: PORTS })],
};
const bits: readonly Trial[] = [
  refused(BAD_FIELD, [1, NOTICE_BIT, 0x80000002, 0xffffffff], { limit: SOFTWARE_BITS }),
  taken('what software may offer', { values: [0, 2, SOFTWARE_BITS] }),
];

function portToModify(fixture: Fixture): Request {
  fixture.watch(ManagementOpcode.QUERY_PORT, 0, 1);
  return {
    header: { modifier: 1 },
    payload: { capabilitiesSet: 0x10000 },
    headerTrials,
    payloadTrials: { capabilitiesSet: bits, capabilitiesClear: bits, resetQkeyCounter: [taken('either')] },
  };
}

function madToExecute(fixture: Fixture): Request {
  const { access } = fixture.adapterFixture;
  const view = access.view(fixture.memory, MAD_BYTES);
  GET_NODE_INFO.forEach((byte, at) => {
    view.setUint8(at, byte);
  });
  return {
    header: { modifier: 1 },
    payload: { bufferAddress: fixture.memory, hasSource: 1, sourceLid: 2 },
    headerTrials,
    payloadTrials: {
      bufferAddress: [refused(BAD_ADDRESS, [fixture.memory + 4, NOWHERE, 2 ** 50])],
      ...each(['sourceLid', 'serviceLevel', 'sourceQpn'], taken('any requester')),
      ...each(['hasSource', 'ignoreMkey'], taken('either')),
      ...queryOnly('result'),
    },
  };
}

export const portCases: readonly CommandCase[] = [
  {
    opcode: ManagementOpcode.MODIFY_ADAPTER,
    table: adapterChanges,
    build: () => ({
      headerTrials: { objectNumber: headerTrials.objectNumber },
      payloadTrials: { nodeDescription: [taken('any text')] },
    }),
  },
  { opcode: ManagementOpcode.MODIFY_PORT, table: portChanges, build: portToModify },
  { opcode: ManagementOpcode.EXECUTE_MAD, table: madRequest, build: madToExecute },
];
