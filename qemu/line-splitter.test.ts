// SPDX-License-Identifier: Apache-2.0
/** Every line arrives whole, wherever the stream is cut. */
import t from 'tap';
import { findHarmful, hostileTexts } from '../protocol/system/testing/hostile-text.ts';
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

t.test('what a guest writes does nothing to a terminal', (t) => {
  for (const [title, text] of Object.entries(hostileTexts)) {
    const lines: string[] = [];
    const splitter = new LineSplitter((line) => lines.push(line));
    splitter.push(Buffer.from(`${text}\n`));
    splitter.push(Buffer.concat([Buffer.from('raw bytes '), Buffer.from(text, 'latin1')]));
    splitter.flush();
    t.equal(findHarmful(lines.join('')), undefined, title);
    t.equal(lines.length, 2, title);
  }
  t.end();
});

t.test('a guest that writes bytes one at a time costs what one that writes lines costs', (t) => {
  // Each byte is copied once when it comes and once into its line, not with each later byte.
  let copied = 0;
  const { concat } = Buffer;
  t.teardown(() => {
    Buffer.concat = concat;
  });
  Buffer.concat = ((pieces: Uint8Array[]) => {
    const joined = concat(pieces);
    copied += joined.length;
    return joined;
  }) as typeof concat;
  const splitter = new LineSplitter(() => {});
  for (let i = 0; i < 20_000; i++) splitter.push(Buffer.from('x'));
  splitter.flush();
  t.equal(copied, 20_000);
  t.end();
});
