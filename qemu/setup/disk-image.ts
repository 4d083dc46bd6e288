// SPDX-License-Identifier: Apache-2.0
/**
 * A whole disk with Debian 13 as a user would install it: boot loader, kernel, initramfs, systemd,
 * the network, and the RDMA packages, from Debian's packages with their own scripts. Those scripts
 * run in a chroot, so root rights are needed to make it, and none to boot it. Called by `vuhca
 * setup disk-image`.
 */
import { closeSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { provide } from './cache.ts';
import { findMirror } from './mirror.ts';
import { fetchFiles, unpackPackages, withRequest } from './packages.ts';
import { run } from './tools/command.ts';
import { SetupError } from './tools/errors.ts';

const RECIPE_VERSION = 1;
const IMAGE = 'disk.img';
const LABEL = 'vuhca-root';
const HOOK = fileURLToPath(new URL('disk-image.sh', import.meta.url));
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';
const PACKAGES = [
  ...['linux-image-amd64', 'initramfs-tools', 'systemd-sysv', 'udev', 'dbus', 'kmod', 'login', 'passwd', 'grub-pc-bin'],
  ...['iproute2', 'iputils-ping', 'less', 'pciutils', 'procps', 'rdma-core', 'ibverbs-providers', 'ibverbs-utils'],
  ...['infiniband-diags', 'perftest', 'rdmacm-utils', 'openssh-server', 'openssh-client'],
];
/** Documents that no program reads. */
const LEFT_OUT = ['/usr/share/man/*', '/usr/share/locale/*', '/usr/share/info/*', '/usr/share/doc/*'];

const SECTOR = 512;
/** The partition begins at 1 MiB, as usual; GRUB lies before it. */
const FIRST_SECTOR = 2048;
const PARTITION_MIB = 1023;
/** In the first sector: the code of GRUB, then the table of partitions, then a signature. */
const CODE_BYTES = 440;
const TABLE_OFFSET = 446;
const ACTIVE = 0x80;
const LINUX = 0x83;

/** The path of the raw image. */
export async function provideDiskImage(): Promise<string> {
  const request = { kind: 'packages', names: ['mmdebstrap'] } as const;
  const directory = await withRequest('mmdebstrap', request, (files) =>
    provide({
      name: 'disk-image',
      key: [RECIPE_VERSION, PACKAGES, readFileSync(HOOK, 'utf8'), files.map((file) => file.sha256)],
      outputs: [IMAGE],
      label: 'making a disk with Debian, which takes minutes',
      build: async (target) => {
        if (process.getuid?.() !== 0)
          throw new SetupError('a disk image is made in a chroot, which needs root rights; run this by sudo');
        const tools = join(target, 'tools');
        await unpackPackages(await fetchFiles(files), tools);
        const root = join(target, 'root');
        await makeRoot(root, join(tools, 'usr/bin'));
        await run('sh', [HOOK, root, LABEL]);
        await writeDisk(join(target, IMAGE), root);
        for (const folder of [tools, root]) rmSync(folder, { recursive: true });
      },
    }),
  );
  return join(directory, IMAGE);
}

async function makeRoot(root: string, toolPath: string): Promise<void> {
  const source = `deb [signed-by=${KEYRING}] ${findMirror()} trixie main`;
  const words = ['force-unsafe-io', ...LEFT_OUT.map((path) => `path-exclude=${path}`)];
  const options = words.map((word) => `--dpkgopt=${word}`);
  const kind = ['--mode=root', '--variant=minbase', '--format=directory', `--include=${PACKAGES.join()}`];
  const env = { ...process.env, PATH: `${toolPath}:${process.env.PATH}` };
  await run('perl', [join(toolPath, 'mmdebstrap'), ...kind, ...options, 'trixie', root, source], { env });
}

/** A disk with one partition, which holds `root`, and GRUB before it. */
async function writeDisk(path: string, root: string): Promise<void> {
  const offset = `offset=${FIRST_SECTOR * SECTOR}`;
  await run('mke2fs', ['-q', '-t', 'ext4', '-L', LABEL, '-d', root, '-E', offset, path, `${PARTITION_MIB}M`]);
  const boot = readFileSync(join(root, 'usr/lib/grub/i386-pc/boot.img'));
  const core = readFileSync(join(root, 'boot/grub/core.img'));
  if (core.length > (FIRST_SECTOR - 1) * SECTOR) throw new Error('GRUB does not fit before the partition');
  const first = Buffer.alloc(SECTOR);
  boot.copy(first, 0, 0, CODE_BYTES);
  first[TABLE_OFFSET] = ACTIVE;
  first[TABLE_OFFSET + 4] = LINUX;
  first.writeUInt32LE(FIRST_SECTOR, TABLE_OFFSET + 8);
  first.writeUInt32LE(Math.floor(statSync(path).size / SECTOR) - FIRST_SECTOR, TABLE_OFFSET + 12);
  first.writeUInt16LE(0xaa55, SECTOR - 2);
  const file = openSync(path, 'r+');
  // Without further settings the first sector of GRUB loads the rest from the sector behind it.
  writeSync(file, first, 0, SECTOR, 0);
  writeSync(file, core, 0, core.length, SECTOR);
  closeSync(file);
}
