// SPDX-License-Identifier: Apache-2.0
/**
 * Headers and libraries that a provider of libibverbs is compiled with: a C library and libibverbs
 * of Debian 13, which the guest has, whatever the machine's own, and the headers of rdma-core's
 * source package that no binary package ships. Called by verbs-provider.ts.
 */
import { copyFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { ArchiveFile } from './apt.ts';
import { provide } from './cache.ts';
import { dropFiles, fetchFiles, unpackPackages, withRequest } from './packages.ts';
import { run } from './tools/command.ts';

/** The folder of the C library, and that of the headers of rdma-core. */
export interface ProviderHeaders {
  /** For `gcc --sysroot`. */
  readonly sysroot: string;
  readonly include: string;
  /** The library to link with. */
  readonly libibverbs: string;
  /** The script that rewrites the structures of an ABI header for a provider. */
  readonly abiScript: string;
}

const RECIPE_VERSION = 1;
const LIBRARIES = 'usr/lib/x86_64-linux-gnu';
const UNWANTED = ['usr/share'];
/** Folders of rdma-core's source, and what their headers are included as. */
const HEADERS: Readonly<Record<string, string>> = {
  libibverbs: 'infiniband',
  util: 'util',
  ccan: 'ccan',
  'kernel-headers/rdma': 'rdma',
};
const ABI_SCRIPT = 'buildlib/make_abi_structs.py';
/** The number of the interface between libibverbs and providers stands in its build file. */
const INTERFACE = /set\(IBVERBS_PABI_VERSION "([0-9]+)"\)/;

/** Fetched and unpacked when the cache lacks them. */
export function provideProviderHeaders(): Promise<ProviderHeaders> {
  const libraries = {
    kind: 'closure',
    names: ['libc6-dev', 'libibverbs-dev', 'librdmacm-dev'],
    suite: 'trixie',
  } as const;
  const source = { kind: 'upstream-source', names: ['rdma-core/trixie'] } as const;
  return withRequest('provider-libraries', libraries, (packages) =>
    withRequest('rdma-core-source', source, (archive) => provideFrom(packages, archive)),
  );
}

async function provideFrom(
  packages: readonly ArchiveFile[],
  archive: readonly ArchiveFile[],
): Promise<ProviderHeaders> {
  const directory = await provide({
    name: 'provider-headers',
    key: [RECIPE_VERSION, [...packages, ...archive].map((file) => file.sha256)],
    outputs: ['sysroot/usr/include/stdio.h', `sysroot/${LIBRARIES}/libibverbs.so`, 'include/config.h', 'abi.py'],
    label: 'unpacking the headers of libibverbs',
    build: async (target) => {
      const sysroot = join(target, 'sysroot');
      await unpackPackages(await fetchFiles(packages), sysroot);
      for (const path of UNWANTED) rmSync(join(sysroot, path), { recursive: true, force: true });
      await run('ln', ['-s', 'usr/lib', join(sysroot, 'lib')]);
      await run('ln', ['-s', 'usr/lib64', join(sysroot, 'lib64')]);
      await takeHeaders((await fetchFiles(archive))[0] as string, target);
      dropFiles(packages);
      dropFiles(archive);
    },
  });
  return {
    sysroot: join(directory, 'sysroot'),
    include: join(directory, 'include'),
    libibverbs: join(directory, 'sysroot', LIBRARIES, 'libibverbs.so'),
    abiScript: join(directory, 'abi.py'),
  };
}

async function takeHeaders(archive: string, target: string): Promise<void> {
  const source = join(target, 'source');
  const include = join(target, 'include');
  mkdirSync(source);
  await run('tar', ['--extract', '--gzip', '--file', archive, '--directory', source, '--strip-components=1']);
  for (const [folder, name] of Object.entries(HEADERS)) {
    mkdirSync(join(include, name), { recursive: true });
    for (const file of readdirSync(join(source, folder)).filter((file) => file.endsWith('.h'))) {
      copyFileSync(join(source, folder, file), join(include, name, basename(file)));
    }
  }
  copyFileSync(join(source, ABI_SCRIPT), join(target, 'abi.py'));
  mkdirSync(join(include, 'kernel-abi'));
  await run('python3', [
    join(target, 'abi.py'),
    join(include, 'rdma/ib_user_verbs.h'),
    join(include, 'kernel-abi/ib_user_verbs.h'),
  ]);
  const text = await run('cat', [join(source, 'CMakeLists.txt')]);
  writeFileSync(join(include, 'config.h'), configText(INTERFACE.exec(text)?.[1]));
  rmSync(source, { recursive: true });
}

/** Properties of the machine that rdma-core's own build finds out, as far as its headers ask. */
function configText(version: string | undefined): string {
  if (version === undefined) throw new Error('rdma-core names no version of the interface of providers');
  const settings = ['HAVE_STATEMENT_EXPR', 'HAVE_BUILTIN_TYPES_COMPATIBLE_P', 'HAVE_TYPEOF', 'HAVE_BUILTIN_CLZ'];
  const lines = [...settings.map((name) => `${name} 1`), 'HAVE_BUILTIN_CLZL 1', 'HAVE_FUNC_ATTRIBUTE_ALWAYS_INLINE 1'];
  lines.push('SIZEOF_LONG 8', 'VERBS_IOCTL_ONLY 0', 'VERBS_WRITE_ONLY 0', `IBVERBS_PABI_VERSION ${version}`);
  return lines.map((line) => `#define ${line}\n`).join('');
}
