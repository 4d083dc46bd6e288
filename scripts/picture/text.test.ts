// SPDX-License-Identifier: Apache-2.0
/** Text of pictures: its width, its line breaks, and its XML. */
import t from 'tap';
import { escapeXml, measureText, tieUnits, wrapText } from './text.ts';

/** Widths as a renderer has them in DejaVu Sans, in parts of the font's size. */
const KNOWN = {
  'Timers and summary bytes save 99.7 % of the interrupts': 28.58,
  '4x QDR, 40 Gb/s': 8.19,
  '1: LID 12': 4.29,
  spine12: 3.8,
  WWWW: 3.89,
  mmm: 2.75,
};

t.test('no text is wider than its measure, and none is much narrower', async (t) => {
  for (const [text, width] of Object.entries(KNOWN)) {
    const measured = measureText(text, 10) / 10;
    t.ok(measured >= width, `${text}: ${measured} of ${width}`);
    t.ok(measured <= 1.35 * width, `${text}: ${measured} of ${width}`);
  }
  t.ok(measureText('bold', 10, 600) > measureText('bold', 10));
});

t.test('a number stays on the line of its unit', async (t) => {
  const texts = [
    'saves 99.7 % of all',
    'takes 1500 us instead',
    'only x 0.73 of it',
    'at 40 Gb/s each',
    'within 0.1 points',
  ];
  const tied = texts.map(tieUnits);
  t.same(
    tied.map((text) => text.split(' ')),
    [
      ['saves', '99.7\u00a0%', 'of', 'all'],
      ['takes', '1500\u00a0us', 'instead'],
      ['only', 'x\u00a00.73', 'of', 'it'],
      ['at', '40\u00a0Gb/s', 'each'],
      ['within', '0.1\u00a0points'],
    ],
  );
  for (const text of texts)
    for (let width = 20; width < 200; width += 7) {
      const broken = wrapText(text, width, 12).find((line) => /\bx$|^(?:%|us|Gb|points)/.test(line));
      if (broken !== undefined) t.fail(`${text}, ${width} pixels: ${broken}`);
    }
});

t.test('lines are about equal, none is too wide, and no word is lost', async (t) => {
  const text = 'Guests with a share and more to do than that share allows have exactly what their lanes guarantee';
  for (let width = 80; width < 800; width += 13) {
    const lines = wrapText(text, width, 12);
    const isLost = lines.join(' ') !== text;
    if (isLost || lines.some((line) => measureText(line, 12) > width)) t.fail(`${width}: ${lines.join(' | ')}`);
    const least = Math.ceil(measureText(text, 12) / width);
    if (lines.length > least + 1) t.fail(`${width}: ${lines.length} lines`);
  }
  t.same(wrapText('one_word_that_is_too_wide', 20, 12), ['one_word_that_is_too_wide']);
});

t.test('text of others is harmless', async (t) => {
  t.equal(escapeXml('<a b="c">&\u202e'), '&lt;a b=&quot;c&quot;&gt;&amp;\\u202e');
});
