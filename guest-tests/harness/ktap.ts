// SPDX-License-Identifier: Apache-2.0
/**
 * Reads KTAP, the kernel's dialect of TAP (Documentation/dev-tools/ktap.rst), and TAP 13 and 14, a
 * line at a time: subtests nested by indentation, SKIP, TODO and XFAIL directives, diagnostics.
 * Each result line becomes one result with its path. A plan that is not kept is a fault, so a guest
 * that stops in the middle cannot pass. Called by guest-session.ts.
 */

/** One result line. */
export interface KtapResult {
  /** Names from the outermost test to this one. */
  readonly path: readonly string[];
  readonly ok: boolean;
  /** The reason why it was skipped or expected to fail; absent when it ran. */
  readonly skipped?: string;
  /** The diagnostic lines since the previous result at its depth. */
  readonly diagnostics: readonly string[];
  /** From a diagnostic `duration_ms N`. */
  readonly durationMs?: number;
  /** It had subtests, which are results of their own. */
  readonly parent: boolean;
}

/** A document, or one nested subtest, being read. */
interface Level {
  readonly indent: number;
  /** The name from a `# Subtest:` line; empty until it is known. */
  name: string;
  planned: number | undefined;
  seen: number;
  diagnostics: string[];
  /** Results of subtests; the result line of their parent completes their paths. */
  readonly inner: KtapResult[];
  /** TAP 14 names a subtest before it begins, at its parent's depth. */
  announced: string;
}

const RESULT = /^(ok|not ok)\b *(\d+)? *-? *(.*)$/;
const PLAN = /^1\.\.(\d+)(?: *# *SKIP *(.*))?$/i;
const DIRECTIVE = /^(.*?) *# *(SKIP|TODO|XFAIL)\S* *(.*)$/i;
const VERSION = /^(KTAP|TAP) version \d+$/;
const SUBTEST = /^# Subtest: *(.*)$/;
const DURATION = /^duration_ms (\d+)$/;

/** Collects the results of one stream of KTAP. */
export class KtapParser {
  readonly results: KtapResult[] = [];
  /** The faults of the stream itself. */
  readonly faults: string[] = [];
  readonly #onResult: (result: KtapResult) => void;
  #levels: Level[] = [newLevel(0)];

  /**
   * `onResult` is called with each result at its line, with the path that subtest lines have given
   * so far.
   */
  constructor(onResult: (result: KtapResult) => void = () => {}) {
    this.#onResult = onResult;
  }

  /** Reads the next line; anything that is not TAP is ignored, as the specification asks. */
  push(line: string): void {
    const text = line.trim();
    if (text === '') return;
    const indent = line.length - line.trimStart().length;
    if (VERSION.test(text)) return this.#openVersion(indent);
    const subtest = SUBTEST.exec(text);
    if (subtest !== null) return this.#openSubtest(indent, subtest[1] ?? '');
    const plan = PLAN.exec(text);
    if (plan !== null) return this.#plan(indent, Number(plan[1]));
    if (/^Bail out!/.test(text)) {
      this.faults.push(text);
      return;
    }
    if (text.startsWith('#')) return this.#diagnostic(indent, text.slice(1).trim());
    const result = RESULT.exec(text);
    if (result !== null) this.#result(indent, result[1] === 'ok', Number(result[2]), result[3] ?? '');
  }

  /** Ends the stream: subtests without a result line and plans not kept become faults. */
  finish(): void {
    while (this.#levels.length > 1) {
      const level = this.#levels.pop() as Level;
      this.#checkPlan(level);
      this.faults.push(`${pathOf([...this.#levels, level])}: no result line`);
      this.#top().inner.push(...level.inner.map((result) => under(level.name, result)));
    }
    const root = this.#top();
    this.#checkPlan(root);
    this.results.push(...root.inner);
    if (root.planned === undefined) this.faults.push('no plan');
  }

  #top(): Level {
    return this.#levels[this.#levels.length - 1] as Level;
  }

  #openVersion(indent: number): void {
    this.#open(indent);
  }

  /** Begins a subtest when the line is indented deeper than the open level. */
  #open(indent: number): Level {
    const above = this.#top();
    if (indent <= above.indent) return above;
    const level = newLevel(indent, above.announced);
    above.announced = '';
    this.#levels.push(level);
    return level;
  }

  /**
   * KTAP puts the line inside the subtest, below its version line; TAP 14 before it, at the
   * parent's depth.
   */
  #openSubtest(indent: number, name: string): void {
    const level = this.#open(indent);
    if (this.#levels.length > 1 && level.name === '' && level.seen === 0) level.name = name;
    else level.announced = name;
  }

  #plan(indent: number, planned: number): void {
    const level = this.#open(indent);
    if (level.planned !== undefined) this.faults.push(`${pathOf(this.#levels)}: a second plan`);
    level.planned = planned;
  }

  #diagnostic(indent: number, text: string): void {
    const level = this.#levels.findLast((candidate) => candidate.indent <= indent) ?? this.#top();
    level.diagnostics.push(text);
  }

  #result(indent: number, ok: boolean, number: number, description: string): void {
    let closed: Level | undefined;
    while (this.#levels.length > 1 && this.#top().indent > indent) {
      closed = this.#levels.pop() as Level;
      this.#checkPlan(closed);
    }
    const level = this.#open(indent);
    level.seen++;
    if (!Number.isNaN(number) && number !== level.seen)
      this.faults.push(`${pathOf(this.#levels)}: result ${number} where ${level.seen} was due`);
    const result = makeResult(ok, description, level.diagnostics, closed !== undefined);
    level.diagnostics = [];
    const name = result.path[0] as string;
    for (const inner of closed?.inner ?? []) level.inner.push(under(name, inner));
    level.inner.push(result);
    const above = this.#levels.slice(1).map((outer) => outer.name);
    this.#onResult({ ...result, path: [...above, name] });
  }

  #checkPlan(level: Level): void {
    if (level.planned === undefined || level.planned === level.seen) return;
    const where = pathOf([...this.#levels.filter((other) => other !== level), level]);
    this.faults.push(`${where}: ${level.planned} planned, ${level.seen} seen`);
  }
}

/** Reads a whole text. */
export function parseKtap(text: string): { results: readonly KtapResult[]; faults: readonly string[] } {
  const parser = new KtapParser();
  for (const line of text.split('\n')) parser.push(line);
  parser.finish();
  return { results: parser.results, faults: parser.faults };
}

function newLevel(indent: number, name = ''): Level {
  return { indent, name, planned: undefined, seen: 0, diagnostics: [], inner: [], announced: '' };
}

function makeResult(ok: boolean, description: string, diagnostics: readonly string[], parent: boolean): KtapResult {
  const directive = DIRECTIVE.exec(description);
  const duration = diagnostics.map((line) => DURATION.exec(line)?.[1]).find((found) => found !== undefined);
  return {
    path: [(directive === null ? description : (directive[1] as string)).trim()],
    ok: ok || directive !== null,
    ...(directive === null ? {} : { skipped: (directive[3] || directive[2]) as string }),
    diagnostics,
    ...(duration === undefined ? {} : { durationMs: Number(duration) }),
    parent,
  };
}

function under(name: string, result: KtapResult): KtapResult {
  return { ...result, path: [name, ...result.path] };
}

function pathOf(levels: readonly Level[]): string {
  const names = levels.slice(1).map(({ name }) => name || '(unnamed)');
  return names.length === 0 ? 'top level' : names.join('/');
}
