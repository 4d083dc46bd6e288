// SPDX-License-Identifier: Apache-2.0
/**
 * Messages of make when a kernel module did not compile, put in order for the author: errors before
 * warnings, the author's own file names instead of those of the copies, and nothing that make says
 * about itself. Called by module-build.ts.
 */
import { existsSync } from 'node:fs';
import { isAbsolute, relative, resolve } from 'node:path';
import { SetupError } from './tools/errors.ts';

/** A kernel module that does not compile; the message quotes the compiler. */
export class ModuleBuildError extends SetupError {
  override readonly name: string = 'ModuleBuildError';
  /** The module's folder. */
  readonly directory: string;
  /** The messages of compiler and linker, errors first. */
  readonly messages: string;

  constructor(directory: string, release: string, messages: string) {
    const what = `the kernel modules of ${shorten(directory)} do not compile for Linux ${release}`;
    super(`${what}; correct what the compiler reports:\n${messages}`);
    this.directory = directory;
    this.messages = messages;
  }
}

/** A folder of copies and the folder that they come from. */
export type Origin = readonly [copy: string, original: string];

const NOISE = [
  /^\s*(AR|AS|BTF|CC|CHECK|CLEAN|CPP|DESCEND|HOSTCC|KDOC|LD|MODPOST|SYMLINK)\b/,
  /^make(\[\d+\])?: (?!\*\*\* No rule)/,
  /^warning: the compiler differs|^ {2}The kernel was built by|^ {2}You are using/,
  /^Skipping BTF generation|^cc1: (all|some) warnings being treated as errors/,
];
/** A line that begins a message, with its severity. */
const MESSAGE = /^(?:\S+?:\d+(?::\d+)?: (fatal error|error|warning)|(ERROR|WARNING): modpost|(make\S*): \*\*\*)/;
/** A line that says where the next message belongs. */
const PLACE = /^In file included from |^ {2,}from |: In function |: At top level:$/;

/** The messages in `text`, the output of a make that works in `tree`. */
export function readMessages(text: string, tree: string, origins: readonly Origin[]): string {
  const blocks: { lines: string[]; isWarning: boolean; isOpen: boolean }[] = [];
  for (const raw of text.split('\n')) {
    if (raw.trim() === '' || NOISE.some((pattern) => pattern.test(raw))) continue;
    const line = nameOriginals(raw, tree, origins);
    const begins = MESSAGE.exec(raw);
    const last = blocks.at(-1);
    if (begins !== null) {
      const isWarning = /warning/i.test(begins[1] ?? begins[2] ?? '');
      if (last?.isOpen) Object.assign(last, { isWarning, isOpen: false, lines: [...last.lines, line] });
      else blocks.push({ lines: [line], isWarning, isOpen: false });
    } else if (PLACE.test(raw) && last?.isOpen !== true) blocks.push({ lines: [line], isWarning: false, isOpen: true });
    else if (last === undefined) blocks.push({ lines: [line], isWarning: false, isOpen: false });
    else last.lines.push(line);
  }
  const ordered = [...blocks.filter(({ isWarning }) => !isWarning), ...blocks.filter(({ isWarning }) => isWarning)];
  return ordered.flatMap(({ lines }) => lines).join('\n');
}

/** Replaces the path at the beginning of `line`, and full paths in it, by the originals' paths. */
function nameOriginals(line: string, tree: string, origins: readonly Origin[]): string {
  const match = /^((?:In file included from | +from )?)([^\s:]+)(:.*)$/.exec(line);
  const [, before, path, after] = match ?? [];
  const isLocal = path !== undefined && !isAbsolute(path) && existsSync(resolve(tree, path));
  const whole = isLocal ? `${before}${resolve(tree, path)}${after}` : line;
  return origins.reduce(
    (text, [copy, original]) => text.replaceAll(`${copy}/`, original === '' ? '' : shorten(`${original}/`)),
    whole,
  );
}

/** A path as the user would type it: relative when it lies below the working folder. */
export function shorten(path: string): string {
  const short = relative(process.cwd(), path);
  if (short.startsWith('..') || isAbsolute(short)) return path;
  if (!path.endsWith('/')) return short || '.';
  return short === '' ? '' : `${short}/`;
}
