// SPDX-License-Identifier: Apache-2.0
/**
 * A log that ends before it becomes too long: a node decides how much it says, and the folder of a
 * cluster may lie in memory. supervisor.ts has one for each node.
 */
const LIMIT_CHARACTERS = 16 << 20;

/** Passes lines on to `write` up to the limit, and then one that says so. */
export function limitLog(write: (line: string) => void, limitCharacters = LIMIT_CHARACTERS): (line: string) => void {
  let left = limitCharacters;
  return (line) => {
    if (left < 0) return;
    left -= line.length;
    write(left < 0 ? `the log ends here: it has reached ${limitCharacters} characters\n` : line);
  };
}
