// SPDX-License-Identifier: Apache-2.0
/**
 * The options and the help of `vuhca run`, which starts an adapter and a guest. program.ts loads
 * them when the command is called; run-action.ts performs it.
 */
import { type AdapterArguments, addAdapterOptions } from './adapter-arguments.ts';
import type { CliCommand } from './cli-command.ts';
import { inspectOption } from './inspector.ts';
import { type LogLevel, logLevelOption } from './log-levels.ts';
import { wholeNumber } from './option-values.ts';

/** The values of the options. */
export interface RunArguments extends AdapterArguments {
  readonly kernel?: string;
  readonly initramfs?: string;
  readonly disk?: string;
  readonly snapshot?: boolean;
  readonly append?: string;
  readonly case?: string;
  readonly memory: number;
  readonly cpus: number;
  readonly consoleLog?: string;
  readonly gdb?: string;
  readonly paused?: boolean;
  readonly inspect?: string;
  readonly logLevel: LogLevel;
  readonly record?: string;
  readonly capture?: string;
}

const MEMORY_MAX_MIB = 1 << 20;
const CPUS_MAX = 255;

export function defineRun(command: CliCommand): void {
  command.takeRest('QEMU-ARGUMENT');
  addGuestOptions(command);
  addDebuggingOptions(command);
  addAdapterOptions(command);
  command.addNotes(
    'Without --case the serial console is your terminal: `exit` or `poweroff -f` in the guest ends it,',
    'and so does Ctrl-A x. All words behind `--` go to QEMU as they are.',
    '',
    'Exit status: that of the case; 1 when guest or adapter failed, or the guest kernel complained.',
    'QEMU=PROGRAM chooses a QEMU, VUHCA_ACCEL=kvm|tcg how it runs.',
  );
  command
    .addExample('vuhca run', 'a shell in a guest with the adapter and its driver')
    .addExample('vuhca run --case test.sh --capture x.pcap', 'a script in the guest, and its packets')
    .addExample('vuhca run --record x.rec', 'a recording for `vuhca replay`')
    .addExample('vuhca run --kernel bzImage --initramfs initrd.img --append "console=ttyS0"', 'your kernel')
    .addExample('vuhca run --disk image.qcow2 --memory 2048 -- -nic user', 'your disk, with a network')
    .addExample('vuhca run --gdb --paused --inspect', 'debuggers on both sides')
    .addExample('vuhca run --functions 3 --pcbs 128 --ordering adversarial:7', 'another adapter')
    .addExample('vuhca run --link 1=listen:/tmp/cable', 'one of two linked guests')
    .addExample('vuhca run --link 1=connect:/tmp/cable --lids 3,4 --node-guid 0056554843410010', 'the other one');
}

function addGuestOptions(command: CliCommand): void {
  command
    .optionsGroup('Guest:')
    .option('--kernel <FILE>', "A bzImage (default: Debian 13's stock kernel)")
    .option('--initramfs <FILE>', 'An initramfs (default: busybox and our driver)')
    .option('--disk <FILE>', 'A disk image; the guest boots from it when there is no --kernel')
    .option('--snapshot', 'Leaves the disk image as it is')
    .option('--append <WORDS>', 'Words added to the kernel command line')
    .option('--case <FILE>', 'A shell script that our guest runs instead of a shell')
    .addOption(wholeNumber('--memory <MIB>', 'Guest memory', 64, MEMORY_MAX_MIB).default(512))
    .addOption(wholeNumber('--cpus <N>', 'Guest processors', 1, CPUS_MAX).default(2))
    .option('--console-log <FILE>', 'Keeps the output of the guest on its console');
}

function addDebuggingOptions(command: CliCommand): void {
  command
    .optionsGroup('Recording and debugging:')
    .option('--record <FILE>', 'Records the session, for `vuhca replay`')
    .option('--capture <FILE>', 'Captures the packets of both ports, for Wireshark')
    .addOption(logLevelOption('warn'))
    .addOption(inspectOption('--inspect', 'Lets a debugger attach to the adapter process; see docs/DEBUGGING.md'))
    .addOption(command.createOption('--gdb [SERVER]', "Starts QEMU's gdb server").preset('tcp::1234'))
    .option('--paused', 'Waits for gdb before the first instruction');
}
