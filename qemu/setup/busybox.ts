// SPDX-License-Identifier: Apache-2.0
/**
 * The user space of guests: Debian 13's static busybox, and the names of its applets, which an
 * initramfs has as links. Called by set-up and initramfs.ts.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { provide } from './cache.ts';
import { dropFiles, fetchFiles, unpackPackages, withRequest } from './packages.ts';
import { run } from './tools/command.ts';

/** The busybox program and the names of its applets. */
export interface Busybox {
  readonly path: string;
  readonly applets: readonly string[];
}

const RECIPE_VERSION = 1;
const PROGRAM = 'usr/bin/busybox';
const APPLETS = 'applets.txt';

/** Debian 13's static busybox. */
export async function provideBusybox(): Promise<Busybox> {
  const request = { kind: 'packages', names: ['busybox-static/trixie'] } as const;
  const directory = await withRequest('busybox', request, (files) =>
    provide({
      name: 'busybox',
      key: [RECIPE_VERSION, files.map((file) => file.sha256)],
      outputs: [PROGRAM, APPLETS],
      build: async (target) => {
        await unpackPackages(await fetchFiles(files), target);
        writeFileSync(join(target, APPLETS), await run(join(target, PROGRAM), ['--list']));
        dropFiles(files);
      },
    }),
  );
  const applets = readFileSync(join(directory, APPLETS), 'utf8').trim().split('\n');
  return { path: join(directory, PROGRAM), applets };
}
