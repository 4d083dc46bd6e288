// SPDX-License-Identifier: Apache-2.0
/**
 * All tables of the mlx5 interface: `npm run generate` reads them and emits `gen/`. Names and
 * places are public in the Linux driver's interface header; `header.test.ts` compares with
 * Debian's.
 */
import type { ConstantTable, StructTable, ValueTable } from '../layout/table.ts';
import { capabilities } from './capabilities.ts';
import { commandValues } from './command-values.ts';
import { contexts } from './contexts.ts';
import { functionCommands } from './function-commands.ts';
import { managementRegisters } from './management-registers.ts';
import { objectCommands } from './object-commands.ts';
import { places } from './places.ts';
import { portRegisters } from './port-registers.ts';
import { queueEntries } from './queue-entries.ts';
import { queuePairCommands } from './queue-pair-commands.ts';
import { queueValues } from './queue-values.ts';
import { commandQueue, segment } from './segment.ts';
import { vportCommands } from './vport-commands.ts';
import { workRequests } from './work-requests.ts';

/** Structures whose places the header has under the same names, in snake_case. */
export const headerStructs: readonly StructTable[] = [
  ...functionCommands,
  ...vportCommands,
  ...objectCommands,
  ...queuePairCommands,
  ...contexts,
  ...capabilities,
  ...portRegisters,
  ...managementRegisters,
  ...segment,
];
export const structs: readonly StructTable[] = [...headerStructs, ...commandQueue, ...queueEntries, ...workRequests];
export const valueTables: readonly ValueTable[] = [...commandValues, ...queueValues];
export const constantTables: readonly ConstantTable[] = places;
