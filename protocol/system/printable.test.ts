// SPDX-License-Identifier: Apache-2.0
/** No text of others reaches a terminal or a report with characters that have an effect there. */
import t from 'tap';
import { Random } from '../../device/random.ts';
import { parsePrintable, printable, printableLines } from './printable.mjs';
import { findHarmful, HOSTILE_LINE, hostileTexts } from './testing/hostile-text.ts';

const SEEDS = 300;
const PIECES = [
  '\x1b',
  '\x9b',
  '[',
  ']',
  'P',
  '\\',
  '0',
  ';',
  'm',
  ' ',
  '\x07',
  '\x08',
  '\n',
  '\t',
  'ü',
  '😀',
  '\u202e',
];

t.test('a corpus', (t) => {
  for (const [title, text] of Object.entries(hostileTexts)) {
    t.equal(findHarmful(printable(text)), undefined, title);
    t.match(printable(text), /^(a.*b?|secret.*public)$/, `${title}: one line`);
  }
  t.end();
});

t.test('what is removed, and what is spelled', (t) => {
  t.equal(printable('\x1bc\x1b[?7l\x1b[2J\x1b[0mSea\x1b[31mBIOS'), 'SeaBIOS');
  t.equal(printable('a\x1b]0;title\x07b'), 'a\\x1b]0;title\\x07b', 'nothing in a string is lost');
  t.equal(printable('pw\x08\x08'), 'pw\\x08\\x08');
  t.equal(printable('a\u202eb\u{e0041}'), 'a\\u202eb\\u{e0041}');
  t.equal(printable('\x9b31m'), '\\x9b31m');
  t.equal(printable('a\nb\tc'), 'a\\x0ab\tc');
  t.equal(printableLines('a\nb\tc\r'), 'a\nb\tc\\x0d');
  const plain = 'größer 数 😀 ¡ é ́ ← "\\" \\x1b';
  t.equal(printable(plain), plain, 'text stays');
  t.end();
});

t.test('random text is harmless, and stays as it is the second time', (t) => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = new Random(seed);
    const text = Array.from({ length: 40 }, () => PIECES[random.below(PIECES.length)]).join('');
    const shown = printableLines(text);
    t.equal(findHarmful(shown), undefined, `seed ${seed}`);
    if (printableLines(shown) !== shown) t.fail(`seed ${seed}: ${JSON.stringify(text)}`);
  }
  t.end();
});

t.test('data of others', (t) => {
  const data = { [HOSTILE_LINE]: [HOSTILE_LINE, { deep: HOSTILE_LINE, n: 1, no: null }], yes: true };
  const parsed = parsePrintable(JSON.stringify(data)) as typeof data;
  t.equal(findHarmful(JSON.stringify(parsed)), undefined);
  t.same(parsed.yes, true);
  t.same((Object.values(parsed)[0] as unknown[])[1], { deep: printable(HOSTILE_LINE), n: 1, no: null });
  t.end();
});
