// SPDX-License-Identifier: Apache-2.0
/**
 * The jobs of `vuhca test`, one for each folder, from the values of its command line; mistakes are
 * found before anything starts. Called by test-action.ts.
 */
import { existsSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import type { GuestJob } from '../../../guest-tests/harness/guest-image.ts';
import type { GuestFile } from '../../../qemu/initramfs.ts';
import { checkInput, checkOutput } from '../options/named-files.ts';
import { UsageError } from '../options/usage-error.ts';
import { type GuestScript, readScript, type ScriptPlace } from './script-file.ts';
import type { TestArguments } from './test-command.ts';
import { checkTarget, hasModules, type ModuleTarget, provideTargets, type TestKernel } from './test-modules.ts';

/** A job whose modules are not compiled yet. */
export interface PlannedJob {
  readonly name: string;
  readonly targets: readonly ModuleTarget[];
  readonly script: GuestScript | undefined;
  readonly files: readonly GuestFile[];
  /** The folders of other jobs. */
  readonly others: readonly string[];
}

/** A file for the guest that is copied from the host. */
type HostFile = GuestFile & { readonly content: { readonly from: string } };

const SCRIPT = 'test.sh';

/** Throws UsageError. */
export function planJobs(folders: readonly string[], given: TestArguments): PlannedJob[] {
  const targets = [...optionTargets(given, 'driver'), ...optionTargets(given, 'module')];
  for (const target of targets) checkTarget(target);
  if (given.script !== undefined) checkInput('option --script', given.script);
  const files = (given.files ?? []).map(readFileOption);
  const scripts = [given.script ?? [], folders.map((folder) => join(folder, SCRIPT))].flat();
  checkResults(given, [...targets.map(({ path }) => path), ...scripts, ...files.map(({ content }) => content.from)]);
  const place: ScriptPlace = given.personality === 'vuhca' ? { files } : 'distribution';
  const script = given.script === undefined ? undefined : readScript('--script', given.script, place);
  if (folders.length === 0) {
    if (targets.length === 0 && given.script === undefined)
      throw new UsageError('nothing to test: name a FOLDER, --driver, --module or --script');
    const name = [...targets.map(({ path }) => path), given.script ?? []]
      .flat()
      .map((path) => basename(path))
      .join('+');
    return [{ name, targets, script, files, others: [] }];
  }
  return folders.map((folder) => ({
    ...planFolder(folder, targets, script, files, place),
    others: folders.filter((one) => one !== folder),
  }));
}

/** The job with its modules. Throws ModuleBuildError when one does not compile. */
export async function makeJob({ targets, script, files }: PlannedJob, kernel: TestKernel): Promise<GuestJob> {
  return {
    bootModules: kernel.bootModules,
    modules: await provideTargets(targets, kernel),
    files,
    ...(script === undefined ? {} : { script }),
  };
}

function planFolder(
  folder: string,
  targets: readonly ModuleTarget[],
  script: GuestScript | undefined,
  files: readonly GuestFile[],
  place: ScriptPlace,
): Omit<PlannedJob, 'others'> {
  if (!existsSync(folder)) throw new UsageError(`FOLDER ${folder} does not exist`);
  const own = join(folder, SCRIPT);
  const hasScript = existsSync(own);
  if (!hasModules(folder) && !hasScript)
    throw new UsageError(`FOLDER ${folder} has neither Kbuild nor Makefile nor ${SCRIPT}`);
  if (hasScript && script !== undefined) throw new UsageError(`--script cannot be given: ${folder} has ${SCRIPT}`);
  return {
    name: folder.replace(/\/+$/, ''),
    targets: [...targets, ...(hasModules(folder) ? [{ option: 'FOLDER', path: folder }] : [])],
    script: hasScript ? readScript('FOLDER', own, place) : script,
    files,
  };
}

function optionTargets(given: TestArguments, kind: 'driver' | 'module'): ModuleTarget[] {
  return (given[kind] ?? []).map((path) => ({ option: `--${kind}`, path, kind }));
}

/** `HOST:GUEST`, with an absolute path in the guest. */
export function readFileOption(text: string): HostFile {
  const [, host, guest] = /^(.+):(\/.+)$/.exec(text) ?? [];
  if (host === undefined || guest === undefined)
    throw new UsageError(`option --files is ${text}; it must be HOST:GUEST, with an absolute path in the guest`);
  if (guest.endsWith('/') || guest.split('/').includes('..'))
    throw new UsageError(`option --files is ${text}; the path in the guest must be that of a file, without ..`);
  checkInput('option --files', host);
  return { path: guest.replaceAll(/\/+/g, '/'), content: { from: resolve(host) }, mode: statSync(host).mode & 0o777 };
}

/** Throws UsageError when a result cannot be written, or would overwrite a tested file. */
function checkResults({ junit, record }: TestArguments, inputs: readonly string[]): void {
  if (junit !== undefined) checkOutput('option --junit', junit, inputs, { fifo: true });
  if (record !== undefined)
    checkOutput('option --record', record, [...inputs, ...(junit === undefined ? [] : [junit])]);
}
