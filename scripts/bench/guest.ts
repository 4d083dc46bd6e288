// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run bench`: both devices in one guest. First their registers, without the driver; then
 * messages through the driver. The guest runs one round for each read of a debugfs file and sends
 * its JSON lines over virtio-serial. It has one vCPU: a second one would be idle and cost host
 * time. Called by main.ts.
 */
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildInitramfs, type GuestModule } from '../../qemu/initramfs.ts';
import { KernelLogWatch } from '../../qemu/kernel-log.ts';
import { launchGuest } from '../../qemu/launch.ts';
import { buildKernelModules } from '../../qemu/setup/kernel-modules.ts';
import type { VfioUserLibrary } from '../../qemu/setup/library.ts';
import { SetupError } from '../../qemu/setup/tools/errors.ts';
import { startDevices } from './processes.ts';
import { type Round, SampleCollector } from './samples.ts';

const HERE = dirname(fileURLToPath(import.meta.url));
const SOURCES = [join(HERE, '../../guest-tests/driver'), join(HERE, 'guest')];
const BOUND_MS = 300_000;

export interface GuestBenchOptions {
  readonly library: VfioUserLibrary;
  readonly rounds: number;
  readonly profileDirectory: string | undefined;
}

/** The rounds that the guest measured. */
export interface GuestRounds {
  readonly registers: readonly Round[];
  readonly messages: readonly Round[];
}

/** Boots the guest and lets it measure. Throws SetupError when it does not end normally. */
export async function measureInGuest(options: GuestBenchOptions): Promise<GuestRounds> {
  const modules = (await buildKernelModules(SOURCES)).map((module): GuestModule => ({ ...module, load: false }));
  const initramfs = await buildInitramfs({ modules, caseScript: caseScript(options.rounds) });
  const devices = await startDevices(options);
  try {
    return await runGuest(initramfs, [devices.adapterSocket, devices.twinSocket]);
  } finally {
    await devices.stop();
  }
}

async function runGuest(initramfs: string, sockets: readonly string[]): Promise<GuestRounds> {
  const phases = { registers: new SampleCollector(), messages: new SampleCollector() };
  let phase: SampleCollector = phases.registers;
  const said: string[] = [];
  const kernelLog = new KernelLogWatch();
  const guest = await launchGuest({
    initramfs,
    cpus: 1,
    devices: sockets.map((socketPath) => ({ socketPath })),
    onConsoleLine: (line) => kernelLog.push(line),
  });
  let failure: unknown;
  guest.port().onLine((line) => {
    if (line === 'messages') phase = phases.messages;
    else if (!line.startsWith('{')) said.push(line);
    try {
      phase.push(line);
    } catch (error) {
      failure ??= error;
    }
  });
  const timer = setTimeout(() => void guest.quit(), BOUND_MS);
  const { status, errors } = await guest.whenExited;
  clearTimeout(timer);
  if (failure !== undefined) throw failure;
  if (status !== 0 || !said.includes('@vuhca exit 0')) {
    const words = [...said, ...kernelLog.complaints.map(({ line }) => line), errors].join('\n    ');
    throw new SetupError(
      `the guest of the benchmark failed (status ${status}); correct the cause it reports:\n    ${words}`,
    );
  }
  return { registers: phases.registers.rounds, messages: phases.messages.rounds };
}

function caseScript(rounds: number): string {
  const repeat = (file: string): string =>
    `for round in $(seq ${rounds}); do cat /sys/kernel/debug/vuhca-bench-${file} || exit 1; done`;
  return [
    '#!/bin/sh',
    'mount -t debugfs debugfs /sys/kernel/debug',
    'insmod /modules/vuhca_bench_mmio.ko || exit 1',
    repeat('mmio'),
    'rmmod vuhca_bench_mmio || exit 1',
    'echo messages',
    'insmod /modules/vuhca.ko || exit 1',
    'insmod /modules/vuhca_bench_post.ko || exit 1',
    repeat('post'),
    'rmmod vuhca_bench_post || exit 1',
    'rmmod vuhca || exit 1',
    '',
  ].join('\n');
}
