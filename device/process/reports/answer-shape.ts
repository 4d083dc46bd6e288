// SPDX-License-Identifier: Apache-2.0
/**
 * Shapes of answers in JSON: what a value must have so that code may use it as its type says. The
 * compiler checks that a shape names all of its type, `findMisfit` that a value has it. Names
 * beyond the shape are left alone: a newer process may say more. Used for answers of control
 * sockets.
 */

/** A value that may be missing. */
export class Optional<Inner> {
  readonly inner: Inner;
  constructor(inner: Inner) {
    this.inner = inner;
  }
}

/** An object with any names, whose values have one shape. */
export class Each<Inner> {
  readonly inner: Inner;
  constructor(inner: Inner) {
    this.inner = inner;
  }
}

/** Any shape; `cell` is a string, a number, a boolean or null. */
export type Shape = Leaf | readonly [Shape] | Optional<unknown> | Each<unknown> | ShapeOfObject;
type Leaf = 'number' | 'string' | 'boolean' | 'cell';
interface ShapeOfObject {
  readonly [name: string]: Shape;
}

/** The shape of values of a type. */
export type ShapeOf<Type> = undefined extends Type
  ? Optional<ShapeOf<Exclude<Type, undefined>>>
  : null extends Type
    ? 'cell'
    : [Type] extends [number]
      ? 'number'
      : [Type] extends [string]
        ? 'string'
        : [Type] extends [boolean]
          ? 'boolean'
          : [Type] extends [readonly (infer Element)[]]
            ? readonly [ShapeOf<Element>]
            : string extends keyof Type
              ? Each<ShapeOf<Type[keyof Type]>>
              : { readonly [Name in keyof Type]-?: ShapeOf<Type[Name]> };

/** Shapes of members that are numbers. */
export function numbers<Name extends string>(...names: readonly Name[]): Readonly<Record<Name, 'number'>> {
  return allOf('number', names);
}

/** Shapes of members that are strings. */
export function strings<Name extends string>(...names: readonly Name[]): Readonly<Record<Name, 'string'>> {
  return allOf('string', names);
}

/** Shapes of members that are booleans. */
export function booleans<Name extends string>(...names: readonly Name[]): Readonly<Record<Name, 'boolean'>> {
  return allOf('boolean', names);
}

function allOf<Name extends string, Kind extends Leaf>(kind: Kind, names: readonly Name[]) {
  return Object.fromEntries(names.map((name) => [name, kind])) as Readonly<Record<Name, Kind>>;
}

/** The first place where the value has another shape, as `adapters[0].lanes is missing`. */
export function findMisfit(value: unknown, shape: Shape, place = 'it'): string | undefined {
  if (shape instanceof Optional)
    return value === undefined ? undefined : findMisfit(value, shape.inner as Shape, place);
  if (value === undefined) return `${place} is missing`;
  if (typeof shape === 'string') return isLeaf(value, shape) ? undefined : misfit(place, value, `a ${shape}`);
  if (Array.isArray(shape)) {
    if (!Array.isArray(value)) return misfit(place, value, 'a list');
    return first(value, (one, index) => findMisfit(one, shape[0], `${place}[${index}]`));
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return misfit(place, value, 'an object');
  const prefix = place === 'it' ? '' : `${place}.`;
  if (shape instanceof Each)
    return first(Object.entries(value), ([name, one]) => findMisfit(one, shape.inner as Shape, `${prefix}${name}`));
  return first(Object.entries(shape as ShapeOfObject), ([name, inner]) =>
    findMisfit((value as Record<string, unknown>)[name], inner, `${prefix}${name}`),
  );
}

function isLeaf(value: unknown, shape: Leaf): boolean {
  if (shape === 'cell') return value === null || typeof value !== 'object';
  return typeof value === shape;
}

function misfit(place: string, value: unknown, wanted: string): string {
  return `${place} is ${JSON.stringify(value).slice(0, 40)} instead of ${wanted}`;
}

/** The first result that `find` has for an element. */
function first<Element>(
  all: readonly Element[],
  find: (one: Element, index: number) => string | undefined,
): string | undefined {
  for (const [index, one] of all.entries()) {
    const found = find(one, index);
    if (found !== undefined) return found;
  }
  return undefined;
}
