// SPDX-License-Identifier: Apache-2.0
/** Every line arrives whole, wherever the stream is cut. */
import t from 'tap';
import { LineSplitter } from './line-splitter.ts';

const TEXT = '\x1bc\x1b[?7l\x1b[2J\x1b[0mSeaBIOS\r\n\nzwölf\nlast';
const LINES = ['SeaBIOS', '', 'zwölf', 'last'];

t.test('every way to cut a stream in two', async (t) => {
  const bytes = Buffer.from(TEXT);
  for (let cut = 0; cut <= bytes.length; cut++) {
    const lines: string[] = [];
    const splitter = new LineSplitter((line) => lines.push(line));
    splitter.push(bytes.subarray(0, cut));
    splitter.push(bytes.subarray(cut));
    splitter.flush();
    t.same(lines, LINES, `cut at ${cut}`);
  }
});

t.test('a line without an end is delivered in pieces', async (t) => {
  let pieces = 0;
  const splitter = new LineSplitter(() => pieces++);
  for (let i = 0; i < 40; i++) splitter.push(Buffer.alloc(100_000, 'x'));
  t.ok(pieces >= 3);
});
