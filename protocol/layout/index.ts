// SPDX-License-Identifier: Apache-2.0
/**
 * All layouts of the adapter that software sees: `npm run generate` reads them, and the layout hash
 * covers them.
 */
import { constantTables } from './constants.ts';
import { registerBlocks } from './csr.ts';
import { managementStructs } from './management.ts';
import { queueStructs } from './queue-entries.ts';
import { sendStructs } from './send-command.ts';
import { valueTables } from './values.ts';

export const structs = [...sendStructs, ...queueStructs, ...managementStructs];
export { constantTables, registerBlocks, valueTables };
