// SPDX-License-Identifier: Apache-2.0
/**
 * The package in a folder of its own, for tests: packed, and programs run there as a user runs
 * them.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
export const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');
/** tap would load its modules into every Node process by NODE_OPTIONS. */
export const AS_USER = ['-u', 'NODE_OPTIONS'];

export class PackedPackage {
  /** The folder that holds the archive; it is empty before. */
  readonly folder: string;
  /** The files in the archive, relative to its root. */
  readonly files: readonly string[];

  /** Packs the package. Throws with npm's message on failure. */
  constructor(folder: string) {
    this.folder = folder;
    const { status, stderr } = this.run('npm', 'pack', ROOT, '--silent', '--pack-destination', folder);
    if (status !== 0) throw new Error(`npm pack: ${stderr}`);
    const names = execFileSync('tar', ['-tzf', this.archive], { encoding: 'utf8' }).trim().split('\n');
    this.files = names.map((name) => name.replace(/^package\//, ''));
  }

  /** The path of the archive. */
  get archive(): string {
    return join(this.folder, readdirSync(this.folder).find((name) => /^vuhca-.*\.tgz$/.test(name)) as string);
  }

  /** Runs a program in the folder to its end. */
  run(program: string, ...words: readonly string[]) {
    const env = { ...process.env, XDG_RUNTIME_DIR: this.folder };
    const { status, stdout, stderr } = spawnSync('env', [...AS_USER, program, ...words], {
      cwd: this.folder,
      encoding: 'utf8',
      env,
    });
    return { status, stdout, stderr };
  }
}
