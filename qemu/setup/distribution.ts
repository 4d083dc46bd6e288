// SPDX-License-Identifier: Apache-2.0
/**
 * The root file system of a guest with Debian 13's user space: a shell, the RDMA packages and
 * everything they depend on, and the stock modules of one kernel. It is made without root rights:
 * packages are unpacked, not installed, and the image is an uncompressed EROFS, which a guest
 * mounts read-only below an overlay, so several guests share one file. The larger set has storage,
 * message passing and their libraries as well, for suites between two guests, and another one adds
 * programs that measure and watch; one has valgrind, and one what a machine needs to run `vuhca`
 * itself. Further packages come by their names (package-set.ts). Single programs of it go into
 * smaller guests, too. Called by `vuhca run --distribution`, `vuhca setup distribution`, the runner
 * of foreign suites and tests.
 */
import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { provide } from './cache.ts';
import {
  compilePython,
  compilePythonTests,
  configureRoot,
  filesOf,
  type ProgramFile,
  programOf,
} from './distribution-root.ts';
import { type GuestKernel, provideGuestKernel, provideStockModules, STOCK_DRIVERS } from './guest-kernel.ts';
import { providePackageSet, SETS_KEPT } from './package-set.ts';
import { readSetNames, writeSetNames } from './package-set-names.ts';
import { dropFiles, fetchFiles, unpackPackages, withRequest } from './packages.ts';
import { withProgress } from './progress.ts';
import { BASE_PACKAGES } from './system-packages.ts';
import { run } from './tools/command.ts';

const RECIPE_VERSION = 1;
const IMAGE_VERSION = 2;
const IMAGE = 'root.erofs';

const SHELL = [
  ...['base-files', 'base-passwd', 'bash', 'coreutils', 'dash', 'debianutils', 'diffutils', 'findutils', 'grep'],
  ...['gzip', 'hostname', 'kmod', 'less', 'libc-bin', 'mawk', 'mount', 'ncurses-base', 'procps', 'psmisc', 'sed'],
  ...['tar', 'util-linux', 'erofs-utils'],
];
const TOOLS = ['ethtool', 'iperf3', 'iproute2', 'iputils-ping', 'pciutils', 'strace', 'tcpdump'];
const RDMA = [
  ...['ibutils', 'ibverbs-providers', 'ibverbs-utils', 'infiniband-diags', 'librdmacm1t64', 'opensm', 'perftest'],
  ...['python3-pyverbs', 'qperf', 'rdma-core', 'rdmacm-utils'],
];
/** Users of the verbs for suites between two guests: storage, UCX, Open MPI, libfabric. */
const MORE = [
  ...[
    'e2fsprogs',
    'fio',
    'libfabric-bin',
    'nfs-common',
    'nfs-kernel-server',
    'nvme-cli',
    'open-iscsi',
    'openmpi-bin',
    'openssh-client',
    'python3-mpi4py',
    'srptools',
  ],
  ...['ucx-utils'],
];
/** What nodes of a cluster reach each other by. */
const SSH = ['openssh-client', 'openssh-server'];
/** Programs that measure and watch an InfiniBand port, and programs that run over it. */
const PROGRAMS = [
  'hpcc',
  'ibacm',
  'iperf',
  'libiscsi-bin',
  'mpich',
  'netpipe-mpich2',
  'prometheus-node-exporter',
  'tgt',
];
/** Never run in the guest: it has no service manager and no packages to install. */
const UNUSED = [
  ...['adduser', 'debconf', 'dpkg', 'init-system-helpers', 'libdb5.3t64', 'libgdbm-compat4t64', 'libgdbm6t64'],
  ...['libperl5.40', 'libsystemd-shared', 'perl-modules-5.40', 'systemd', 'tzdata', 'perl'],
];
/** Packages of plugins of UCX for accelerators, which no guest has. */
const ACCELERATORS = ['libllvm17t64', 'libamd-comgr2', 'libamdhip64-5', 'libz3-4', 'libhsa-runtime64-1', 'libhsakmt1'];

/** Modules that the guest may load by name or by alias; their dependencies come along. */
const MODULES = [
  ...Object.values(STOCK_DRIVERS).flat(),
  ...['rdma_rxe', 'ib_uverbs', 'ib_umad', 'ib_ipoib', 'rdma_ucm', 'dummy'],
  ...['virtio_net', 'af_packet', 'bonding'],
  ...['ib_iser', 'ib_isert', 'ib_srp', 'ib_srpt', 'nvme_rdma', 'nvmet_rdma', 'nvme_loop', 'null_blk', 'brd', 'loop'],
  ...['target_core_file', 'target_core_iblock', 'sd_mod', 'rds_rdma', 'rpcrdma', 'configfs', 'ext4'],
  ...['nfsd', 'nfsv4'],
  // Soft-RoCE and file systems ask the crypto layer for checksums by name.
  ...['crc32_generic', 'crc32_pclmul', 'crc32c_generic', 'crc32c_intel'],
];
/** Modules that reach the image; the initramfs has them. EROFS computes its checksum by crc32c. */
export const ROOT_MODULES = ['virtio_blk', 'crc32c_generic', 'erofs', 'overlay'];

/** Modules that a guest may load: all of it must be in a kernel that is built for guests. */
export const GUEST_MODULES: readonly string[] = [...ROOT_MODULES, ...MODULES];

const BASE = [...SHELL, ...TOOLS, ...RDMA];
const SETS = {
  base: { names: BASE, except: UNUSED },
  larger: { names: [...BASE, ...MORE], except: [...UNUSED, ...ACCELERATORS] },
  programs: { names: [...BASE, ...MORE, ...PROGRAMS], except: [...UNUSED, ...ACCELERATORS] },
  cluster: { names: [...BASE, ...SSH], except: UNUSED },
  valgrind: { names: [...BASE, 'valgrind'], except: UNUSED },
  host: { names: [...BASE, ...BASE_PACKAGES.map(({ name }) => name), 'nodejs'], except: [] },
} as const;

/** All have what `base` has. */
export type DistributionSet = keyof typeof SETS;

/** The root file system of a guest. */
export interface Distribution {
  /** The EROFS image, for a read-only virtio-blk disk. */
  readonly imagePath: string;
}

/**
 * The image for `kernel`, with `packages` of Debian beside those of the set, fetched and made when
 * the cache lacks it.
 */
export async function provideDistribution(
  kernel?: GuestKernel,
  set: DistributionSet = 'base',
  packages: readonly string[] = [],
): Promise<Distribution> {
  const chosen = kernel ?? (await provideGuestKernel());
  const unpacked = await provideUnpacked(set, packages);
  const names = readSetNames(unpacked);
  const directory = await provide({
    name: names === undefined ? 'distribution' : 'package-image',
    key: [IMAGE_VERSION, unpacked, chosen.identity, MODULES],
    outputs: [IMAGE],
    ...(names === undefined ? {} : { keep: SETS_KEPT }),
    label: 'making the root file system of the guest',
    build: async (target) => {
      const root = join(target, 'root');
      await run('cp', ['--archive', '--link', unpacked, root]);
      if (names !== undefined) writeSetNames(target, names.split(','));
      await installModules(root, chosen);
      await compilePythonTests(root);
      const options = ['-T0', '--all-root', '--quiet'];
      await run(...programOf(root, 'usr/bin/mkfs.erofs', [...options, join(target, IMAGE), root]));
      rmSync(root, { recursive: true });
    },
  });
  return { imagePath: join(directory, IMAGE) };
}

/** `program`, as `usr/sbin/devlink`, with its libraries, for a guest that has no more of `base`. */
export async function provideProgram(program: string): Promise<ProgramFile[]> {
  return filesOf(await provideUnpacked('base'), program);
}

/**
 * Packs folders of this machine, at the paths that they have here and without what matches
 * `patterns` (as those of tar), into an EROFS image.
 */
export async function packFolders(
  image: string,
  folders: readonly string[],
  patterns: readonly string[],
): Promise<void> {
  const packages = await provideUnpacked('base');
  const options = ['--tar=f', '--all-root', '--quiet'];
  const [program, args] = programOf(packages, 'usr/bin/mkfs.erofs', [...options, image]);
  // Programs know files by times with fractions of a second, which only the format posix keeps.
  // Status 1: a file changed meanwhile, as those of a working copy may.
  const pack = '{ tar --create --format=posix --directory=/ --files-from=- || [ $? = 1 ]; } | "$@"';
  const lines = [...patterns.map((pattern) => `--exclude=${pattern}`), ...folders.map((path) => relative('/', path))];
  await withProgress('packing folders for a guest', () =>
    run('bash', ['--norc', '-o', 'pipefail', '-c', pack, 'bash', program, ...args], { input: `${lines.join('\n')}\n` }),
  );
}

/** The folder with the packages unpacked and set up; it is the same for all kernels. */
function provideUnpacked(set: DistributionSet, packages: readonly string[] = []): Promise<string> {
  const request = { kind: 'closure', suite: 'trixie', ...SETS[set] } as const;
  return withRequest('distribution', request, async (files) => {
    const path = await provide({
      name: 'distribution-packages',
      key: [RECIPE_VERSION, files.map((file) => file.sha256)],
      outputs: ['etc/passwd', 'usr/bin/mkfs.erofs'],
      keep: Object.keys(SETS).length,
      label: `unpacking Debian's user space`,
      build: async (target) => {
        await unpackPackages(await fetchFiles(files), target);
        await configureRoot(target);
        await withProgress('compiling the Python library', () => compilePython(target));
        dropFiles(files);
      },
    });
    return packages.length === 0 ? path : providePackageSet({ ...request, never: ACCELERATORS, files, path }, packages);
  });
}

/** Copies the modules as plain files, and lets depmod list their aliases and dependencies. */
async function installModules(root: string, kernel: GuestKernel): Promise<void> {
  const folder = join(root, 'usr/lib/modules', kernel.release, 'kernel');
  mkdirSync(folder, { recursive: true });
  for (const { name, path } of await provideStockModules(kernel, MODULES)) {
    copyFileSync(path, join(folder, `${name}.ko`));
  }
  for (const list of ['modules.builtin', 'modules.builtin.modinfo', 'modules.order']) {
    copyFileSync(join(kernel.listsDirectory, list), join(folder, '..', list));
  }
  await run(...programOf(root, 'usr/bin/kmod', ['--basedir', root, kernel.release], 'depmod'));
}
