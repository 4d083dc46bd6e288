// SPDX-License-Identifier: Apache-2.0
/**
 * Finds KTAP among other lines: in the kernel's log, where a module prints it with a prefix of its
 * own, and in the output of a script, where several documents may follow each other. A document
 * begins with a version line; in a script's output a plan also begins one (older kselftests).
 * Called by guest-session.ts.
 */
import { KtapParser, type KtapResult } from './ktap.ts';

const VERSION = /^(.*?)(K?TAP version \d+)\s*$/;
const PLAN = /^1\.\.\d+\b/;

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

  /** Takes the next line, without its time stamp. */
  push(line: string): void {
    const version = VERSION.exec(line);
    if (version !== null) return this.#version(version[1] as string, version[2] as string, line);
    const stream = this.#find(line);
    if (stream !== undefined) stream.parser.push(line.slice(stream.prefix.length));
    else if (this.#plansBegin && PLAN.test(line)) this.#begin('').parser.push(line);
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
