// SPDX-License-Identifier: Apache-2.0
/**
 * Reads KTAP, the kernel's dialect of TAP (Documentation/dev-tools/ktap.rst), and TAP 12 to 14, a
 * line at a time: subtests nested by indentation, SKIP, TODO and XFAIL directives, diagnostics and
 * YAML blocks. Each result line becomes one result with its path, and only a directive excuses a
 * `not ok`. A plan that is not met is a fault, so a guest that stops in the middle cannot pass.
 * Called by ktap-streams.ts.
 */

/** One result line. */
export interface KtapResult {
  /** Names from the outermost test to this one. */
  readonly path: readonly string[];
  readonly ok: boolean;
  /** The reason why it was skipped or expected to fail; absent when it ran. */
  readonly skipped?: string;
  /**
   * The diagnostic lines since the previous result at its depth, and the lines of a YAML block
   * after the result, which arrive after its report.
   */
  readonly diagnostics: readonly string[];
  /** From a diagnostic `duration_ms N`. */
  readonly durationMs?: number;
  /** It sums up subtests, which are results of their own; false where it alone failed. */
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
  /** Reason why its plan skips everything. */
  skipped?: string;
}

/** Diagnostics of the last result, to which a YAML block adds lines. */
interface YamlTarget {
  readonly indent: number;
  readonly diagnostics: string[];
}

/**
 * A guest chooses the lines, so each pattern takes time in proportion to the length of a line: no
 * two parts that match the same characters stand before one that can fail.
 */
const RESULT = /^(not )?ok(?: +(\d+)(?= |$))?(?: +-(?= |$))?(?: +(.*))?$/s;
const PLAN = /^1\.\.(\d+)(?: +#(.*))?$/s;
/** Words that may follow the `#` of a result or plan. */
const DIRECTIVE = /^ *(SKIP|TODO|XFAIL)\S* */i;
/** Backslashes and hashes that are part of a name. */
const ESCAPED = /\\([\\#])/g;
const VERSION = /^(KTAP|TAP) version \d+$/;
const SUBTEST = /^# Subtest: *((?! ).*)$/;
const DURATION = /^duration_ms (\d+)$/;
/** The name of a document that skips everything. */
const ALL = 'every test';

/** Collects the results of one stream of KTAP. */
export class KtapParser {
  readonly results: KtapResult[] = [];
  /** The faults of the stream itself. */
  readonly faults: string[] = [];
  readonly #onResult: (result: KtapResult) => void;
  #levels: Level[] = [newLevel(0)];
  /** The place where a YAML block may begin: directly after a result. */
  #behind: YamlTarget | undefined;
  /** The block that is being read. */
  #yaml: YamlTarget | undefined;

  /**
   * `onResult` is called with each result at its line, with the path that subtest lines have given
   * so far.
   */
  constructor(onResult: (result: KtapResult) => void = () => {}) {
    this.#onResult = onResult;
  }

  /** Reads the next line; anything that is not TAP is ignored, as the specification requires. */
  push(line: string): void {
    const text = line.trim();
    if (text === '') return;
    const indent = line.length - line.trimStart().length;
    if (this.#isYaml(line, text, indent)) return;
    if (VERSION.test(text)) return this.#openVersion(indent);
    const subtest = SUBTEST.exec(text);
    if (subtest !== null) return this.#openSubtest(indent, subtest[1] ?? '');
    const plan = PLAN.exec(text);
    if (plan !== null) return this.#plan(indent, Number(plan[1]), plan[2] ?? '');
    if (/^Bail out!/i.test(text)) {
      this.faults.push(text);
      return;
    }
    if (text.startsWith('#')) return this.#diagnostic(indent, text.slice(1).trim());
    const result = RESULT.exec(text);
    if (result !== null) this.#result(indent, result[1] === undefined, Number(result[2]), result[3] ?? '');
  }

  /** True if the document could end here: its plan is met, and no subtest is open. */
  get isComplete(): boolean {
    const [root] = this.#levels;
    return this.#levels.length === 1 && root?.planned !== undefined && root.seen >= root.planned;
  }

  /** Ends the stream: subtests without a result line and unmet plans become faults. */
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

  #plan(indent: number, planned: number, comment: string): void {
    const level = this.#open(indent);
    if (level.planned !== undefined) this.faults.push(`${pathOf(this.#levels)}: a second plan`);
    level.planned = planned;
    const excuse = planned === 0 ? readDirective(comment) : undefined;
    if (excuse === undefined) return;
    level.skipped = excuse;
    // A result line sums up a subtest, but nothing sums up the whole document.
    if (this.#levels.length > 1) return;
    const name = level.announced || ALL;
    const result = { path: [name], ok: true, skipped: level.skipped, diagnostics: level.diagnostics, parent: false };
    level.inner.push(result);
    this.#onResult(result);
  }

  /**
   * Takes the lines of a YAML block: from `---` after a result to `...`, indented deeper than it.
   */
  #isYaml(line: string, text: string, indent: number): boolean {
    const behind = this.#behind;
    this.#behind = undefined;
    if (this.#yaml !== undefined) {
      const { indent: from, diagnostics } = this.#yaml;
      const isOver = indent < from;
      if (isOver || (text === '...' && indent === from)) this.#yaml = undefined;
      else diagnostics.push(line.slice(from).trimEnd());
      return !isOver;
    }
    if (behind === undefined || text !== '---' || indent <= behind.indent) return false;
    this.#yaml = { indent, diagnostics: behind.diagnostics };
    return true;
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
    const result = makeResult(ok, description || `test ${level.seen}`, level.diagnostics, closed);
    this.#behind = { indent, diagnostics: level.diagnostics };
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

function makeResult(ok: boolean, description: string, diagnostics: string[], closed: Level | undefined): KtapResult {
  const { name, excuse = closed?.skipped } = readDescription(description);
  const duration = diagnostics.map((line) => DURATION.exec(line)?.[1]).find((found) => found !== undefined);
  const inner = closed?.inner ?? [];
  return {
    path: [name],
    ok: ok || excuse !== undefined,
    ...(excuse === undefined ? {} : { skipped: excuse }),
    diagnostics,
    ...(duration === undefined ? {} : { durationMs: Number(duration) }),
    parent: inner.length > 0 && (ok || inner.some((result) => !result.ok)),
  };
}

/**
 * The name of a result, and its excuse. A directive begins at the first `#` that neither a
 * backslash nor a letter precedes, as in TAP 14; a later one is part of the name.
 */
function readDescription(description: string): { name: string; excuse?: string } {
  for (let at = 0; at < description.length; at++) {
    const character = description[at];
    if (character === '\\') at++;
    if (character !== '#' || (at > 0 && !/\s/.test(description[at - 1] as string))) continue;
    const excuse = readDirective(description.slice(at + 1));
    if (excuse === undefined) break;
    return { name: unescaped(description.slice(0, at)), excuse };
  }
  return { name: unescaped(description) };
}

/** The reason in a directive, or its keyword; undefined when the text is no directive. */
function readDirective(text: string): string | undefined {
  const found = DIRECTIVE.exec(text);
  return found === null ? undefined : unescaped(text.slice(found[0].length)) || found[1];
}

function unescaped(text: string): string {
  return text.trim().replaceAll(ESCAPED, '$1');
}

function under(name: string, result: KtapResult): KtapResult {
  return { ...result, path: [name, ...result.path] };
}

function pathOf(levels: readonly Level[]): string {
  const names = levels.slice(1).map(({ name }) => name || '(unnamed)');
  return names.length === 0 ? 'top level' : names.join('/');
}
