// SPDX-License-Identifier: Apache-2.0
/** Files that are not a usable library are refused with a sentence that gives the reason. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { VfioUserError } from './errors.ts';
import { loadLibrary, PATCH_LEVEL } from './library.ts';
import { libraryPath } from './test-support/library.ts';

const directory = mkdtempSync(join(tmpdir(), 'vfu-'));

function file(name: string, content: string | Uint8Array): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

function compile(name: string, source: string): string {
  const path = join(directory, `${name}.so`);
  execFileSync('gcc', ['-shared', '-fPIC', '-x', 'c', '-', '-o', path], { input: source });
  return path;
}

function refusal(path: string): string {
  try {
    loadLibrary(path);
  } catch (error) {
    return error instanceof VfioUserError ? error.message : `not a VfioUserError: ${error}`;
  }
  return 'it was loaded';
}

t.test('the patched library', async (t) => {
  const library = loadLibrary(libraryPath());
  t.equal(loadLibrary(libraryPath()), library, 'is loaded once');
});

t.test('other files', async (t) => {
  const upstream = 'void *vfu_create_ctx(void) { return 0; } int vfu_setup_device_dma(void) { return 0; }';
  const later = `${upstream} int vfu_patch_level(void) { return ${PATCH_LEVEL + 1}; }`;
  const cases: [string, string, RegExp][] = [
    ['no file', join(directory, 'absent.so'), /absent.so cannot be read: ENOENT/],
    ['a text', file('notes.txt', 'hello'), /is no ELF file/],
    ['an empty file', file('empty.so', ''), /is no ELF file/],
    ['a directory', directory, /cannot be read: EISDIR|is no ELF file/],
    ['a damaged library', file('cut.so', '\x7fELF and no more'), /cannot be loaded/],
    ['another library', compile('other', 'int other(void) { return 1; }'), /not libvfio-user \(no vfu_create_ctx\)/],
    ['an unpatched or newer libvfio-user', compile('upstream', upstream), /without vuhca's patches.*newer upstream/],
    ['one with other patches', compile('later', later), new RegExp(`level ${PATCH_LEVEL + 1}.*needs ${PATCH_LEVEL}`)],
  ];
  for (const [what, path, expected] of cases) {
    t.match(refusal(path), expected, what);
    t.match(refusal(path), /Unset LIBVFIO_USER, or build the library/, 'with the next step');
  }
});
