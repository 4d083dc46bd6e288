// SPDX-License-Identifier: Apache-2.0
/**
 * Makes copies of the adapter's sources in which every call of a trace or timeline is removed, or
 * multiplied, to measure the cost of these calls while nothing is traced. Called by trace-hooks.ts.
 */
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The folders with the sources of a benchmark's machine. */
const FOLDERS = ['device', 'protocol', 'scripts/bench'];
const FILES = ['package.json', 'tsconfig.json'];
/** The traces themselves stay: nothing calls them in the copy. */
const TRACES = join('device', 'hca', 'trace');
/** A call such as `qp.trace?.reset(`, `this.timeline?.note(` or `noteStep(`. */
const CALL = /[\w.#]+\.(?:trace|timeline)\?\.\w+\(|(?<!function )\bnoteStep\(/;
/** A statement that depends on a trace, such as `if (record.trace !== undefined) ...`. */
const CONDITION = /if \([\w.#]+\.(?:trace|timeline) !== undefined\) /;
/** The assignment of a trace, such as `record.trace = qp.trace;`. */
const ASSIGNMENT = /\b(?:record|resource)\.trace = \w[\w.]*;/;

/** A field that holds a trace; copies of it, and of the hooks, have other names. */
const FIELD = /^ +(?:trace|timeline): \w+ \| undefined = undefined;$/gm;
const NAMES = /\b(?:trace|timeline)(?=\?\.| !== undefined|: | = |;)/g;

/** Copies the sources below `root` to `target`, without tests. */
export function copySources(root: string, target: string): void {
  const filter = (path: string): boolean => !path.endsWith('.test.ts');
  for (const name of [...FOLDERS, ...FILES]) cpSync(join(root, name), join(target, name), { recursive: true, filter });
  symlinkSync(join(root, 'node_modules'), join(target, 'node_modules'));
}

/** Removes the hooks from the copy at `root`. Returns their number. */
export function stripHooks(root: string): number {
  return rewriteSources(root, stripText);
}

/**
 * Adds `more` hooks for every hook in the copy at `root`, on fields of their own that never hold a
 * trace: the cost of one is hidden in the noise, the cost of many is not. Returns the number of
 * hooks found.
 */
export function multiplyHooks(root: string, more: number): number {
  return rewriteSources(root, (source) => multiplyText(source, more));
}

export interface Rewritten {
  readonly text: string;
  readonly hooks: number;
}

/** Removes the hooks of a text; lines keep their numbers. */
export function stripText(source: string): Rewritten {
  return rewriteText(source, (hook) => '\n'.repeat(hook.split('\n').length - 1));
}

export function multiplyText(source: string, more: number): Rewritten {
  const copies = (text: string): string[] =>
    Array.from({ length: more }, (_, index) => text.replace(NAMES, `$&${index + 1}`));
  const fields = source.replace(FIELD, (field) => [field, ...copies(field)].join('\n'));
  return rewriteText(fields, (hook) => [hook, ...copies(hook)].join(hook.endsWith(')') ? ', ' : ' '));
}

function rewriteSources(root: string, rewrite: (source: string) => Rewritten): number {
  let count = 0;
  for (const name of readdirSync(join(root, 'device'), { recursive: true, encoding: 'utf8' })) {
    const path = join('device', name);
    if (!name.endsWith('.ts') || path.startsWith(TRACES)) continue;
    const { text, hooks } = rewrite(readFileSync(join(root, path), 'utf8'));
    count += hooks;
    writeFileSync(join(root, path), text);
  }
  return count;
}

/** Replaces each hook: a call without its semicolon, or else a whole statement. */
function rewriteText(source: string, rewrite: (hook: string) => string): Rewritten {
  let text = source;
  let hooks = 0;
  for (const [pattern, findEnd] of [
    [CONDITION, (from: number) => endOfStatement(text, from)],
    [CALL, (from: number) => endOfGroup(text, from - 1)],
    [ASSIGNMENT, (from: number) => from],
  ] as const)
    for (let from = 0, found = pattern.exec(text); found !== null; found = pattern.exec(text.slice(from)), hooks++) {
      const start = from + found.index;
      const end = findEnd(start + found[0].length);
      const replaced = rewrite(text.slice(start, end));
      const semicolon = text[end] === ';' || replaced.trim() !== '' ? '' : ';';
      text = `${text.slice(0, start)}${semicolon}${replaced}${text.slice(end)}`;
      from = start + semicolon.length + replaced.length;
    }
  return { text, hooks };
}

/** The end of a block, or of a statement with a semicolon. */
function endOfStatement(text: string, from: number): number {
  return text[from] === '{' ? endOfGroup(text, from) : text.indexOf(';', from) + 1;
}

/**
 * The position behind the partner of the bracket at `from`. Strings in hooks contain no brackets.
 */
function endOfGroup(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    if ('({['.includes(text[at])) depth++;
    else if (')}]'.includes(text[at]) && --depth === 0) return at + 1;
  }
  throw new Error(`a bracket at ${from} is never closed`);
}
