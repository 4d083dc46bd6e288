// SPDX-License-Identifier: Apache-2.0
/**
 * Checks the paths of `vuhca run` before anything starts: what it reads is there, what it writes
 * can be written, and no output is one of its other files. Called by run-guest.ts.
 */
import { checkInput, checkOutput } from '../options/named-files.ts';
import { readFileOption } from '../test/test-job.ts';
import type { RunArguments } from './run-command.ts';

/** Throws UsageError with one sentence. */
export function checkRunPaths(given: RunArguments): void {
  for (const name of ['initramfs', 'case', 'topology'] as const) {
    const path = given[name];
    if (path !== undefined) checkInput(`option --${name}`, path);
  }
  if (given.disk !== undefined) checkInput('option --disk', given.disk, { blockDevice: true });
  const files = (given.files ?? []).map((text) => readFileOption(text).content.from);
  const { kernel, headers, initramfs, disk, driver, module = [], topology, control } = given;
  const others = [kernel, headers, initramfs, disk, given.case, driver, ...module, topology, control, ...files];
  const paths = others.filter((path) => path !== undefined);
  for (const [name, path, fifo] of [
    ['record', given.record, false],
    ['capture', given.capture, true],
    ['console-log', given.consoleLog, false],
  ] as const) {
    if (path === undefined) continue;
    checkOutput(`option --${name}`, path, paths, { fifo });
    paths.push(path);
  }
}
