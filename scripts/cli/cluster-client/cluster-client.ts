// SPDX-License-Identifier: Apache-2.0
/**
 * The way of a command to the supervisor of a cluster: a connection for each request. Called by the
 * actions of `vuhca cluster`, and by place-lease.ts.
 */
import { existsSync } from 'node:fs';
import { createConnection, type Socket } from 'node:net';
import { SetupError } from '../../../qemu/setup/tools/errors.ts';
import { type ClusterPlace, findClusters } from './cluster-place.ts';
import type { AttachedPlace, ClusterInput, ClusterMessage, ClusterRequest } from './cluster-protocol.ts';
import { Dialog } from './dialog.ts';

/** What a command does with the parts of an answer. */
export interface AnswerParts {
  say?(text: string): void;
  takePlace?(place: AttachedPlace): void;
  /** Takes bytes of an output; the supervisor goes on when the promise has been kept. */
  write?(output: 'out' | 'err', bytes: Buffer): Promise<void> | undefined;
}

/** A request under way. */
export interface Conversation<Result> {
  /** Rejects with SetupError for the sentence of the supervisor, or when that has ended. */
  readonly result: Promise<Result>;
  /** Sends what belongs to the request; false when more shall wait for `whenDrained`. */
  send(input: ClusterInput): boolean;
  whenDrained(): Promise<void>;
  /** Ends the connection, and with it what the request has begun. */
  close(): void;
}

/** Begins a request. Rejects with SetupError when no such cluster runs. */
export async function converse<Result>(
  place: ClusterPlace,
  request: ClusterRequest,
  { say, takePlace, write }: AnswerParts = {},
): Promise<Conversation<Result>> {
  const socket = await connect(place);
  let settle = (_result: Result): void => {};
  let refuse = (_error: Error): void => {};
  const result = new Promise<Result>((resolve, reject) => {
    settle = resolve;
    refuse = reject;
  });
  result.catch(() => {});
  // Messages are taken one after the other, so that outputs keep their order.
  let work = Promise.resolve();
  const take = async (message: ClusterMessage): Promise<void> => {
    if ('say' in message) say?.(message.say);
    else if ('place' in message) takePlace?.(message.place);
    else if ('out' in message) await write?.('out', Buffer.from(message.out, 'base64'));
    else if ('err' in message) await write?.('err', Buffer.from(message.err, 'base64'));
    else if ('error' in message) refuse(new SetupError(message.error));
    else if ('done' in message) settle(message.done as Result);
  };
  const dialog = new Dialog(socket, (message) => {
    dialog.hold(true);
    work = work.then(() => take(message as ClusterMessage)).then(() => dialog.hold(false));
  });
  void dialog.whenClosed.then(() => work).then(() => refuse(new SetupError(`cluster ${place.name} has ended`)));
  dialog.send(request);
  return {
    result,
    send: (input) => dialog.send(input),
    whenDrained: () => dialog.whenDrained(),
    close: () => socket.destroy(),
  };
}

/** A request and its answer. Rejects with SetupError. */
export async function ask<Result>(place: ClusterPlace, request: ClusterRequest, parts?: AnswerParts): Promise<Result> {
  return (await converse<Result>(place, request, parts)).result;
}

async function connect(place: ClusterPlace): Promise<Socket> {
  const socket = createConnection(place.socketPath);
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    return socket;
  } catch {
    if (existsSync(place.logPath))
      throw new SetupError(
        `the process of cluster ${place.name} was killed or has failed: ${place.logPath} may say why`,
      );
    const running = await findClusters();
    const others = running.length === 0 ? '`vuhca cluster up` starts one' : `these run: ${running.join(', ')}`;
    throw new SetupError(`no cluster ${place.name} is running; ${others}`);
  }
}
