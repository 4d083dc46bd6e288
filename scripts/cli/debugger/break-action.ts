// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca break`: sets a breakpoint in a running adapter and serves the terminal at each
 * stop. Whenever and however it ends, the adapter continues without the breakpoint.
 */
import { createInterface } from 'node:readline';
import { printableLines } from '../../../protocol/system/printable.mjs';
import type { CliCommand } from '../options/cli-command.ts';
import type { BreakArguments, SourceLine } from './break-command.ts';
import { steps, TerminalDebugger } from './terminal-debugger.ts';

const DEFAULT_HOST = '127.0.0.1';
const DEFAULT_PORT = '9229';
const PROMPT = '(c n s o bt q, or an expression) ';

export async function performBreak(command: CliCommand): Promise<number> {
  const [place] = command.processedArgs as [SourceLine];
  const given = command.opts<BreakArguments>();
  const session = await TerminalDebugger.attach(addHost(given.inspect ?? DEFAULT_PORT));
  try {
    let stop = session.waitForStop();
    const { file, line } = await session.setBreakpoint(place);
    process.stdout.write(`breakpoint at ${file}:${line}\n`);
    const terminal = given.print === undefined ? createInterface({ input: process.stdin }) : undefined;
    const lines = terminal?.[Symbol.asyncIterator]();
    for (let stops = 0; stops !== given.count; stops++) {
      await stop;
      stop = session.waitForStop();
      if (lines === undefined) {
        process.stdout.write(printableLines(`${await session.evaluate(given.print as string)}\n`));
        await session.goOn('c');
      } else if (!(await serveStop(session, lines))) break;
    }
    terminal?.close();
  } finally {
    await session.close();
  }
  return 0;
}

/** Serves the terminal until the process continues; false at the end of the session. */
async function serveStop(session: TerminalDebugger, lines: AsyncIterator<string>): Promise<boolean> {
  process.stdout.write(printableLines(`${session.describeStop()}\n`));
  for (;;) {
    process.stdout.write(PROMPT);
    const { value, done } = await lines.next();
    const line = done ? 'q' : value.trim();
    if (line === 'q') return false;
    if (Object.hasOwn(steps, line)) {
      await session.goOn(line as keyof typeof steps);
      return true;
    }
    if (line !== '')
      process.stdout.write(
        printableLines(`${line === 'bt' ? session.describeStack() : await session.evaluate(line)}\n`),
      );
  }
}

function addHost(place: string): string {
  return place.includes(':') ? place : `${DEFAULT_HOST}:${place}`;
}
