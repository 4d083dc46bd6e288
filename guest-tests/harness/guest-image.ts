// SPDX-License-Identifier: Apache-2.0
/**
 * The image of a test guest: modules in the order of loading, further files, and a script. steps.sh
 * does the work in the guest. Called by guest-run.ts and `vuhca test`.
 */
import { fileURLToPath } from 'node:url';
import { buildInitramfs, type GuestFile } from '../../qemu/initramfs.ts';
import type { KernelModule } from '../../qemu/setup/guest-kernel.ts';

/**
 * `stock` modules come with the kernel and are needed by others; a `driver` must bind a function of
 * an adapter; a `module` has tests, or is used by them.
 */
export type JobModuleKind = 'stock' | 'driver' | 'module';

export interface JobModule {
  readonly kind: JobModuleKind;
  readonly name: string;
  /** The .ko file on the host. */
  readonly path: string;
  /** Parameters as insmod takes them. */
  readonly parameters?: string;
  /** The same module with debug information, for gdb. */
  readonly debugPath?: string;
}

/** A module that comes with the kernel. */
export function asStock(module: KernelModule): JobModule {
  return { kind: 'stock', ...module };
}

/** The work of a test guest. */
export interface GuestJob {
  /** Modules of the guest's kernel that its ports need; see KernelChoice. */
  readonly bootModules?: readonly KernelModule[];
  /** Loaded in this order, before the script. */
  readonly modules?: readonly JobModule[];
  /** Modules that are only packed, as /modules/NAME.ko. */
  readonly packed?: readonly Omit<JobModule, 'kind'>[];
  readonly files?: readonly GuestFile[];
  /** The script; its output may be KTAP, and its exit status counts in any case. */
  readonly script?: { readonly name: string; readonly text: string | Buffer };
}

const STEPS = fileURLToPath(new URL('steps.sh', import.meta.url));
const BIND_AGAIN = fileURLToPath(new URL('../../qemu/bind-again.sh', import.meta.url));
const STEPS_CASE = '#!/bin/sh\nexec sh /steps.sh\n';

/** The path of the initramfs. `caseScript` replaces steps.sh. */
export function packJob(job: GuestJob, caseScript = STEPS_CASE): Promise<string> {
  const { bootModules = [], modules = [], packed = [], files = [], script } = job;
  const lines = modules.map(({ kind, name, parameters = '' }) => `${kind} ${name} ${parameters}`.trimEnd());
  const scriptFiles: GuestFile[] =
    script === undefined
      ? []
      : [
          { path: '/etc/vuhca/script', content: script.text },
          { path: '/etc/vuhca/script-name', content: `${script.name}\n`, mode: 0o644 },
        ];
  return buildInitramfs({
    bootModules,
    modules: [...modules, ...packed].map(({ name, path }) => ({ name, path, load: false })),
    files: [
      { path: '/steps.sh', content: { from: STEPS } },
      { path: '/bind-again.sh', content: { from: BIND_AGAIN } },
      { path: '/etc/vuhca/modules', content: lines.map((line) => `${line}\n`).join(''), mode: 0o644 },
      ...scriptFiles,
      ...files,
    ],
    caseScript,
  });
}
