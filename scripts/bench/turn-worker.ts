// SPDX-License-Identifier: Apache-2.0
/**
 * A process that measures something in turns, on one processor. It says that it is ready by a first
 * number, and answers each number of the parent with one. Used by side-by-side.ts and
 * personalities.ts.
 */
import { type ChildProcess, fork } from 'node:child_process';

export class TurnWorker {
  readonly ready: Promise<number>;
  readonly #child: ChildProcess;
  #answer: (ns: number) => void = () => undefined;
  #fail: (error: Error) => void = () => undefined;

  constructor(program: string, words: readonly string[], processor: number) {
    this.#child = fork(program, words, {
      execPath: 'taskset',
      execArgv: ['--cpu-list', `${processor}`, process.execPath, '--import=#typescript'],
    });
    this.#child.on('message', (ns: number) => this.#answer(ns));
    this.#child.on('exit', () => this.#fail(new Error('a process of the comparison ended')));
    this.ready = this.#hear();
  }

  /** Gives it a turn of so much work. Returns the ns of processor time per message. */
  send(count: number): Promise<number> {
    const answer = this.#hear();
    this.#child.send(count);
    return answer;
  }

  end(): void {
    this.#child.kill();
  }

  #hear(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#answer = resolve;
      this.#fail = reject;
    });
  }
}
