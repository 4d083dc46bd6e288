// SPDX-License-Identifier: Apache-2.0
/**
 * Differences between two states of a unit: names of facts and meters, and cells of tables. Rows
 * are compared by their keys, so an added or removed row marks no other one. `UnitBox` calls it.
 */
import type { Fact, Flow, Meter, Picture, Table, Unit } from './picture.ts';

export interface UnitChanges {
  /** Facts and meters by name. */
  readonly named: ReadonlySet<string>;
  /** Cells of tables, as `keyOfCell` names them. */
  readonly cells: ReadonlySet<string>;
}

const nothing: UnitChanges = { named: new Set(), cells: new Set() };

/** Nothing differs from a state that is not known. */
export function findChanges(unit: Unit, before: Unit | undefined): UnitChanges {
  if (before === undefined) return nothing;
  const facts = new Map(before.facts.map(({ name, value }): [string, unknown] => [name, value]));
  const meters = new Map(before.meters.map(({ name, words }): [string, unknown] => [name, words]));
  const named = [
    ...unit.facts.filter(({ name, value }: Fact) => facts.get(name) !== value),
    ...unit.meters.filter(({ name, words }: Meter) => meters.get(name) !== words),
  ];
  return {
    named: new Set(named.map(({ name }) => name)),
    cells: new Set(unit.tables.flatMap((table, place) => findCells(table, before.tables[place]))),
  };
}

function findCells(table: Table, before: Table | undefined): string[] {
  const known = new Map(before?.rows.map(({ key, cells }) => [key, cells]));
  return table.rows.flatMap(({ key, cells }) =>
    table.columns
      .filter((column, place) => known.get(key)?.[before?.columns.indexOf(column) ?? -1] !== cells[place])
      .map((column) => keyOfCell(table, key, column)),
  );
}

export function keyOfCell({ name }: Table, row: string, column: string): string {
  return `${name} ${row} ${column}`;
}

/** A flow between two states; without an earlier one, or after a reset, only its sum. */
export interface FlowRate extends Flow {
  readonly perSecond?: number;
}

export function findRates({ flows, timeNs }: Picture, before: Picture | undefined): FlowRate[] {
  const passedNs = before === undefined ? 0 : timeNs - before.timeNs;
  return flows.map((flow) => {
    const earlier = before?.flows.find(({ from, to }) => from === flow.from && to === flow.to);
    if (earlier === undefined || passedNs <= 0 || earlier.count > flow.count) return flow;
    return { ...flow, perSecond: ((flow.count - earlier.count) * 1e9) / passedNs };
  });
}
