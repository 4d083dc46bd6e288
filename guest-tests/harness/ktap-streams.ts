// SPDX-License-Identifier: Apache-2.0
/**
 * Finds KTAP among other lines: in the kernel's log, where a module prints it with its own prefix,
 * and in the output of a script, where several documents may follow each other. A document begins
 * with a version line; in a script's output a plan or a numbered result also begins one (older
 * kselftests, TAP 12). The kernel's time stamps are left out. Called by guest-session.ts.
 */
import { KtapParser, type KtapResult } from './ktap.ts';

const VERSION = /^(.*?)(K?TAP version \d+)$/;
const PLAN = /^1\.\.\d+(?= +#|$)/;
/** Results that cannot be mistaken for other output: numbered, named after a dash, or failed. */
const RESULT = /^(?:(?:not )?ok(?: \d+| -)|not ok)(?= |$)/;
/** A first result of a document without version. */
const FIRST = /^(?:not )?ok 1(?= |$)/;
/** Prefix of the kernel before each line: level, time, thread or processor. */
const STAMP = /^(?:<\d+>)?\[ *\d+\.\d{6}\](?:\[ *[CT]\d+\])? /;

interface Stream {
  readonly prefix: string;
  readonly parser: KtapParser;
}

export class KtapStreams {
  /** The faults of all documents. */
  readonly faults: string[] = [];
  /** The number of documents. */
  count = 0;
  readonly #onResult: (result: KtapResult) => void;
  readonly #plansBegin: boolean;
  #open: Stream[] = [];

  /** `onResult` is called with each result at its line. */
  constructor(onResult: (result: KtapResult) => void, { plansBegin = false } = {}) {
    this.#onResult = onResult;
    this.#plansBegin = plansBegin;
  }

  /** Takes the next line. */
  push(whole: string): void {
    const line = whole.replace(STAMP, '').trimEnd();
    const version = VERSION.exec(line);
    if (version !== null) return this.#version(version[1] as string, version[2] as string, line);
    const stream = this.#find(line);
    if (stream !== undefined && !this.#isNext(stream, line)) stream.parser.push(line.slice(stream.prefix.length));
    else if (this.#plansBegin && (PLAN.test(line) || RESULT.test(line))) this.#begin('').parser.push(line);
  }

  /** Ends a complete document without prefix when the line begins another one. */
  #isNext(stream: Stream, line: string): boolean {
    if (!this.#plansBegin || stream.prefix !== '' || !stream.parser.isComplete) return false;
    if (!PLAN.test(line) && !FIRST.test(line)) return false;
    this.#end(stream);
    return true;
  }

  /** Ends all documents. */
  finish(): void {
    for (const stream of [...this.#open]) this.#end(stream);
  }

  #version(before: string, text: string, line: string): void {
    const stream = this.#find(line);
    const indent = stream === undefined ? '' : before.slice(stream.prefix.length);
    if (stream !== undefined && indent !== '' && indent.trim() === '') return stream.parser.push(`${indent}${text}`);
    if (stream !== undefined && indent === '') this.#end(stream);
    this.#begin(before).parser.push(text);
  }

  /** The open document with the longest prefix that the line has. */
  #find(line: string): Stream | undefined {
    const fitting = this.#open.filter(({ prefix }) => line.startsWith(prefix));
    return fitting.sort((a, b) => b.prefix.length - a.prefix.length)[0];
  }

  #begin(prefix: string): Stream {
    const stream = { prefix, parser: new KtapParser(this.#onResult) };
    this.#open.push(stream);
    this.count++;
    return stream;
  }

  #end(stream: Stream): void {
    stream.parser.finish();
    this.faults.push(...stream.parser.faults);
    this.#open = this.#open.filter((other) => other !== stream);
  }
}
