// SPDX-License-Identifier: Apache-2.0
/**
 * Reads the section `.modinfo` of a kernel module: strings `NAME=VALUE` that end with a zero byte.
 * Called by `vuhca test`, to load modules in their order and to tell drivers from others.
 */
import { readFileSync } from 'node:fs';

export interface ModuleInfo {
  /** Modules whose symbols it uses. */
  readonly depends: readonly string[];
  /** Names by which the kernel finds it for a device: `pci:v00001AF4d...`. */
  readonly aliases: readonly string[];
  /** The kernel that it was compiled for, and some of its options. */
  readonly vermagic: string;
}

export function readModuleInfo(path: string): ModuleInfo {
  const content = readFileSync(path);
  const depends = readStrings(content, 'depends').flatMap((text) => text.split(','));
  return {
    depends: depends.filter((name) => name !== ''),
    aliases: readStrings(content, 'alias'),
    vermagic: readStrings(content, 'vermagic')[0] ?? '',
  };
}

/** Values of the field; the first string of the section has no zero byte before it. */
function readStrings(content: Buffer, name: string): string[] {
  const values: string[] = [];
  const wanted = `${name}=`;
  for (let at = content.indexOf(wanted); at >= 0; at = content.indexOf(wanted, at + 1)) {
    if (at > 0 && content[at - 1] !== 0) continue;
    values.push(content.toString('latin1', at + wanted.length, content.indexOf(0, at)));
  }
  return values;
}
