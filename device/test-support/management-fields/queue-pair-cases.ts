// SPDX-License-Identifier: Apache-2.0
/**
 * Cases of the commands of queue pairs (IBTA 11.2.5). Modify QP has a case for each state in which
 * it takes other fields.
 */
import {
  ManagementOpcode,
  ManagementStatus,
  QpMask,
  QpState,
  ServiceType,
} from '../../../protocol/layout/gen/values.gen.ts';
import { queuePairAttributes, queuePairCreation } from '../../../protocol/layout/management.ts';
import { addressHandle } from '../../../protocol/layout/send-command.ts';
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

const { BAD_ADDRESS, BAD_FIELD, BAD_OBJECT, BAD_STATE, IN_USE, UNSUPPORTED } = ManagementStatus;
const READS_MAX = 16;
const CONNECTION = { port: 1, dlid: 2, remoteQpn: 5 };

function sendQueueTrials({ memory, pageList, crookedList }: Fixture): Trials {
  const paged = { sendPaged: 1, sendPageShift: 12, sendQueueAddress: pageList };
  return {
    sendQueueAddress: [
      refused(BAD_ADDRESS, [memory + 32, memory + 1]),
      refused(BAD_ADDRESS, [NOWHERE, pageList + 4, crookedList], { given: paged }),
    ],
    sendPaged: [taken('one piece or a list of pages', { given: paged })],
    sendPageShift: [
      taken('matters only with a list of pages'),
      refused(BAD_FIELD, [0, 11, 32, 255], { limit: 31, given: paged }),
    ],
    sendEntriesLog2: [refused(BAD_FIELD, [16, 255], { limit: 15 })],
    sendStrideLog2: [refused(BAD_FIELD, [0, 5, 10, 255], { limit: 9 })],
    sendCq: [refused(BAD_OBJECT, [0, NO_OBJECT, 0xffffff])],
  };
}

function receiveQueueTrials({ memory, pageList, crookedList }: Fixture): Trials {
  const paged = { receivePaged: 1, receivePageShift: 12, receiveQueueAddress: pageList };
  return {
    receiveQueueAddress: [
      refused(BAD_ADDRESS, [memory + 8, memory + 1]),
      refused(BAD_ADDRESS, [NOWHERE, pageList + 4, crookedList], { given: paged }),
    ],
    receivePaged: [taken('one piece or a list of pages', { given: paged })],
    receivePageShift: [
      taken('matters only with a list of pages'),
      refused(BAD_FIELD, [0, 11, 32, 255], { limit: 31, given: paged }),
    ],
    receiveEntriesLog2: [refused(BAD_FIELD, [16, 255], { limit: 15 })],
    receiveStrideLog2: [refused(BAD_FIELD, [0, 4, 10, 255], { limit: 9 })],
    receiveCq: [refused(BAD_OBJECT, [0, NO_OBJECT, 0xffffff])],
  };
}

export function toCreate(fixture: Fixture): Request {
  return {
    payload: {
      pd: fixture.adapterFixture.pd,
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
    },
    payloadTrials: {
      ...sendQueueTrials(fixture),
      ...receiveQueueTrials(fixture),
      pd: [refused(BAD_OBJECT, [0, NO_OBJECT, 0xffffff])],
      serviceType: [refused(BAD_FIELD, [2, 8, 255])],
      specialPort: [refused(BAD_FIELD, [1, 2, 3])],
      specialPortHigh: [refused(BAD_FIELD, [1])],
      collectContext: [refused(BAD_OBJECT, [5, NO_OBJECT, 0xffffff])],
      srqn: [refused(BAD_OBJECT, [5, NO_OBJECT, 0xffffff])],
      recordAddress: [refused(BAD_ADDRESS, [fixture.record + 4, fixture.record + 8])],
      descriptorAddress: [refused(BAD_ADDRESS, [fixture.descriptor + 8, NOWHERE])],
      ...each(['signalAll', 'checksumOff', 'qosLevel', 'blockMulticastLoopback', 'userQueue'], taken('either')),
      ...each(['checksumKey', 'process'], taken('opaque')),
      xrcDomain: [refused(BAD_FIELD, [1, NO_OBJECT, 0xffffff])],
      ...queryOnly('token'),
    },
  };
}

/** A QP that receives from elsewhere takes whatever the fields of a receive queue hold. */
export function noReceiveQueue(why: string): Trials {
  const paged = { receivePaged: 1, receivePageShift: 0, receiveQueueAddress: 1 };
  return {
    ...each(['receiveEntriesLog2', 'receiveStrideLog2'], taken(why, { given: paged })),
    ...each(['receiveQueueAddress', 'receivePageShift'], taken(why, { given: { receivePaged: 1 } })),
    receivePaged: [taken(why)],
  };
}

function toCreateWithSharedQueue(fixture: Fixture): Request {
  const { srqn } = fixture.driver.createSharedReceiveQueue({ pd: fixture.adapterFixture.pd });
  const { payload } = toCreate(fixture);
  return { payload: { ...payload, srqn }, payloadTrials: noReceiveQueue('it receives from its SRQ') };
}

/** QP1 of port 2; that of port 1 is there. */
function toCreateSpecial(fixture: Fixture): Request {
  const creation = { serviceType: ServiceType.GSI, specialPort: 1 };
  fixture.createQueuePair({ state: 'reset', creation });
  const { payload } = toCreate(fixture);
  return {
    payload: { ...payload, serviceType: ServiceType.GSI, specialPort: 2 },
    payloadTrials: {
      specialPort: [refused(BAD_FIELD, [0, 3], { limit: 2 }), refused(IN_USE, [1])],
      specialPortHigh: [refused(BAD_FIELD, [1], { limit: 2 })],
    },
  };
}

/** A modification of the QP, with the trials of some fields. */
function toModify(objectNumber: number, payload: Fields, payloadTrials: Trials): Request {
  return { header: { objectNumber }, payload, headerTrials: objectTrials(objectNumber), payloadTrials };
}

function datagramInInit(fixture: Fixture): Request {
  const { qpn } = fixture.createQueuePair({ state: 'init' });
  const mask = QpMask.PKEY_INDEX | QpMask.PORT | QpMask.QKEY;
  const valid = { attributeMask: mask, state: QpState.INIT, pkeyIndex: 127, port: 2, qkey: 5 };
  const withState = { attributeMask: mask | QpMask.STATE };
  return toModify(qpn, valid, {
    attributeMask: [
      refused(BAD_FIELD, [mask | QpMask.RETRY_COUNT, mask | 0x80000000, 0x80000000], { limit: mask | QpMask.STATE }),
      refused(UNSUPPORTED, [QpMask.ALTERNATE_PATH, mask | QpMask.MIGRATION_STATE, 0xffffffff]),
    ],
    state: [
      ignored('without its bit in the mask'),
      refused(BAD_FIELD, [7, 15], { limit: QpState.ERR, given: withState }),
      refused(BAD_STATE, [QpState.RTS, QpState.SQD, QpState.SQE], { given: withState }),
    ],
    port: [refused(BAD_FIELD, [0, 3], { limit: 2 })],
    portHigh: [refused(BAD_FIELD, [1], { limit: 2 })],
    pkeyIndex: [refused(BAD_FIELD, [128, 0xffff], { limit: 127 })],
    qkey: [taken('opaque')],
    ...each(['alternatePort', 'migrationState'], ignored('the mask is refused that names it')),
  });
}

function datagramInRtr(fixture: Fixture): Request {
  const { qpn } = fixture.createQueuePair({ state: 'rtr' });
  const mask = QpMask.STATE | QpMask.CURRENT_STATE | QpMask.SEND_PSN;
  const valid = { attributeMask: mask, state: QpState.RTS, currentState: QpState.RTR };
  return toModify(qpn, valid, {
    state: [refused(BAD_STATE, [QpState.INIT, QpState.RTR, QpState.SQD, QpState.SQE])],
    currentState: [refused(BAD_STATE, [QpState.RESET, QpState.INIT, QpState.RTS, 7, 15])],
    attributeMask: [
      refused(BAD_FIELD, [QpMask.STATE, mask | QpMask.PORT], { limit: mask | QpMask.QKEY }),
      refused(BAD_STATE, [0, QpMask.QKEY]),
    ],
    sendPsn: [taken('any PSN')],
  });
}

function datagramInRts(fixture: Fixture): Request {
  const { qpn } = fixture.createQueuePair({});
  const valid = { attributeMask: QpMask.STATE | QpMask.SQD_NOTIFY, state: QpState.SQD };
  return toModify(qpn, valid, { enableSqdNotify: [taken('either')] });
}

const pathTrials: Trials = {
  'addressVector.port': [refused(BAD_FIELD, [0, 2, 3])],
  'addressVector.portHigh': [refused(BAD_FIELD, [1])],
  'addressVector.sourceGidIndex': [
    taken('without a global route it does not count'),
    refused(BAD_FIELD, [1, 127, 128], { given: { 'addressVector.globalRoute': 1 } }),
  ],
  'addressVector.globalRoute': [taken('entry 0 of the GID table is always there')],
  'addressVector.valid': [ignored('of address handles')],
  'addressVector.pd': [ignored('of address handles')],
  ...each(
    [
      'serviceLevel',
      'dlid',
      'sourcePathBits',
      'staticRate',
      'flowLabel',
      'trafficClass',
      'hopLimit',
      'destinationGid',
    ].map((name) => `addressVector.${name}`),
    taken('any value can be sent', { given: { 'addressVector.globalRoute': 1 } }),
  ),
};

function connectionInInit(fixture: Fixture): Request {
  const qp = fixture.createQueuePair({ state: 'reset', creation: { serviceType: ServiceType.RC } });
  qp.toConnectedInit({ ...CONNECTION, reliable: true });
  const mask =
    QpMask.STATE | QpMask.ADDRESS_VECTOR | QpMask.PATH_MTU | QpMask.REMOTE_QPN | QpMask.RECEIVE_PSN | QpMask.ACCESS;
  const valid = {
    attributeMask: mask | QpMask.MAX_READS_SERVED | QpMask.MIN_RNR_TIMER,
    state: QpState.RTR,
    pathMtu: 5,
    maxReadsServed: READS_MAX,
    'addressVector.port': 1,
    'addressVector.dlid': 2,
  };
  return toModify(qp.qpn, valid, {
    ...pathTrials,
    pathMtu: [refused(BAD_FIELD, [0, 6, 7], { limit: 5 })],
    maxReadsServed: [refused(BAD_FIELD, [READS_MAX + 1, 255], { limit: READS_MAX })],
    access: [taken('bits without a meaning grant nothing')],
    remoteQpn: [taken('the other end may be made later')],
    receivePsn: [taken('any PSN')],
    minRnrTimer: [taken('every code is a time')],
  });
}

function connectionInRtr(fixture: Fixture): Request {
  const qp = fixture.createQueuePair({ state: 'reset', creation: { serviceType: ServiceType.RC } });
  qp.toConnectedInit({ ...CONNECTION, reliable: true });
  qp.toConnectedReceive({ ...CONNECTION, reliable: true });
  const retries = QpMask.TIMEOUT | QpMask.RETRY_COUNT | QpMask.RNR_RETRY;
  const attributeMask = QpMask.STATE | QpMask.SEND_PSN | QpMask.MAX_READS_INITIATED | retries;
  const valid = { attributeMask, state: QpState.RTS, maxReadsInitiated: READS_MAX };
  return toModify(qp.qpn, valid, {
    maxReadsInitiated: [refused(BAD_FIELD, [READS_MAX + 1, 255], { limit: READS_MAX })],
    timeout: [taken('every code is a time')],
    ...each(['retryCount', 'rnrRetry'], taken('any number of times')),
  });
}

function queuePairInInit(fixture: Fixture): number {
  return fixture.createQueuePair({ state: 'init' }).qpn;
}

const modify = {
  opcode: ManagementOpcode.MODIFY_QP,
  table: queuePairAttributes,
  nested: { addressVector: addressHandle },
};

export const queuePairCases: readonly CommandCase[] = [
  { opcode: ManagementOpcode.CREATE_QP, table: queuePairCreation, build: toCreate },
  {
    opcode: ManagementOpcode.CREATE_QP,
    situation: 'with an SRQ',
    table: queuePairCreation,
    build: toCreateWithSharedQueue,
  },
  { opcode: ManagementOpcode.CREATE_QP, situation: 'QP1', table: queuePairCreation, build: toCreateSpecial },
  { ...modify, situation: 'UD in INIT', build: datagramInInit },
  { ...modify, situation: 'UD in RTR', build: datagramInRtr },
  { ...modify, situation: 'UD in RTS', build: datagramInRts },
  { ...modify, situation: 'RC in INIT', build: connectionInInit },
  { ...modify, situation: 'RC in RTR', build: connectionInRtr },
  objectCommand(ManagementOpcode.QUERY_QP, queuePairInInit),
  objectCommand(ManagementOpcode.DESTROY_QP, queuePairInInit),
];
