// SPDX-License-Identifier: Apache-2.0
/**
 * The kernel inside a bzImage as an ELF file, which QEMU enters as a Xen PVH guest does
 * (Documentation/arch/x86/boot.rst; the ELF note PHYS32_ENTRY of Xen's elfnote.h). A guest under
 * TCG then unpacks nothing, which is a quarter of its boot. Firmware, ACPI tables and addresses are
 * the same. Called by launch.ts.
 */
import { existsSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { provide } from './cache.ts';
import { run } from './tools/command.ts';

const RECIPE_VERSION = 1;
const OUTPUT = 'vmlinux';
const [SETUP_SECTORS_AT, PAYLOAD_AT, SECTOR_BYTES] = [0x1f1, 0x248, 512];
/** Behind the packed kernel lies its unpacked size. */
const SIZE_BYTES = 4;
/** Programs that unpack the kernels of Debian 12 and of later ones, by the first bytes. */
const UNPACKERS = [
  { magic: Buffer.from([0xfd, 0x37, 0x7a, 0x58]), command: ['xz', '--decompress', '--stdout'] },
  { magic: Buffer.from([0x28, 0xb5, 0x2f, 0xfd]), command: ['zstd', '--decompress', '--quiet', '--stdout'] },
] as const;
/** The head of the note, up to the entry: sizes of name and entry, type 18, name. */
const PVH_NOTE = Buffer.concat([Buffer.from(Uint32Array.of(4, 8, 18).buffer), Buffer.from('Xen\0')]);

/** The path of the ELF file, or `imagePath` itself when it has no kernel that can be entered so. */
export async function provideKernelElf(imagePath: string): Promise<string> {
  const { size, mtimeMs } = statSync(imagePath);
  const directory = await provide({
    name: 'kernel-elf',
    key: [RECIPE_VERSION, imagePath, size, mtimeMs],
    outputs: [OUTPUT],
    keep: 6,
    label: 'unpacking the kernel',
    build: async (target) => {
      const path = join(target, OUTPUT);
      await unpack(readFileSync(imagePath), path);
      if (existsSync(path) && readFileSync(path).includes(PVH_NOTE)) return;
      rmSync(path, { force: true });
      symlinkSync(imagePath, path);
    },
  });
  return join(directory, OUTPUT);
}

/** Timer interrupts per second, from the configuration that lies with the image of a kernel. */
export function readTickHz(imagePath: string): number | undefined {
  const folder = dirname(imagePath);
  const places = [join(folder, 'config'), join(folder, '../../../.config')];
  const path = places.find((place) => existsSync(place));
  const hz = path === undefined ? undefined : /^CONFIG_HZ=(\d+)$/m.exec(readFileSync(path, 'utf8'))?.[1];
  return hz === undefined ? undefined : Number(hz);
}

/** Leaves no file when the image is packed otherwise. */
async function unpack(image: Buffer, path: string): Promise<void> {
  const start = ((image[SETUP_SECTORS_AT] as number) + 1) * SECTOR_BYTES + image.readUInt32LE(PAYLOAD_AT);
  const payload = image.subarray(start, start + image.readUInt32LE(PAYLOAD_AT + 4) - SIZE_BYTES);
  const unpacker = UNPACKERS.find(({ magic }) => payload.subarray(0, magic.length).equals(magic));
  if (unpacker === undefined) return;
  const packed = `${path}.packed`;
  writeFileSync(packed, payload);
  await run('sh', ['-c', 'in=$1 out=$2; shift 2; exec "$@" <"$in" >"$out"', 'sh', packed, path, ...unpacker.command]);
  rmSync(packed);
}
