// SPDX-License-Identifier: Apache-2.0
/**
 * Passes the library's log to pino. The library logs each message that it refuses, so a hostile
 * client could fill a disk. A token bucket lets a burst through, then a few lines per second, and
 * reports the number of suppressed lines.
 */
import { performance } from 'node:perf_hooks';
import { SYSLOG } from './constants.ts';

/** Methods of a pino logger that the binding uses. */
export interface LogTarget {
  readonly level: string;
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/**
 * The two lines that the library logs when a client unmaps memory that is not mapped. QEMU clears
 * whole address spaces in this way when a guest gives a device a domain of its virtual IOMMU.
 */
const UNMAPPED_NOTHING = /^(?:failed to remove DMA region .*|msg0x[0-9a-f]+: cmd 3 failed): No such file or directory$/;
const BURST_LINES = 40;
const LINES_PER_SECOND = 5;

export class RateLimitedLog {
  readonly #target: LogTarget;
  readonly #fields: object;
  readonly #nowMs: () => number;
  #tokens = BURST_LINES;
  #lastMs: number;
  #suppressed = 0;
  /** Lines suppressed since the start. */
  suppressedTotal = 0;

  constructor(target: LogTarget, fields: object, nowMs: () => number = () => performance.now()) {
    this.#target = target;
    this.#fields = fields;
    this.#nowMs = nowMs;
    this.#lastMs = nowMs();
  }

  /** Least severe syslog level that is logged; the library does not format messages below it. */
  get syslogLevel(): number {
    switch (this.#target.level) {
      case 'trace':
      case 'debug':
        return SYSLOG.debug;
      case 'warn':
        return SYSLOG.warning;
      case 'error':
      case 'fatal':
      case 'silent':
        return SYSLOG.error;
      default:
        return SYSLOG.info;
    }
  }

  /** Writes a line of the library, if the rate limit allows it. */
  write(level: number, message: string, fields?: object): void {
    if (level < SYSLOG.debug && UNMAPPED_NOTHING.test(message)) {
      if (this.syslogLevel >= SYSLOG.debug) this.write(SYSLOG.debug, message, fields);
      return;
    }
    if (!this.#take()) return;
    const all = { ...this.#fields, ...fields };
    if (level <= SYSLOG.error) this.#target.error(all, message);
    else if (level === SYSLOG.warning) this.#target.warn(all, message);
    else if (level <= SYSLOG.info) this.#target.info(all, message);
    else this.#target.debug(all, message);
  }

  #take(): boolean {
    const nowMs = this.#nowMs();
    this.#tokens = Math.min(BURST_LINES, this.#tokens + ((nowMs - this.#lastMs) * LINES_PER_SECOND) / 1000);
    this.#lastMs = nowMs;
    if (this.#tokens < 1) {
      this.#suppressed++;
      this.suppressedTotal++;
      return false;
    }
    this.#tokens -= 1;
    if (this.#suppressed > 0) {
      this.#target.warn(
        { ...this.#fields, suppressed: this.#suppressed },
        'log lines were suppressed by the rate limit',
      );
      this.#suppressed = 0;
    }
    return true;
  }
}
