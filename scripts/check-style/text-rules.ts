// SPDX-License-Identifier: Apache-2.0
/** Rules about the text of a file: licence line, length, postponed work, names of package registries. */
import { type Finding, findInLines, isChecker, isGenerated, isSource, isTest, type SourceFile } from './source-file.ts';

const LONGEST_FILE = 300;
const LONGEST_TEST = 450;

const KERNEL_LICENCE = 'GPL-2.0 OR BSD-3-Clause';

/** Host names that say what they are; the ones this machine is set up with come from its configuration. */
const REGISTRY_LIKE = /\b(?:registry|deb|snapshot|ftp)\.[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:com|org|net|io|dev)\b/i;

/** Every source file says its licence in the first three lines; kernel code has the kernel's. */
export function checkLicence(file: SourceFile): Finding[] {
  if (!isSource(file)) return [];
  const head = file.text.split('\n', 3).join('\n');
  const licence = /SPDX-License-Identifier: ([^\n*]+?) *(?:\*\/|$|\n)/.exec(head)?.[1];
  if (licence === undefined)
    return [{ path: file.path, line: 1, message: 'no SPDX-License-Identifier in the first three lines' }];
  const kernel = /^guest-tests\/(driver|kernel)\/.*\.[ch]$/.test(file.path);
  if (!kernel || licence === KERNEL_LICENCE) return [];
  return [{ path: file.path, line: 1, message: `kernel code is under ${KERNEL_LICENCE}, not ${licence}` }];
}

/** Files stay short; generated files and tables may be long. */
export function checkLength(file: SourceFile): Finding[] {
  if (!isSource(file) || isGenerated(file) || isTable(file)) return [];
  const lines = file.text.split('\n').length - (file.text.endsWith('\n') ? 1 : 0);
  const limit = isTest(file) ? LONGEST_TEST : LONGEST_FILE;
  if (lines <= limit) return [];
  return [{ path: file.path, line: 0, message: `${lines} lines; at most ${limit}: split it by concept` }];
}

/** Marks of postponed work. */
export function checkPostponed(file: SourceFile): Finding[] {
  if (!isSource(file) || isChecker(file)) return [];
  const mark = /(?:\/\/|\/\*|^\s*\*|^\s*#)\s*(?:TODO|FIXME)\b|\b(?:TODO|FIXME)[:(]/;
  return findInLines(file, file.text.split('\n'), (line) =>
    mark.test(line) ? 'finish it, or write down in docs what is missing and why' : undefined,
  );
}

/** The host name of a package registry, in any file. `hosts` are those this machine is set up with. */
export function checkRegistries(file: SourceFile, hosts: readonly string[]): Finding[] {
  if (isChecker(file)) return [];
  return findInLines(file, file.text.split('\n'), (line) => {
    const named = hosts.find((host) => line.includes(host)) ?? REGISTRY_LIKE.exec(line)?.[0];
    return named === undefined
      ? undefined
      : 'names the host of a package registry; take it from the configuration at run time';
  });
}

function isTable({ path }: SourceFile): boolean {
  return /^protocol\/layout\/[^/]+\.ts$/.test(path) || /^protocol\/.*\b(headers|values|tables)\.ts$/.test(path);
}
