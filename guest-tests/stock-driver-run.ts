// SPDX-License-Identifier: Apache-2.0
/**
 * Debian's unmodified InfiniBand drivers in a real guest, on devices of the personalities.
 * cases/stock-driver.sh has the checks. Called by stock-drivers.long.ts.
 */
import { readFileSync } from 'node:fs';
import type { Test } from 'tap';
import { defaultMthcaOptions } from '../device/personality/mthca/options.ts';
import { provideProgram } from '../qemu/setup/distribution.ts';
import { STOCK_DRIVERS } from '../qemu/setup/guest-kernel.ts';
import { type KernelChoice, resolveGuestKernel } from '../qemu/setup/kernel-choice.ts';
import type { DeviceStart } from './harness/device-process.ts';
import type { GuestJob } from './harness/guest-image.ts';
import { runGuest } from './harness/guest-run.ts';
import { runPastOthersFaults } from './harness/others-faults.ts';
import { report } from './harness/report.ts';

const SCRIPT = 'stock-driver.sh';
const MEMORY_MIB = 768;
/** Prefix of a line of the script with a time. */
const TIME = '  # time: ';
/** Results that the script prints for each device, and one more where there is devlink. */
const CHECKS = 10;
const DEVLINK = 'usr/sbin/devlink';
/** Number of runs that faults of others may spoil. */
const ATTEMPTS = 4;
/** Default prefix of a subnet. */
const PREFIX = 'fe80:0000:0000:0000';

/** Settings of the script for a driver; patterns are regular expressions of awk. */
interface StockDriver {
  /** The names of its devices, up to their numbers. */
  readonly device: string;
  /** The board_id that sysfs shows. */
  readonly board: string;
  /** A pattern for the name of the vector of commands in /proc/interrupts. */
  readonly commandVector: string;
  /** A pattern for complaints in the kernel's log, whose lines begin with their level. */
  readonly complaint: string;
  /** A pattern for complaints that real cards cause, too. */
  readonly harmless: string;
  /** Whether devlink shows its devices. */
  readonly hasDevlink: boolean;
}

const drivers = {
  mthca: {
    device: 'mthca',
    board: 'VUHCA-MTHCA',
    commandVector: 'mthca-cmd',
    complaint: 'mthca.*(fail|return|bogus|error|abort|[Uu]nhandled|old)',
    harmless: '^$',
    hasDevlink: false,
  },
  mlx5: {
    device: 'mlx5_',
    board: 'VUHCA_MLX5_0001',
    commandVector: 'mlx5_async',
    complaint: '^<[0-4]>.*mlx5',
    harmless: 'PTM is not supported by PCIe|Failed to get valid vendor specific ID',
    hasDevlink: true,
  },
} satisfies Record<keyof typeof STOCK_DRIVERS, StockDriver>;

/** A device, and values that its driver must show. */
export interface StockDevice {
  readonly driver: keyof typeof drivers;
  readonly type: string;
  readonly firmware: string;
  /** 16 hexadecimal digits; the default one of devices when absent. */
  readonly nodeGuid?: string;
  /** LID of port 1; 1 when absent. */
  readonly lid?: number;
}

/** The devices of a guest. */
export interface StockRun {
  readonly devices: readonly StockDevice[];
  /** The adapters of these devices, in their order, then others that no guest uses. */
  readonly adapters: DeviceStart;
  /** Kernel, as resolveGuestKernel() takes it; Debian 13's when absent. */
  readonly kernel?: string;
}

/** A GUID in groups of four digits, increased by `plus`. */
function guidText(nodeGuid: string, plus: number): string {
  const guid = (BigInt(`0x${nodeGuid}`) + BigInt(plus)).toString(16).padStart(16, '0');
  return guid.replace(/(.{4})(?=.)/g, '$1:');
}

/** Names of the devices as their drivers count them. */
function nameDevices(devices: readonly StockDevice[]): string[] {
  return devices.map(({ driver }, at) => {
    const number = devices.slice(0, at).filter((other) => other.driver === driver).length;
    return `${drivers[driver].device}${number}`;
  });
}

function describeDevice(name: string, device: StockDevice): string {
  const { driver, type, firmware, nodeGuid = defaultMthcaOptions.nodeGuid, lid = 1 } = device;
  const { board, commandVector, complaint, harmless } = drivers[driver];
  const settings = {
    DEVICE: name,
    MODULES: STOCK_DRIVERS[driver].join(' '),
    COMMAND_VECTOR: commandVector,
    COMPLAINT: complaint,
    HARMLESS: harmless,
    DEVLINK: hasDevlink(device) ? 'yes' : '',
    BOARD: board,
    TYPE: type,
    FIRMWARE: firmware,
    NODE_GUID: guidText(nodeGuid, 0),
    PORT_GID: `${PREFIX}:${guidText(nodeGuid, 1)}`,
    LID: `0x${lid.toString(16)}`,
  };
  return Object.entries(settings)
    .map(([key, value]) => `${key}='${value}'\n`)
    .join('');
}

function hasDevlink({ driver }: StockDevice): boolean {
  return drivers[driver].hasDevlink;
}

async function makeJob(devices: readonly StockDevice[], kernel: KernelChoice): Promise<GuestJob> {
  const names = nameDevices(devices);
  const packed = await kernel.provideModules(devices.flatMap(({ driver }) => STOCK_DRIVERS[driver]));
  return {
    bootModules: kernel.bootModules,
    packed,
    files: [
      { path: '/etc/stock/modules', content: packed.map(({ name }) => `${name}\n`).join(''), mode: 0o644 },
      ...(devices.some(hasDevlink) ? await provideProgram(DEVLINK) : []),
      ...devices.map((device, at) => {
        const name = names[at] as string;
        return { path: `/etc/stock/devices/${name}`, content: describeDevice(name, device), mode: 0o644 };
      }),
    ],
    script: { name: SCRIPT, text: readFileSync(new URL(`cases/${SCRIPT}`, import.meta.url), 'utf8') },
  };
}

/** Runs the checks in one guest, and adds the results to `t`. */
export async function checkStockDrivers(t: Test, { devices, adapters, kernel }: StockRun): Promise<void> {
  const chosen = await resolveGuestKernel(kernel);
  const job = await makeJob(devices, chosen);
  const run = await runPastOthersFaults(t, ATTEMPTS, () =>
    runGuest(job, {
      guest: { memoryMiB: MEMORY_MIB, kernel: chosen.imagePath },
      device: adapters,
      functions: devices.map((_, number) => number),
      onReport: (line) => {
        if (line.startsWith(TIME)) t.comment(line.slice(TIME.length));
      },
    }),
  );
  report(t, run, CHECKS * devices.length + devices.filter(hasDevlink).length);
  t.comment(`${run.seconds.toFixed(1)} s`);
}
