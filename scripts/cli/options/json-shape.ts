// SPDX-License-Identifier: Apache-2.0
/**
 * Checks that JSON has the shape of an example: known names, values of the same kinds. Each mistake
 * is a UsageError of one sentence. Readers of files that users write call it.
 */
import { UsageError } from './usage-error.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

/** An object with names of `like` only, whose values are of the same kinds. */
export function readObject(value: unknown, what: string, like: JsonObject): JsonObject {
  if (!isObject(value)) throw new UsageError(`${what} is ${describe(value)}; it must be an object`);
  for (const [name, given] of Object.entries(value)) {
    if (!Object.hasOwn(like, name))
      throw new UsageError(`${what}: unknown name ${name}; known are ${Object.keys(like).join(', ')}`);
    const wanted = findMismatch(given, like[name]);
    if (wanted !== undefined) throw new UsageError(`${what}: ${name} is ${describe(given)}; it must be ${wanted}`);
  }
  return value;
}

/** The kind of the example, when the value is of another kind. Checks the elements of arrays. */
function findMismatch(value: unknown, example: unknown): string | undefined {
  if (Array.isArray(example)) {
    const [first] = example;
    const isFit = Array.isArray(value) && (first === undefined || value.every((one) => typeof one === typeof first));
    if (isFit && (typeof first !== 'number' || value.length === example.length)) return undefined;
    if (first === undefined) return 'a list';
    return typeof first === 'number' ? `a list of ${example.length} numbers` : 'a list of strings';
  }
  if (isObject(example)) return isObject(value) ? undefined : 'an object';
  return typeof value === typeof example ? undefined : `a ${typeof example}`;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value as JSON, cut to 60 characters. */
export function describe(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 60) ?? 'missing';
}
