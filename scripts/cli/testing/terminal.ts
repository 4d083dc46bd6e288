// SPDX-License-Identifier: Apache-2.0
/**
 * Runs the lines of a document unchanged, in a folder of a test. Only ports and paths that tests
 * cannot share are replaced. Called by the tests of documents.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { makeDirectory } from './directory.ts';
import { ROOT } from './document-blocks.ts';

const POLL_MS = 20;

/** A running line of a shell, and its output so far. */
export class Line {
  output = '';
  /** The text that matched the pattern of `beginUntil`. */
  found = '';
  /** It has ended, and all that it printed is in `output`. */
  hasEnded = false;
  readonly child: ChildProcess;
  readonly whenEnded: Promise<number | null>;

  constructor(command: string, cwd: string, environment: NodeJS.ProcessEnv) {
    this.child = spawn('sh', ['-c', command], { cwd, env: environment, detached: true });
    for (const stream of [this.child.stdout, this.child.stderr])
      stream?.on('data', (part) => {
        this.output += part;
      });
    this.whenEnded = new Promise((resolve) =>
      this.child.once('close', (status) => {
        this.hasEnded = true;
        resolve(status);
      }),
    );
  }

  /** Ends it and the programs that it has started. */
  end(): void {
    const { exitCode, signalCode, pid } = this.child;
    if (exitCode === null && signalCode === null && pid !== undefined) process.kill(-pid, 'SIGTERM');
  }
}

/** A folder in which the lines of a document run. */
export class Terminal {
  readonly folder: string;
  readonly #t: Test;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #others: readonly (readonly [of: string, own: string])[];

  /** `others`: texts of the document, each with its replacement. */
  constructor(t: Test, environment: NodeJS.ProcessEnv = {}, others: readonly (readonly [string, string])[] = []) {
    this.folder = makeDirectory(t);
    symlinkSync(join(ROOT, 'scripts'), join(this.folder, 'scripts'));
    this.#t = t;
    this.#environment = { ...process.env, XDG_RUNTIME_DIR: this.folder, ...environment };
    this.#others = others;
  }

  /** Begins a line; it ends with the test. */
  begin(command: string): Line {
    const own = this.#others.reduce((text, [of, by]) => text.replaceAll(of, by), command);
    const line = new Line(own, this.folder, this.#environment);
    this.#t.teardown(async () => {
      line.end();
      await line.whenEnded;
    });
    return line;
  }

  /** Runs a line to its end; returns what it printed. */
  async run(command: string): Promise<string> {
    const line = this.begin(command);
    const status = await line.whenEnded;
    this.#t.equal(status, 0, `${command}\n${line.output}`);
    return line.output;
  }

  /** Begins a line and waits until its output, or a file, matches `pattern`. */
  async beginUntil(command: string, pattern: RegExp, file?: string): Promise<Line> {
    const path = file === undefined ? undefined : join(this.folder, file);
    // The output of an earlier line; the new one may write before this process continues.
    if (path !== undefined) rmSync(path, { force: true });
    const line = this.begin(command);
    for (;;) {
      const { hasEnded } = line;
      const text = path === undefined ? line.output : existsSync(path) ? readFileSync(path, 'utf8') : '';
      if (pattern.test(text)) {
        line.found = text;
        return line;
      }
      if (hasEnded) throw new Error(`ended without ${pattern}: ${command}\n${line.output}${text}`);
      await new Promise((done) => setTimeout(done, POLL_MS));
    }
  }
}
