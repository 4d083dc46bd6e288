// SPDX-License-Identifier: Apache-2.0
/**
 * The log of the device process: pino's levels and serializers, printed as short lines on standard
 * error: `17:22:34.061 info  client attached socket=/run/x`.
 */
import { constants, fstatSync, openSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { type Logger, pino } from 'pino';
import { printable, printableLines } from '../../../protocol/system/printable.mjs';
import type { LogLevel } from '../options/option-values.ts';

const STDERR = 2;
const HIDDEN = new Set(['level', 'time', 'msg', 'err']);

/** A log at `level`; `write` takes each line with its end. */
export function makeLog(level: LogLevel, write: (line: string) => void = makeLineWriter(STDERR)): Logger {
  return pino({ level, base: null }, { write: (json: string) => write(formatLine(JSON.parse(json))) });
}

function formatLine(record: Record<string, unknown>): string {
  const time = new Date(record.time as number).toTimeString().slice(0, 8);
  const ms = String((record.time as number) % 1000).padStart(3, '0');
  const level = pino.levels.labels[record.level as number].padEnd(5);
  const fields = Object.entries(record)
    .filter(([name]) => !HIDDEN.has(name))
    .map(([name, value]) => ` ${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('');
  const error = record.err as { stack?: string; message?: string } | undefined;
  const stack = error === undefined ? '' : `\n  ${printableLines(error.stack ?? String(error.message))}`;
  return `${time}.${ms} ${level} ${printable(`${record.msg ?? ''}${fields}`)}${stack}\n`;
}

/**
 * Takes lines for a descriptor and writes synchronously, so that nothing is lost at the end of the
 * process, and never waits for a reader. A closed or full pipe and a full disk lose lines and do
 * not end the process; the next written line tells how many.
 */
export function makeLineWriter(fd: number): (line: string) => void {
  const target = openUnblocked(fd);
  /** The rest of a line that a pipe has not taken. */
  let rest: Uint8Array = new Uint8Array(0);
  let lost = 0;
  let why = '';
  const put = (bytes: Uint8Array): void => {
    rest = bytes.subarray(writeSync(target, bytes));
  };
  const write = (line: string): void => {
    if (rest.length > 0) put(rest);
    if (rest.length > 0) throw Object.assign(new Error('a part was taken'), { code: 'EAGAIN' });
    put(Buffer.from(line));
  };
  return (line) => {
    try {
      if (lost > 0) write(`${lost} lines of this log are lost (${why})\n`);
      lost = 0;
      write(line);
    } catch (error) {
      lost++;
      why = (error as NodeJS.ErrnoException).code ?? String(error);
    }
  };
}

/**
 * A descriptor for the same file whose writes do not wait: of a pipe or terminal it is opened anew,
 * because others may share the mode of `fd`. A socket cannot be, and Node sets the mode of one that
 * it takes.
 */
function openUnblocked(fd: number): number {
  const status = fstatSync(fd);
  if (status.isSocket()) new Socket({ fd, readable: false, writable: true }).unref();
  if (!status.isFIFO() && !status.isCharacterDevice()) return fd;
  try {
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    // A pipe without a reader: writes fail at once.
    return fd;
  }
}
