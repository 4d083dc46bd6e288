// SPDX-License-Identifier: Apache-2.0
/**
 * Trials of the header fields that all management commands have in common. A case adds those of the
 * object number and of the modifier where the command uses them.
 */
import { COMMAND_HEADER_BYTES, COMMAND_MAX_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { FaultKind, ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import { ignored, refused, type Trial, type Trials, taken, unanswered } from './command-case.ts';
import { type Fixture, isCommandLength, NO_OBJECT, NOWHERE } from './fixture.ts';

const VERB_MASK = 0x0f;
const CREATE = 0;

/** `lengthBytes`: of the command as it should be. */
export function headerTrials(fixture: Fixture, opcode: number, lengthBytes: number): Trials {
  const creates = (opcode & VERB_MASK) === CREATE;
  const { responseAddress } = fixture.driver.management;
  const lengths = [COMMAND_HEADER_BYTES, lengthBytes - 8, lengthBytes + 8, COMMAND_MAX_BYTES];
  const wrongLengths = [...new Set(lengths)].filter((length) => length !== lengthBytes && isCommandLength(length));
  const noQueue = 'an event queue that is not there is not notified';
  return {
    opcode: [refused(ManagementStatus.BAD_OPCODE, [0x00, 0x0f, 0xff])],
    sequence: [taken('repeated in the answer')],
    collectLength: [
      refused(ManagementStatus.BAD_LENGTH, wrongLengths, { limit: lengthBytes }),
      unanswered(FaultKind.COLLECT_BAD_LENGTH, [0, 56, lengthBytes + 4, 328, 511]),
    ],
    notify: [taken(noQueue)],
    management: [unanswered(FaultKind.MANAGEMENT_RESPONSE, [0])],
    eventQueue: [ignored('without notify'), taken(noQueue, { given: { notify: 1 } })],
    modifier: [ignored('selects nothing further')],
    responseAddress: [
      unanswered(FaultKind.MANAGEMENT_RESPONSE, [responseAddress + 1, responseAddress + 4]),
      unanswered(FaultKind.MANAGEMENT_RESPONSE, [NOWHERE], true),
    ],
    token: [creates ? taken('opaque') : ignored('only of a creation')],
    checksum: [unanswered(FaultKind.MANAGEMENT_RESPONSE, [0, 0xffffffff])],
    ...(creates && { objectNumber: [ignored('given by the device')] }),
  };
}

/** The object number of a command about an object. */
export function objectTrials(number: number): Trials {
  const wrong = [0, number ^ 0x800000, number ^ 0x10000, 0xffffff, NO_OBJECT];
  return { objectNumber: [refused(ManagementStatus.BAD_OBJECT, wrong)] };
}

export const noObject: Trial = ignored('about no object');
