// SPDX-License-Identifier: Apache-2.0
/**
 * Types of the test of management command fields: a valid request of a command, and for each field
 * the values that the adapter refuses, takes, ignores or does not answer (docs/PROGRAMMING.md,
 * Management commands). `judge.ts` plays the cases.
 */
import type { FaultKind, ManagementOpcode, ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import type { StructTable } from '../../../protocol/layout/table.ts';
import type { Fixture } from './fixture.ts';

/** Value of a field; bytes for a byte array, or one number for all its bytes. */
export type Value = number | bigint | Uint8Array;
/**
 * Values by the name of the field in its table. `addressVector.port` names a field of a structure
 * in a byte array.
 */
export type Fields = Readonly<Record<string, Value>>;

interface Common {
  /** Left out: all ones, and bits that alternate. */
  readonly values?: readonly Value[];
  /** Other fields that make this one matter. The valid request passes with them. */
  readonly given?: Fields;
}

/** Each value is refused with `status`, the field is blamed, and nothing changes. */
export interface Refused extends Common {
  readonly kind: 'refused';
  readonly status: ManagementStatus;
  readonly limit: number;
}

/** No value is refused, for the reason given. One that is `ignored` makes no difference at all. */
export interface Harmless extends Common {
  readonly kind: 'taken' | 'ignored';
  readonly why: string;
}

/** No value is answered, and the fault is counted once for each. */
export interface Unanswered extends Common {
  readonly kind: 'unanswered';
  readonly fault: FaultKind;
  /** The command was executed nevertheless. */
  readonly executed: boolean;
}

export type Trial = Refused | Harmless | Unanswered;
export type Trials = Readonly<Record<string, readonly Trial[]>>;

/** A valid request on a fixture, and the trials of its fields. */
export interface Request {
  readonly header?: Fields;
  readonly payload?: Fields;
  readonly headerTrials?: Trials;
  readonly payloadTrials?: Trials;
}

/** A command in one situation. The cases of a command have all of its fields between them. */
export interface CommandCase {
  readonly opcode: ManagementOpcode;
  /** What is special about it. */
  readonly situation?: string;
  /** Structure of the payload; none: the command has no payload. */
  readonly table?: StructTable;
  /** Structures in byte arrays of the payload, by the array's name. */
  readonly nested?: Readonly<Record<string, StructTable>>;
  /** How many structures the payload has; the last one is tried out. */
  readonly copies?: number;
  /** Underlying functions of the adapter. */
  readonly functions?: number;
  readonly build: (fixture: Fixture) => Request;
}

export function refused(
  status: ManagementStatus,
  values: readonly Value[],
  { limit = 0, given = {} }: { limit?: number; given?: Fields } = {},
): Refused {
  return { kind: 'refused', status, values, limit, given };
}

export function taken(why: string, rest: Common = {}): Harmless {
  return { kind: 'taken', why, ...rest };
}

export function ignored(why: string, rest: Common = {}): Harmless {
  return { kind: 'ignored', why, ...rest };
}

export function unanswered(fault: FaultKind, values: readonly Value[], executed = false): Unanswered {
  return { kind: 'unanswered', fault, values, executed };
}

/** The same trials for several fields. */
export function each(names: readonly string[], trial: Trial): Trials {
  return Object.fromEntries(names.map((name) => [name, [trial]]));
}

/** Fields that only the answer of a query has. */
export function queryOnly(...names: string[]): Trials {
  return each(names, ignored('only in the answer of a query'));
}
