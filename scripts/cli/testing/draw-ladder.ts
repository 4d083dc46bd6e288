// SPDX-License-Identifier: Apache-2.0
/** Writes the sequence diagram of docs/DEBUGGING.md to the file that its argument names. */
import { writeFileSync } from 'node:fs';
import { drawExample } from './example-ladder.ts';

const [, , path] = process.argv;
if (path === undefined) throw new Error('name the file to write');
writeFileSync(path, drawExample());
