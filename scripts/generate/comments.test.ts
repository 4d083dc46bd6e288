// SPDX-License-Identifier: Apache-2.0
/** Comments of generated files: one line where it fits, else lines of at most 100 columns. */
import t from 'tap';
import { cComment, docComment, lineComment, paragraph } from './comments.ts';

/** A text of words of four letters, `length` characters long. */
function words(length: number): string {
  return `${'word '.repeat(length).slice(0, length - 1)}.`;
}

function columns(line: string): number {
  return line.replaceAll('\t', ' '.repeat(8)).length;
}

t.test('a comment of exactly 100 columns stays on one line', async (test) => {
  test.equal(docComment(words(93)), `/** ${words(93)} */\n`);
  test.equal(cComment(words(94)), `/* ${words(94)} */\n`);
  test.equal(docComment(words(91), '  '), `  /** ${words(91)} */\n`);
  test.equal(cComment(words(86), '\t'), `\t/* ${words(86)} */\n`, 'a tab counts as 8 columns');
  test.equal(lineComment(words(97)), `// ${words(97)}\n`);
  test.equal(paragraph(words(100)), `${words(100)}\n`);
});

t.test('a longer one is wrapped, with its opening and its end on lines of their own', async (test) => {
  const doc = docComment(words(94), '  ').split('\n');
  test.equal(doc[0], '  /**');
  test.match(doc[1], /^ {3}\* word/);
  test.same(doc.slice(-2), ['   */', '']);
  const c = cComment(words(87), '\t').split('\n');
  test.equal(c[0], '\t/*');
  test.equal(c.at(-2), '\t */');
  test.equal(lineComment(words(98)).split('\n').length, 3);
  test.equal(paragraph(words(101)).split('\n').length, 3);
});

t.test('wrapped lines have at most 100 columns and keep every word', async (test) => {
  for (const indent of ['', '  ', '\t']) {
    for (let length = 1; length < 400; length++) {
      for (const comment of [docComment(words(length), indent), cComment(words(length), indent)]) {
        const wide = comment.split('\n').find((line) => columns(line) > 100);
        if (wide !== undefined) test.fail(`${length} characters: ${wide}`);
        const kept = comment.replaceAll(/[*/]/g, ' ').trim().split(/\s+/).join(' ');
        if (kept !== words(length)) test.fail(`${length} characters: ${kept}`);
      }
    }
  }
  test.equal(docComment('x'.repeat(120)).split('\n')[1], ` * ${'x'.repeat(120)}`, 'a long word stays whole');
});

t.test('the end of a comment inside its text is broken up', async (test) => {
  test.equal(cComment('a */ b'), '/* a * / b */\n');
  test.equal(docComment('a */ b'), '/** a * / b */\n');
});
