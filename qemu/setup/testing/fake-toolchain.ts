// SPDX-License-Identifier: Apache-2.0
/**
 * A toolchain for tests whose make compiles nothing: it writes what the kernel's make would leave,
 * and notes what it was asked for. A source file `make.inc` is a script that it runs first; there a
 * test can have it fail or wait. Called by kernel-modules.long.ts.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KernelToolchain } from '../kernel-toolchain.ts';

const MAKE = `#!/bin/bash
programs=$(dirname "$0")
for word; do
  case $word in
    M=*) tree=\${word#M=} ;;
    KBUILD_EXTRA_SYMBOLS=*) extra=\${word#*=} ;;
  esac
done
name=$(basename "$tree")
cd "$tree" || exit 1
echo "$name$(cat $extra </dev/null | sed 's/^/ /' | tr -d '\\n')" >>"$programs/calls"
if [ -e make.inc ]; then . ./make.inc; fi
: >modules.order >Module.symvers
for object in $(sed -n 's/^obj-m := //p' Kbuild); do
  echo "  CC [M]  $object"
  cp Kbuild "\${object%.o}.ko"
  echo "$object" >>modules.order
done
sed -n 's/^EXPORT_SYMBOL(\\(.*\\));$/\\1/p' ./*.c >Module.symvers
`;
const STRIP = '#!/bin/sh\ncp "$4" "$3"\n';

export class FakeToolchain implements KernelToolchain {
  readonly release: string;
  readonly programs: string;
  readonly kernelDirectory: string;
  readonly identity: string;

  /** Its files are in `folder`. */
  constructor(folder: string, release = '6.12') {
    this.release = release;
    this.programs = join(folder, release);
    this.kernelDirectory = this.programs;
    this.identity = this.programs;
    mkdirSync(this.programs);
    writeFileSync(join(this.programs, 'make'), MAKE, { mode: 0o755 });
    writeFileSync(join(this.programs, 'x86_64-linux-gnu-strip'), STRIP, { mode: 0o755 });
  }

  /** The folders that were made since the last call, each with the symbols that it was given. */
  takeCalls(): string[] {
    const path = join(this.programs, 'calls');
    if (!existsSync(path)) return [];
    const calls = readFileSync(path, 'utf8').trim().split('\n');
    rmSync(path);
    return calls;
  }
}
