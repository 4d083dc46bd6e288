// SPDX-License-Identifier: Apache-2.0
/**
 * A guest with Debian's user space: its disk (setup/distribution.ts), the modules that reach the
 * disk, and the files that enter it. Called by code that packs the image of a guest: `vuhca run
 * --distribution` and the runner of foreign suites.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { GuestDisk } from './guest-options.ts';
import type { GuestFile } from './initramfs.ts';
import { type DistributionSet, provideDistribution, ROOT_MODULES } from './setup/distribution.ts';
import { type GuestKernel, type KernelModule, provideGuestKernel, provideStockModules } from './setup/guest-kernel.ts';
import { provideVerbsProvider } from './setup/verbs-provider.ts';

/** Files that a guest of ours needs to enter Debian's user space. */
export interface DistributionParts {
  readonly disk: GuestDisk;
  /** To be loaded first, in this order. */
  readonly modules: readonly KernelModule[];
  readonly files: readonly GuestFile[];
}

/** Below it lie the files that the guest copies into the new root. */
const INSIDE = '/for-distribution';
const PREPARE = 'prepare-distribution.sh';
const BIND_AGAIN = 'bind-again.sh';
const CASE = '/etc/vuhca/distribution-case';

/** A script in the initramfs that runs the case in Debian's user space and has its status. */
export const ENTER_WITH_CASE = `#!/bin/sh\nexec sh /enter-distribution.sh ${CASE}\n`;

/** Files of the user in the new root. */
export interface DistributionContent {
  readonly files?: readonly GuestFile[];
  /** A script or program, for ENTER_WITH_CASE. */
  readonly caseText?: string | Buffer;
  /** The packages of the root; `base` when absent. */
  readonly set?: DistributionSet;
  /** Names of further packages of Debian 13, which come with all that they need. */
  readonly packages?: readonly string[];
  /** Whether programs may use the verbs of our adapter. */
  readonly hasVerbs?: boolean;
}

/** The parts for a guest with `kernel`, the default one when absent. */
export async function provideDistributionParts(
  kernel?: GuestKernel,
  { files = [], caseText = '', set = 'base', packages = [], hasVerbs = false }: DistributionContent = {},
): Promise<DistributionParts> {
  const chosen = kernel ?? (await provideGuestKernel());
  const { imagePath } = await provideDistribution(chosen, set, packages);
  const inside = [
    ...[PREPARE, BIND_AGAIN].map((name) => ({ path: `/etc/vuhca/${name}`, content: readScript(name) })),
    { path: CASE, content: caseText },
    ...(hasVerbs ? await provideVerbsFiles() : []),
    ...files,
  ];
  return {
    disk: { path: imagePath, readOnly: true },
    modules: await provideStockModules(chosen, ROOT_MODULES),
    files: [
      ...['enter-distribution.sh', 'modprobe-in-distribution.sh'].map((name) => {
        return { path: `/${name}`, content: readScript(name) };
      }),
      ...inside.map((file) => ({ ...file, path: `${INSIDE}${file.path}` })),
    ],
  };
}

/** The user-space provider of our adapter, where Debian's libibverbs looks for it. */
async function provideVerbsFiles(): Promise<GuestFile[]> {
  const { path, guestPath, configPath, configText } = await provideVerbsProvider();
  return [
    { path: guestPath, content: readFileSync(path), mode: 0o644 },
    { path: configPath, content: configText, mode: 0o644 },
  ];
}

function readScript(name: string): string {
  return readFileSync(fileURLToPath(new URL(name, import.meta.url)), 'utf8');
}
