// SPDX-License-Identifier: Apache-2.0
/**
 * Plays the trials of management command fields and compares the outcomes with the cases. A field
 * without a trial fails the test, and so does a trial without a field. So a field that is added to
 * a table needs a case.
 */
import { managementOpcodeName, managementStatusName } from '../../../protocol/layout/gen/values.gen.ts';
import { isOneOf } from '../seeds.ts';
import type { CommandCase, Harmless, Refused, Trial, Unanswered } from './command-case.ts';
import { type CommandField, fieldsOf, findField } from './command-fields.ts';
import { Fixture } from './fixture.ts';
import { allTrials, type Outcome, play, trialsOf, valuesOf } from './play.ts';

/** One in so many values is tried in `npm test`, the others in management-fields.long.ts. */
const VALUES_PER_QUICK_ONE = 4;

/** The part of a test that is needed here. */
interface Test {
  equal(found: unknown, wanted: unknown, what: string): boolean;
  same(found: unknown, wanted: unknown, what: string): boolean;
  fail(what: string): boolean;
}

/** Goes over all fields of a command. `cases`: one for each of its situations. */
export function judge(t: Test, cases: readonly CommandCase[]): void {
  const tried = new Set<string>();
  for (const command of cases) new CaseJudge(t, command).judge(tried);
  for (const { part, name } of fieldsOf(cases[0] as CommandCase))
    if (!tried.has(`${part} ${name}`)) t.fail(`the ${part} field ${name} has no case`);
}

class CaseJudge {
  readonly #t: Test;
  readonly #command: CommandCase;
  readonly #name: string;
  readonly #fields: readonly CommandField[];
  /** The state of every fixture before its command. */
  #initial = '';
  /** Values so far, of all fields. */
  #count = 0;
  /** Outcomes of the valid request with the given fields alone, by these fields. */
  readonly #controls = new Map<string, Outcome>();

  constructor(t: Test, command: CommandCase) {
    this.#t = t;
    this.#command = command;
    this.#name = [managementOpcodeName(command.opcode), command.situation].filter(Boolean).join(', ');
    this.#fields = fieldsOf(command);
  }

  /** Notes the fields that have a trial in `tried`. */
  judge(tried: Set<string>): void {
    if (!this.#t.equal(statusOf(play(this.#command, this.#fields)), 'OK', `${this.#name}: the valid request`)) return;
    const fixture = new Fixture(this.#command.functions);
    const request = this.#command.build(fixture);
    this.#initial = fixture.describe();
    for (const part of ['header', 'payload'] as const)
      for (const name of Object.keys(allTrials(this.#command, request, part, fixture)))
        findField(this.#fields, part, name);
    for (const field of this.#fields) {
      const trials = trialsOf(this.#command, request, field, fixture);
      const key = `${field.part} ${field.name}`;
      // The header is the same in all situations.
      if (trials.length === 0 || (field.part === 'header' && tried.has(key))) continue;
      tried.add(key);
      trials.forEach((trial, place) => {
        this.#judgeTrial(field, trial, place);
      });
    }
  }

  #judgeTrial(field: CommandField, trial: Trial, place: number): void {
    const control = this.#controlOf(field, trial, place);
    const what = `${this.#name}: ${field.part} field ${field.name}`;
    if (statusOf(control) !== 'OK') this.#t.fail(`${what}: what is given is refused: ${statusOf(control)}`);
    const values = valuesOf(trial, field);
    if (values.length === 0) this.#t.fail(`${what}: a trial without values`);
    values.forEach((value, index) => {
      if (!isOneOf(this.#count++, VALUES_PER_QUICK_ONE)) return;
      const outcome = play(this.#command, this.#fields, { field, trial: place, value: index });
      const shown = value instanceof Uint8Array ? Buffer.from(value).toString('hex') : `0x${value.toString(16)}`;
      const name = `${what} = ${shown}`;
      if (trial.kind === 'refused') this.#judgeRefused(name, field, trial, outcome);
      else if (trial.kind === 'unanswered') this.#judgeUnanswered(name, trial, outcome, control);
      else this.#judgeHarmless(name, trial, outcome, control);
    });
  }

  #controlOf(field: CommandField, trial: Trial, place: number): Outcome {
    const key = JSON.stringify([field.part, trial.given ?? {}]);
    const control = this.#controls.get(key) ?? play(this.#command, this.#fields, { field, trial: place });
    this.#controls.set(key, control);
    return control;
  }

  #judgeRefused(name: string, { offset }: CommandField, { status, limit }: Refused, outcome: Outcome): void {
    const { response, after } = outcome;
    const found = { status: statusOf(outcome), badOffset: response?.badOffset, limit: response?.limit };
    this.#t.same(found, { status: managementStatusName(status), badOffset: offset, limit }, `${name} is refused`);
    if (after !== this.#initial) this.#t.fail(`${name} is refused, but changed something`);
  }

  #judgeUnanswered(name: string, { executed }: Unanswered, outcome: Outcome, control: Outcome): void {
    this.#t.same([statusOf(outcome), outcome.faults], ['no answer', 1], `${name} is not answered, but counted`);
    if (outcome.after !== (executed ? control.after : this.#initial))
      this.#t.fail(`${name} is ${executed ? 'not ' : ''}executed`);
  }

  #judgeHarmless(name: string, { kind, why }: Harmless, outcome: Outcome, control: Outcome): void {
    this.#t.equal(statusOf(outcome), 'OK', `${name} is ${kind}: ${why}`);
    if (kind === 'ignored' && (outcome.answer !== control.answer || outcome.after !== control.after))
      this.#t.fail(`${name} makes a difference, though it should not: ${why}`);
  }
}

function statusOf({ response }: Outcome): string {
  return response === undefined ? 'no answer' : managementStatusName(response.status);
}
