// SPDX-License-Identifier: Apache-2.0
/**
 * Compares the state of two units field by field, with private fields and all objects that they
 * hold: two graphs of objects of the same shape. A field that may differ is named as
 * `Class.field`. Functions and what they close over are not compared.
 */
import { type Inspector, PrivateFields } from './private-fields.ts';

/** Fields that may differ, as `Class.field`; with `Class` alone no object of the class counts. */
export type ToleratedFields = ReadonlySet<string>;

/** A field that differs. */
export interface StateDifference {
  /** `Class.field` of the object that holds it. */
  readonly field: string;
  /** The path to it, and both values. */
  readonly text: string;
}

/** The fields in which two units differ. */
export function findStateDifferences(
  a: object,
  b: object,
  tolerated: ToleratedFields,
  inspector: Inspector,
): StateDifference[] {
  return new Comparison(tolerated, inspector).run(a, b);
}

/** Where a value stands. */
interface Place {
  readonly field: string;
  readonly path: string;
}

class Comparison {
  readonly #privateFields: PrivateFields;
  readonly #tolerated: ToleratedFields;
  readonly #partners = new Map<object, object>();
  readonly #differences: StateDifference[] = [];
  /** Pairs of objects still to be compared. */
  readonly #pairs: [object, object, Place][] = [];

  constructor(tolerated: ToleratedFields, inspector: Inspector) {
    this.#tolerated = tolerated;
    this.#privateFields = new PrivateFields(inspector);
  }

  run(a: object, b: object): StateDifference[] {
    this.#meet(a, b, { field: '', path: a.constructor.name });
    for (let pair = this.#pairs.pop(); pair !== undefined; pair = this.#pairs.pop()) this.#compare(...pair);
    return this.#differences;
  }

  #compare(a: object, b: object, place: Place): void {
    if (ArrayBuffer.isView(a) && ArrayBuffer.isView(b)) this.#compareBytes(a, b, place);
    else if (a instanceof Map && b instanceof Map) this.#compareLists([...a].flat(), [...b].flat(), place);
    else if (a instanceof Set && b instanceof Set) this.#compareLists([...a], [...b], place);
    else if (Array.isArray(a) && Array.isArray(b)) this.#compareLists(a, b, place);
    else this.#compareFields(a, b, place);
  }

  #compareFields(a: object, b: object, { path }: Place): void {
    const others = this.#fieldsOf(b);
    for (const [name, value] of this.#fieldsOf(a)) {
      const field = `${a.constructor?.name}.${name}`;
      if (!this.#tolerated.has(field)) this.#meet(value, others.get(name), { field, path: `${path}.${name}` });
    }
  }

  #fieldsOf(subject: object): Map<string, unknown> {
    const fields = new Map<string, unknown>(this.#privateFields.of(subject));
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(subject))) fields.set(name, value);
    return fields;
  }

  #compareLists(a: readonly unknown[], b: readonly unknown[], { field, path }: Place): void {
    if (a.length !== b.length) this.#differ({ field, path: `${path}.length` }, a.length, b.length);
    else
      for (let index = 0; index < a.length; index++)
        this.#meet(a[index], b[index], { field, path: `${path}[${index}]` });
  }

  #compareBytes(a: ArrayBufferView, b: ArrayBufferView, { field, path }: Place): void {
    const [bytes, others] = [a, b].map((view) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
    const index = bytes.findIndex((byte, at) => byte !== others[at]);
    if (index >= 0 || bytes.length !== others.length)
      this.#differ({ field, path: `${path}, byte ${index},` }, bytes[index], others[index]);
  }

  #meet(a: unknown, b: unknown, place: Place): void {
    if (typeof a === 'function' && typeof b === 'function') return;
    if (!isObject(a) || !isObject(b)) {
      if (!Object.is(a, b)) this.#differ(place, a, b);
      return;
    }
    const partner = this.#partners.get(a);
    if (partner === b || this.#tolerated.has(a.constructor?.name ?? '')) return;
    if (partner !== undefined || a.constructor !== b.constructor) return this.#differ(place, a, b);
    this.#partners.set(a, b);
    this.#pairs.push([a, b, place]);
  }

  #differ({ field, path }: Place, a: unknown, b: unknown): void {
    this.#differences.push({ field, text: `${path} is ${describe(a)}, not ${describe(b)}` });
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function describe(value: unknown): string {
  return isObject(value) ? `this ${value.constructor?.name}` : String(value);
}
