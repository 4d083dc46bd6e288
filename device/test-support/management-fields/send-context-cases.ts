// SPDX-License-Identifier: Apache-2.0
/**
 * Cases of the commands of send contexts (docs/PROGRAMMING.md, Send contexts). Some fields can be
 * modified only while the context is disabled.
 */
import { ManagementOpcode, ManagementStatus, SendContextMask } from '../../../protocol/layout/gen/values.gen.ts';
import { sendContextAttributes } from '../../../protocol/layout/management.ts';
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
import { type Fixture, NOWHERE } from './fixture.ts';

const { BAD_ADDRESS, BAD_FIELD, BAD_OBJECT, BAD_STATE } = ManagementStatus;
const BLOCKS = 32;
const ALL_MASK = Object.values(SendContextMask).reduce((all, bit) => all | bit, 0);
const RUNNING_MASK = ALL_MASK & ~(SendContextMask.CREDIT_ADDRESS | SendContextMask.PORT);

const contextQueries = queryOnly(
  ...['state', 'haltCause', 'freeCounter', 'returnedCounter', 'packetsSent', 'packetsDropped'],
  ...['writesDropped', 'creditReturns', 'packetsWaiting'],
);

/** `given`: fields that make these matter. */
function contextTrials({ memory }: Fixture, given: Fields = {}): Trials {
  return {
    virtualLanes: [refused(BAD_FIELD, [0], { given })],
    port: [refused(BAD_FIELD, [0, 3, 255], { limit: 2, given })],
    ...each(['creditInterrupt', 'checkPkey'], taken('either', { given })),
    pkey: [taken('any P_Key', { given })],
    creditAddress: [refused(BAD_ADDRESS, [memory + 8, memory + 1, NOWHERE], { given })],
    threshold: [refused(BAD_FIELD, [BLOCKS + 1, 0xffff], { limit: BLOCKS, given })],
    vector: [refused(BAD_FIELD, [64, 0xffff], { limit: 63, given })],
    ...contextQueries,
  };
}

function validContext({ memory }: Fixture): Fields {
  return { blocks: BLOCKS, port: 1, virtualLanes: 1, threshold: BLOCKS / 2, creditAddress: memory, vector: 30 };
}

function contextToCreate(fixture: Fixture): Request {
  return {
    payload: validContext(fixture),
    payloadTrials: {
      ...contextTrials(fixture),
      blocks: [refused(BAD_FIELD, [0, 1, 1025, 0xffff], { limit: 1024, given: { threshold: 0 } })],
      attributeMask: [ignored('only to modify')],
    },
  };
}

const contextNumber: Trials = { objectNumber: [refused(BAD_OBJECT, [1, 160, 0xffffff])] };

function contextToModify(fixture: Fixture): Request {
  return {
    header: { objectNumber: createContext(fixture) },
    payload: { ...validContext(fixture), attributeMask: SendContextMask.VIRTUAL_LANES },
    headerTrials: contextNumber,
    payloadTrials: {
      ...contextTrials(fixture, { attributeMask: ALL_MASK }),
      blocks: [ignored('the blocks stay')],
      attributeMask: [refused(BAD_FIELD, [0x40, 0x80000001, 0xffffffff], { limit: ALL_MASK })],
    },
  };
}

function runningContextToModify(fixture: Fixture): Request {
  const context = fixture.driver.createSendContext({ blocks: BLOCKS });
  context.enable();
  return {
    header: { objectNumber: fixture.watch(ManagementOpcode.QUERY_SEND_CONTEXT, context.number) },
    payload: { ...validContext(fixture), attributeMask: SendContextMask.VIRTUAL_LANES },
    headerTrials: contextNumber,
    payloadTrials: {
      attributeMask: [
        refused(BAD_STATE, [SendContextMask.PORT, SendContextMask.CREDIT_ADDRESS, ALL_MASK], { limit: RUNNING_MASK }),
      ],
    },
  };
}

function createContext(fixture: Fixture): number {
  const { number } = fixture.driver.createSendContext({ blocks: BLOCKS });
  return fixture.watch(ManagementOpcode.QUERY_SEND_CONTEXT, number);
}

/** A command about a send context; their numbers start at 0. */
function contextCommand(opcode: ManagementOpcode): CommandCase {
  return {
    opcode,
    build: (fixture) => ({ header: { objectNumber: createContext(fixture) }, headerTrials: contextNumber }),
  };
}

const modify = { opcode: ManagementOpcode.MODIFY_SEND_CONTEXT, table: sendContextAttributes };

export const sendContextCases: readonly CommandCase[] = [
  { opcode: ManagementOpcode.CREATE_SEND_CONTEXT, table: sendContextAttributes, build: contextToCreate },
  { ...modify, build: contextToModify },
  { ...modify, situation: 'enabled', build: runningContextToModify },
  contextCommand(ManagementOpcode.QUERY_SEND_CONTEXT),
  contextCommand(ManagementOpcode.DESTROY_SEND_CONTEXT),
];
