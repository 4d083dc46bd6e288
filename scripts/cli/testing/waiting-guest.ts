// SPDX-License-Identifier: Apache-2.0
/** A guest of `vuhca run` that waits until something ends it. Called by tests of the command. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { makeDirectory } from './directory.ts';
import { CliProcess } from './run-cli.ts';

export interface WaitingGuest {
  readonly run: CliProcess;
  /** Process ids. */
  readonly adapter: number;
  readonly qemu: number;
  /** The folder for control sockets. */
  readonly directory: string;
}

/** Starts it, and resolves when its case has begun. */
export async function startWaitingGuest(
  t: Test,
  environment: Readonly<Record<string, string>> = {},
  ...options: readonly string[]
): Promise<WaitingGuest> {
  const directory = makeDirectory(t);
  const script = join(directory, 'case.sh');
  writeFileSync(script, '#!/bin/sh\necho here\nsleep 1000\n');
  const run = new CliProcess(['run', '--case', script, ...options], { ...environment, XDG_RUNTIME_DIR: directory });
  t.teardown(() => run.child.kill('SIGKILL'));
  const [, adapter, qemu] = await run.until(/the adapter is process (\d+), QEMU is process (\d+)/);
  await run.until(/^here$/m);
  return { run, adapter: Number(adapter), qemu: Number(qemu), directory };
}
