// SPDX-License-Identifier: Apache-2.0
/**
 * Differences between two states, as rows of a table: the fabric by node and port, the links, the
 * adapter by its counters, the rows of views by their keys. Pure; compare-view.tsx shows them.
 */
import type { ViewState } from '../../cli/view/view-protocol.ts';

export interface Difference {
  /** `fabric`, `links`, `adapter`, or the name of a view. */
  readonly group: string;
  /** `a0 port 1 sent` */
  readonly place: string;
  /** Undefined: it is only in the other state. */
  readonly before: Value | undefined;
  readonly after: Value | undefined;
}

type Value = string | number | boolean | null;

/** Names of members by which elements of lists are told from each other. */
const KEYS: readonly string[] = ['name', 'number', 'qp', 'vcb', 'pcb', 'lane', 'queue', 'guid'];

export function findDifferences(one: ViewState, other: ViewState): Difference[] {
  const [before, after] = [one, other].map(flatten);
  const keys = [...new Set([...before.keys(), ...after.keys()])];
  return keys.flatMap((key) => {
    const [left, right] = [before.get(key), after.get(key)];
    if (left === right) return [];
    const [group, place] = key.split('\t');
    return [{ group, place, before: left, after: right }];
  });
}

function flatten({ fabric, links = [], adapter, personality, views = {} }: ViewState): Map<string, Value> {
  const values = new Map<string, Value>();
  const { timeNs: _, ...rest } = fabric;
  add(values, 'fabric\t', rest);
  for (const { ends, ...link } of links) add(values, `links\t${ends.join(' - ')}`, link);
  add(values, 'adapter\t', adapter ?? personality);
  for (const [name, rows] of Object.entries(views)) add(values, `${name}\t`, rows);
  return values;
}

/** All leaves of a value, with the way to each as words. */
function add(values: Map<string, Value>, key: string, value: unknown): void {
  if (value === undefined) return;
  if (typeof value !== 'object' || value === null) {
    values.set(key, value as Value);
    return;
  }
  const prefix = /[\t ]$/.test(key) ? key : `${key} `;
  if (!Array.isArray(value)) {
    for (const [name, inner] of Object.entries(value))
      add(values, prefix + (Array.isArray(inner) ? nameOfList(name) : wordsOf(name)), inner);
    return;
  }
  const names = value.map(nameOfElement);
  const areTold = new Set(names).size === names.length;
  for (const [index, inner] of value.entries()) add(values, prefix + (areTold ? names[index] : index), inner);
}

/** `port` of `ports`, before the number of each; names of nodes need no word. */
function nameOfList(name: string): string {
  return name === 'nodes' ? '' : wordsOf(name).replace(/s$/, '');
}

/** The name or the number of an element; its place when it has none. */
function nameOfElement(element: unknown, index: number): string {
  if (typeof element !== 'object' || element === null) return `${index}`;
  const key = KEYS.find((one) => one in element);
  if (key === undefined) return `${index}`;
  return `${(element as Record<string, unknown>)[key]}`;
}

function wordsOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
