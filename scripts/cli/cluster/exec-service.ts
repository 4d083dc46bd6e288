// SPDX-License-Identifier: Apache-2.0
/**
 * The supervisor's side of a command in a node: joins a channel of its shell with a client. The
 * command ends with the client that has gone. supervisor.ts calls it.
 */
import { once } from 'node:events';
import type { ClientChannel } from 'ssh2';
import { SetupError } from '../../../qemu/setup/tools/errors.ts';
import type { ClusterInput, ExecEnd, ExecRequest } from '../cluster-client/cluster-protocol.ts';
import type { ClusterNode } from './cluster-node.ts';
import type { ClusterClient } from './cluster-server.ts';
import { LeadingLine } from './leading-line.ts';
import type { NodeShell } from './node-shell.ts';

/** The shell that runs a line tells its process group first. */
const TELL_GROUP = 'echo $$ >&2\n';

/** Performs the request; resolves with how the command ended. */
export async function executeIn(node: ClusterNode, request: ExecRequest, client: ClusterClient): Promise<ExecEnd> {
  const { shell } = node;
  const { line, terminal } = request;
  const isPlain = line !== undefined && terminal === undefined;
  const channel = await shell.execute(isPlain ? { line: `${TELL_GROUP}${line}` } : request);
  const end = await new RunningCommand(shell, channel, client, isPlain).whenEnded;
  // The channel closes with the connection as well, and has no status then.
  if (end.status === undefined && end.signal === undefined)
    throw new SetupError(`the connection to node ${node.spec.name} ended before the command did`);
  return end;
}

class RunningCommand {
  readonly whenEnded: Promise<ExecEnd>;
  readonly #shell: NodeShell;
  readonly #channel: ClientChannel;
  readonly #client: ClusterClient;
  /** Its process group, where it has no terminal that signals come from. */
  #group: Promise<string> | undefined;

  constructor(shell: NodeShell, channel: ClientChannel, client: ClusterClient, tellsGroup: boolean) {
    this.#shell = shell;
    this.#channel = channel;
    this.#client = client;
    const { dialog, onInput } = client;
    let isOver = false;
    channel.on('error', () => {});
    // A client that reads slowly may not have all of standard error yet.
    const errorsCarried = once(channel.stderr, 'close');
    const ended = new Promise<ExecEnd>((resolve) =>
      // The event `exit` may be over before anybody can listen.
      channel.once('close', (status?: number | null, signal?: string) => {
        isOver = true;
        if (typeof status === 'number') resolve({ status });
        else resolve(signal === undefined ? {} : { signal: signal.replace(/^SIG/, '') });
      }),
    );
    this.whenEnded = errorsCarried.then(() => ended);
    this.#carry('out', channel);
    this.#carry('err', channel.stderr, tellsGroup ? this.#awaitGroup() : undefined);
    onInput((input) => this.#take(input));
    void dialog.whenClosed.then(async () => {
      if (isOver) return;
      await this.#signal('TERM');
      channel.close();
    });
  }

  /** Cuts the line with the group off the beginning of standard error. */
  #awaitGroup(): LeadingLine {
    const leading = new LeadingLine();
    this.#group = leading.line;
    return leading;
  }

  #carry(output: 'out' | 'err', stream: NodeJS.ReadableStream, leading?: LeadingLine): void {
    const { dialog } = this.#client;
    stream.on('data', (chunk: Buffer) => {
      const bytes = leading?.cut(chunk) ?? chunk;
      if (bytes.length === 0 || dialog.send({ [output]: bytes.toString('base64') })) return;
      stream.pause();
      void dialog.whenDrained().then(() => stream.resume());
    });
  }

  #take(input: ClusterInput): void {
    const channel = this.#channel;
    if ('signal' in input) void this.#signal(input.signal);
    else if ('size' in input) channel.setWindow(input.size.rows, input.size.columns, 0, 0);
    else if (!channel.writable) return;
    else if ('end' in input) channel.end();
    else if ('in' in input && !channel.write(Buffer.from(input.in, 'base64'))) {
      this.#client.dialog.hold(true);
      channel.once('drain', () => this.#client.dialog.hold(false));
    }
  }

  /** By a command of its own: the ssh server passes no signals to commands of root. */
  async #signal(name: string): Promise<void> {
    if (this.#group === undefined || !/^[A-Z]+$/.test(name)) return;
    try {
      const group = await this.#group;
      const killer = await this.#shell.execute({ line: `kill -${name} -- -${Number(group)}` });
      killer.resume().stderr.resume();
      await new Promise((resolve) => killer.once('close', resolve));
    } catch {
      // The node has ended, and the command with it.
    }
  }
}
