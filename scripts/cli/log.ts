// SPDX-License-Identifier: Apache-2.0
/**
 * The log of the device process: pino's levels and serializers, printed as short lines on standard
 * error: `17:22:34.061 info  client attached socket=/run/x`.
 */
import { writeSync } from 'node:fs';
import { type Logger, pino } from 'pino';
import { printable, printableLines } from '../../protocol/system/printable.mjs';
import type { LogLevel } from './log-levels.ts';

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
 * process. A closed or full pipe and a full disk lose lines and do not end the process; the first
 * line that is written again says how many.
 */
export function makeLineWriter(fd: number): (line: string) => void {
  let lost = 0;
  let why = '';
  return (line) => {
    try {
      if (lost > 0) writeSync(fd, `${lost} lines of this log are lost (${why})\n`);
      lost = 0;
      writeSync(fd, line);
    } catch (error) {
      lost++;
      why = (error as NodeJS.ErrnoException).code ?? String(error);
    }
  };
}
