// SPDX-License-Identifier: Apache-2.0
/**
 * Comments and paragraphs of generated files, wrapped at the width that `npm run check -- style`
 * allows (docs/CONTRIBUTING.md, comments and prose). The layout hash does not depend on them.
 * Called by all emitters.
 */

/** Columns of the longest line; a tab counts as 8. */
const WIDEST_LINE = 100;
const TAB_COLUMNS = 8;

/** A `/** ... *\/` comment of TypeScript with its line end; `indent` precedes every line. */
export function docComment(text: string, indent = ''): string {
  return blockComment('/**', text, indent);
}

/** A C comment in the form of the kernel's coding style, with its line end. */
export function cComment(text: string, indent = ''): string {
  return blockComment('/*', text, indent);
}

/** A comment of `//` lines with its line end. */
export function lineComment(text: string): string {
  return linesOf(text, WIDEST_LINE - 3)
    .map((line) => `// ${line}\n`)
    .join('');
}

/** A paragraph of Markdown with its line end. */
export function paragraph(text: string): string {
  return linesOf(text, WIDEST_LINE)
    .map((line) => `${line}\n`)
    .join('');
}

/** One line where the text fits; else the opening and the end have lines of their own. */
function blockComment(opening: string, text: string, indent: string): string {
  const safe = text.replaceAll('*/', '* /');
  const room = WIDEST_LINE - indent.replaceAll('\t', ' '.repeat(TAB_COLUMNS)).length;
  const single = `${opening} ${safe} */`;
  if (single.length <= room) return `${indent}${single}\n`;
  const lines = linesOf(safe, room - 3).map((line) => `${indent} * ${line}\n`);
  return `${indent}${opening}\n${lines.join('')}${indent} */\n`;
}

/** Breaks a text at spaces; a word longer than `width` stays whole. */
function linesOf(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
