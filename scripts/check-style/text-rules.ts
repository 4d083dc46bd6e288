// SPDX-License-Identifier: Apache-2.0
/**
 * Rules about the text of a file: licence line, length, postponed work, names of package
 * registries, the form in which clauses are cited; and, in `TIDY_FOLDERS`, the width of comments,
 * the form of headers, and citations of absent notes.
 */
import {
  commentLines,
  type Finding,
  findInLines,
  isChecker,
  isGenerated,
  isSource,
  isTest,
  isTypeScript,
  type SourceFile,
} from './source-file.ts';

/** Folders and files in which comments must have the form that the last three rules check. */
export const TIDY_FOLDERS: readonly string[] = ['device', 'protocol', 'qemu', 'scripts', 'guest-tests'];

const LONGEST_FILE = 400;
const LONGEST_TEST = 450;

const WIDEST_COMMENT = 100;
const TAB_COLUMNS = 8;

/** Notes outside the repository that comments used to cite. */
const ABSENT_FILE =
  /\bDESIGN\.md\b|\breal-hardware\b|\bvfio-user\.md\b|\.\.\/shared\/(?:seeds|reference|probes|prototypes)\b/;

/** A clause in another form than `IBTA 9.7.4`. */
const LONG_CITATION =
  /\b(?:InfiniBand(?: Architecture)? spec(?:ification)?|IBTA spec(?:ification)?|IBA)\b,? \(?(?:(?:section|clause|chapter|annex|table)s? )?(?:[CoA]?\d)/;
/** Prefix of the text in a line of a comment or of a quotation. */
const COMMENT_MARK = /^\s*(?:\*|\/\/|#|>)?\s*/;

const KERNEL_LICENCE = 'GPL-2.0 OR BSD-3-Clause';

/** Typical host names of registries; those of this machine come from its configuration. */
const REGISTRY_LIKE = /\b(?:registry|deb|snapshot|ftp)\.[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:com|org|net|io|dev)\b/i;

/** Every source file names its licence in the first three lines; kernel code has its own. */
export function checkLicence(file: SourceFile): Finding[] {
  if (!isSource(file)) return [];
  const head = file.text.split('\n', 3).join('\n');
  const licence = /SPDX-License-Identifier: ([^\n*]+?) *(?:\*\/|$|\n)/.exec(head)?.[1];
  if (licence === undefined)
    return [{ path: file.path, line: 1, message: 'no SPDX-License-Identifier in the first three lines' }];
  const kernel = /^guest-tests\/(driver|kernel|provider)\/.*\.[ch]$/.test(file.path);
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

/** No marks of postponed work. */
export function checkPostponed(file: SourceFile): Finding[] {
  if (!isSource(file) || isChecker(file)) return [];
  const mark = /(?:\/\/|\/\*|^\s*\*|^\s*#)\s*(?:TODO|FIXME)\b|\b(?:TODO|FIXME)[:(]/;
  return findInLines(file, file.text.split('\n'), (line) =>
    mark.test(line) ? 'finish it, or write down in docs what is missing and why' : undefined,
  );
}

/** V8 calls into its runtime for each use of a private accessor, also from optimized code. */
export function checkAccessors(file: SourceFile): Finding[] {
  if (!isTypeScript(file)) return [];
  return findInLines(file, file.text.split('\n'), (line) =>
    /^ +(?:static )?(?:get|set) #/.test(line) ? 'a private accessor is slow in V8: make it a method' : undefined,
  );
}

/** Host names of package registries, in any file. `hosts` are those of this machine. */
export function checkRegistries(file: SourceFile, hosts: readonly string[]): Finding[] {
  if (isChecker(file)) return [];
  return findInLines(file, file.text.split('\n'), (line) => {
    const named = hosts.find((host) => line.includes(host)) ?? REGISTRY_LIKE.exec(line)?.[0];
    return named === undefined
      ? undefined
      : 'names the host of a package registry; take it from the configuration at run time';
  });
}

/** True for a file in one of `folders`: the last three rules apply to it. */
export function isTidy({ path }: SourceFile, folders: readonly string[] = TIDY_FOLDERS): boolean {
  return folders.some((folder) => path === folder || path.startsWith(`${folder}/`));
}

/**
 * Comment lines are narrow, also those of generated files; a tab extends to the next multiple of 8
 * columns.
 */
export function checkCommentWidth(file: SourceFile): Finding[] {
  if (!isSource(file)) return [];
  return findInLines(file, commentLines(file), (line) => {
    const columns = widthOf(line);
    return columns <= WIDEST_COMMENT ? undefined : `comment of ${columns} columns; at most ${WIDEST_COMMENT}`;
  });
}

/** A TypeScript file has a header, a block comment right after the licence line. */
export function checkHeader(file: SourceFile): Finding[] {
  if (!isTypeScript(file) || isGenerated(file)) return [];
  const lines = file.text.split('\n', 3);
  const licence = lines.findIndex((line) => line.includes('SPDX-License-Identifier'));
  if (licence >= 0 && lines[licence + 1]?.startsWith('/** ')) return [];
  if (licence >= 0 && lines[licence + 1] === '/**') return [];
  return [
    { path: file.path, line: licence + 2, message: 'no header comment (/** ... */) right after the licence line' },
  ];
}

/** No citations of notes that are not in the repository. */
export function checkCitations(file: SourceFile): Finding[] {
  if (isChecker(file)) return [];
  return findInLines(file, file.text.split('\n'), (line) => {
    const absent = ABSENT_FILE.exec(line)?.[0];
    return absent === undefined
      ? undefined
      : `cites ${absent}, which is not in the repository: docs/DOCUMENTS.md says how to cite`;
  });
}

/** Clauses are cited as `IBTA 9.7.4`; a citation may continue in the next line. */
export function checkClauses(file: SourceFile): Finding[] {
  if (isChecker(file)) return [];
  const lines = file.text.split('\n');
  const joined = lines.map((line, index) => `${line.trimEnd()} ${(lines[index + 1] ?? '').replace(COMMENT_MARK, '')}`);
  return joined.flatMap((text, index) => {
    const found = LONG_CITATION.exec(text);
    return found === null || found.index >= lines[index].length
      ? []
      : [
          {
            path: file.path,
            line: index + 1,
            message: `cites "${found[0]}...": write \`IBTA 9.7.4\`, as docs/CONTRIBUTING.md says`,
          },
        ];
  });
}

function widthOf(line: string): number {
  let columns = 0;
  for (const character of line) columns += character === '\t' ? TAB_COLUMNS - (columns % TAB_COLUMNS) : 1;
  return columns;
}

function isTable({ path }: SourceFile): boolean {
  return /^protocol\/layout\/[^/]+\.ts$/.test(path) || /^protocol\/.*\b(headers|values|tables)\.ts$/.test(path);
}
