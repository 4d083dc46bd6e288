// SPDX-License-Identifier: Apache-2.0
/**
 * The options and the help of `vuhca test`, which tests kernel modules in a guest with an adapter.
 * program.ts loads them when the command is called; test-action.ts performs it.
 */
import { FUNCTION_MAX } from '../../../protocol/layout/gen/constants.gen.ts';
import { readShard, SHARD_RULE, type Shard } from '../../console/shard.ts';
import { adapterOption } from '../options/adapter-arguments.ts';
import type { CliCommand } from '../options/cli-command.ts';
import { several, type ViewMode, viewOption, wholeNumber } from '../options/option-values.ts';
import { type Personality, personalityOption } from '../options/personality.ts';
import { UsageError } from '../options/usage-error.ts';

/** TCP ports of this machine for the debuggers. */
export interface DebugPorts {
  readonly gdb: number;
  readonly inspector: number;
}

/** The values of the options. */
export interface TestArguments {
  readonly driver?: readonly string[];
  readonly module?: readonly string[];
  readonly script?: string;
  readonly files?: readonly string[];
  readonly kernel?: string;
  readonly headers?: string;
  readonly functions: number;
  readonly adapters: number;
  readonly memory?: number;
  readonly personality: Personality;
  readonly spin: string;
  readonly ordering: string;
  readonly writeCombining?: number;
  readonly dmaLatency: number;
  readonly fault?: string;
  readonly seeds?: number;
  readonly orderCheck: boolean;
  readonly cpus: number;
  readonly append?: string;
  readonly timeout: number;
  readonly jobs: number;
  readonly shard?: Shard;
  readonly tap?: boolean;
  readonly junit?: string;
  readonly record?: string;
  readonly debug?: DebugPorts;
  readonly view?: ViewMode;
}

const ADAPTERS_MAX = 8;
const JOBS_MAX = 64;
const SEEDS_MAX = 10_000;
const SECONDS_MAX = 86_400;
const MEMORY_MAX_MIB = 1 << 20;
const CPUS_MAX = 255;
const PORT_MAX = 65535;
/** A silent test may take this long on a busy machine. */
const DEFAULT_TIMEOUT_SECONDS = 300;

export function defineTest(command: CliCommand): void {
  command.argument('[FOLDER...]', 'Modules with a Kbuild file, a test.sh, or both; each folder has a guest of its own');
  addJobOptions(command);
  addGuestOptions(command);
  addDisturbances(command);
  addResultOptions(command);
  command.addNotes(
    'In the guest: drivers are loaded and must bind the adapter, modules are loaded, the script runs,',
    'and all are unloaded. Modules and script may print results as KTAP: the modules in the kernel log.',
    'In a FOLDER, a module that names the PCI id of the adapter is a driver. A module that needs',
    'symbols of the driver `vuhca` has it loaded first.',
    '',
    'A test also fails when the driver stores a command, its tail, its address handle or a mailbox after',
    'the doorbell or the copy that announces it (docs/HAZARDS.md). For that, each store to a BAR waits',
    'for the adapter; --no-order-check spares the time.',
    'With --seeds, run n of a job adds n to each seed that is given, from n = 0 on; when none is given,',
    'it has --ordering=adversarial:S and --write-combining=S with S = 1, 2 and so on.',
    '',
    "With a --personality the script runs in Debian's user space, with the stock driver. There it may",
    'call `adapter inject FAULT...`, which is `vuhca inject`, and `adapter objects`.',
  );
  command
    .addExample('vuhca test guest-tests/example', 'a driver and its test, see docs/WRITING-DRIVERS.md')
    .addExample('vuhca test --driver mydriver --script test.sh', 'a driver of yours, tested by a script')
    .addExample('vuhca test --module mytest --kernel bookworm', 'a module that uses our driver, on another kernel')
    .addExample('vuhca test --driver my.ko --files tool:/bin/tool --script test.sh --junit out.xml', 'for CI')
    .addExample('vuhca test --personality mthca --script test.sh', "a scenario with Debian's own driver and programs")
    .addExample('vuhca test guest-tests/example --seeds 20', 'late, disordered memory: 20 runs, 20 seeds')
    .addExample('vuhca test guest-tests/example --seeds 20 --shard 2/4 --junit 2.xml', 'on the second of four machines')
    .addExample('vuhca test guest-tests/example --debug', 'waits for gdb and the inspector');
}

function addJobOptions(command: CliCommand): void {
  command
    .optionsGroup('What runs:')
    .addOption(several('--driver <PATH>', 'A driver: a folder with a Kbuild file, a .ko file, or `vuhca`'))
    .addOption(several('--module <PATH>', 'A module with tests: a folder with a Kbuild file, or a .ko file'))
    .option('--script <FILE>', 'A program or shell script that runs in the guest')
    .addOption(several('--files <HOST:GUEST>', 'A file to copy into the guest, and its path there'));
}

function addGuestOptions(command: CliCommand): void {
  command
    .optionsGroup('Guest and adapter:')
    .option(
      '--kernel <VERSION>',
      'A kernel of Debian: trixie (default), bookworm, backports, 6.1; a build folder or bzImage',
    )
    .option('--headers <FOLDER>', 'The build folder of the bzImage, to compile modules for it')
    .addOption(wholeNumber('--functions <N>', 'Functions of the adapter', 1, FUNCTION_MAX).default(1))
    .addOption(wholeNumber('--adapters <N>', 'Adapters in the guest, linked in a ring', 1, ADAPTERS_MAX).default(1))
    .addOption(personalityOption())
    .addOption(
      wholeNumber('--memory <MIB>', 'Guest memory (default: 512); 1024 with a --personality', 64, MEMORY_MAX_MIB),
    )
    .addOption(wholeNumber('--cpus <N>', 'Guest processors', 1, CPUS_MAX).default(2))
    .option('--append <WORDS>', 'Words added to the kernel command line')
    .addOption(adapterOption('--spin'))
    .addOption(
      wholeNumber('--timeout <S>', 'Seconds without a sign of life that end the guest', 1, SECONDS_MAX).default(
        DEFAULT_TIMEOUT_SECONDS,
      ),
    )
    .addOption(wholeNumber('--jobs <N>', 'Guests that run at the same time', 1, JOBS_MAX).default(1))
    .addOption(
      command
        .createOption('--shard <I/N>', 'Runs one of N shares of the runs, for several machines')
        .argParser(readOwnShard),
    );
}

function addDisturbances(command: CliCommand): void {
  command.optionsGroup('What the driver has to bear:');
  for (const long of ['--ordering', '--write-combining', '--dma-latency', '--fault'])
    command.addOption(adapterOption(long));
  command
    .addOption(wholeNumber('--seeds <N>', 'Runs each job so many times, each time with other seeds', 1, SEEDS_MAX))
    .option('--no-order-check', 'Does not look for stores that come after the doorbell that announces them');
}

function addResultOptions(command: CliCommand): void {
  command
    .optionsGroup('Results and debugging:')
    .addOption(viewOption())
    .option('--tap', 'Prints the results as TAP')
    .option('--junit <FILE>', 'Writes the results as JUnit XML, too')
    .option('--record <FILE>', 'Keeps a recording of a run that fails, for `vuhca replay`')
    .addOption(
      command
        .createOption('--debug [GDB,INSPECTOR]', 'Waits for gdb, and opens the inspector of the adapter; no timeout')
        .preset('1234,9229')
        .argParser(readDebugPorts),
    );
}

function readOwnShard(text: string): Shard {
  const shard = readShard(text);
  if (shard === undefined) throw new UsageError(`option --shard is ${text}; ${SHARD_RULE}`);
  return shard;
}

function readDebugPorts(text: string): DebugPorts {
  const [, gdb, inspector] = /^(\d{1,5}),(\d{1,5})$/.exec(text) ?? [];
  const ports = { gdb: Number(gdb), inspector: Number(inspector) };
  if (Object.values(ports).every((port) => port > 0 && port <= PORT_MAX)) return ports;
  throw new UsageError(`option --debug is ${text}; it must be two ports, for instance 1234,9229`);
}
