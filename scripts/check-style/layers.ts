// SPDX-License-Identifier: Apache-2.0
/**
 * Rules of the layers in `docs/CONTRIBUTING.md`: imports point down only, the FFI package stays in
 * one folder, and the units of the device are pure: no clock, no randomness, no environment, no
 * I/O.
 */

import { posix } from 'node:path';
import { FFI_PACKAGE } from '../../protocol/vfio-user/ffi-package.ts';
import {
  codeLines,
  type Finding,
  findInLines,
  isChecker,
  isTest,
  isTypeScript,
  type SourceFile,
} from './source-file.ts';

/** Folders from the bottom up; a file may import from its own layer and from those below. */
const LAYERS = [
  { name: 'protocol/system', height: 1.5, holds: (path: string) => path.startsWith('protocol/system/') },
  { name: 'protocol', height: 0, holds: (path: string) => path.startsWith('protocol/') },
  {
    name: 'device/process',
    height: 2,
    holds: (path: string) => /^device\/(process|rig\/live)\//.test(path),
  },
  { name: 'device units', height: 1, holds: (path: string) => path.startsWith('device/') },
  {
    name: 'scripts, qemu, guest-tests',
    height: 3,
    holds: (path: string) => /^(scripts|qemu|guest-tests)\//.test(path),
  },
];

/** Node modules that neither do I/O nor depend on the time or the machine. */
const PURE_MODULES = new Set(['node:assert', 'node:zlib']);

const IMPURE = [
  { pattern: /\bDate\.now\b|\bnew Date\(\s*\)|\bperformance\.|\bprocess\.(hrtime|uptime)\b/, what: 'reads the clock' },
  { pattern: /\bMath\.random\b|\brandomBytes\b|\bgetRandomValues\b|\brandomUUID\b/, what: 'draws random numbers' },
  {
    pattern: /\b(setTimeout|setInterval|setImmediate|queueMicrotask)\b|\bprocess\.nextTick\b/,
    what: 'schedules by itself',
  },
  { pattern: /\bprocess\.(env|argv|exit|on|stdout|stderr|stdin)\b|\bconsole\./, what: 'touches the process' },
];

const FFI_FOLDER = 'protocol/vfio-user/';

const TYPESCRIPT = 'protocol/system/typescript.mjs';
const RUNS_TSX = /--import[ =]tsx\b|\bnpx tsx\b|"tsx [a-z]|['"]--import['"], ['"]tsx['"]|\bimport\(?\s*['"]tsx\b/;

/**
 * Imports that point up, or that reach the vfio-user binding from below `device/process`. A test
 * may use what lies above its unit.
 */
export function checkImports(file: SourceFile): Finding[] {
  const own = layerOf(file.path);
  if (!isTypeScript(file) || own === undefined) return [];
  return findInLines(file, codeLines(file), (line) => {
    const target = importedPath(line);
    if (target === undefined) return undefined;
    if (!target.startsWith('.')) return checkPackage(file, own.height, target);
    if (!/\.(tsx?|mts|json|js|mjs)$/.test(target))
      return `import of "${target}" does not name the file with its extension`;
    const path = posix.join(posix.dirname(file.path), target);
    const other = layerOf(path);
    if (other === undefined) return `import of ${path} leaves the layers of the repository`;
    if (other.height > own.height && !isTest(file))
      return `imports point down only: ${own.name} must not import ${path}`;
    if (own.height < 2 && path.startsWith(FFI_FOLDER) && !file.path.startsWith(FFI_FOLDER)) {
      return `only device/process and above may import ${FFI_FOLDER}: ${path}`;
    }
    return undefined;
  });
}

/** The FFI package named anywhere but in its folder. */
export function checkFfi(file: SourceFile): Finding[] {
  if (!/\.(ts|mts|mjs|js)$/.test(file.path) || file.path.startsWith(FFI_FOLDER) || isChecker(file)) return [];
  return findInLines(file, codeLines(file), (line) =>
    line.includes(FFI_PACKAGE) ? `${FFI_PACKAGE} is named outside ${FFI_FOLDER}` : undefined,
  );
}

/** With every other way to start it, tsx would use a folder that any user could have made. */
export function checkTsx(file: SourceFile): Finding[] {
  if (file.path === TYPESCRIPT || file.path.endsWith('.md') || isChecker(file)) return [];
  return findInLines(file, file.text.split('\n'), (line) =>
    RUNS_TSX.test(line) ? `tsx is started by ${TYPESCRIPT} only: node --import=#typescript FILE` : undefined,
  );
}

/** Clock, randomness, timers, environment or output in a unit of the device. */
export function checkPurity(file: SourceFile): Finding[] {
  if (!isTypeScript(file) || !isPure(file)) return [];
  return findInLines(file, codeLines(file), (line) => {
    const broken = IMPURE.find(({ pattern }) => pattern.test(line));
    return broken === undefined ? undefined : `a device unit ${broken.what}: take it from device/host.ts`;
  });
}

function checkPackage(file: SourceFile, height: number, name: string): string | undefined {
  if (isTest(file) || height !== 1 || PURE_MODULES.has(name)) return undefined;
  return `a device unit imports ${name}; only ${[...PURE_MODULES].join(', ')} are pure`;
}

function isPure(file: SourceFile): boolean {
  return layerOf(file.path)?.name === 'device units' && !isTest(file);
}

function layerOf(path: string): (typeof LAYERS)[number] | undefined {
  return LAYERS.find(({ holds }) => holds(path));
}

function importedPath(line: string): string | undefined {
  return (/^\s*(?:import|export)\b.*\bfrom\s+['"]([^'"]+)['"]/.exec(line) ??
    /^\s*\}\s*from\s+['"]([^'"]+)['"]/.exec(line) ??
    /^\s*import\s+['"]([^'"]+)['"]/.exec(line) ??
    /\bimport\(\s*['"]([^'"]+)['"]/.exec(line))?.[1];
}
