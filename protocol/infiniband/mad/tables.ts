// SPDX-License-Identifier: Apache-2.0
/** All tables of management datagrams: `npm run generate` reads them and emits `gen/`. */
import type { StructTable, ValueTable } from '../../layout/table.ts';
import { administrationRecords } from './administration-records.ts';
import { madHeaders } from './mad-headers.ts';
import { madValues } from './mad-values.ts';
import { notices } from './notices.ts';
import { performanceAttributes } from './performance-attributes.ts';
import { subnetAttributes } from './subnet-attributes.ts';

export const structs: readonly StructTable[] = [
  ...madHeaders,
  ...subnetAttributes,
  ...notices,
  ...performanceAttributes,
  ...administrationRecords,
];
export const valueTables: readonly ValueTable[] = madValues;
