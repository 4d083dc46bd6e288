// SPDX-License-Identifier: Apache-2.0
/**
 * Recognises the lines in which a Linux kernel reports a problem, so that a test fails on them even
 * when its own checks pass. The patterns are those of Debian's kernels, 6.1 to 7.3: warnings and
 * BUGs, call traces, hung tasks, lockups, reference counts, KFENCE, list corruption, RCU stalls.
 * Called with each console line by sessions and guest tests.
 */

/** One recognised complaint. */
export interface KernelComplaint {
  /** Its kind, a name in `KERNEL_PATTERNS`. */
  readonly kind: string;
  /** The line as the kernel printed it. */
  readonly line: string;
}

/**
 * A guest chooses the lines, so a pattern with `.*` begins at its first beginning in a line only:
 * searched from each of them, it would take the square of the length.
 */
const KERNEL_PATTERNS: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ['kfence', /BUG: KFENCE:/],
  ['soft lockup', /BUG: soft lockup|^(?:(?!watchdog: ).)*watchdog: .*(soft|hard) (LOCKUP|lockup)/m],
  ['workqueue stall', /BUG: workqueue lockup|^(?:(?!workqueue: ).)*workqueue: .* hogged CPU/m],
  ['bug', /\bBUG\b[: ]|kernel BUG at /],
  // The second form is that of Debian's backports.
  ['warning', /\bWARNING: CPU: \d+ PID: \d+|\bWARNING: \S+:\d+ at \S+|^(?:(?!\bWARNING: ).)*\bWARNING: .* at \S+:\d/m],
  ['lockdep', /WARNING: (possible|suspicious|inconsistent|bad)/],
  ['hung task', /^(?:(?!INFO: task ).)*INFO: task .+ blocked for more than \d+ seconds/m],
  ['rcu stall', /^(?:(?!rcu).)*rcu.*(self-detected stall|detected stalls|detected expedited stalls)/m],
  ['refcount', /refcount_t: /],
  ['list corruption', /list_(add|del) corruption/],
  ['oops', /\bOops: |general protection fault|unable to handle (kernel|page fault)|Unable to handle kernel/],
  ['slub', /(Poison|Redzone|Right Redzone|Left Redzone|Object padding) overwritten|Object already free/],
  // At boot the kernel says that it checks.
  ['dma api', /DMA-API: (?!preallocated|debugging enabled)/],
  ['page fault', /Bad page (state|map)|page allocation failure/],
  ['panic', /Kernel panic - not syncing/],
  ['nobody cared', /irq \d+: nobody cared/],
  ['call trace', /Call Trace:/],
];

/** The complaint in a console line, or undefined. */
export function findComplaint(line: string): KernelComplaint | undefined {
  const found = KERNEL_PATTERNS.find(([, pattern]) => pattern.test(line));
  return found === undefined ? undefined : { kind: found[0], line };
}

/** Kinds of lines that only continue the report that another line began. */
const CONTINUATIONS = ['call trace', 'oops'];
/** The last line of a report, where it has one. */
const REPORT_END = /---\[ end (trace|Kernel panic)/;
/** A report without a last line is over after so many: both copies of a long call trace. */
const REPORT_LINES = 200;

/**
 * The lines of the report that begins at `start`, to its last line; `fewest` lines when it has no
 * last line.
 */
export function cutReport(lines: readonly string[], start: number, fewest: number): readonly string[] {
  const end = lines.findIndex((line, index) => index >= start && index < start + REPORT_LINES && REPORT_END.test(line));
  return lines.slice(0, Math.max(end + 1, start + fewest));
}

/**
 * Collects the complaints of one guest, up to a limit; later ones are only counted. The lines of
 * one report count once, as does a line that comes both from the console and from the kernel's log.
 */
export class KernelLogWatch {
  readonly complaints: KernelComplaint[] = [];
  /** The number of all complaints. */
  count = 0;
  readonly #limit: number;
  readonly #seen = new Set<string>();
  /** Lines for which a report may still continue. */
  #reportLines = 0;

  constructor(limit = 100) {
    this.#limit = limit;
  }

  /** Takes the next line of console or log. Returns the complaint in it, if it is new. */
  push(line: string): KernelComplaint | undefined {
    const complaint = findComplaint(line.trimEnd());
    if (this.#reportLines > 0) {
      const isEnd = REPORT_END.test(line) && !this.#seen.has(line);
      if (isEnd) this.#seen.add(line);
      this.#reportLines = isEnd ? 0 : this.#reportLines - 1;
    }
    if (complaint === undefined || this.#seen.has(complaint.line)) return undefined;
    this.#seen.add(complaint.line);
    if (this.#reportLines > 0 && CONTINUATIONS.includes(complaint.kind)) return undefined;
    this.#reportLines = REPORT_LINES;
    this.count++;
    if (this.complaints.length < this.#limit) this.complaints.push(complaint);
    return complaint;
  }
}
