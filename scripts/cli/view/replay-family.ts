// SPDX-License-Identifier: Apache-2.0
/**
 * The processes that replay a recording, as `vuhca view` sees them: their progress, and the
 * checkpoint that answers for a step. The previous checkpoint replaces one that is gone. Called by
 * RecordingSource.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { FORK_FLAGS } from '../../../protocol/vfio-user/fork.ts';
import { SetupError } from '../../../qemu/setup/tools/errors.ts';
import { Checkpoint } from './replay-checkpoint.ts';
import {
  EVENTS_FD,
  FIRST_CHECKPOINT_FD,
  REPLAY_PROCESS,
  type ReplayCall,
  type ReplayEvent,
  type ReplayRequest,
} from './replay-requests.ts';
import type { ViewSession } from './view-protocol.ts';
import { RefusalStatus, type SearchWatch, ViewRefusal } from './view-source.ts';

/** The program of this package, as package.json names it. */
const LAUNCH = fileURLToPath(import.meta.resolve('#vuhca'));
/** A request is repeated when the copy of the checkpoint that serves it has died. */
const TRIES = 3;
/** The processes end when their sockets are closed; the one that replays continues for a moment. */
const END_BOUND_MS = 30_000;

export class ReplayFamily {
  /** Steps that can be requested. */
  steps = 0;
  /** The part of the recording that has been replayed. */
  part = 0;
  /** Everything that can be replayed has been replayed. */
  isComplete = false;
  trouble: string | undefined = undefined;
  adapters: ViewSession['adapters'] = [];
  readonly #child: ChildProcess;
  readonly #sockets: readonly Duplex[];
  readonly #exited: Promise<unknown>;
  /** By their steps, ascending. */
  #checkpoints: Checkpoint[] = [];
  #refusal: string | undefined;
  #hasBegun = false;
  #hasClosed = false;
  /** Called, and forgotten, after each event. */
  #waiting: (() => void)[] = [];

  /** Resolves when the first state can be requested. Rejects with SetupError. */
  static async start(call: ReplayCall): Promise<ReplayFamily> {
    const family = new ReplayFamily(call);
    await family.#until(() => family.#checkpoints.length > 0 || family.isComplete);
    if (family.#checkpoints.length > 0) return family;
    await family.close();
    throw new SetupError(family.#refusal ?? `the process that replays ${call.path} has ended at once`);
  }

  private constructor(call: ReplayCall) {
    const sockets = Array.from({ length: call.checkpoints }, () => 'pipe' as const);
    // The options of this process, such as a debugger's, are not passed on.
    const { NODE_OPTIONS: _, NODE_V8_COVERAGE: __, ...env } = process.env;
    this.#child = spawn(process.execPath, [...FORK_FLAGS, LAUNCH, REPLAY_PROCESS, JSON.stringify(call)], {
      stdio: ['ignore', 'ignore', 'inherit', 'pipe', ...sockets],
      // Ctrl-C at the terminal is for this process, which closes the sockets.
      detached: true,
      env,
    });
    const { stdio } = this.#child;
    this.#exited = once(this.#child, 'exit').catch(() => undefined);
    this.#sockets = stdio.slice(FIRST_CHECKPOINT_FD) as Duplex[];
    const events = stdio[EVENTS_FD] as Duplex;
    const lines = createInterface({ input: events });
    for (const one of [lines, ...this.#sockets, events]) one.on('error', () => {});
    lines.on('line', (line) => this.#take(JSON.parse(line) as ReplayEvent));
    lines.on('close', () => this.#stop());
  }

  /** The steps whose states are kept, ascending. */
  get kept(): readonly number[] {
    return this.#checkpoints.map(({ step }) => step);
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  /** Resolves when no checkpoint is left that could answer. */
  async untilGone(): Promise<void> {
    await this.#until(() => this.isComplete && this.#checkpoints.length === 0);
  }

  /** Resolves when the state before `step` can be requested, or never will be. */
  async untilReached(step: number): Promise<void> {
    await this.#until(() => this.steps >= step || this.isComplete);
  }

  /**
   * The step of the checkpoint that is `count` checkpoints after `step`, or of the last one so far.
   * Waits for the first one, unless `step` is at the end.
   */
  async findPartEnd(step: number, count: number): Promise<number> {
    const find = (): readonly Checkpoint[] => this.#checkpoints.filter((one) => one.step > step);
    await this.#until(() => find().length > 0 || this.isComplete);
    return find().slice(0, count).at(-1)?.step ?? this.steps;
  }

  /** The step of the checkpoint that is `count` checkpoints before `step`, or 0. */
  findPartBegin(step: number, count: number): number {
    return this.#checkpoints.filter((one) => one.step < step).at(-count)?.step ?? 0;
  }

  /** Gets the answer of the last checkpoint at or before `step`. Rejects with ViewRefusal. */
  async ask<Result>(step: number, request: ReplayRequest, watch?: SearchWatch): Promise<Result> {
    for (let failures = 0; failures < TRIES; ) {
      const checkpoint = this.#checkpoints.findLast((one) => one.step <= step);
      if (checkpoint === undefined) throw new ViewRefusal('gone', 'the process that replays the recording has ended');
      const answer = await checkpoint.ask(request, watch);
      if (answer?.kind === 'result') return answer.result as Result;
      if (answer?.kind === 'refusal') throw refusalOf(answer.status, answer.sentence);
      if (watch?.signal.aborted) throw new ViewRefusal('gone', 'the search was ended');
      // Without an answer the checkpoint is gone, and the one before it is asked.
      if (answer?.kind === 'failure') failures++;
    }
    throw new ViewRefusal('gone', `the replay to step ${step} has ended without an answer`);
  }

  /** Ends all processes. May be called twice. */
  async close(): Promise<void> {
    this.#hasClosed = true;
    for (const socket of this.#child.stdio.slice(EVENTS_FD)) socket?.destroy();
    const timer = setTimeout(() => this.#kill(), END_BOUND_MS);
    await this.#exited;
    clearTimeout(timer);
    this.#stop();
  }

  /** The process and its copies. */
  #kill(): void {
    process.kill(-this.pid, 'SIGKILL');
  }

  #take(event: ReplayEvent): void {
    switch (event.kind) {
      case 'began':
        this.#hasBegun = true;
        this.adapters = event.adapters;
        break;
      case 'refused':
        this.#refusal = event.sentence;
        break;
      case 'checkpoint':
        this.#add(event.place, event.step);
        break;
      case 'progress':
        this.steps = event.steps;
        this.part = event.part;
        break;
      case 'ended':
        this.steps = event.steps;
        this.trouble = event.trouble;
        this.#complete();
        break;
    }
    this.#wake();
  }

  #add(place: number, step: number): void {
    this.steps = step;
    const checkpoint = new Checkpoint(step, this.#sockets[place], () => {
      this.#checkpoints = this.#checkpoints.filter((one) => one !== checkpoint);
      this.#wake();
    });
    this.#checkpoints.push(checkpoint);
  }

  /** The process has ended, or its sockets are closed. */
  #stop(): void {
    if (!this.isComplete && this.#hasBegun && !this.#hasClosed)
      this.trouble = `the process that replays the recording has ended after step ${this.steps}`;
    this.#complete();
    this.#wake();
  }

  #complete(): void {
    this.isComplete = true;
    this.part = 1;
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const go of waiting) go();
  }

  async #until(isThere: () => boolean): Promise<void> {
    while (!isThere()) await new Promise<void>((go) => this.#waiting.push(go));
  }
}

function refusalOf(status: ViewRefusal['status'], sentence: string): ViewRefusal {
  const kinds = Object.keys(RefusalStatus) as (keyof typeof RefusalStatus)[];
  return new ViewRefusal(kinds.find((kind) => RefusalStatus[kind] === status) ?? 'bad', sentence);
}
