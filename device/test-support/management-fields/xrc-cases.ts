// SPDX-License-Identifier: Apache-2.0
/** Cases of XRC domains, and of SRQs and QPs that belong to XRC (IBTA annex A14). */
import { ManagementOpcode, ManagementStatus, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import { queuePairCreation, sharedReceiveQueueAttributes } from '../../../protocol/layout/management.ts';
import { createXrcDomain } from '../../hosts/in-process/driver/xrc.ts';
import { type CommandCase, each, type Request, refused, taken } from './command-case.ts';
import { type Fixture, NO_OBJECT } from './fixture.ts';
import { objectCommand } from './memory-cases.ts';
import { noReceiveQueue, toCreate } from './queue-pair-cases.ts';

const { BAD_FIELD, BAD_OBJECT } = ManagementStatus;

function queueToCreate(fixture: Fixture): Request {
  return {
    payload: {
      pd: fixture.adapterFixture.pd,
      queueAddress: fixture.memory,
      recordAddress: fixture.record,
      entriesLog2: 4,
      strideLog2: 9,
      xrcDomain: createXrcDomain(fixture.driver),
      completionQueue: fixture.cqn,
    },
    payloadTrials: {
      xrcDomain: [refused(BAD_OBJECT, [NO_OBJECT, 0xffffff])],
      completionQueue: [refused(BAD_OBJECT, [0, NO_OBJECT, 0xffffff])],
    },
  };
}

function initiatorToCreate(fixture: Fixture): Request {
  const { payload } = toCreate(fixture);
  return {
    payload: { ...payload, serviceType: ServiceType.XRC_INITIATOR, receiveCq: 0 },
    payloadTrials: {
      ...noReceiveQueue('it does not receive'),
      receiveCq: [refused(BAD_FIELD, [fixture.cqn, NO_OBJECT])],
      srqn: [refused(BAD_FIELD, [1, NO_OBJECT])],
      xrcDomain: [refused(BAD_FIELD, [1, NO_OBJECT])],
      specialPort: [refused(BAD_FIELD, [1])],
    },
  };
}

function targetToCreate(fixture: Fixture): Request {
  const domain = createXrcDomain(fixture.driver);
  return {
    payload: { serviceType: ServiceType.XRC_TARGET, xrcDomain: domain },
    payloadTrials: {
      xrcDomain: [refused(BAD_OBJECT, [0, NO_OBJECT, 0xffffff])],
      pd: [refused(BAD_FIELD, [fixture.adapterFixture.pd])],
      ...each(['sendCq', 'receiveCq'], refused(BAD_FIELD, [fixture.cqn])),
      ...each(['srqn', 'collectContext'], refused(BAD_FIELD, [1, NO_OBJECT])),
      specialPort: [refused(BAD_FIELD, [1])],
      ...noReceiveQueue('it has no receive queue'),
      ...each(
        ['sendQueueAddress', 'sendPaged', 'sendPageShift', 'sendEntriesLog2', 'sendStrideLog2'],
        taken('it has no send queue'),
      ),
      ...each(['recordAddress', 'descriptorAddress'], taken('it has no queue')),
    },
  };
}

export const xrcCases: readonly CommandCase[] = [
  { opcode: ManagementOpcode.CREATE_XRC_DOMAIN, build: () => ({}) },
  objectCommand(ManagementOpcode.DESTROY_XRC_DOMAIN, ({ driver }) => createXrcDomain(driver)),
  { opcode: ManagementOpcode.CREATE_SRQ, situation: 'XRC', table: sharedReceiveQueueAttributes, build: queueToCreate },
  {
    opcode: ManagementOpcode.CREATE_QP,
    situation: 'XRC initiator',
    table: queuePairCreation,
    build: initiatorToCreate,
  },
  { opcode: ManagementOpcode.CREATE_QP, situation: 'XRC target', table: queuePairCreation, build: targetToCreate },
];
