// SPDX-License-Identifier: Apache-2.0
/**
 * Text of others, made safe for terminals, logs and reports: that of guests, peers, control
 * servers, recordings, foreign programs and file names. On a terminal a control character moves the
 * cursor, sets the title or answers questions, and a mark of direction shows words in a false
 * order. Plain JavaScript, because bootstrap.mjs runs before anything can translate TypeScript.
 * Every place where such text comes in, or an error goes out, calls this.
 */

/**
 * The bulk of console output that is no text: whole control sequences (ECMA-48, CSI) and short
 * escapes. Those that begin a string (DCS, SOS, OSC, PM, APC) have text in them, which stays.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is about them.
const SEQUENCES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|[ -/]+[0-~]|[0-OQ-WYZ\\`-~])/g;

/**
 * Controls, invisible characters, marks of direction, ends of lines; characters that XML does not
 * have.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}]/gu;

/**
 * The text without terminal sequences, in one line, with every other invisible character spelled
 * out: `\x08`, `\u202e`. Tabs stay. Takes time in proportion to the length, whatever the text is.
 * @param {string} text
 * @returns {string}
 */
export function printable(text) {
  return spell(text, '\t');
}

/**
 * As `printable`, for text of several lines.
 * @param {string} text
 * @returns {string}
 */
export function printableLines(text) {
  return spell(text, '\t\n');
}

/**
 * Data of others, such as the answer of a control server: every string in it, names of members
 * included, is made printable.
 * @param {string} json
 * @returns {unknown}
 */
export function parsePrintable(json) {
  return JSON.parse(json, (_, value) => {
    if (typeof value === 'string') return printable(value);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [printable(name), member]));
  });
}

/**
 * @param {string} text
 * @param {string} kept
 * @returns {string}
 */
function spell(text, kept) {
  return text.replace(SEQUENCES, '').replace(INVISIBLE, (one) => {
    if (kept.includes(one)) return one;
    const code = /** @type {number} */ (one.codePointAt(0));
    const digits = code.toString(16);
    if (code <= 0xff) return `\\x${digits.padStart(2, '0')}`;
    return code <= 0xffff ? `\\u${digits.padStart(4, '0')}` : `\\u{${digits}}`;
  });
}
