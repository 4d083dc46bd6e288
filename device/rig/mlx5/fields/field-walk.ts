// SPDX-License-Identifier: Apache-2.0
/**
 * Gives each named field of the input of a command many values, one at a time, and compares the
 * status with what a test expects of the value. A command that is refused must change nothing, and
 * answer nothing but its status. Tests of commands of the personality use it.
 */
import type { StructTable } from '../../../../protocol/layout/table.ts';
import {
  setCommandEntryInputBytes,
  setCommandEntryOutputBytes,
} from '../../../../protocol/mlx5/gen/command-entry.gen.ts';
import { CommandStatus } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { structs } from '../../../../protocol/mlx5/tables.ts';
import { fieldPlaces, writeBits } from '../../../../protocol/testing/table-bits.ts';
import type { Mlx5Command, Mlx5Driver } from '../driver/mlx5-driver.ts';

/** The part of a test that is used here. */
interface Failing {
  fail(text: string): unknown;
}

/** The status of a command that is valid except for one field, which has this value. */
export type FieldRule = (value: number) => CommandStatus;

export interface FieldWalk {
  readonly driver: Mlx5Driver;
  readonly opcode: number;
  /** The structures in the input by their offset; that of the command has offset 0. */
  readonly layouts: Readonly<Record<number, string>>;
  /** Makes a valid command; called before each trial. */
  readonly prepare: () => Mlx5Command;
  /** Rules of fields; any value of other fields is valid. `uid` and `opMod` have rules already. */
  readonly rules: Readonly<Record<string, FieldRule>>;
  /** The state that a refused command must not change. */
  readonly digest: () => unknown;
}

const { OK, BAD_PARAMETER, BAD_RESOURCE } = CommandStatus;
const HEAD_BYTES = 8;

/** A rule: only these values are valid; others end with the status `otherwise`. */
export function only(values: readonly number[], otherwise: CommandStatus = BAD_PARAMETER): FieldRule {
  return (value) => (values.includes(value) ? OK : otherwise);
}

const envelope: Readonly<Record<string, FieldRule>> = { uid: only([0], BAD_RESOURCE), opMod: only([0]) };

/** Walks over the fields. Every failure names structure, field and value. */
export function walkFields(t: Failing, walk: FieldWalk): void {
  const { opcode, layouts, prepare } = walk;
  const rules = { ...envelope, ...walk.rules };
  expectStatus(t, walk, prepare(), OK, 'a good command');
  for (const [offset, name] of Object.entries(layouts)) {
    const table = findStruct(name);
    for (const place of fieldPlaces(table)) {
      // A block is walked over as a structure of its own, if it has any fields.
      if (place.name === 'opcode' || place.array) continue;
      for (const value of valuesOf(place.width)) {
        const expected = rules[place.name]?.(Number(value)) ?? OK;
        const good = prepare();
        const fill = (view: DataView): void => {
          good.fill?.(view);
          const bytes = new Uint8Array(view.buffer, view.byteOffset + Number(offset), table.sizeBytes);
          writeBits(table, bytes, place.first, place.width, value);
        };
        const command = { ...good, fill };
        expectStatus(t, walk, command, expected, `0x${opcode.toString(16)}: ${name}.${place.name} is ${value}`);
      }
    }
  }
}

/** Expects commands to end with a status, and refused ones to change nothing. */
export function expectStatus(
  t: Failing,
  { driver, opcode, digest }: Pick<FieldWalk, 'driver' | 'opcode' | 'digest'>,
  command: Mlx5Command,
  expected: CommandStatus,
  what: string,
): void {
  const before = expected === OK ? undefined : JSON.stringify(digest());
  const { delivery, status, output } = driver.command(opcode, command);
  if (delivery !== 0 || status !== expected) t.fail(`${what}: delivery ${delivery}, status ${status}, not ${expected}`);
  if (before === undefined) return;
  const answer = new Uint8Array(output.buffer).subarray(HEAD_BYTES);
  if (answer.some((byte) => byte !== 0)) t.fail(`${what}: it was refused, and has an answer`);
  if (JSON.stringify(digest()) !== before) t.fail(`${what}: it was refused, and changed something`);
}

/** Expects lengths below the smallest valid ones to be refused, and the smallest to be accepted. */
export function walkLengths(t: Failing, walk: FieldWalk, inputBytes: number, outputBytes: number): void {
  const { opcode, prepare } = walk;
  const name = `0x${opcode.toString(16)}`;
  expectStatus(t, walk, { ...prepare(), inputBytes, outputBytes }, OK, `${name}: the least lengths`);
  for (const short of [inputBytes - 1, HEAD_BYTES]) {
    const spoil = (entry: DataView): void => setCommandEntryInputBytes(entry, 0, short);
    const command = { ...prepare(), inputBytes, outputBytes, spoil };
    expectStatus(t, walk, command, CommandStatus.BAD_INPUT_LENGTH, `${name}: ${short} bytes of input`);
  }
  for (const short of [outputBytes - 1, HEAD_BYTES]) {
    const spoil = (entry: DataView): void => setCommandEntryOutputBytes(entry, 0, short);
    const command = { ...prepare(), inputBytes, outputBytes, spoil };
    expectStatus(t, walk, command, CommandStatus.BAD_OUTPUT_LENGTH, `${name}: ${short} bytes of output`);
  }
}

function findStruct(name: string): StructTable {
  const table = structs.find((each) => each.name === name);
  if (table === undefined) throw new Error(`there is no structure ${name}`);
  return table;
}

/** Small values, all ones, and each bit alone. */
function valuesOf(width: number): Set<bigint> {
  const largest = 2n ** BigInt(width) - 1n;
  const values = new Set([0n, 1n, 2n, 3n, largest, largest - 1n]);
  for (let bit = 0n; bit < BigInt(width); bit++) values.add(1n << bit);
  return new Set([...values].filter((value) => value <= largest));
}
