// SPDX-License-Identifier: Apache-2.0
/**
 * Path of the libvfio-user that tests use: LIBVFIO_USER, or the library that the set-up command
 * builds and caches.
 */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const COMMAND = fileURLToPath(new URL('../../../scripts/vuhca', import.meta.url));

let path: string | undefined;

export function libraryPath(): string {
  path ??= process.env.LIBVFIO_USER ?? askSetup();
  return path;
}

function askSetup(): string {
  const lines = execFileSync(COMMAND, ['setup', 'library'], { encoding: 'utf8' });
  return lines.trim().split('\n').at(-1) as string;
}
