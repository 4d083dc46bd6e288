// SPDX-License-Identifier: Apache-2.0
/**
 * Processor time by test file and by kind of program, for `npm test -- --times`: samples all
 * processes a few times a second (Linux /proc/PID/stat) and assigns each one to the test file from
 * whose process it descends. Time between the last sample of a process and its end is missed; the
 * total, which main.ts takes from the kernel, is exact. Called by main.ts.
 */
import { readdirSync, readFileSync } from 'node:fs';

/** Kinds of programs. */
export const KINDS = ['test', 'adapter', 'QEMU', 'compiler', 'other'] as const;
export type Kind = (typeof KINDS)[number];

/** Costs of a test file. */
export interface FileCost {
  /** Processor time in seconds, by kind of program. */
  readonly seconds: Record<Kind, number>;
  /** QEMU processes that ran a guest. */
  guests: number;
}

/** One look at a process. */
export interface ProcessSample {
  readonly pid: number;
  readonly parent: number;
  /** Start in clock ticks: with the pid it names a process for good. */
  readonly start: number;
  readonly seconds: number;
  /** The kernel's name of it. */
  readonly name: string;
  readonly command: () => string;
}

interface Known {
  readonly file: string;
  kind: Kind;
  name: string;
  seconds: number;
}

const TICKS_PER_SECOND = 100;
const LOOK_MS = 250;
const COMPILER = /^(cc1|as|ld|ld\.bfd|gcc|x86_64-linux-gn|make|modpost|genksyms|objtool|resolve_btfids|pahole)/;

/** A sum to begin with. */
export function noSeconds(): Record<Kind, number> {
  return { test: 0, adapter: 0, QEMU: 0, compiler: 0, other: 0 };
}

/** Collects the cost of test files whose processes it is told. */
export class ProcessorTimes {
  readonly #files = new Map<number, string>();
  readonly #known = new Map<string, Known>();

  /** From now on `pid` is the process that runs `file`. */
  begin(pid: number, file: string): void {
    this.#files.set(pid, file);
  }

  /** Takes all processes of one moment. */
  look(samples: readonly ProcessSample[]): void {
    const byPid = new Map(samples.map((sample) => [sample.pid, sample]));
    for (const sample of samples) {
      const key = keyOf(sample);
      const known = this.#known.get(key);
      const file = known?.file ?? this.#ownerOf(sample, byPid);
      if (file === undefined) continue;
      const { name, seconds } = sample;
      // A process may be another program by now.
      const isSame = known?.name === name;
      const kind = isSame ? known.kind : this.#files.has(sample.pid) ? 'test' : kindOf(name, sample.command());
      this.#known.set(key, { file, kind, name, seconds });
    }
  }

  /** The cost of each file that was begun. */
  costs(): Map<string, FileCost> {
    const costs = new Map<string, FileCost>();
    for (const { file, kind, seconds } of this.#known.values()) {
      const cost = costs.get(file) ?? { seconds: noSeconds(), guests: 0 };
      cost.seconds[kind] += seconds;
      // A QEMU that is asked for its version is gone at once.
      if (kind === 'QEMU' && seconds >= 0.5) cost.guests++;
      costs.set(file, cost);
    }
    return costs;
  }

  /** The file from whose process `sample` descends; a parent that has ended was seen before. */
  #ownerOf(sample: ProcessSample, byPid: ReadonlyMap<number, ProcessSample>): string | undefined {
    for (let at: ProcessSample | undefined = sample; at !== undefined; at = byPid.get(at.parent)) {
      const file = this.#files.get(at.pid) ?? this.#known.get(keyOf(at))?.file;
      if (file !== undefined) return file;
    }
    return undefined;
  }

  /** Looks until `stop` of the result is called. */
  watch(): { stop(): void } {
    const timer = setInterval(() => this.look(readProcesses()), LOOK_MS);
    timer.unref();
    return { stop: () => clearInterval(timer) };
  }
}

function keyOf({ pid, start }: ProcessSample): string {
  return `${pid}/${start}`;
}

function kindOf(name: string, command: string): Kind {
  if (name.startsWith('qemu-system')) return 'QEMU';
  if (COMPILER.test(name)) return 'compiler';
  return /\/(launch\.mjs|vuhca\.mjs) device\b|(linked|probe)-device\.ts/.test(command) ? 'adapter' : 'other';
}

function readProcesses(): ProcessSample[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => readProcess(Number(pid)) ?? []);
}

/** Undefined when it has ended. */
function readProcess(pid: number): ProcessSample | undefined {
  try {
    return parseStat(pid, readFileSync(`/proc/${pid}/stat`, 'utf8'), () => readCommand(pid));
  } catch {
    return undefined;
  }
}

/** Reads a line of /proc/PID/stat (proc_pid_stat(5)). */
export function parseStat(pid: number, line: string, command: () => string): ProcessSample {
  const end = line.lastIndexOf(')');
  const fields = fieldsOf(line);
  const [parent, user, system, start] = [1, 11, 12, 19].map((index) => Number(fields[index])) as [
    number,
    number,
    number,
    number,
  ];
  const name = line.slice(line.indexOf('(') + 1, end);
  return { pid, parent, start, name, seconds: (user + system) / TICKS_PER_SECOND, command };
}

/** The fields behind the name, which may have anything in it. */
function fieldsOf(line: string): string[] {
  return line.slice(line.lastIndexOf(')') + 2).split(' ');
}

function readCommand(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}

/**
 * Processor time in seconds of this process's children that have ended, with all that they waited
 * for.
 */
export function readChildrenSeconds(): number {
  const line = readFileSync('/proc/self/stat', 'utf8');
  const fields = fieldsOf(line);
  return (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND;
}
