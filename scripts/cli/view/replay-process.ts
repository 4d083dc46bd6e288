// SPDX-License-Identifier: Apache-2.0
/**
 * The process that replays a recording for `vuhca view`. Private fields and closures of an adapter
 * cannot be saved, so a snapshot is a process: while this one replays, it leaves copies of itself
 * behind (fork.ts), each blocked on its socket. A copy that gets a request for a later step copies
 * itself again; that copy performs the steps up to there, answers and ends. All processes end when
 * the sockets are closed. replay-family.ts starts the process and sends the requests.
 */
import { closeSync, readFileSync, readlinkSync, readSync, writeSync } from 'node:fs';
import { RecordingDamage } from '../../../device/hosts/recording-format.ts';
import { endProcess, forkProcess, waitForProcess } from '../../../protocol/vfio-user/fork.ts';
import { readNamedFile } from '../options/named-files.ts';
import { searchPart } from './recorded-search.ts';
import { RecordedSession } from './recorded-session.ts';
import {
  EVENTS_FD,
  FIRST_CHECKPOINT_FD,
  type ReplayAnswer,
  type ReplayCall,
  type ReplayEvent,
  type ReplayRequest,
} from './replay-requests.ts';
import { ViewRefusal } from './view-source.ts';

/** Steps between two checks of the progress. */
const LOOK_STEPS = 256;
/** Parts of the recording after which progress is reported. */
const PROGRESS_PART = 1 / 200;
/** Time between two reports of a search. */
const LOOKED_MS = 100;
const READ_BYTES = 4096;
const NEWLINE = 10;
const STDERR_FD = 2;
const KIB = 1024;
/** A checkpoint that answers fills its young generation, three half spaces (fork.ts), once. */
const YOUNG_BYTES = 3 * 2 * KIB * KIB;

/** A copy that keeps the state before a step. */
interface Kept {
  readonly pid: number;
  readonly place: number;
}

/**
 * Replays, serves, and returns the exit status when all sockets are closed. `words`: a ReplayCall.
 */
export function performReplayProcess(words: string): number {
  const call = JSON.parse(words) as ReplayCall;
  const session = openSession(call.path);
  if (session === undefined) return 1;
  tell({ kind: 'began', adapters: session.described });
  try {
    return new ReplayingProcess(session, call).run();
  } catch (error) {
    if (isUnheard(error)) return 0;
    throw error;
  }
}

function openSession(path: string): RecordedSession | undefined {
  try {
    return new RecordedSession(readNamedFile(`the recording ${path}`, path));
  } catch (error) {
    if (!(error instanceof RecordingDamage) && (error as Error).name !== 'SetupError') throw error;
    const { message } = error as Error;
    tell({ kind: 'refused', sentence: error instanceof RecordingDamage ? `${path}: ${message}` : message });
    return undefined;
  }
}

class ReplayingProcess {
  readonly #session: RecordedSession;
  readonly #call: ReplayCall;
  /** Places whose sockets are open in this process. */
  readonly #open: Set<number>;
  #kept: Kept[] = [];
  /** Each checkpoint has its place; after memory ran short only every second, fourth and so on. */
  #nextPlace = 0;
  #stride = 1;
  #lastStep = 0;
  #memoryBytes = 0;

  constructor(session: RecordedSession, call: ReplayCall) {
    this.#session = session;
    this.#call = call;
    this.#open = new Set(Array.from({ length: call.checkpoints }, (_, place) => place));
  }

  run(): number {
    const session = this.#session;
    this.#keep();
    let told = 0;
    while (session.advance()) {
      if (session.step % LOOK_STEPS !== 0) continue;
      const { step } = session;
      const part = session.replay.progress;
      if (part >= told + PROGRESS_PART) {
        told = part;
        tell({ kind: 'progress', steps: step, part });
      }
      if (part * this.#last() >= this.#nextPlace && step - this.#lastStep >= this.#call.apart) this.#keep();
    }
    return this.#serveEnd();
  }

  /** The place of the end. */
  #last(): number {
    return this.#call.checkpoints - 1;
  }

  /** Leaves a copy at the next place, if one is free. */
  #keep(): void {
    const place = this.#nextPlace;
    if (place >= this.#last()) return;
    this.#nextPlace = place + this.#stride;
    this.#lastStep = this.#session.step;
    this.#boundMemory();
    const pid = forkProcess();
    if (pid < 0) return;
    if (pid === 0) this.#becomeCheckpoint(place);
    this.#close(place);
    this.#kept.push({ pid, place });
    tell({ kind: 'checkpoint', place, step: this.#session.step });
  }

  /** This process is the checkpoint at the end. */
  #serveEnd(): number {
    const { step, trouble } = this.#session;
    const place = this.#last();
    tell({ kind: 'checkpoint', place, step });
    tell({ kind: 'ended', steps: step, ...(trouble !== undefined && { trouble }) });
    this.#closeOthers(place);
    serveRequests(fdOf(place), this.#session);
    for (const { pid } of this.#kept) waitForProcess(pid);
    return 0;
  }

  #becomeCheckpoint(place: number): never {
    return endAfter(() => {
      this.#closeOthers(place);
      closeSync(EVENTS_FD);
      serveRequests(fdOf(place), this.#session);
    });
  }

  /** A socket ends for its other side when no process has it any more. */
  #closeOthers(own: number): void {
    for (const place of this.#open) if (place !== own) this.#close(place);
  }

  #close(place: number): void {
    this.#open.delete(place);
    closeSync(fdOf(place));
  }

  /**
   * Memory that this process has written since the last copy is no longer shared with copies. When
   * it is too much, every second checkpoint is removed, and later ones are twice as far apart.
   */
  #boundMemory(): void {
    this.#memoryBytes += readMemory('self', 'Private_Dirty') + YOUNG_BYTES;
    if (this.#memoryBytes <= this.#call.memoryBytes) return;
    const needless = this.#kept.filter((_, index) => index % 2 === 1);
    for (const { pid } of needless) {
      process.kill(pid, 'SIGKILL');
      waitForProcess(pid);
    }
    this.#kept = this.#kept.filter((one) => !needless.includes(one));
    this.#stride *= 2;
    const all = ['self', ...this.#kept.map(({ pid }) => `${pid}`)];
    this.#memoryBytes = all.reduce((sum, pid) => sum + readMemory(pid, 'Pss') + YOUNG_BYTES, 0);
  }
}

/** Answers until the other side closes the socket. */
function serveRequests(fd: number, session: RecordedSession): void {
  for (let line = readLine(fd); line !== undefined; line = readLine(fd)) {
    const pid = forkProcess();
    if (pid === 0) endAfter(() => send(fd, answer(fd, session, JSON.parse(line) as ReplayRequest)));
    const status = pid < 0 ? pid : waitForProcess(pid);
    if (status !== 0) send(fd, { kind: 'failure', status });
  }
}

function answer(fd: number, session: RecordedSession, request: ReplayRequest): ReplayAnswer {
  try {
    return { kind: 'result', result: perform(fd, session, request) };
  } catch (error) {
    if (!(error instanceof ViewRefusal)) throw error;
    return { kind: 'refusal', status: error.status, sentence: error.message };
  }
}

function perform(fd: number, session: RecordedSession, request: ReplayRequest): unknown {
  if (request.kind === 'search') return searchPart(session, request.search, makeLooked(fd));
  session.advanceTo(request.step);
  if (request.kind === 'route') return session.route(request.query);
  return request.kind === 'state' ? session.describe(request.query) : session.tell(request.query);
}

/**
 * Reports the progress of a search, and the number of this process, by which the requester may end
 * it.
 */
function makeLooked(fd: number): (step: number) => void {
  const pid = readOwnPid();
  let toldMs = Number.NEGATIVE_INFINITY;
  return (step) => {
    const nowMs = performance.now();
    if (nowMs - toldMs < LOOKED_MS) return;
    toldMs = nowMs;
    send(fd, { kind: 'looked', pid, step });
  };
}

/** `process.pid` of a copy may be that of its original. */
function readOwnPid(): number {
  return Number(readlinkSync('/proc/self'));
}

function fdOf(place: number): number {
  return FIRST_CHECKPOINT_FD + place;
}

/** The work of a copy, which must not return to the event loop. */
function endAfter(work: () => void): never {
  try {
    work();
  } catch (error) {
    if (!isUnheard(error)) writeSync(STDERR_FD, `vuhca view: ${(error as Error).stack}\n`);
    endProcess(1);
  }
  return endProcess(0);
}

/** The other side has closed the socket. */
function isUnheard(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'EPIPE';
}

/** Memory of a process, in bytes, by the name of a row of the kernel. */
function readMemory(pid: string, row: string): number {
  const rows = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return KIB * Number(new RegExp(`^${row}: +(\\d+)`, 'm').exec(rows)?.[1] ?? 0);
}

function tell(event: ReplayEvent): void {
  send(EVENTS_FD, event);
}

/** Writes a line. Throws EPIPE without a reader. */
function send(fd: number, message: ReplayEvent | ReplayAnswer): void {
  const bytes = Buffer.from(`${JSON.stringify(message)}\n`);
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
}

/** The next line; one is sent at a time. Undefined at the end. */
function readLine(fd: number): string | undefined {
  const pieces: Buffer[] = [];
  for (;;) {
    const piece = Buffer.alloc(READ_BYTES);
    const count = readSync(fd, piece);
    if (count === 0) return undefined;
    pieces.push(piece.subarray(0, count));
    if (piece[count - 1] === NEWLINE) return Buffer.concat(pieces).toString();
  }
}
