// SPDX-License-Identifier: Apache-2.0
/**
 * Plays one command on its own fixture: the valid request of a case with one field changed. The
 * request is built for this fixture, so a value is named by its place in the case.
 */
import type { ManagementResponse } from '../../../protocol/layout/gen/management-response.gen.ts';
import { ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import type { CommandCase, Request, Trial, Trials, Value } from './command-case.ts';
import { buildCommand, type Change, type CommandField, findField, lengthOf, type Part } from './command-fields.ts';
import { Fixture } from './fixture.ts';
import { headerTrials } from './header-trials.ts';

const VERB_MASK = 0x0f;
const CREATE = 0;
const QUERY = 2;
const RESERVED: Trial = { kind: 'ignored', why: 'reserved' };

/** The change of the valid request. */
export interface Alteration {
  readonly field: CommandField;
  /** Place of the trial among those of the field. */
  readonly trial: number;
  /**
   * Place of the value in the trial. Left out: only the fields that the trial has as given change.
   */
  readonly value?: number;
}

/** The outcome of a command. */
export interface Outcome {
  readonly response: ManagementResponse | undefined;
  /** The state that queries show. */
  readonly after: string;
  /** All of the answer, and what a query tells of the created object. */
  readonly answer: string;
  /** By how much the count of the trial's kind of fault grew. */
  readonly faults: number;
}

export function play(command: CommandCase, fields: readonly CommandField[], alteration?: Alteration): Outcome {
  const fixture = new Fixture(command.functions);
  const request = command.build(fixture);
  const trial = alteration && trialsOf(command, request, alteration.field, fixture)[alteration.trial];
  const countFaults = (): number => (trial?.kind === 'unanswered' ? fixture.adapterFixture.faults(trial.fault) : 0);
  const header = { responseAddress: fixture.driver.management.responseAddress, ...request.header };
  const changes = alteration && trial ? changesOf(fields, alteration, trial) : [];
  const faultsBefore = countFaults();
  const answer = fixture.submit(buildCommand(command, { ...request, header }, changes));
  const faults = countFaults() - faultsBefore;
  const after = fixture.describe();
  const created = answer && describeCreated(fixture, command.opcode, answer.response);
  fixture.adapterFixture.finish();
  return { response: answer?.response, after, answer: `${answer?.text}\n${created}`, faults };
}

/** The trials of a field, or none if it has no case. */
export function trialsOf(
  command: CommandCase,
  request: Request,
  field: CommandField,
  fixture: Fixture,
): readonly Trial[] {
  if (field.reserved) return [RESERVED];
  return allTrials(command, request, field.part, fixture)[field.name] ?? [];
}

export function allTrials(command: CommandCase, request: Request, part: Part, fixture: Fixture): Trials {
  return part === 'payload'
    ? (request.payloadTrials ?? {})
    : { ...headerTrials(fixture, command.opcode, lengthOf(command)), ...request.headerTrials };
}

/** The values of a trial. If it has none of its own: all ones, and bits that alternate. */
export function valuesOf(trial: Trial, { array, widthBits }: CommandField): readonly Value[] {
  if (trial.values !== undefined) return trial.values;
  if (array) return [0xff, 0xa5];
  const ones = (1n << BigInt(widthBits)) - 1n;
  return [ones, 0xa5a5_a5a5_a5a5_a5a5n & ones];
}

function changesOf(fields: readonly CommandField[], { field, value }: Alteration, trial: Trial): Change[] {
  const given = Object.entries(trial.given ?? {}).map(([name, other]) => ({
    field: findField(fields, field.part, name),
    value: other,
  }));
  return value === undefined ? given : [...given, { field, value: valuesOf(trial, field)[value] as Value }];
}

function describeCreated(fixture: Fixture, opcode: number, { status, objectNumber }: ManagementResponse): string {
  if ((opcode & VERB_MASK) !== CREATE || status !== ManagementStatus.OK) return '';
  return fixture.describe([{ opcode: opcode | QUERY, objectNumber }]);
}
