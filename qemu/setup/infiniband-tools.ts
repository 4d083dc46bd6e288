// SPDX-License-Identifier: Apache-2.0
/**
 * Debian 13's InfiniBand management software in a private prefix: opensm and osmtest, the
 * diagnostics (ibnetdiscover, saquery, perfquery, ...), ibdiagnet, and ibsim with the library that
 * lets all of them reach a fabric over UDP in place of /dev/infiniband (docs/FABRIC.md). It needs
 * no root. Called by set-up and `npm run test:fabric`.
 */
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { provide } from './cache.ts';
import { dropFiles, fetchFiles, withRequest } from './packages.ts';
import { makePrefix } from './prefix.ts';
import { run } from './tools/command.ts';

/** The programs, and what a process needs to use them. */
export interface InfinibandTools {
  /** The folders of the programs. */
  readonly searchPath: readonly string[];
  /** Starts a program on a fabric: `LAUNCHER PROGRAM ARGUMENTS`, with PORT and SIM_HOST set. */
  readonly launcher: string;
}

const RECIPE_VERSION = 6;
const CLASSES_SOURCE = fileURLToPath(new URL('umad-classes.c', import.meta.url));
/** Debian's scripts in Perl and the users of system services are not among the judges. */
const UNUSED = [
  'debconf',
  'init-system-helpers',
  'libbz2-1.0',
  'libcrypt1',
  'libdb5.3t64',
  'libgdbm-compat4t64',
  'libgdbm6t64',
  'libperl5.40',
  'perl',
  'perl-base',
  'perl-modules-5.40',
  'tzdata',
];
const LIBRARIES = 'usr/lib/x86_64-linux-gnu';
const PRELOAD = `${LIBRARIES}/umad2sim/libumad2sim.so`;
const CLASSES = `${LIBRARIES}/umad2sim/libumad-classes.so`;
const LAUNCHER = 'on-fabric';
/**
 * ibdiagnet gives each answer 100 ms and takes three late ones for a bad link; a busy machine needs
 * longer.
 */
const DIAGNET_LINES = [
  'set argv0 ibdiagnet',
  'rename ibis_set_transaction_timeout set_timeout',
  'proc ibis_set_transaction_timeout args {set_timeout 5000}',
  'package require ibdiagnet',
];
const PROGRAM_FOLDERS = ['usr/sbin', 'usr/bin'];
const PROGRAMS = ['usr/sbin/opensm', 'usr/sbin/ibnetdiscover', 'usr/bin/ibsim', 'usr/bin/ibdiagnet'];

/** Debian's tools; fetched and unpacked when the cache lacks them. */
export async function provideInfinibandTools(): Promise<InfinibandTools> {
  const names = ['opensm', 'infiniband-diags', 'ibsim-utils', 'ibutils'];
  const request = { kind: 'closure', names, suite: 'trixie', except: UNUSED } as const;
  const directory = await withRequest('infiniband-tools', request, (files) =>
    provide({
      name: 'infiniband-tools',
      key: [RECIPE_VERSION, readFileSync(CLASSES_SOURCE, 'utf8'), files.map((file) => file.sha256)],
      outputs: [...PROGRAMS, PRELOAD, CLASSES, LAUNCHER],
      build: async (target, finalTarget) => {
        await makePrefix(await fetchFiles(files), target, finalTarget);
        await run('gcc', ['-O2', '-shared', '-fPIC', '-o', join(target, CLASSES), CLASSES_SOURCE]);
        writeFileSync(join(target, LAUNCHER), launcherText(finalTarget));
        chmodSync(join(target, LAUNCHER), 0o755);
        dropFiles(files);
      },
    }),
  );
  return {
    searchPath: PROGRAM_FOLDERS.map((path) => join(directory, path)),
    launcher: join(directory, LAUNCHER),
  };
}

/**
 * The launcher: `libumad2sim` in place of /dev/infiniband, and the folders that Debian's programs
 * expect in the root of the machine. Without a port the one of `vuhca device --ibsim` is taken.
 */
function launcherText(directory: string): string {
  const libraries = join(directory, LIBRARIES);
  return [
    '#!/bin/sh',
    '# Starts a program of this folder on the fabric of `vuhca device --ibsim PORT` (docs/FABRIC.md).',
    '# Usage: [SIM_HOST=NAME] [PORT=7171] on-fabric PROGRAM [ARGUMENT...]',
    `[ $# -gt 0 ] || { sed -n '2,3s/^# //p' "$0"; ls ${PROGRAM_FOLDERS.map((path) => join(directory, path)).join(' ')}; exit 2; }`,
    `export PATH="${PROGRAM_FOLDERS.map((path) => join(directory, path)).join(':')}:$PATH"`,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a parameter of the shell
    'export IBSIM_SERVER_NAME=127.0.0.1 IBSIM_SERVER_PORT="${PORT:-7171}"',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a parameter of the shell
    'export OSM_TMP_DIR="${OSM_TMP_DIR:-.}" OSM_CACHE_DIR="${OSM_CACHE_DIR:-.}"',
    `export TCLLIBPATH="${libraries}" TCL_LIBRARY="${join(directory, 'usr/share/tcltk/tcl8.6')}"`,
    `classes="${join(directory, CLASSES)}"`,
    `preload="${join(directory, PRELOAD)}"`,
    // Debian's own script looks for its interpreter and its packages in the root of the machine.
    'if [ "$1" = ibdiagnet ]; then',
    '  shift',
    `  printf '${DIAGNET_LINES.join('\\n')}\\n' | LD_PRELOAD="$classes $preload" ibis "$@"`,
    '  exit',
    'fi',
    'LD_PRELOAD="$preload" exec "$@"',
    '',
  ].join('\n');
}
