// SPDX-License-Identifier: Apache-2.0
/**
 * Makes a copy of the adapter's sources from which every call of a trace or timeline is taken out, so that it can be measured what the calls cost while nothing is traced.
 * Each is replaced by an empty statement; lines keep their numbers. Called by trace-hooks.ts.
 */
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What a machine of a benchmark is made of. */
const FOLDERS = ['device', 'protocol', 'scripts/bench'];
const FILES = ['package.json', 'tsconfig.json'];
/** The traces themselves stay: nothing calls them any more. */
const TRACES = join('device', 'observe', 'trace');
/** A call such as `qp.trace?.reset(`, or `this.timeline?.note(`. */
const CALL = /[\w.#]+\.(?:trace|timeline)\?\.\w+\(/;
/** A statement that depends on a trace, such as `if (record.trace !== undefined) ...`. */
const CONDITION = /if \([\w.]+\.trace !== undefined\) /;
/** A trace handed on, such as `record.trace = qp.trace;`. */
const ASSIGNMENT = /\b(?:record|resource)\.trace = \w[\w.]*;/;

/** Copies the sources below `root` to `target`, tests left out. */
export function copySources(root: string, target: string): void {
  const filter = (path: string): boolean => !path.endsWith('.test.ts');
  for (const name of [...FOLDERS, ...FILES]) cpSync(join(root, name), join(target, name), { recursive: true, filter });
  symlinkSync(join(root, 'node_modules'), join(target, 'node_modules'));
}

/** Takes the hooks out of the copy at `root`. Returns how many there were. */
export function stripHooks(root: string): number {
  let count = 0;
  for (const name of readdirSync(join(root, 'device'), { recursive: true, encoding: 'utf8' })) {
    const path = join('device', name);
    if (!name.endsWith('.ts') || path.startsWith(TRACES)) continue;
    const before = readFileSync(join(root, path), 'utf8');
    const { text, hooks } = stripText(before);
    count += hooks;
    if (hooks > 0) writeFileSync(join(root, path), text);
  }
  return count;
}

export function stripText(source: string): { text: string; hooks: number } {
  let text = source;
  let hooks = 0;
  for (const [pattern, findEnd] of [
    [CONDITION, (from: number) => endOfStatement(text, from)],
    [CALL, (from: number) => endOfGroup(text, from - 1)],
    [ASSIGNMENT, (from: number) => from],
  ] as const)
    for (let found = pattern.exec(text); found !== null; found = pattern.exec(text), hooks++) {
      const end = findEnd(found.index + found[0].length);
      const lines = text.slice(found.index, end).split('\n').length - 1;
      const semicolon = text[end] === ';' ? '' : ';';
      text = `${text.slice(0, found.index)}${semicolon}${'\n'.repeat(lines)}${text.slice(end)}`;
    }
  return { text, hooks };
}

/** A block, or up to a semicolon. */
function endOfStatement(text: string, from: number): number {
  return text[from] === '{' ? endOfGroup(text, from) : text.indexOf(';', from) + 1;
}

/** Behind what closes the bracket at `from`. Text in strings holds no brackets where hooks are. */
function endOfGroup(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    if ('({['.includes(text[at])) depth++;
    else if (')}]'.includes(text[at]) && --depth === 0) return at + 1;
  }
  throw new Error(`a bracket at ${from} is never closed`);
}
