// SPDX-License-Identifier: Apache-2.0
/**
 * A server of the page without a process behind it, with the headers of the real one
 * (scripts/cli/view/view-server.ts). For work on the page,
 * `node --import=#typescript scripts/page/testing/false-server.ts [recording]` serves a fabric.
 * Tests in a browser start their own.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pathToFileURL } from 'node:url';
import { layOutFabric } from '../../cli/view/fabric-layout.ts';
import { type Act, STREAM_HZ, type StoryList, type ViewQuery, viewPaths } from '../../cli/view/view-protocol.ts';
import { type Page, providePage } from '../build/build-page.ts';
import { treePlan } from './fabrics.ts';
import { type FalseSource, liveSource, recordedSource } from './false-source.ts';

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'";

export interface FalseServer {
  readonly address: string;
  /** Ends all streams with the sentence, as when the process has ended. */
  end(sentence: string): void;
  /** Resolves when nobody follows it. */
  whenQuiet(): Promise<void>;
  close(): void;
}

/** Serves at any free port of 127.0.0.1, or at the given one. */
export async function serveFalsely(source: FalseSource, port = 0): Promise<FalseServer> {
  const page = await providePage();
  const streams = new Map<ServerResponse, ViewQuery>();
  const server = createServer((request, response) => void answer(request, response, { source, page, streams }));
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const timer = setInterval(() => {
    for (const [stream, query] of streams)
      stream.write(`event: state\ndata: ${JSON.stringify(source.state(query))}\n\n`);
  }, 1000 / STREAM_HZ);
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    end: (sentence) => {
      for (const stream of streams.keys()) stream.end(`event: ended\ndata: ${sentence}\n\n`);
      streams.clear();
    },
    whenQuiet: async () => {
      while (streams.size > 0) await once([...streams.keys()][0], 'close');
    },
    close: () => closeAll(server, timer),
  };
}

function closeAll(server: Server, timer: NodeJS.Timeout): void {
  clearInterval(timer);
  server.close();
  server.closeAllConnections();
}

interface Parts {
  readonly source: FalseSource;
  readonly page: Page;
  readonly streams: Map<ServerResponse, ViewQuery>;
}

async function answer(request: IncomingMessage, response: ServerResponse, parts: Parts): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://page');
  response.setHeader('Content-Security-Policy', POLICY);
  response.setHeader('Cache-Control', 'no-store');
  const file = parts.page.get(pathname);
  if (file !== undefined) return void response.setHeader('Content-Type', file.type).end(file.bytes);
  if (pathname === viewPaths.stream) {
    response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' });
    response.flushHeaders();
    parts.streams.set(response, readQuery(searchParams));
    response.once('close', () => parts.streams.delete(response));
    return;
  }
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  try {
    const result = await read(pathname, searchParams, request, parts.source);
    response.end(JSON.stringify(result));
  } catch (error) {
    response.writeHead(400).end(JSON.stringify({ error: (error as Error).message }));
  }
}

async function read(path: string, given: URLSearchParams, request: IncomingMessage, source: FalseSource) {
  const text = (name: string): string => given.get(name) ?? '';
  const query = readQuery(given);
  switch (path) {
    case viewPaths.session:
      return source.session;
    case viewPaths.state:
      await source.whenReady;
      return source.state(query);
    case viewPaths.layout:
      return layOutFabric(source.state(query));
    case viewPaths.route:
      return source.route(text('from'), text('to'));
    case viewPaths.find:
      return source.find(text('condition'), Number(text('from')), text('backward') === 'true');
    case viewPaths.stories:
      return source.stories?.({ adapter: text('adapter'), qp: Number(text('qp')) }) ?? nothingTraced;
    case viewPaths.act:
      return source.act(await readBody(request));
    default:
      throw new Error('there is no such request');
  }
}

const nothingTraced: StoryList = { queuePairs: [], stories: [], reason: 'no queue pair is traced' };

function readQuery(given: URLSearchParams): ViewQuery {
  const [adapter, step] = [given.get('adapter'), given.get('step')];
  return { ...(adapter !== null && { adapter }), ...(step !== null && { step: Number(step) }) };
}

async function readBody(request: IncomingMessage): Promise<Act> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return JSON.parse(Buffer.concat(parts).toString()) as Act;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const source =
    process.argv[2] === 'recording' ? recordedSource(treePlan(2, 4, 12), 400) : liveSource(treePlan(4, 8, 64));
  process.stdout.write(`${(await serveFalsely(source, 8080)).address}\n`);
}
