// SPDX-License-Identifier: Apache-2.0
/**
 * The options and the help of `vuhca run`, which starts an adapter and a guest. program.ts loads
 * them when the command is called; run-action.ts performs it.
 */
import { type AdapterArguments, addAdapterOptions } from '../options/adapter-arguments.ts';
import type { CliCommand } from '../options/cli-command.ts';
import { inspectOption } from '../options/inspector.ts';
import {
  doorOption,
  LIMIT_MAX_MIB,
  type LogLevel,
  limitOption,
  logLevelOption,
  packagesOption,
  recordLimitOption,
  several,
  stepwiseOption,
  type ViewMode,
  viewOption,
  wholeNumber,
} from '../options/option-values.ts';
import { type Personality, personalityOption } from '../options/personality.ts';

/** The values of the options. */
export interface RunArguments extends AdapterArguments {
  readonly kernel?: string;
  readonly headers?: string;
  readonly initramfs?: string;
  readonly disk?: string;
  readonly snapshot?: boolean;
  readonly append?: string;
  readonly case?: string;
  readonly distribution?: boolean;
  readonly packages?: readonly string[];
  readonly driver?: string;
  readonly module?: readonly string[];
  readonly files?: readonly string[];
  readonly timeout?: number;
  readonly topology?: string;
  /** The place of a cluster, as typed. */
  readonly attach?: string;
  readonly personality: Personality;
  readonly control?: string;
  readonly ibsim?: number;
  readonly memory?: number;
  readonly cpus: number;
  readonly consoleLog?: string;
  readonly gdb?: string;
  readonly paused?: boolean;
  readonly inspect?: string;
  readonly view?: ViewMode;
  readonly stepwise?: boolean;
  readonly logLevel: LogLevel;
  readonly record?: string;
  /** In MiB. */
  readonly recordLimit: number;
  readonly capture?: string;
  /** In MiB. */
  readonly captureLimit: number;
}

const MEMORY_MAX_MIB = 1 << 20;
const CPUS_MAX = 255;
const SECONDS_MAX = 86_400;

export function defineRun(command: CliCommand): void {
  command.takeRest('QEMU-ARGUMENT');
  addGuestOptions(command);
  addDebuggingOptions(command);
  command
    .optionsGroup('Sockets:')
    .option('--topology <FILE>', 'Several adapters and their links, instead of one; see docs/TOPOLOGY.md')
    .option('--attach <CLUSTER:NODE>', 'A free place of a running cluster, instead of an adapter; see docs/CLUSTER.md')
    .option('--control <PATH>', 'The control socket (default: one that `vuhca status` and others find)')
    .addOption(doorOption())
    .addOption(personalityOption());
  addAdapterOptions(command);
  command.addNotes(
    'Without --case the serial console is your terminal: `exit` or `poweroff -f` in the guest ends it,',
    'and so does Ctrl-A x. All words behind `--` go to QEMU as they are. With --topology, all adapters',
    'of the file are in the guest.',
    '',
    'QEMU=PROGRAM chooses a QEMU, VUHCA_ACCEL=kvm|tcg how it runs.',
  );
  command
    .addExample('vuhca run', 'a shell in a guest with the adapter and its driver')
    .addExample('vuhca run --personality mthca --distribution', "Debian's own driver and RDMA programs")
    .addExample('vuhca run --personality mlx5 --functions 2 --distribution', 'a card with two ports')
    .addExample('vuhca run --distribution --packages gcc,libibverbs-dev', 'with a compiler, in the guest')
    .addExample('vuhca run --case test.sh --capture x.pcap', 'a script in the guest, and its packets')
    .addExample('vuhca run --record x.rec', 'a recording for `vuhca replay`')
    .addExample('vuhca run --kernel bzImage --initramfs initrd.img --append "console=ttyS0"', 'your kernel')
    .addExample('vuhca run --disk image.qcow2 --memory 2048 -- -nic user', 'your disk, with a network')
    .addExample('vuhca run --attach default:node2 --distribution', 'a guest at the place of a stopped node')
    .addExample('vuhca run --gdb --paused --inspect', 'debuggers on both sides')
    .addExample('vuhca run --functions 3 --pcbs 128 --ordering adversarial:7', 'another adapter')
    .addExample('vuhca run --case test.sh --fault drop=0.01,seed=7', 'packets get lost between the ports')
    .addExample('vuhca run --driver none --module mydriver --files tool:/bin/tool', 'your driver, and a program')
    .addExample('vuhca run --link 1=listen:/tmp/cable', 'one of two linked guests')
    .addExample('vuhca run --link 1=connect:/tmp/cable --lids 3,4 --node-guid 0056554843410010', 'the other one');
}

function addGuestOptions(command: CliCommand): void {
  command
    .optionsGroup('Guest:')
    .option('--kernel <FILE>', "A bzImage, or Debian's trixie, bookworm, backports (default: Debian 13's stock kernel)")
    .option('--headers <FOLDER>', 'The build folder of the bzImage, to compile modules for it')
    .option('--initramfs <FILE>', 'An initramfs (default: busybox and our driver)')
    .option('--distribution', "Debian's user space with its RDMA programs, instead of busybox")
    .addOption(packagesOption())
    .option('--disk <FILE>', 'A disk image; the guest boots from it when there is no --kernel')
    .option('--snapshot', 'Leaves the disk image as it is (the default)')
    .option('--no-snapshot', 'Lets the guest change the disk image')
    .option('--append <WORDS>', 'Words added to the kernel command line')
    .option('--case <FILE>', 'A shell script that our guest runs instead of a shell')
    .option('--driver <PATH>', 'The driver: none, vuhca, a folder with a Kbuild file, or a .ko file (default: vuhca)')
    .addOption(several('--module <PATH>', 'A module to load: a folder with a Kbuild file, or a .ko file'))
    .addOption(several('--files <HOST:GUEST>', 'A file to copy into the guest, and its path there'))
    .addOption(wholeNumber('--timeout <S>', 'Seconds without a sign of life that end the guest', 1, SECONDS_MAX))
    .addOption(
      wholeNumber(
        '--memory <MIB>',
        'Guest memory (default: 512); 1024 with --distribution or a --personality',
        64,
        MEMORY_MAX_MIB,
      ),
    )
    .addOption(wholeNumber('--cpus <N>', 'Guest processors', 1, CPUS_MAX).default(2))
    .option('--console-log <FILE>', 'Keeps the output of the guest on its console');
}

function addDebuggingOptions(command: CliCommand): void {
  command
    .optionsGroup('Recording and debugging:')
    .option('--record <FILE>', 'Records the session, for `vuhca replay`')
    .addOption(recordLimitOption())
    .option('--capture <FILE>', 'Captures the packets of both ports, for Wireshark')
    .addOption(limitOption('--capture-limit <MIB>', 'Ends the capture before it becomes longer', LIMIT_MAX_MIB))
    .addOption(logLevelOption('warn'))
    .addOption(inspectOption('--inspect', 'Lets a debugger attach to the adapter process; see docs/DEBUGGING.md'))
    .addOption(viewOption())
    .addOption(stepwiseOption())
    .addOption(command.createOption('--gdb [SERVER]', "Starts QEMU's gdb server").preset('tcp::1234'))
    .option('--paused', 'Waits for gdb before the first instruction');
}
