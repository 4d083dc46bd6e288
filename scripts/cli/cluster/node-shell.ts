// SPDX-License-Identifier: Apache-2.0
/**
 * The connection to the ssh server of a node, over its virtio-serial port: no network of host or
 * guest is needed. One connection carries all commands, terminals and files of a node.
 * cluster-node.ts holds it.
 */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import ssh2, { type Client, type ClientChannel, type SFTPWrapper } from 'ssh2';
import { SetupError } from '../../../qemu/setup/tools/errors.ts';
import type { ExecRequest } from '../cluster-client/cluster-protocol.ts';
import { AnswerWatch } from './answer-watch.ts';

/** A guest under TCG takes more than a second for its part of the key exchange. */
const HANDSHAKE_BOUND_MS = 300_000;
/**
 * The connection to a node that has answered none of so many questions, one in each period, is
 * ended. A question costs node and supervisor 2 ms of a processor each.
 */
const QUESTIONS = 20;
const QUESTION_MS = 15_000;
/** Cheap ones: nobody listens on this way. */
const ALGORITHMS = {
  kex: ['curve25519-sha256'],
  serverHostKey: ['ssh-ed25519'],
  cipher: ['aes128-ctr'],
  hmac: ['hmac-sha2-256'],
  compress: ['none'],
} as const;

/** How the silence of a node is noticed. */
export interface Questions {
  readonly periodMs?: number;
  /** See answer-watch.ts. */
  readonly readWaitedMs: () => number;
  /** Called when the node has not answered, and when it is heard again. */
  readonly tell: (isSilent: boolean) => void;
}

export class NodeShell {
  /** Resolves, never rejects, when the connection has ended. */
  readonly whenClosed: Promise<void>;
  readonly #client: Client;

  /**
   * Connects as root; the connection ends when the server has answered no question for long. Throws
   * an Error when it does not answer as an ssh server.
   */
  static async connect(socket: Socket, privateKey: string, questions: Questions): Promise<NodeShell> {
    const { periodMs = QUESTION_MS } = questions;
    const client = new ssh2.Client();
    // It may have more to say than one error.
    client.on('error', () => {});
    const ready = once(client, 'ready');
    client.connect({
      sock: new PortStream(socket),
      username: 'root',
      privateKey,
      algorithms: ALGORITHMS as never,
      readyTimeout: HANDSHAKE_BOUND_MS,
      keepaliveInterval: periodMs,
      keepaliveCountMax: QUESTIONS,
    });
    const closed = once(client, 'close').then(() => {
      throw new Error('the ssh server of the node ended the connection');
    });
    await Promise.race([ready, closed]);
    closed.catch(() => {});
    const shell = new NodeShell(client);
    const watch = new AnswerWatch({ ...questions, periodMs });
    const hear = (): void => watch.hear();
    socket.on('data', hear);
    // What has come while this process waited for a processor is read before the check.
    const timer = setInterval(() => setImmediate(() => watch.check()), periodMs);
    void shell.whenClosed.then(() => {
      clearInterval(timer);
      socket.off('data', hear);
    });
    return shell;
  }

  private constructor(client: Client) {
    this.#client = client;
    this.whenClosed = new Promise((resolve) => client.once('close', () => resolve()));
  }

  /** Begins a command, or a login shell when it has no line. */
  execute({ line, terminal }: Pick<ExecRequest, 'line' | 'terminal'>): Promise<ClientChannel> {
    const pty =
      terminal === undefined ? {} : { pty: { term: terminal.kind, rows: terminal.rows, cols: terminal.columns } };
    return new Promise((resolve, reject) => {
      const take = (error: Error | undefined, channel: ClientChannel): void => {
        if (error === undefined) resolve(channel);
        else reject(new SetupError(`the node cannot begin another command: ${error.message}`));
      };
      if (line !== undefined) this.#client.exec(line, pty, take);
      else this.#client.shell(pty.pty ?? false, take);
    });
  }

  /** A channel for files. */
  openFiles(): Promise<SFTPWrapper> {
    return new Promise((resolve, reject) => {
      this.#client.sftp((error, sftp) => {
        if (error === undefined) resolve(sftp);
        else reject(new SetupError(`the node takes no files: ${error.message}`));
      });
    });
  }

  close(): void {
    this.#client.end();
  }
}

/** A stream over the socket of a port, which outlives it: QEMU never connects again. */
class PortStream extends Duplex {
  readonly #socket: Socket;
  readonly #take = (chunk: Buffer): void => {
    if (!this.push(chunk)) this.#socket.pause();
  };
  readonly #end = (): void => void this.destroy();

  constructor(socket: Socket) {
    super();
    this.#socket = socket;
    socket.on('data', this.#take);
    socket.on('close', this.#end);
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, done);
  }

  override _final(done: () => void): void {
    done();
    this.destroy();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.off('data', this.#take);
    this.#socket.off('close', this.#end);
    this.#socket.pause();
    done(error);
  }
}
