// SPDX-License-Identifier: Apache-2.0
/** A change of one line of TypeScript or C, drawn at random. Pure. Called by sample.ts. */
import type { Random } from '../../device/random.ts';

export interface PlantedChange {
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  readonly before: string;
  readonly after: string;
  /** The whole file, with the change and without. */
  readonly text: string;
  readonly original: string;
}

/** Text that a change replaces, and its replacement. */
const REPLACEMENTS: readonly (readonly [RegExp, string])[] = [
  [/ === /, ' !== '],
  [/ !== /, ' === '],
  [/ == /, ' != '],
  [/ != /, ' == '],
  [/ < /, ' >= '],
  [/ >= /, ' < '],
  [/ > /, ' <= '],
  [/ <= /, ' > '],
  [/ && /, ' || '],
  [/ \|\| /, ' && '],
  [/ \+ /, ' - '],
  [/ - /, ' + '],
  [/ \+= /, ' -= '],
  [/(?<= = )true\b/, 'false'],
  [/(?<= = )false\b/, 'true'],
  [/\breturn true\b/, 'return false'],
  [/\breturn false\b/, 'return true'],
  [/\breturn 0;/, 'return 1;'],
];
/** Comments, imports, types, texts, and code that only logs. */
const LEFT_OUT = /^\s*(\/?\*|\/\/|import|export type|type |readonly|#|\*)|[`'"]|=>.*=>|pr_|dev_|throw|WARN/;

/** A change of `text`, the content of `file`; undefined when no line can be changed. */
export function drawChange(random: Random, file: string, text: string): PlantedChange | undefined {
  const lines = text.split('\n');
  const places = lines.flatMap((line, index) =>
    LEFT_OUT.test(line)
      ? []
      : REPLACEMENTS.filter(([pattern]) => pattern.test(line)).map(([pattern, by]) => ({ index, pattern, by })),
  );
  if (places.length === 0) return undefined;
  const { index, pattern, by } = random.pick(places);
  const before = lines[index] as string;
  const after = before.replace(pattern, by);
  const changed = lines.with(index, after).join('\n');
  return { file, line: index + 1, before, after, text: changed, original: text };
}
