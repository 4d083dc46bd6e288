// SPDX-License-Identifier: Apache-2.0
/**
 * The messages between a command and the supervisor of a cluster: JSON lines over a UNIX socket, a
 * connection for each request. The supervisor answers with any number of messages, the last of
 * which is `done` or `error`; the connection ends with it.
 */
import type { TcgThread, VfioUserDevice } from '../../../qemu/guest-options.ts';
import type { Personality } from '../options/personality.ts';

/** A terminal of the client. */
export interface TerminalSize {
  readonly rows: number;
  readonly columns: number;
}

/** A command in a node, as the client asks for it. */
export interface ExecRequest {
  readonly command: 'exec';
  readonly node: string;
  /** A line for the shell of the node; absent: a login shell. */
  readonly line?: string;
  /** With a terminal in the node. */
  readonly terminal?: TerminalSize & { readonly kind: string };
}

/** Files to carry; paths of the host are absolute. */
export interface CopyRequest {
  readonly command: 'copy';
  readonly node: string;
  readonly way: 'in' | 'out';
  readonly hostPath: string;
  readonly nodePath: string;
}

/** A place for a guest that the client starts; it is taken until the connection ends. */
export interface AttachRequest {
  readonly command: 'attach';
  /** A stopped node, or an adapter without one. */
  readonly node: string;
  /** The client, for messages about who has the place. */
  readonly pid: number;
}

export type ClusterRequest =
  /** Tells the progress until all nodes are up. The cluster ends if the client goes before. */
  | { readonly command: 'follow' }
  | { readonly command: 'list' }
  | { readonly command: 'down' }
  | { readonly command: 'start' | 'stop'; readonly node: string }
  /** As `vuhca link`: a verb and properties. */
  | { readonly command: 'link'; readonly port: string; readonly words: readonly string[] }
  | ExecRequest
  | CopyRequest
  | AttachRequest;

/** From the supervisor. */
export type ClusterMessage =
  | { readonly say: string }
  | { readonly place: AttachedPlace }
  /** Bytes of standard output and standard error, in base64. */
  | { readonly out: string }
  | { readonly err: string }
  | { readonly done: unknown }
  | { readonly error: string };

/** Behind a request to execute or to attach. */
export type ClusterInput =
  /** Bytes of standard input, in base64. */
  | { readonly in: string }
  | { readonly end: true }
  /** The name of a signal without SIG. */
  | { readonly signal: string }
  | { readonly size: TerminalSize };

/** The place that a client has taken. */
export interface AttachedPlace {
  /** What QEMU attaches. */
  readonly devices: readonly VfioUserDevice[];
  readonly personality: Personality;
  /** The adapter finds late stores, for which QEMU must wait for each store. */
  readonly orderCheck: boolean;
  /** How QEMU runs the processors of the guest. */
  readonly tcgThread: TcgThread;
  /** The control socket of the adapter process. */
  readonly control: string;
  /** What other nodes take for its address; only a node has one. */
  readonly address?: string;
}

/** How a command in a node ended. */
export interface ExecEnd {
  readonly status?: number;
  /** The name of a signal without SIG. */
  readonly signal?: string;
}

/** How nodes arrived. */
export interface UpEnd {
  /** A sentence for each node that is not up. */
  readonly failures: readonly string[];
}

/** What became of files that were copied. */
export interface CopyEnd {
  readonly files: number;
  readonly bytes: number;
}

export interface NodeReport {
  readonly name: string;
  readonly state: string;
  /** Why it is in that state, when that needs a word. */
  readonly why?: string;
  readonly address: string;
  readonly personality: string;
  readonly guid?: string;
  readonly lid?: number;
  /** Of its first port. */
  readonly portState?: string;
  readonly sockets: readonly string[];
  readonly log: string;
  /** The first complaint of its kernel. */
  readonly complaint?: string;
  /** Of QEMU. */
  readonly pid?: number;
}

export interface ClusterReport {
  readonly name: string;
  /** Of the supervisor, and of the adapter process. */
  readonly pid: number;
  readonly devicePid: number;
  /** The control socket of the adapter process, for `vuhca status` and others. */
  readonly control: string;
  readonly log: string;
  /** Why it is of no use any more. */
  readonly failure?: string;
  readonly nodes: readonly NodeReport[];
  /** Adapters without a node; `state` is `free`, or `taken` by a guest of `vuhca run`. */
  readonly free: readonly Pick<NodeReport, 'name' | 'state' | 'why' | 'guid' | 'lid' | 'portState' | 'sockets'>[];
}
