// SPDX-License-Identifier: Apache-2.0
/**
 * Places in a translated script and in its TypeScript source, both ways, by its source map
 * (ECMA-426). tsx removes types and line breaks, so line numbers of the running code differ from
 * those of the file. Called by `vuhca break`.
 */

/** A place in the source or in the script; lines and columns from 0. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

interface Mapping {
  readonly generated: Place;
  readonly original: Place;
}

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const DIGIT_BITS = 5;
const CONTINUES = 1 << DIGIT_BITS;

export class SourcePlaces {
  readonly #mappings: readonly Mapping[];

  /** `url`: the source map as a `data:` URL, as tsx writes it. Throws for another one. */
  constructor(url: string) {
    const [, data] = /^data:application\/json[^,]*;base64,(.*)$/s.exec(url) ?? [];
    if (data === undefined) throw new Error('the script has no source map in it');
    const { mappings } = JSON.parse(Buffer.from(data, 'base64').toString()) as { mappings: string };
    this.#mappings = decode(mappings);
  }

  /**
   * The first place in the script that comes from `line` of the source, or from the next with code.
   */
  toScript(line: number): Mapping | undefined {
    let best: Mapping | undefined;
    for (const mapping of this.#mappings) {
      const { original } = mapping;
      if (original.line < line) continue;
      if (best === undefined || original.line < best.original.line) best = mapping;
    }
    return best;
  }

  /** The place in the source of a place in the script. */
  toSource({ line, column }: Place): Place | undefined {
    let best: Mapping | undefined;
    for (const mapping of this.#mappings) {
      const { generated } = mapping;
      if (generated.line > line || (generated.line === line && generated.column > column)) break;
      best = mapping;
    }
    return best?.original;
  }
}

/** The mappings of one source, in the order of the script. */
function decode(text: string): Mapping[] {
  const mappings: Mapping[] = [];
  const original = { line: 0, column: 0 };
  for (const [line, row] of text.split(';').entries()) {
    let column = 0;
    for (const segment of row === '' ? [] : row.split(',')) {
      const [columns, , lines = 0, sourceColumns = 0] = decodeNumbers(segment);
      column += columns;
      original.line += lines;
      original.column += sourceColumns;
      mappings.push({ generated: { line, column }, original: { ...original } });
    }
  }
  return mappings;
}

/** Variable-length numbers: five bits a digit, the lowest bit of a number is its sign. */
function decodeNumbers(segment: string): number[] {
  const numbers: number[] = [];
  let [value, shift] = [0, 0];
  for (const letter of segment) {
    const digit = DIGITS.indexOf(letter);
    value += (digit & (CONTINUES - 1)) << shift;
    shift += DIGIT_BITS;
    if (digit & CONTINUES) continue;
    numbers.push(value & 1 ? -(value >>> 1) : value >>> 1);
    [value, shift] = [0, 0];
  }
  return numbers;
}
