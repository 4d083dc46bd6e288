// SPDX-License-Identifier: Apache-2.0
/**
 * A folder for the sockets of a test. Its name is short, because the path of a socket has at most
 * 107 bytes. Called by tests.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';

/** A new folder that is removed at the end of the test. */
export function makeDirectory(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'vuhca-test-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}
