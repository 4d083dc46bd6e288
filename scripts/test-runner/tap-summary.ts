// SPDX-License-Identifier: Apache-2.0
//
// Reads TAP as tap writes it (subtests indented by four spaces, each closed by a test point of its parent), counts the
// innermost test points, and keeps what a person wants to see: one line for each file and failures in full. Called by
// scripts/test-runner/main.ts with each line of the run.

/** What one run came to. */
export interface TapCounts {
  passed: number;
  failed: number;
  skipped: number;
}

const POINT = /^( *)(not ok|ok)\b(?: (\d+))?(?: - )?(.*?)(?: \{)?$/;

/** Counts a stream of TAP lines and prints its gist through `print`. */
export class TapSummary {
  readonly counts: TapCounts = { passed: 0, failed: 0, skipped: 0 };
  readonly #print: (line: string) => void;
  /** By depth: whether a deeper point was seen, and whether one failed, since the last point of this depth. */
  readonly #children: { seen: boolean; failed: boolean }[] = [];
  /** The last names of subtests opened, by depth. */
  readonly #path: string[] = [];
  #showingDepth = -1;
  #inDiagnostics = false;

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  /** Takes the next line. */
  push(line: string): void {
    if (this.#inDiagnostics) this.#pushDiagnostics(line);
    else if (/^ *---$/.test(line)) this.#pushDiagnostics(line);
    else if (!this.#openSubtest(line)) this.#pushResult(line);
  }

  #openSubtest(line: string): boolean {
    const subtest = /^( *)# Subtest: (.*)$/.exec(line);
    if (subtest === null) return false;
    const depth = (subtest[1] as string).length / 4;
    this.#path.length = depth;
    this.#path[depth] = subtest[2] as string;
    return true;
  }

  #pushResult(line: string): void {
    const point = POINT.exec(line);
    if (point !== null) this.#pushPoint(line, point);
    else if (/^\s*Bail out!/.test(line)) this.#fail(line, 0);
  }

  #pushPoint(line: string, point: RegExpExecArray): void {
    const depth = (point[1] as string).length / 4;
    const children = this.#children[depth] ?? { seen: false, failed: false };
    this.#children.length = depth;
    for (let i = 0; i < depth; i++) this.#children[i] = { seen: true, failed: this.#children[i]?.failed ?? false };
    this.#showingDepth = -1;
    const directive = /# *(SKIP|TODO)\b/i.exec(point[4] as string)?.[1]?.toUpperCase();
    const ok = point[2] === 'ok';
    if (depth === 0) this.#print(line.replace(/ \{$/, ''));
    if (directive !== undefined) this.counts.skipped++;
    else if (!ok && !children.failed) this.#fail(line, depth);
    else if (!children.seen) this.counts.passed++;
  }

  #fail(line: string, depth: number): void {
    this.counts.failed++;
    for (let i = 0; i < depth; i++) this.#children[i] = { seen: true, failed: true };
    this.#showingDepth = depth;
    this.#print(`    in ${this.#path.slice(0, depth).join(' > ') || 'the run'}:`);
    this.#print(line);
  }

  /** The YAML block after a point, from its `---` to its `...`. */
  #pushDiagnostics(line: string): void {
    this.#inDiagnostics = !/^ *\.\.\.$/.test(line);
    if (this.#showingDepth >= 0) this.#print(line);
  }
}
