// SPDX-License-Identifier: Apache-2.0
//
// A folder for a test's sockets, with a short name: a socket's path has at most 107 bytes.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';

/** A new folder that goes with the test. */
export function makeDirectory(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'vuhca-test-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}
