// SPDX-License-Identifier: Apache-2.0
/**
 * Changes of links at run time, as words: a port, then `down`, `up`, or `set` and properties, such
 * as `a:1 set drop=0.01 delayNs=5000`. The control command `link` checks them; as bytes they cross
 * the seam (`AdapterPort.changeLink`), so that a recording has them, and adapter or fabric carries
 * them out.
 */
import { type ChangeableLink, type ChangeableProperty, changeableProperties, type LinkChange } from './joint.ts';
import { type LinkFault, linkFaults } from './link-options.ts';

const SEED_MAX = 0xffff_ffff;

/** A change that fits the link: a sentence about it, and what makes it. */
interface CheckedChange {
  readonly text: string;
  make(): void;
}

/**
 * What the words do to the link at `port`. Changes nothing. Throws RangeError with one sentence
 * about words that do not fit.
 */
export function readLinkChange(port: string, link: ChangeableLink, words: readonly string[]): CheckedChange {
  const [verb, ...rest] = words;
  const { isCut } = link;
  if (verb === 'set') {
    if (rest.length === 0) throw new RangeError(`set needs properties: ${PROPERTY_SYNTAX}`);
    const change = readProperties(rest);
    const objection = link.findObjection(change);
    if (objection !== undefined) throw new RangeError(objection);
    const when = isCut ? '; it is down' : link.isRetrained ? '; it trains' : '';
    return { text: `the link of ${port} has ${rest.join(', ')}${when}`, make: () => link.change(change) };
  }
  if ((verb !== 'down' && verb !== 'up') || rest.length > 0)
    throw new RangeError(`a link takes down, up, or set with properties, not ${words.join(' ')}`);
  const already = isCut === (verb === 'down') ? 'already ' : '';
  return {
    text: `the link of ${port} is ${already}${verb === 'down' ? 'down' : 'plugged in'}`,
    make: () => (verb === 'down' ? link.cut() : link.plugIn()),
  };
}

/** The words as bytes for `AdapterPort.changeLink`. */
export function encodeLinkChange(port: string, words: readonly string[]): Uint8Array {
  return new TextEncoder().encode([port, ...words].join(' '));
}

/** Carries out what `encodeLinkChange` wrote. Throws RangeError as `readLinkChange`. */
export function makeLinkChange(bytes: Uint8Array, find: (port: string) => ChangeableLink | undefined): void {
  const [port = '', ...words] = new TextDecoder().decode(bytes).split(' ');
  const link = find(port);
  if (link === undefined) throw new RangeError(`no link of this process is at port ${port}`);
  readLinkChange(port, link, words).make();
}

const PROPERTY_SYNTAX = `${linkFaults.join(', ')} with a probability up to 1; ${changeableProperties.join(', ')}, seed with a number`;

function readProperties(words: readonly string[]): LinkChange {
  const faults: Partial<Record<LinkFault, number>> = {};
  const others: Partial<Record<ChangeableProperty | 'seed', number>> = {};
  for (const word of words) {
    const [, name = '', digits = ''] = /^(\w+)=(\d[\d.]*(?:e\d+)?)$/.exec(word) ?? [];
    const value = Number(digits);
    if (isOneOf(linkFaults, name) && value <= 1) faults[name] = value;
    else if (isOneOf(changeableProperties, name) && Number.isSafeInteger(value)) others[name] = value;
    else if (name === 'seed' && Number.isSafeInteger(value) && value <= SEED_MAX) others.seed = value;
    else throw new RangeError(`${word} is no property of a link; there are ${PROPERTY_SYNTAX}`);
  }
  return { ...others, faults };
}

function isOneOf<Word extends string>(words: readonly Word[], text: string): text is Word {
  return (words as readonly string[]).includes(text);
}
