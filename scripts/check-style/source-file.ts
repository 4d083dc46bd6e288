// SPDX-License-Identifier: Apache-2.0
/** Input of the style rules: path, text and kind of a file; output: findings. */

export interface SourceFile {
  /** Relative to the repository, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

/** A violation of a rule. */
export interface Finding {
  readonly path: string;
  /** From 1; 0 for the file as a whole. */
  readonly line: number;
  readonly message: string;
}

/** Files that people write in a programming language. */
export function isSource({ path }: SourceFile): boolean {
  return /\.(tsx?|mts|mjs|js|css|c|h|sh|py)$/.test(path);
}

export function isTypeScript({ path }: SourceFile): boolean {
  return /\.(tsx?|mts)$/.test(path);
}

/** Tests beside their sources, and the in-kernel test module. */
export function isTest({ path }: SourceFile): boolean {
  return /\.(test|long)\.ts$/.test(path) || /^guest-tests\/kernel\/.*\.c$/.test(path);
}

/** Written by `npm run generate`. */
export function isGenerated({ path }: SourceFile): boolean {
  return (
    path.endsWith('.gen.ts') ||
    path === 'guest-tests/driver/vuhca_hw.h' ||
    path === 'docs/REGISTERS.md' ||
    path.startsWith('docs/formats/')
  );
}

/** True for the checker, which must name the strings that it forbids. */
export function isChecker({ path }: SourceFile): boolean {
  return path.startsWith('scripts/check-style');
}

/**
 * The lines of a TypeScript or C file with comments blanked out; line numbers stay. A slash and an
 * asterisk after a word, as in a path pattern, begin no comment.
 */
export function codeLines({ text }: SourceFile): string[] {
  const blank = (comment: string) => comment.replace(/[^\n]/g, ' ');
  return text
    .replace(/(?<![\w*'"`/-])\/\*[\s\S]*?\*\//g, blank)
    .replace(/(^|[\s;{}(,])\/\/[^\n]*/g, (comment, before: string) => before + blank(comment.slice(before.length)))
    .split('\n');
}

/**
 * The lines of a source file that hold only a comment, the others as empty strings; line numbers
 * stay. In a shell script a comment starts with `#`.
 */
export function commentLines(file: SourceFile): string[] {
  const lines = file.text.split('\n');
  if (file.path.endsWith('.sh')) return lines.map((line) => (/^\s*#(?!!)/.test(line) ? line : ''));
  const code = codeLines(file);
  return lines.map((line, index) => (code[index].trim() === '' ? line : ''));
}

/** A finding for each line for which `find` returns a message. */
export function findInLines(
  file: SourceFile,
  lines: readonly string[],
  find: (line: string) => string | undefined,
): Finding[] {
  return lines.flatMap((line, index) => {
    const message = find(line);
    return message === undefined ? [] : [{ path: file.path, line: index + 1, message }];
  });
}
