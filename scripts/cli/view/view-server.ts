// SPDX-License-Identifier: Apache-2.0
/**
 * The HTTP server of `vuhca view`, on 127.0.0.1 only: files of the page, and the requests of
 * view-protocol.ts, which it passes to a source. view-access.ts has the access rules. Sizes,
 * connections and streams are bounded. view-action.ts starts one.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { printable } from '../../../protocol/system/printable.mjs';
import { listenPrivately } from '../../../protocol/system/private-listen.ts';
import { SetupError } from '../../../qemu/setup/tools/errors.ts';
import type { LessonSources } from './lesson-sources.ts';
import { guardHeaders, ViewAccess } from './view-access.ts';
import { type FindProgress, LESSON_PARAMETER, TOKEN_PARAMETER, type ViewError, viewPaths } from './view-protocol.ts';
import { readAct, readFindQuery, readRouteQuery, readStoryQuery, readViewQuery } from './view-queries.ts';
import { ViewRefusal, type ViewSource } from './view-source.ts';
import { StateStream } from './view-stream.ts';

/** A file of the page. */
export interface PageFile {
  readonly bytes: Uint8Array;
  /** For the header Content-Type. */
  readonly type: string;
}

/** The files by the path of their address; `/` is the page itself. */
export type PageFiles = ReadonlyMap<string, PageFile>;

export interface ViewServerOptions {
  readonly source: ViewSource;
  readonly page: PageFiles;
  /** Lessons that pages may open besides. */
  readonly lessons?: LessonSources;
  /** False: acts are refused, whatever the source supports. */
  readonly mayAct: boolean;
  /** 0: any port that is free. */
  readonly port: number;
}

/** Bounds of what clients may ask for. Tests lower them. */
export const viewBounds = {
  headerBytes: 8192,
  bodyBytes: 65_536,
  connections: 64,
  streams: 8,
  /** Requests without an answer yet. */
  underWay: 32,
  headersMs: 10_000,
  requestMs: 30_000,
};

/** A request for a source. */
interface Asked {
  readonly source: ViewSource;
  readonly given: URLSearchParams;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Makes the result of a request, or answers by itself. */
type Route = (asked: Asked) => unknown;

/** Time for the last events of streams when the server ends. */
const FLUSH_MS = 1000;
const HOST = '127.0.0.1';
const JSON_TYPE = 'application/json; charset=utf-8';
const LINES_TYPE = 'application/x-ndjson; charset=utf-8';

export class ViewServer {
  readonly #source: ViewSource;
  readonly #page: PageFiles;
  readonly #lessons: LessonSources | undefined;
  readonly #mayAct: boolean;
  readonly #server: Server;
  readonly #access: ViewAccess;
  readonly #streams = new Set<StateStream>();
  #underWay = 0;

  /** Throws SetupError with one sentence when it cannot listen. */
  static async start(options: ViewServerOptions): Promise<ViewServer> {
    const server = createServer({
      maxHeaderSize: viewBounds.headerBytes,
      headersTimeout: viewBounds.headersMs,
      requestTimeout: viewBounds.requestMs,
    });
    server.maxConnections = viewBounds.connections;
    listenPrivately(server, { port: options.port, host: HOST });
    try {
      await once(server, 'listening');
    } catch (error) {
      throw new SetupError(describeListening(options.port, error as NodeJS.ErrnoException));
    }
    return new ViewServer(server, options);
  }

  private constructor(server: Server, { source, page, lessons, mayAct }: ViewServerOptions) {
    this.#server = server;
    this.#source = source;
    this.#page = page;
    this.#lessons = lessons;
    this.#mayAct = mayAct;
    this.#access = new ViewAccess((server.address() as AddressInfo).port);
    server.on('request', (request, response) => void this.#serve(request, response));
    void source.whenEnded.then((sentence) => this.#endStreams(sentence));
  }

  /** The address for people, with the token. */
  get address(): string {
    return this.#access.address;
  }

  /** Ends all streams with a sentence, and then all connections. */
  async close(sentence = 'vuhca view has ended'): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#endStreams(sentence);
    this.#server.closeIdleConnections();
    const timer = setTimeout(() => this.#server.closeAllConnections(), FLUSH_MS);
    await closed;
    clearTimeout(timer);
  }

  #endStreams(sentence: string): void {
    for (const stream of this.#streams) stream.end(sentence);
    this.#streams.clear();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(guardHeaders)) response.setHeader(name, value);
    const [path = '', ...rest] = (request.url ?? '').split('?');
    const given = new URLSearchParams(rest.join('?'));
    const isPage = !path.startsWith('/api/');
    try {
      this.#admit(request, response, path, given);
      if (response.writableEnded) return;
      if (isPage) this.#sendFile(request, response, path);
      else await this.#answer(request, response, path, given);
    } catch (error) {
      if (!(error instanceof ViewRefusal)) throw error;
      if (response.headersSent) response.end(`${JSON.stringify(errorOf(error))}\n`);
      else refuse(response, error, isPage);
    }
  }

  /**
   * Lets known clients pass. Answers those that show the token with the cookie. Throws ViewRefusal
   * for all others.
   */
  #admit({ method, headers }: IncomingMessage, response: ServerResponse, path: string, given: URLSearchParams): void {
    const access = this.#access;
    const objection = access.objectToSender(headers);
    if (objection !== undefined) throw new ViewRefusal('forbidden', objection);
    const token = given.get(TOKEN_PARAMETER);
    if (path === '/' && method === 'GET' && token !== null) {
      if (!access.isToken(token)) throw new ViewRefusal('forbidden', 'this is not the token of this server');
      response.writeHead(303, { Location: '/', 'Set-Cookie': access.cookie }).end();
      return;
    }
    const isForeign = access.isFromOtherSite(headers);
    // Browsers omit the cookie after a link of another site; the page itself may repeat the
    // request.
    if (isForeign && path === '/' && method === 'GET') response.setHeader('Refresh', '0; url=/');
    if (isForeign) throw new ViewRefusal('forbidden', 'other sites may not ask this server');
    if (!access.isKnown(headers))
      throw new ViewRefusal('forbidden', 'this needs the whole address that `vuhca view` has printed, with its token');
  }

  #sendFile(request: IncomingMessage, response: ServerResponse, path: string): void {
    const file = this.#page.get(path);
    if (file === undefined) throw new ViewRefusal('unknown', 'there is no such file');
    checkMethod(request, response, 'GET');
    response.writeHead(200, { 'Content-Type': file.type, 'Content-Length': file.bytes.length }).end(file.bytes);
  }

  async #answer(
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
    given: URLSearchParams,
  ): Promise<void> {
    const route = this.#routes.get(path);
    if (route === undefined) throw new ViewRefusal('unknown', 'there is no such request');
    checkMethod(request, response, path === viewPaths.act ? 'POST' : 'GET');
    if (this.#underWay >= viewBounds.underWay)
      throw new ViewRefusal('busy', `${viewBounds.underWay} requests are under way, as many as this server takes`);
    this.#underWay++;
    try {
      const source = await this.#findSource(given);
      const result = await route({ source, given, request, response });
      if (!response.headersSent) response.writeHead(200, { 'Content-Type': JSON_TYPE }).end(JSON.stringify(result));
      else if (result !== undefined) response.end(`${JSON.stringify(result)}\n`);
    } finally {
      this.#underWay--;
    }
  }

  readonly #routes: ReadonlyMap<string, Route> = new Map<string, Route>([
    [viewPaths.session, ({ source }) => this.#readSession(source)],
    [viewPaths.state, ({ source, given }) => source.state(readViewQuery(given))],
    [viewPaths.stream, (asked) => this.#openStream(asked)],
    [viewPaths.layout, ({ source, given }) => layOut(source, given)],
    [viewPaths.route, ({ source, given }) => source.route(readRouteQuery(given))],
    [viewPaths.stories, ({ source, given }) => source.stories(readStoryQuery(given))],
    [viewPaths.find, (asked) => search(asked)],
    [viewPaths.act, (asked) => this.#act(asked)],
  ]);

  /** The source of the lesson that the parameters name; without one, that of the server. */
  async #findSource(given: URLSearchParams): Promise<ViewSource> {
    const [name, other] = given.getAll(LESSON_PARAMETER);
    if (name === undefined) return this.#source;
    if (other !== undefined) throw new ViewRefusal('bad', `parameter ${LESSON_PARAMETER} is given twice`);
    if (this.#lessons === undefined) throw new ViewRefusal('unknown', 'this server has no lessons');
    given.delete(LESSON_PARAMETER);
    return this.#lessons.sourceOf(name);
  }

  async #readSession(source: ViewSource): Promise<unknown> {
    const session = await source.session();
    return { ...session, mayAct: session.mayAct && this.#mayAct };
  }

  async #act({ source, request }: Asked): Promise<unknown> {
    if (!this.#mayAct) throw new ViewRefusal('forbidden', 'this page may only look: it was started to read');
    if (!/^application\/json\s*(?:;|$)/i.test(request.headers['content-type'] ?? ''))
      throw new ViewRefusal('type', 'an act is application/json');
    return source.act(readAct(await readBody(request)));
  }

  #openStream({ source, given, response }: Asked): void {
    if (this.#streams.size >= viewBounds.streams)
      throw new ViewRefusal('busy', `${viewBounds.streams} streams are open, as many as this server takes`);
    const stream = new StateStream(source, readViewQuery(given), response);
    this.#streams.add(stream);
    response.once('close', () => this.#streams.delete(stream));
  }
}

async function layOut(source: ViewSource, given: URLSearchParams): Promise<unknown> {
  // The library of layouts is large, and not every page shows a fabric.
  const { layOutFabric } = await import('./fabric-layout.ts');
  return layOutFabric(await source.state(readViewQuery(given)));
}

/**
 * Reports progress in lines before the answer. A client that does not read the answer ends the
 * search.
 */
async function search({ source, given, response }: Asked): Promise<unknown> {
  const query = readFindQuery(given);
  const abort = new AbortController();
  response.once('close', () => abort.abort());
  const onLooked = (looked: number): void => {
    if (!response.headersSent) response.writeHead(200, { 'Content-Type': LINES_TYPE });
    const progress: FindProgress = { looked };
    response.write(`${JSON.stringify(progress)}\n`);
  };
  return source.find(query, { onLooked, signal: abort.signal });
}

/** Reason why it cannot listen. */
function describeListening(port: number, { code, message }: NodeJS.ErrnoException): string {
  if (code === 'EADDRINUSE') return `port ${port} is in use: choose another one by --port, or leave that out`;
  if (code === 'EACCES') return `this user may not listen at port ${port}: choose one from 1024 on by --port`;
  return `cannot listen at port ${port} of ${HOST}: ${message}`;
}

function checkMethod({ method }: IncomingMessage, response: ServerResponse, allowed: 'GET' | 'POST'): void {
  if (method === allowed) return;
  response.setHeader('Allow', allowed);
  throw new ViewRefusal('method', `this takes ${allowed} only`);
}

/** The body as text; a longer one than `bodyBytes` is not read to its end. */
async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  try {
    // A request that is destroyed takes its answer with it.
    for await (const part of request.iterator({ destroyOnReturn: false })) {
      length += part.length;
      if (length > viewBounds.bodyBytes) break;
      parts.push(part);
    }
  } catch {
    throw new ViewRefusal('bad', 'the body has not come to its end');
  }
  if (length > viewBounds.bodyBytes) throw new ViewRefusal('large', `a body has at most ${viewBounds.bodyBytes} bytes`);
  return Buffer.concat(parts).toString();
}

/** One sentence: for people as text, for the page as a ViewError. */
function refuse(response: ServerResponse, refusal: ViewRefusal, isPage: boolean): void {
  const { error } = errorOf(refusal);
  // The rest of the request is not read.
  response.writeHead(refusal.status, {
    'Content-Type': isPage ? 'text/plain; charset=utf-8' : JSON_TYPE,
    Connection: 'close',
  });
  response.end(isPage ? `${error}\n` : JSON.stringify({ error }));
}

function errorOf({ message }: ViewRefusal): ViewError {
  return { error: printable(message) };
}
