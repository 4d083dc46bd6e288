// SPDX-License-Identifier: Apache-2.0
/**
 * The options of a guest, and the QEMU command line that follows from them. Pure: paths and values
 * in, arguments out. The machine is q35 with SeaBIOS and a directly loaded kernel. Guest memory is
 * a shared memfd, because a vfio-user device reaches it only through the file descriptor (QEMU
 * documentation, "vfio-user"). Called by guest.ts.
 */

/** One PCIe function offered on a vfio-user socket, or several of one device. */
export interface VfioUserDevice {
  /** The unix socket the device process listens on. */
  readonly socketPath: string;
  /**
   * Sockets of functions 1 and up of the device, which share the slot of the first one behind a
   * root port.
   */
  readonly furtherFunctions?: readonly string[];
  /** QEMU's id of the device; `hcaN` when absent. */
  readonly id?: string;
  /**
   * False puts it on the root bus (as a root complex integrated endpoint) instead of behind a root
   * port.
   */
  readonly rootPort?: boolean;
  /**
   * How long QEMU waits for an answer; then it drops the device for good. A day when absent, so
   * that a breakpoint in the device process cannot kill the guest.
   */
  readonly messageTimeoutMs?: number;
  /** Further properties of vfio-user-pci, by their QEMU names. */
  readonly properties?: Readonly<Record<string, unknown>>;
}

/** A disk image for virtio-blk; the guest needs the module virtio_blk. */
export interface GuestDisk {
  readonly path: string;
  /** `raw` when absent. */
  readonly format?: string;
  /** True discards the writes of the guest and leaves the image unchanged. */
  readonly snapshot?: boolean;
  /** True gives the guest a disk that it cannot write; several guests may share the image. */
  readonly readOnly?: boolean;
}

/** How the processor is emulated. */
export type Accelerator = 'kvm' | 'tcg';

/** QEMU's `-accel tcg,thread=`: a thread for each processor of a guest, or one for all. */
export type TcgThread = 'multi' | 'single';

/** A guest to start; every member is optional. */
export interface GuestOptions {
  /** A bzImage; Debian's stock kernel when absent. */
  readonly kernel?: string;
  /** An initramfs; one that powers off at once when absent, none when empty. */
  readonly initramfs?: string;
  readonly disk?: GuestDisk;
  /** True starts the boot loader of the disk: no kernel, initramfs or command line is given. */
  readonly bootFromDisk?: boolean;
  /** 512 when absent. */
  readonly memoryMiB?: number;
  /** 2 when absent. */
  readonly cpus?: number;
  /** Words added to the kernel command line. */
  readonly append?: string;
  /**
   * True turns off the kernel's stall watchdogs, for a debugger that stops the device and with it
   * the guest.
   */
  readonly patient?: boolean;
  readonly devices?: readonly VfioUserDevice[];
  /**
   * True has a processor wait until the adapter has taken a store to a BAR. The adapter then sees
   * memory as it was at the store; otherwise the processor goes on meanwhile.
   */
  readonly waitsForStores?: boolean;
  /**
   * Threads of TCG; `multi` when absent. With `single` the processors of the guest take turns on
   * one thread, and one that executes PAUSE or HLT ends its turn: two of them leave a CPU of this
   * machine to the adapter, and software that polls without PAUSE keeps the other from running.
   */
  readonly tcgThread?: TcgThread;
  /** False makes guest memory private, which breaks DMA silently; for the test that shows it. */
  readonly sharedMemory?: boolean;
  /** Names of virtio-serial ports beside `vuhca.report`. */
  readonly ports?: readonly string[];
  /** The file that receives the serial console. */
  readonly consoleLog?: string;
  /** Called with each line of the serial console. */
  readonly onConsoleLine?: (line: string) => void;
  /**
   * Called with each line of the kernel's log, as `dmesg` prints it, whatever the level of the
   * console. Only our own init sends it.
   */
  readonly onKernelLine?: (line: string) => void;
  /** True connects the serial console to this terminal; `onConsoleLine` is not called then. */
  readonly interactive?: boolean;
  /** True lets the system of the guest sleep in memory (S3), which is off in QEMU's q35. */
  readonly sleeps?: boolean;
  /** Where QEMU's gdb server listens: `unix:/path` or `tcp::1234`. */
  readonly gdb?: string;
  /** True waits for gdb or QMP's `cont` before the first instruction. */
  readonly paused?: boolean;
  /** When absent, VUHCA_ACCEL decides, or else the faster one that works. */
  readonly accelerator?: Accelerator;
  /** Arguments added at the end. */
  readonly extraArguments?: readonly string[];
}

/** The options of a guest with every choice made. */
export interface GuestPlan extends GuestOptions {
  readonly kernel: string;
  readonly initramfs: string;
  readonly accelerator: Accelerator;
  /** Under TCG, for a guest whose first process is our init.sh; the HPET is the clock otherwise. */
  readonly tsc?: TscClock;
}

/** Options of a guest that uses the time stamp counter under TCG. */
export interface TscClock {
  /** The frequency of the host's counter. */
  readonly khz: number;
  /** Timer interrupts per second of the guest's kernel. */
  readonly tickHz: number;
}

/** The sockets that QEMU connects to: QMP and one for each port. */
export interface GuestSockets {
  readonly qmp: string;
  readonly ports: readonly { readonly name: string; readonly path: string }[];
}

const DEFAULT_MEMORY_MIB = 512;
const DEFAULT_CPUS = 2;
const DAY_MS = 86_400_000;

/**
 * Kernel options that turn off the reports of soft lockups, RCU stalls, hung tasks and work queues.
 */
const PATIENCE =
  'nosoftlockup rcupdate.rcu_cpu_stall_suppress=1 sysctl.kernel.hung_task_timeout_secs=0 workqueue.watchdog_thresh=0';
/**
 * Kernel options that shorten a boot under TCG and change nothing that a driver sees. panic=-1 with
 * -no-reboot ends QEMU on a panic; nokaslr lets a debugger use the addresses of the symbol file.
 */
const APPEND = [
  'console=ttyS0 quiet panic=-1 nokaslr mitigations=off no_timer_check cryptomgr.notests',
  'random.trust_cpu=on initcall_blacklist=jent_mod_init',
].join(' ');

/** With KVM the time stamp counter is that of the processor. */
const KVM_CLOCK = 'tsc=reliable';
/**
 * A booting kernel measures the frequency of the time stamp counter. Under TCG on a busy machine it
 * measures one that is far too low, and then the guest's clock runs many times too fast. The
 * frequency of the HPET is known. A counter that is unstable from the start also spares the kernel
 * a patch of its own code while other processors run it: see ONE_PROCESSOR.
 */
const HPET_CLOCK = 'tsc=unstable clocksource=hpet';
/**
 * Boots with one processor; init.sh brings up the others. With a stable counter Linux patches its
 * own code late in the boot (sched_clock_init_late), and puts a breakpoint (int3) on the
 * instruction for a moment. QEMU 11.1 (accel/tcg/cputlb.c, notdirty_write) drops the translations
 * of a page before the store that changes it. A processor that translates the page in between keeps
 * a translation with the breakpoint, and executes it when the kernel no longer knows it: an oops.
 * `noreplace-smp` spares the kernel two patches of all its locks.
 */
const ONE_PROCESSOR = 'maxcpus=1 noreplace-smp';

/**
 * A booting kernel takes the HPET for its ticks until it has the timers of its processors, and then
 * clears the enable bit of the HPET's timer. In QEMU since 9.1 (hw/timer/hpet.c) that bit gates the
 * interrupt alone: the timer stays periodic and wakes the main loop 250 times a second, as long as
 * the guest runs. Without the HPET the kernel takes the PIT, which it stops.
 */
const NO_HPET = 'hpet=disable';

/**
 * Under TCG the time stamp counter is that of the host, and much cheaper than the HPET, each
 * reading of which takes QEMU's lock. The kernel trusts a frequency that it is given, and corrects
 * it by at most a hundredth (tsc_refine_calibration_work). The ticks of delay loops (lpj) would be
 * measured for each further processor.
 */
function tscClock({ khz, tickHz }: TscClock): string {
  return `${ONE_PROCESSOR} ${NO_HPET} tsc=reliable tsc_early_khz=${khz} lpj=${Math.round((khz * 1000) / tickHz)}`;
}

/**
 * An emulated processor of a busy machine gets a small part of the time that the guest's clock
 * shows: the kernel reports soft lockups after 80 s (20 s otherwise), RCU stalls after 100 s (21 s)
 * and hung tasks after 240 s (120 s), before a guest that is silent is ended.
 */
const TCG_WATCHDOGS = 'watchdog_thresh=40 rcupdate.rcu_cpu_stall_timeout=100 sysctl.kernel.hung_task_timeout_secs=240';

/** The arguments that start QEMU for `plan`. */
export function buildArguments(plan: GuestPlan, sockets: GuestSockets): string[] {
  const memoryMiB = plan.memoryMiB ?? DEFAULT_MEMORY_MIB;
  return [
    ...['-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot'],
    ...['-machine', 'q35,memory-backend=ram,vmport=off', ...processorArguments(plan)],
    ...['-m', `${memoryMiB}M`, '-object', memoryObject(memoryMiB, plan.sharedMemory ?? true)],
    ...kernelArguments(plan),
    ...consoleArguments(plan),
    ...['-qmp', `unix:${escapeComma(sockets.qmp)},server=off`],
    ...portArguments(sockets),
    ...diskArguments(plan.disk),
    ...(plan.sleeps === true ? ['-global', 'ICH9-LPC.disable_s3=0'] : []),
    ...(plan.devices ?? []).flatMap((device, index) => deviceArguments(device, index, plan.waitsForStores ?? false)),
    ...(plan.gdb === undefined ? [] : ['-gdb', gdbServer(plan.gdb)]),
    ...(plan.paused === true ? ['-S'] : []),
    ...(plan.extraArguments ?? []),
  ];
}

function kernelArguments(plan: GuestPlan): string[] {
  if (plan.bootFromDisk === true) return [];
  const watchdogs = plan.accelerator === 'tcg' ? TCG_WATCHDOGS : '';
  const append = [APPEND, clockOptions(plan), watchdogs, plan.patient === true ? PATIENCE : '', plan.append ?? '']
    .filter((words) => words !== '')
    .join(' ');
  const initramfs = plan.initramfs === '' ? [] : ['-initrd', plan.initramfs];
  return ['-kernel', plan.kernel, ...initramfs, '-append', append];
}

function clockOptions({ accelerator, tsc }: GuestPlan): string {
  if (accelerator === 'kvm') return KVM_CLOCK;
  return tsc === undefined ? HPET_CLOCK : tscClock(tsc);
}

function processorArguments(plan: GuestPlan): string[] {
  const cpus = ['-smp', String(plan.cpus ?? DEFAULT_CPUS)];
  // Five-level page tables make every page walk of the emulator longer.
  if (plan.accelerator === 'tcg')
    return ['-accel', `tcg,thread=${plan.tcgThread ?? 'multi'}`, '-cpu', 'max,la57=off', ...cpus];
  return ['-accel', 'kvm', '-cpu', 'host', ...cpus];
}

function memoryObject(memoryMiB: number, shared: boolean): string {
  return `memory-backend-memfd,id=ram,size=${memoryMiB}M,share=${shared ? 'on' : 'off'}`;
}

function consoleArguments(plan: GuestPlan): string[] {
  const log = plan.consoleLog === undefined ? '' : `,logfile=${escapeComma(plan.consoleLog)}`;
  // At a terminal the multiplexer offers Ctrl-A x, which ends QEMU.
  const mux = plan.interactive === true ? ',mux=on' : '';
  return ['-chardev', `stdio,id=console,signal=off${mux}${log}`, '-serial', 'chardev:console'];
}

function portArguments(sockets: GuestSockets): string[] {
  const ports = sockets.ports.flatMap(({ name, path }, i) => [
    ...['-chardev', `socket,id=port${i},path=${escapeComma(path)}`],
    ...['-device', `virtserialport,chardev=port${i},name=${name}`],
  ]);
  return ['-device', 'virtio-serial-pci', ...ports];
}

function diskArguments(disk: GuestDisk | undefined): string[] {
  if (disk === undefined) return [];
  const { path, format = 'raw', snapshot = false, readOnly = false } = disk;
  const drive = `if=none,id=disk,file=${escapeComma(path)},format=${format},snapshot=${snapshot ? 'on' : 'off'}`;
  return ['-drive', readOnly ? `${drive},readonly=on` : drive, '-device', 'virtio-blk-pci,drive=disk'];
}

function deviceArguments(device: VfioUserDevice, index: number, waitsForStores: boolean): string[] {
  const port = `rp${index}`;
  const behindPort = device.rootPort ?? true;
  const paths = [device.socketPath, ...(device.furtherFunctions ?? [])];
  const functions = paths.flatMap((path, number) => {
    const id = device.id ?? `hca${index}`;
    const properties = {
      driver: 'vfio-user-pci',
      id: number === 0 ? id : `${id}.${number}`,
      ...(behindPort ? { bus: port } : {}),
      ...(paths.length > 1 ? { addr: `0.${number}`, multifunction: true } : {}),
      'x-msg-timeout': device.messageTimeoutMs ?? DAY_MS,
      ...(waitsForStores ? { 'x-no-posted-writes': true } : {}),
      socket: { type: 'unix', path },
      ...device.properties,
    };
    return ['-device', JSON.stringify(properties)];
  });
  const rootPort = ['-device', `pcie-root-port,id=${port},chassis=${index + 1},slot=${index + 1}`];
  return [...(behindPort ? rootPort : []), ...functions];
}

function gdbServer(gdb: string): string {
  return gdb.startsWith('unix:') ? `${gdb},server=on,wait=off` : gdb;
}

function escapeComma(text: string): string {
  return text.replaceAll(',', ',,');
}
