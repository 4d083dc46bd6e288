// SPDX-License-Identifier: Apache-2.0
/**
 * Text that affects a terminal or hides in a report, for tests of every place that shows text of
 * others.
 */

const ESC = '\x1b';
const [BEL, ST] = ['\x07', `${ESC}\\`];

/** A title for each text. Between `a` and `b`, so that a test sees the rest. */
export const hostileTexts: Readonly<Record<string, string>> = {
  title: `a${ESC}]0;owned${BEL}b`,
  'title, ended by ST': `a${ESC}]2;owned${ST}b`,
  clipboard: `a${ESC}]52;c;b3duZWQ=${BEL}b`,
  'hyperlink that says another place': `a${ESC}]8;;http://evil.example/${ST}good${ESC}]8;;${ST}b`,
  'DCS: asks for settings': `a${ESC}P$qm${ST}b`,
  APC: `a${ESC}_Gf=24;AAAA${ST}b`,
  PM: `a${ESC}^owned${ST}b`,
  SOS: `a${ESC}Xowned${ST}b`,
  'string without an end': `a${ESC}Pb`,
  colour: `a${ESC}[31mb`,
  'hidden text': `a${ESC}[8mowned${ESC}[0mb`,
  'screen cleared': `a${ESC}[2J${ESC}[Hb`,
  'colon and private parameters': `a${ESC}[?1049h${ESC}[38:2::1:2:3m${ESC}[>c${ESC}[!pb`,
  reset: `a${ESC}cb`,
  'character set': `a${ESC}(0${ESC}#8${ESC}%Gb`,
  'lone ESC': `a${ESC}`,
  'ESC before a control': `a${ESC}\x08b`,
  'two ESC': `a${ESC}${ESC}[31mb`,
  'sequence in a sequence': `a${ESC}${ESC}[31m[31mb`,
  'sequence without an end': `a${ESC}[31`,
  backspace: 'secret\x08\x08\x08\x08\x08\x08public',
  'carriage return': 'a\rb',
  'other controls': `a\x00\x05\x07\x0b\x0c\x0e\x0f\x11\x13\x18\x1a\x7fb`,
  'C1 CSI': 'a\x9b31mb',
  'C1 OSC': 'a\x9d0;owned\x9cb',
  'C1 DCS, APC, PM, SOS': 'a\x90\x9f\x9e\x98\x9cb',
  'C1 next line': 'a\x85b',
  'marks of direction': 'a\u202e\u202d\u202a\u202b\u202c\u2066\u2067\u2068\u2069\u200e\u200f\u061cb',
  'invisible characters': 'a\u200b\u200c\u200d\u2060\u00ad\ufeff\u180eb',
  'tags and annotations': 'a\u{e0041}\u{e007f}\ufff9\ufffbb',
  'ends of lines': 'a\u2028\u2029b',
  'half a character': 'a\ud800b\udc00',
  'no characters': 'a\ufffe\uffff\ufdd0\u{1ffff}b',
};

/** All of them in one line. */
export const HOSTILE_LINE = Object.values(hostileTexts).join(' ');

const HARMFUL = /(?![\t\n])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}]/u;

/** The first harmful character of `text`, spelled out; undefined when there is none. */
export function findHarmful(text: string): string | undefined {
  const found = HARMFUL.exec(text)?.[0];
  return found === undefined ? undefined : `U+${(found.codePointAt(0) as number).toString(16)}`;
}
