// SPDX-License-Identifier: Apache-2.0
/**
 * Loads the shared library and declares its functions. libvfio-user has one soname for several
 * incompatible interfaces, so a library must prove by vfu_patch_level that it was built with the
 * patches in `patches/`. The pump also relies on them: an unpatched library blocks on a silent
 * client.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import koffi, { type LibraryHandle } from 'koffi';
import { VfioUserError } from './errors.ts';

/** Level of `patches/` that this binding needs; `vfu_patch_level` returns that of a library. */
export const PATCH_LEVEL = 4;

/** A pointer into the library, as a Number. */
export type Pointer = number;
/** A function pointer made by `koffi.register`. */
type Callback = bigint | null;

/** Functions of the library under their C names; libvfio-user.h documents them. */
export interface Libvfio {
  readonly path: string;
  vfu_create_ctx(transport: number, path: string, flags: number, pvt: Pointer, deviceType: number): Pointer;
  vfu_destroy_ctx(ctx: Pointer): void;
  vfu_realize_ctx(ctx: Pointer): number;
  vfu_attach_ctx(ctx: Pointer): number;
  vfu_detach_ctx(ctx: Pointer): number;
  vfu_run_ctx(ctx: Pointer): number;
  vfu_end_run(ctx: Pointer): void;
  vfu_get_poll_fd(ctx: Pointer): number;
  vfu_get_poll_events(ctx: Pointer): number;
  vfu_setup_log(ctx: Pointer, log: Callback | null, level: number): number;
  vfu_setup_region(
    ctx: Pointer,
    index: number,
    sizeBytes: number,
    access: Callback,
    flags: number,
    areas: Pointer,
    areaCount: number,
    fd: number,
    offset: number,
  ): number;
  vfu_setup_device_reset_cb(ctx: Pointer, reset: Callback): number;
  vfu_setup_device_quiesce_cb(ctx: Pointer, quiesce: Callback): void;
  vfu_setup_device_dma(ctx: Pointer, register: Callback, unregister: Callback): number;
  vfu_setup_device_nr_irqs(ctx: Pointer, type: number, count: number): number;
  vfu_setup_irq_state_callback(ctx: Pointer, type: number, state: Callback): number;
  vfu_device_quiesced(ctx: Pointer, errno: number): number;
  vfu_irq_trigger(ctx: Pointer, vector: number): number;
  vfu_pci_init(ctx: Pointer, type: number, headerType: number, revision: number): number;
  vfu_pci_add_capability(ctx: Pointer, offset: number, flags: number, data: Pointer): number;
  vfu_create_ioeventfd(
    ctx: Pointer,
    region: number,
    fd: number,
    offset: number,
    sizeBytes: number,
    flags: number,
    datamatch: number,
  ): number;
}

const SIGNATURES: Record<Exclude<keyof Libvfio, 'path'>, [result: string, args: string[]]> = {
  vfu_create_ctx: ['uint64_t', ['int', 'str', 'int', 'uint64_t', 'int']],
  vfu_destroy_ctx: ['void', ['uint64_t']],
  vfu_realize_ctx: ['int', ['uint64_t']],
  vfu_attach_ctx: ['int', ['uint64_t']],
  vfu_detach_ctx: ['int', ['uint64_t']],
  vfu_run_ctx: ['int', ['uint64_t']],
  vfu_end_run: ['void', ['uint64_t']],
  vfu_get_poll_fd: ['int', ['uint64_t']],
  vfu_get_poll_events: ['int', ['uint64_t']],
  vfu_setup_log: ['int', ['uint64_t', 'void *', 'int']],
  vfu_setup_region: ['int', ['uint64_t', 'int', 'size_t', 'void *', 'int', 'uint64_t', 'uint32_t', 'int', 'uint64_t']],
  vfu_setup_device_reset_cb: ['int', ['uint64_t', 'void *']],
  vfu_setup_device_quiesce_cb: ['void', ['uint64_t', 'void *']],
  vfu_setup_device_dma: ['int', ['uint64_t', 'void *', 'void *']],
  vfu_setup_device_nr_irqs: ['int', ['uint64_t', 'int', 'uint32_t']],
  vfu_setup_irq_state_callback: ['int', ['uint64_t', 'int', 'void *']],
  vfu_device_quiesced: ['int', ['uint64_t', 'int']],
  vfu_irq_trigger: ['int', ['uint64_t', 'uint32_t']],
  vfu_pci_init: ['int', ['uint64_t', 'int', 'int', 'int']],
  vfu_pci_add_capability: ['int64_t', ['uint64_t', 'size_t', 'int', 'uint64_t']],
  vfu_create_ioeventfd: ['int', ['uint64_t', 'uint32_t', 'int', 'size_t', 'uint32_t', 'uint32_t', 'uint64_t']],
};

const loaded = new Map<string, Libvfio>();

/**
 * Loads the libvfio-user at the absolute `path`.
 * @throws {VfioUserError} if the file is absent, is no shared library of this machine, is not
 *   libvfio-user, or lacks the patches of this project (Debian's own build; newer versions, whose
 *   functions take other arguments).
 */
export function loadLibrary(path: string): Libvfio {
  const known = loaded.get(path);
  if (known !== undefined) return known;
  const handle = open(path);
  checkIdentity(handle, path);
  const functions = Object.entries(SIGNATURES).map(([name, [result, args]]) => [name, handle.func(name, result, args)]);
  const library = { path, ...Object.fromEntries(functions) } as Libvfio;
  loaded.set(path, library);
  return library;
}

function open(path: string): LibraryHandle {
  checkElf(path);
  try {
    return koffi.load(path);
  } catch (error) {
    const { message } = error as Error;
    // Message of the loader where the kernel does not map files for execution.
    const advice = message.includes('failed to map segment') ? ELSEWHERE : REBUILD;
    throw new VfioUserError(`${path} cannot be loaded: ${message}. ${advice}`);
  }
}

const ELSEWHERE =
  'Its file system may be mounted noexec: set XDG_CACHE_HOME, or LIBVFIO_USER, to a place on another one.';
const REBUILD = 'Unset LIBVFIO_USER, or build the library with `vuhca setup library`.';

function checkElf(path: string): void {
  const magic = new Uint8Array(4);
  try {
    const fd = openSync(path, 'r');
    readSync(fd, magic, 0, 4, 0);
    closeSync(fd);
  } catch (error) {
    throw new VfioUserError(`libvfio-user ${path} cannot be read: ${(error as Error).message}. ${REBUILD}`);
  }
  if (String.fromCharCode(...magic) !== '\x7fELF') {
    throw new VfioUserError(`${path} is not a shared library (it is no ELF file). ${REBUILD}`);
  }
}

function checkIdentity(handle: LibraryHandle, path: string): void {
  if (!hasSymbol(handle, 'vfu_create_ctx')) {
    throw new VfioUserError(`${path} is a shared library, but not libvfio-user (no vfu_create_ctx). ${REBUILD}`);
  }
  if (!hasSymbol(handle, 'vfu_patch_level')) {
    throw new VfioUserError(
      `${path} is a libvfio-user without vuhca's patches (no vfu_patch_level): a stock build of 2022 fails on hostile ` +
        `clients, and a newer upstream version has another interface. ${REBUILD}`,
    );
  }
  const level = handle.func('int vfu_patch_level()')() as number;
  if (level !== PATCH_LEVEL) {
    throw new VfioUserError(
      `${path} has vuhca's patches of level ${level}, this binding needs ${PATCH_LEVEL}. ${REBUILD}`,
    );
  }
}

function hasSymbol(handle: LibraryHandle, name: string): boolean {
  try {
    handle.func(name, 'int', []);
    return true;
  } catch {
    return false;
  }
}
