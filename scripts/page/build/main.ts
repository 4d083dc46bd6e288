// SPDX-License-Identifier: Apache-2.0
/**
 * Writes the page of `vuhca view` into a folder: `main.ts FOLDER`. `npm pack` calls it, so that an
 * archive has the page without the packages that make it.
 */
import { buildPage, writePage } from './build-page.ts';

const [, , folder] = process.argv;
writePage(await buildPage(), folder);
