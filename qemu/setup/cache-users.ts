// SPDX-License-Identifier: Apache-2.0
/**
 * Processes that use a part of the cache: it is their program, a file that they have mapped or
 * open, their working folder, or named on their command line. A process that was given an artifact
 * keeps its folder open (cache.ts). Processes of other users, and those in other PID namespaces,
 * cannot be seen. Called by cache-removal.ts.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

/** What the kernel adds to the name of a file that has been removed. */
const DELETED = ' (deleted)';

/** Finds the number of a process that uses something at or below a path. */
export type FindUser = (path: string) => number | undefined;

/**
 * Looks once at all processes but this one, and remembers what they use below `root`; `proc` is
 * where the kernel shows processes.
 */
export function lookForUsers(root: string, proc = '/proc'): FindUser {
  const used: { readonly id: number; readonly text: string }[] = [];
  for (const name of readdirSync(proc)) {
    const id = Number(name);
    if (!/^\d+$/.test(name) || id === process.pid) continue;
    for (const text of listTexts(join(proc, name)))
      if (text.includes(root) && !text.endsWith(DELETED)) used.push({ id, text });
  }
  return (path) => used.find(({ text }) => hasPath(text, path))?.id;
}

/** All that names what a process uses: links, lines of its map, its command line. */
function listTexts(folder: string): string[] {
  const links = ['exe', 'cwd', 'root', ...listFolder(join(folder, 'fd')).map((name) => `fd/${name}`)];
  return [
    ...links.map((name) => readLink(join(folder, name))),
    ...read(join(folder, 'maps')).split('\n'),
    ...read(join(folder, 'cmdline')).split('\0'),
  ];
}

/** Whether the text has the path, or one below it; a longer name is another path. */
function hasPath(text: string, path: string): boolean {
  for (let at = text.indexOf(path); at >= 0; at = text.indexOf(path, at + 1)) {
    if (!/[\w.-]/.test(text[at + path.length] ?? '')) return true;
  }
  return false;
}

function readLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

function listFolder(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
