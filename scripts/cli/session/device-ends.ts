// SPDX-License-Identifier: Apache-2.0
/**
 * Unrequested ends of an adapter process: an exception in a pass, an access of a guest, a timer, a
 * socket, a promise or a command; or an early exit of the process. In each case no socket is left,
 * and one line names the failure. device-action.ts makes one.
 */
import type { Logger } from 'pino';
import type { ControlServer } from '../../../device/process/control/control-server.ts';
import type { AdapterProcess } from '../../../device/process/host/adapter-process.ts';
import { ADAPTER_FAILED_STATUS } from './exit-statuses.ts';

/** An exception, and the place that threw it. */
export interface Failure {
  readonly where: string;
  readonly error: unknown;
}

export class Ends {
  /** Set once they are open. */
  process: AdapterProcess | undefined;
  control: ControlServer | undefined;
  /** The exit status so far. */
  status = 0;
  /** Resolves after the first failure has been logged and the sockets are removed. */
  readonly whenFailed: Promise<void>;
  readonly #log: Logger;
  #resolve: () => void = () => {};

  /** From now on an uncaught exception is a failure of the adapter. */
  constructor(log: Logger) {
    this.#log = log;
    this.whenFailed = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    process.on('uncaughtException', (error, origin) =>
      this.#caught({ where: origin === 'unhandledRejection' ? 'a promise' : 'the event loop', error }),
    );
    // main.ts exits when the reader of standard output has gone.
    process.once('exit', () => this.close());
  }

  /** Notes that the adapter has failed and guests are no longer served. */
  failed(failure: Failure): void {
    this.status = ADAPTER_FAILED_STATUS;
    logFailure(this.#log, failure);
    this.control?.close();
    this.#resolve();
  }

  /** Removes all sockets. May be called twice. */
  close(): void {
    try {
      this.process?.close();
    } finally {
      this.control?.close();
    }
  }

  #caught(failure: Failure): void {
    if (this.process !== undefined) return this.process.fail(failure.where, failure.error);
    this.failed(failure);
    process.exit(this.status);
  }
}

/** Logs one line; the stack too at level debug. A log that fails must not hide the reason. */
function logFailure(log: Logger, failure: Failure): void {
  const line = describeFailure(failure);
  try {
    log.error({}, line);
    log.debug({ err: failure.error }, 'the stack of the failure');
  } catch {
    process.stderr.write(`${line}\n`);
  }
}

/** One line: the error, the place that threw it, and the effect on guests. */
export function describeFailure({ where, error }: Failure): string {
  const { name, message, stack = '' } = error instanceof Error ? error : new Error(String(error));
  const place = /^\s*(at .*)$/m.exec(stack)?.[1] ?? '';
  const reason = `${name}: ${message} ${place}`.replaceAll(/\s+/g, ' ').trim();
  return `the adapter has failed in ${where}: ${reason}; it ends, and its guests read ones`;
}
