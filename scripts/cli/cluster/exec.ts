// SPDX-License-Identifier: Apache-2.0
/**
 * Runs a command in nodes of a cluster: one node has the standard streams of this process, several
 * run at once and have the name of the node before each line. Called by cluster-action.ts.
 */
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { LineSplitter } from '../../../qemu/line-splitter.ts';
import { type Conversation, converse } from '../cluster-client/cluster-client.ts';
import type { ClusterPlace } from '../cluster-client/cluster-place.ts';
import type { ExecEnd, ExecRequest } from '../cluster-client/cluster-protocol.ts';
import { ClusterExec, ExitStatus } from '../session/exit-statuses.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;

/** A word is a line for the shell; several are quoted, so that each stays one. */
export function toShellLine(words: readonly string[]): string {
  if (words.length === 1) return words[0];
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ');
}

/** Runs the line in one node. Returns its exit status. */
export async function executeInOne(place: ClusterPlace, request: ExecRequest): Promise<number> {
  const conversation = await converse<ExecEnd>(place, request, {
    write: (output, bytes) => writeWhole(output === 'out' ? process.stdout : process.stderr, bytes),
  });
  const restore = passSignals([conversation]);
  passInput(conversation);
  try {
    return statusOf(await conversation.result);
  } finally {
    restore();
    // A terminal or pipe that still waits would keep the process.
    process.stdin.destroy();
  }
}

/** Runs the line in several nodes; returns the highest status. `complain` takes what failed. */
export async function executeInAll(
  place: ClusterPlace,
  nodes: readonly string[],
  line: string,
  complain: (text: string) => void,
): Promise<number> {
  const width = Math.max(...nodes.map((name) => name.length));
  const conversations: Conversation<ExecEnd>[] = [];
  const restore = passSignals(conversations);
  const runs = nodes.map(async (node) => {
    const outputs = { out: prefixed(process.stdout, node, width), err: prefixed(process.stderr, node, width) };
    try {
      const conversation = await converse<ExecEnd>(
        place,
        { command: 'exec', node, line },
        { write: (output, bytes) => void outputs[output].push(bytes) },
      );
      conversations.push(conversation);
      conversation.send({ end: true });
      return statusOf(await conversation.result);
    } catch (error) {
      complain((error as Error).message);
      return ClusterExec.LOST;
    } finally {
      outputs.out.flush();
      outputs.err.flush();
    }
  });
  const statuses = await Promise.all(runs);
  restore();
  return Math.max(...statuses);
}

function prefixed(stream: NodeJS.WriteStream, node: string, width: number): LineSplitter {
  return new LineSplitter((line) => void stream.write(`${node.padEnd(width)} | ${line}\n`));
}

export function statusOf({ status, signal }: ExecEnd): number {
  if (status !== undefined) return status;
  const number = constants.signals[`SIG${signal}` as NodeJS.Signals];
  return number === undefined ? ClusterExec.LOST : ExitStatus.SIGNAL + number;
}

/** Passes the first signal of each kind on; the next one ends this process. */
function passSignals(conversations: readonly Conversation<unknown>[]): () => void {
  const handlers = SIGNALS.map((name) => {
    const handler = (): void => {
      for (const conversation of conversations) conversation.send({ signal: name.slice(3) });
    };
    process.once(name, handler);
    return [name, handler] as const;
  });
  return () => {
    for (const [name, handler] of handlers) process.off(name, handler);
  };
}

/** Carries standard input to the command, as fast as that takes it. */
export function passInput(conversation: Conversation<unknown>): void {
  const { stdin } = process;
  // To read from its terminal would stop a command in the background.
  if (stdin.isTTY && !isInForeground(readFileSync('/proc/self/stat', 'latin1'))) {
    conversation.send({ end: true });
    return;
  }
  stdin.on('data', (bytes: Buffer) => {
    if (conversation.send({ in: bytes.toString('base64') })) return;
    stdin.pause();
    void conversation.whenDrained().then(() => stdin.resume());
  });
  stdin.on('end', () => conversation.send({ end: true }));
  stdin.on('error', () => conversation.send({ end: true }));
}

/** Whether a process of this /proc/PID/stat has its terminal: its group is that of the terminal. */
export function isInForeground(stat: string): boolean {
  const [, , group, , , ofTerminal] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return group === ofTerminal;
}

/** Writes bytes; resolves when more may follow. */
export function writeWhole(stream: NodeJS.WriteStream, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => stream.write(bytes, () => resolve()));
}
