// SPDX-License-Identifier: Apache-2.0
/**
 * Turns the arguments of `vuhca run` into a guest, and finds mistakes in them before anything
 * starts. Called by run-action.ts.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { AdapterNode } from '../../../device/topology/fabric-plan.ts';
import type { PersonalityName } from '../../../device/topology/personalities.ts';
import { asStock, type JobModule, packJob } from '../../../guest-tests/harness/guest-image.ts';
import { type DistributionParts, ENTER_WITH_CASE, provideDistributionParts } from '../../../qemu/distribution-guest.ts';
import type { GuestDisk, GuestOptions } from '../../../qemu/guest-options.ts';
import type { DistributionSet } from '../../../qemu/setup/distribution.ts';
import { STOCK_DRIVERS } from '../../../qemu/setup/guest-kernel.ts';
import { resolveGuestKernel } from '../../../qemu/setup/kernel-choice.ts';
import type { AdapterArguments } from '../options/adapter-arguments.ts';
import { readAdapterOptions, readFabric } from '../options/adapter-options.ts';
import { checkDisk, diskFormat } from '../options/disk-file.ts';
import { checkInput, checkOutput } from '../options/named-files.ts';
import { personalityOf } from '../options/personality.ts';
import { readLinks } from '../options/socket-links.ts';
import { UsageError } from '../options/usage-error.ts';
import { buildShellImage, foldersForGuest } from '../session/guest-image.ts';
import { findMemoryObjection } from '../session/shared-memory.ts';
import { type GuestScript, readScript } from '../test/script-file.ts';
import { readFileOption } from '../test/test-job.ts';
import { provideTestKernel } from '../test/test-kernel.ts';
import {
  checkTarget,
  type ModuleTarget,
  OUR_DRIVER,
  provideTargets,
  type TestKernel,
  VERBS_FOLDER,
} from '../test/test-modules.ts';
import { readTopologyFile } from '../topology/topology-file.ts';
import type { RunArguments } from './run-command.ts';

/** Options that only our own guest has. */
const OURS = ['case', 'driver', 'module', 'files', 'distribution'] as const;
const MEMORY_MIB = 512;
/** A stock driver takes much memory for its contexts, Debian's user space for its files. */
const DEMANDING_MIB = 1024;
/** Slots of a q35's root bus that are free for root ports, when a disk has one too. */
const GUEST_FUNCTIONS_MAX = 28;

/** Arguments about the adapter process and the session, which the guest does not depend on. */
type OtherArguments =
  | 'attach'
  | Exclude<keyof AdapterArguments, 'orderCheck' | 'tcgThread'>
  | 'capture'
  | 'captureLimit'
  | 'control'
  | 'ibsim'
  | 'logLevel'
  | 'record'
  | 'recordLimit'
  | 'timeout'
  | 'view';

/** The arguments that decide about the guest. */
export type GuestArguments = Omit<RunArguments, OtherArguments> & {
  /** The packages of Debian's user space; `base` when absent. */
  readonly set?: DistributionSet;
};

/** Throws UsageError for arguments that are wrong, or that contradict each other. */
export function checkRun(given: RunArguments, qemuArguments: readonly string[] = []): void {
  const { functionCount } = readAdapterOptions(given);
  if (functionCount > GUEST_FUNCTIONS_MAX)
    throw new UsageError(
      `option --functions is ${functionCount}; one guest has room for ${GUEST_FUNCTIONS_MAX}, more need \`vuhca device\``,
    );
  readLinks(given);
  readFabric(given, 'switch');
  checkPaths(given);
  for (const own of OURS)
    for (const name of ['initramfs', 'disk'] as const)
      if (given[own] !== undefined && given[name] !== undefined)
        throw new UsageError(`--${own} is for our own guest, so --${name} cannot be given with it`);
  if (given.packages !== undefined && given.distribution !== true)
    throw new UsageError("option --packages adds to Debian's user space: give --distribution as well");
  for (const target of targetsOf(given)) checkTarget(target);
  readCase(given);
  kindsOf(given);
  if (given.topology !== undefined && given.personality !== 'vuhca')
    throw new UsageError('option --personality cannot be given with --topology: the file says it');
  if (given.append !== undefined && bootsFromDisk(given))
    throw new UsageError('--append needs --kernel: a disk boots with the command line of its own boot loader');
  if (given.record !== undefined && given.ibsim !== undefined)
    throw new UsageError('option --record cannot be given with --ibsim: a recording has nothing of what clients send');
  if (given.disk !== undefined) checkDisk('option --disk', given.disk);
  const objection = findMemoryObjection(qemuArguments);
  if (objection !== undefined) throw new UsageError(objection);
}

/**
 * Checks that inputs exist, outputs can be written, and no output is another file of the command.
 * Throws UsageError with one sentence.
 */
function checkPaths(given: RunArguments): void {
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

/** The guest. Builds our own image when no other is named. */
export async function prepareGuest(given: GuestArguments, qemuArguments?: readonly string[]): Promise<GuestOptions> {
  const kernel = bootsFromDisk(given) ? undefined : await provideTestKernel(given.kernel, given.headers);
  const distribution = given.distribution === true ? await provideParts(given) : undefined;
  const options: Partial<Record<keyof GuestOptions, unknown>> = {
    kernel: kernel?.imagePath,
    initramfs: await chooseInitramfs(given, kernel, distribution),
    disk: distribution?.disk ?? describeDisk(given),
    bootFromDisk: bootsFromDisk(given) || undefined,
    append: given.append,
    patient: given.inspect !== undefined || given.gdb !== undefined || given.stepwise || undefined,
    memoryMiB: given.memory ?? (isDemanding(given) ? DEMANDING_MIB : MEMORY_MIB),
    cpus: given.cpus,
    gdb: given.gdb,
    paused: given.paused,
    consoleLog: given.consoleLog === undefined ? undefined : resolve(given.consoleLog),
    interactive: given.case === undefined,
    waitsForStores: checksOrder(given) || undefined,
    tcgThread: takesTurns(given) ? 'single' : undefined,
    extraArguments: qemuArguments,
  };
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

async function chooseInitramfs(
  given: GuestArguments,
  kernel: TestKernel | undefined,
  distribution: DistributionParts | undefined,
): Promise<string> {
  if (given.initramfs !== undefined) return resolve(given.initramfs);
  if (kernel === undefined || given.disk !== undefined) return '';
  const { bootModules } = kernel;
  const modules = [
    ...(distribution?.modules ?? []).map(asStock),
    ...(await provideStockDrivers(given, kernel)),
    ...(await provideTargets(targetsOf(given), kernel)),
  ];
  const files = distribution?.files ?? (given.files ?? []).map(readFileOption);
  const loaded = new Set(modules.map(({ name }) => name));
  // Modules that use our driver can be loaded by hand.
  const script = readCase(given);
  const caseText = script?.text.toString('latin1') ?? '';
  const others = await kernel.build(loaded.has(OUR_DRIVER) ? foldersForGuest(caseText) : []);
  const packed = others.flat().filter(({ name }) => !loaded.has(name));
  if (script === undefined) return buildShellImage({ bootModules, modules, packed, files }, given.gdb !== undefined);
  const { name, text } = script;
  const entry = { name, text: distribution === undefined ? text : ENTER_WITH_CASE };
  return packJob({ bootModules, modules, packed, files, script: entry });
}

/** Debian's user space for the kernel, with the files and the case of the user in its root. */
async function provideParts(given: GuestArguments): Promise<DistributionParts> {
  const { stock } = await resolveGuestKernel(given.kernel, given.headers);
  if (stock === undefined) {
    const advice = 'name a kernel of Debian, or leave out --distribution';
    throw new UsageError(`option --distribution needs the modules that belong to the kernel; ${advice}.`);
  }
  const files = (given.files ?? []).map(readFileOption);
  const caseText = readCase(given)?.text ?? '';
  const { packages = [], personality, set } = given;
  return provideDistributionParts(stock, {
    files,
    caseText,
    packages,
    hasVerbs: personality === 'vuhca',
    ...(set === undefined ? {} : { set }),
  });
}

/** The script of the user. Throws UsageError when the guest cannot run it. */
function readCase(given: GuestArguments): GuestScript | undefined {
  const files = (given.files ?? []).map(readFileOption);
  if (given.case === undefined) return undefined;
  return readScript('--case', given.case, given.distribution === true ? 'distribution' : { files });
}

/** The kinds of the adapters that the guest has; undefined: our own. Throws UsageError. */
function kindsOf({ topology, personality }: GuestArguments): Set<AdapterNode['personality']> {
  if (topology === undefined) return new Set([personalityOf(personality)]);
  return new Set(readTopologyFile(topology).adapters.map((node) => node.personality));
}

/** An adapter of the guest has the option `--order-check`, or its member in a topology file. */
function checksOrder({ orderCheck = false, topology }: GuestArguments): boolean {
  if (topology === undefined) return orderCheck;
  return readTopologyFile(topology).adapters.some(({ options }) => options.orderCheck === true);
}

/** The option `--tcg-thread` is `single`, or an adapter of a topology file is for such a guest. */
function takesTurns({ tcgThread = 'multi', topology }: GuestArguments): boolean {
  if (topology === undefined) return tcgThread === 'single';
  return readTopologyFile(topology).adapters.some((node) => 'pollsPause' in node.options && node.options.pollsPause);
}

/** The drivers of personalities; Debian's user space loads them by itself. */
async function provideStockDrivers(given: GuestArguments, kernel: TestKernel): Promise<JobModule[]> {
  const { distribution, driver } = given;
  if (distribution === true || driver !== undefined) return [];
  const names = personalitiesOf(given).flatMap((personality) => STOCK_DRIVERS[personality]);
  return (await kernel.stock(...names)).map(asStock);
}

function personalitiesOf(given: GuestArguments): PersonalityName[] {
  return [...kindsOf(given)].filter((kind) => kind !== undefined);
}

/** The driver and the modules to load. */
function targetsOf(given: GuestArguments): ModuleTarget[] {
  const { driver, module = [], kernel, headers, distribution } = given;
  const path = driver ?? (kindsOf(given).has(undefined) ? OUR_DRIVER : 'none');
  // Our driver cannot be compiled for a kernel without headers.
  const isForeign = kernel !== undefined && existsSync(kernel) && headers === undefined;
  const isLeftOut = path === 'none' || (isForeign && path === OUR_DRIVER);
  // Debian's RDMA software needs a device of the kernel's RDMA core.
  const hasVerbs = distribution === true && path === OUR_DRIVER && !isLeftOut;
  return [
    ...(isLeftOut ? [] : [{ option: '--driver', path, kind: 'driver' as const }]),
    ...(hasVerbs ? [{ option: '--distribution', path: VERBS_FOLDER, kind: 'module' as const }] : []),
    ...module.map((one) => ({ option: '--module', path: one, kind: 'module' as const })),
  ];
}

function describeDisk({ disk, snapshot = true }: GuestArguments): GuestDisk | undefined {
  if (disk === undefined) return undefined;
  const path = resolve(disk);
  return { path, format: diskFormat(path), snapshot };
}

function isDemanding(given: GuestArguments): boolean {
  return given.distribution === true || personalitiesOf(given).length > 0;
}

function bootsFromDisk({ disk, kernel }: GuestArguments): boolean {
  return disk !== undefined && kernel === undefined;
}
