// SPDX-License-Identifier: Apache-2.0
/**
 * Chromium for tests of the page of `vuhca view`: that of the machine, or else Debian 13's in a
 * private prefix, without root. Called by tests that drive a browser.
 */
import { join } from 'node:path';
import { provide } from './cache.ts';
import { findProgram } from './find-program.ts';
import { dropFiles, fetchFiles, withRequest } from './packages.ts';
import { makePrefix } from './prefix.ts';

/** A browser, and what its process needs in its environment. */
export interface Browser {
  readonly program: string;
  readonly environment: Readonly<Record<string, string>>;
}

const RECIPE_VERSION = 1;
const PROGRAM = 'usr/lib/chromium/chromium';
const FONTS = 'etc/fonts';

/** Chromium; fetched and unpacked when neither `searchPath` nor the cache has it. */
export async function provideBrowser(searchPath = process.env.PATH): Promise<Browser> {
  const installed = findProgram('chromium', searchPath);
  if (installed !== undefined) return { program: installed, environment: {} };
  const request = { kind: 'closure', names: ['chromium', 'fonts-dejavu-core'], suite: 'trixie' } as const;
  const directory = await withRequest('browser', request, (files) =>
    provide({
      name: 'browser',
      key: [RECIPE_VERSION, files.map((file) => file.sha256)],
      outputs: [PROGRAM, FONTS],
      build: async (target, finalTarget) => {
        await makePrefix(await fetchFiles(files), target, finalTarget);
        dropFiles(files);
      },
    }),
  );
  const environment = {
    // Fonts and their configuration are found below this folder.
    FONTCONFIG_SYSROOT: directory,
    // Its library for sound lies in a folder of its own.
    LD_LIBRARY_PATH: join(directory, 'usr/lib/x86_64-linux-gnu/pulseaudio'),
  };
  return { program: join(directory, PROGRAM), environment };
}
