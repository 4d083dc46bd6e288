// SPDX-License-Identifier: Apache-2.0
/** A server of `vuhca view` with a false source, and clients that send arbitrary requests. */
import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, type RequestOptions, request } from 'node:http';
import { connect } from 'node:net';
import type { Test } from 'tap';
import { viewPaths } from '../view-protocol.ts';
import { type PageFiles, ViewServer } from '../view-server.ts';
import { FalseSource } from './false-source.ts';

export const page: PageFiles = new Map([
  ['/', { bytes: Buffer.from('<!doctype html><title>page</title>'), type: 'text/html; charset=utf-8' }],
  ['/page.js', { bytes: Buffer.from('1;'), type: 'text/javascript' }],
]);

export interface Served {
  readonly server: ViewServer;
  readonly source: FalseSource;
  readonly port: number;
  readonly token: string;
  /** Headers of a browser that has shown the token. */
  readonly known: Readonly<Record<string, string>>;
}

export async function serve(t: Test, { mayAct = true } = {}): Promise<Served> {
  const source = new FalseSource();
  const server = await ViewServer.start({ source, page, mayAct, port: 0 });
  t.teardown(() => server.close());
  const { port, searchParams } = new URL(server.address);
  const token = searchParams.get('token') ?? '';
  return { server, source, port: Number(port), token, known: { cookie: `vuhca-view-${port}=${token}` } };
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Sends a request as it is, with any Host, path and method. */
export async function ask(
  { port }: Pick<Served, 'port'>,
  path: string,
  options: RequestOptions = {},
  body = '',
): Promise<Answer> {
  const sent = request({ host: '127.0.0.1', port, path, agent: false, ...options });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  // A stream has no end.
  if (response.headers['content-type']?.startsWith('text/event-stream')) sent.destroy();
  else for await (const part of response) text += part;
  return { status: response.statusCode ?? 0, headers: response.headers, text };
}

/** A connection that reads a stream only on request of the test. */
export async function openStream(
  { port, known }: Served,
  query = '',
): Promise<{ text(): string; resume(): void; pause(): void; end(): void }> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  const head = [`GET ${viewPaths.stream}${query} HTTP/1.1`, `Host: 127.0.0.1:${port}`, `Cookie: ${known.cookie}`];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  await once(socket, 'data');
  return {
    text: () => text,
    resume: () => void socket.resume(),
    pause: () => void socket.pause(),
    end: () => socket.destroy(),
  };
}

export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((done) => setTimeout(done, 2));
}
