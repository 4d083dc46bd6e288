// SPDX-License-Identifier: Apache-2.0
/** The version of this package. program.ts prints it, and the page of `vuhca view` shows it. */
import { readFileSync } from 'node:fs';

const PACKAGE = new URL('../../../package.json', import.meta.url);

export function readVersion(): string {
  return (JSON.parse(readFileSync(PACKAGE, 'utf8')) as { version: string }).version;
}
