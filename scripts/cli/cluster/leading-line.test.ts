// SPDX-License-Identifier: Apache-2.0
/** The first line of a stream is cut off, wherever pieces end, and nothing else. */
import t from 'tap';
import { LeadingLine } from './leading-line.ts';

const TEXT = '711\nerror: a\nb\n';

t.test('a line in any pieces', async (t) => {
  for (let at = 0; at <= TEXT.length; at++) {
    const leading = new LeadingLine();
    const pieces = [TEXT.slice(0, at), TEXT.slice(at)].map((piece) => leading.cut(Buffer.from(piece)).toString());
    t.equal(pieces.join(''), 'error: a\nb\n', `cut at ${at}`);
    t.equal(await leading.line, '711');
  }
});
