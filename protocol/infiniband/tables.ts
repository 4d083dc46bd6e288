// SPDX-License-Identifier: Apache-2.0
/** All tables of wire formats: `npm run generate` reads them and emits `gen/`. */
import type { StructTable, ValueTable } from '../layout/table.ts';
import { captureHeaders } from './capture-headers.ts';
import { headers } from './headers.ts';
import { ibsimHeaders, ibsimValues } from './ibsim-headers.ts';
import { linkHeaders, linkValues } from './link-headers.ts';
import { wireValues } from './values.ts';

export const structs: readonly StructTable[] = [...headers, ...linkHeaders, ...captureHeaders, ...ibsimHeaders];
export const valueTables: readonly ValueTable[] = [...wireValues, ...linkValues, ...ibsimValues];
