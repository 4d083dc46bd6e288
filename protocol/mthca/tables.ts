// SPDX-License-Identifier: Apache-2.0
/**
 * All tables of the mthca register interface, which the personality `device/personality/mthca`
 * speaks: `npm run generate` reads them and emits `gen/`.
 */
import type { ConstantTable, StructTable, ValueTable } from '../layout/table.ts';
import { commandTables } from './command-register.ts';
import { commandValues } from './command-values.ts';
import { contextTables } from './contexts.ts';
import { places } from './places.ts';
import { queueEntryTables } from './queue-entries.ts';
import { translationTables } from './translation.ts';
import { workTables } from './work-requests.ts';
import { workValues } from './work-values.ts';

export const structs: readonly StructTable[] = [
  ...commandTables,
  ...contextTables,
  ...translationTables,
  ...queueEntryTables,
  ...workTables,
];
export const valueTables: readonly ValueTable[] = [...commandValues, ...workValues];
export const constantTables: readonly ConstantTable[] = places;
