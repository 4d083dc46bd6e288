// SPDX-License-Identifier: Apache-2.0
/**
 * The server of `vuhca view` with a false source: every request that is not that of its own page or
 * of a script with the token is refused before the source or a file is touched.
 * view-stream.test.ts has streams and bounds.
 */
import { once } from 'node:events';
import { type IncomingMessage, type RequestOptions, request } from 'node:http';
import t from 'tap';
import { findHarmful, HOSTILE_LINE } from '../../../protocol/system/testing/hostile-text.ts';
import { FalseSource } from './testing/false-source.ts';
import { type Answer, ask, page, type Served, serve, until } from './testing/served-view.ts';
import { viewPaths } from './view-protocol.ts';
import { ViewServer, viewBounds } from './view-server.ts';
import { ViewRefusal } from './view-source.ts';

const act = JSON.stringify({ command: 'link', parameters: { port: 'a:1', words: ['down'] } });
const JSON_HEADERS = { 'content-type': 'application/json' };
const paths = ['/', '/page.js', '/x', ...Object.values(viewPaths)];

t.test('the printed address gives a cookie, and the cookie everything', async (t) => {
  const served = await serve(t);
  const { port, token } = served;
  t.match(served.server.address, /^http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]{43}$/, '256 bits');
  const first = await ask(served, `/?token=${token}`);
  t.match(first, { status: 303, text: '', headers: { location: '/' } });
  const [cookie = ''] = first.headers['set-cookie'] ?? [];
  t.equal(cookie, `vuhca-view-${port}=${token}; Path=/; HttpOnly; SameSite=Strict`);
  const headers = { cookie: `other=1; ${cookie.split(';')[0]}` };
  t.match(await ask(served, '/', { headers }), { status: 200, text: /<title>page/ });
  t.match((await ask(served, '/page.js', { headers })).headers, { 'content-type': 'text/javascript' });
  t.match(JSON.parse((await ask(served, viewPaths.session, { headers })).text), { kind: 'live', mayAct: true });
  const bearer = { authorization: `Bearer ${token}` };
  t.match(JSON.parse((await ask(served, viewPaths.state, { headers: bearer })).text), { timeNs: 5 });
  const local = { ...headers, host: `localhost:${port}`, origin: `http://localhost:${port}` };
  t.equal((await ask(served, '/', { headers: local })).status, 200);
  const other = await serve(t);
  t.not(other.token, token, 'each server has a token of its own');
});

t.test('each request reaches the source with its parameters', async (t) => {
  const served = await serve(t);
  const { source, known } = served;
  const requests: [path: string, query: unknown][] = [
    [`${viewPaths.state}?adapter=a%20b&views=queues,lanes,queues`, { adapter: 'a b', views: ['queues', 'lanes'] }],
    [`${viewPaths.state}?step=7`, { step: 7 }],
    [viewPaths.state, {}],
    [`${viewPaths.layout}?step=7`, { step: 7 }],
    [`${viewPaths.route}?from=a&to=b%20c&step=9`, { from: 'a', to: 'b c', step: 9 }],
    [`${viewPaths.stories}?adapter=a&qp=2&step=9`, { adapter: 'a', qp: 2, step: 9 }],
    [`${viewPaths.find}?condition=qp%205%20leaves%20RTS&from=4`, { condition: 'qp 5 leaves RTS', from: 4 }],
    [`${viewPaths.find}?condition=fault&from=4&backward=true`, { condition: 'fault', from: 4, backward: true }],
    [`${viewPaths.find}?condition=fault&backward=false`, { condition: 'fault', from: 0 }],
    [`${viewPaths.find}?condition=fault`, { condition: 'fault', from: 0 }],
  ];
  for (const [path, query] of requests) {
    t.equal((await ask(served, path, { headers: known })).status, 200, path);
    t.same(source.asked.pop(), query, path);
  }
  const headers = { ...known, 'content-type': 'application/json; charset=utf-8' };
  const answer = await ask(served, viewPaths.act, { method: 'POST', headers }, act);
  t.match(JSON.parse(answer.text), { line: 'vuhca link down a:1', result: { text: 'done' } });
  t.same(source.asked.pop(), JSON.parse(act));
});

t.test('a long search tells how far it has come; who does not wait for it ends it', async (t) => {
  const served = await serve(t);
  const { source, port, known } = served;
  const path = `${viewPaths.find}?condition=long&from=0`;
  for (const steps of [[10, 20], []]) {
    const sent = request({ host: '127.0.0.1', port, path, agent: false, headers: known }).end();
    sent.on('error', () => {});
    await until(() => source.look !== undefined);
    const said = steps.map((step) => {
      source.look?.(step);
      return `${JSON.stringify({ looked: step })}\n`;
    });
    let text = '';
    if (said.length > 0) {
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      t.match(response.headers['content-type'], /^application\/x-ndjson/);
      response
        .on('error', () => {})
        .on('data', (part) => {
          text += part;
        });
      await until(() => text === said.join(''));
    }
    sent.destroy();
    await until(() => source.look === undefined);
    t.equal(text, said.join(''));
  }
  t.match(await ask(served, `${viewPaths.find}?condition=short&from=0`, { headers: known }), { text: '{"step":3}' });
});

t.test('parameters and bodies that are wrong', async (t) => {
  const served = await serve(t);
  const { known, source } = served;
  const wrong = [
    ...[
      'views=queues',
      'adapter=a&views=x',
      'step=-1',
      'step=1e3',
      'step=',
      'step=99999999999999999',
      'x=1',
      'step=1&step=2',
    ].map((query) => `${viewPaths.state}?${query}`),
    ...['', 'adapter=a', 'qp=1', 'adapter=&qp=1', 'adapter=a&qp=x'].map((query) => `${viewPaths.stories}?${query}`),
    ...['', 'from=1', 'condition=fault&from=-1', 'condition=fault&backward=1'].map(
      (query) => `${viewPaths.find}?${query}`,
    ),
    `${viewPaths.stream}?views=1`,
  ];
  for (const path of wrong) {
    const { status, text } = await ask(served, path, { headers: known });
    t.equal(status, 400, path);
    t.match(JSON.parse(text), { error: /^\S.*\S$/ }, path);
  }
  const bodies = [
    '',
    '{',
    'null',
    '[]',
    '7',
    '{}',
    '{"command":1}',
    '{"command":"link","parameters":[]}',
    '{"command":"x","y":1}',
  ];
  for (const body of bodies) {
    const { status } = await ask(
      served,
      viewPaths.act,
      { method: 'POST', headers: { ...known, ...JSON_HEADERS } },
      body,
    );
    t.equal(status, 400, body);
  }
  t.same(source.asked, []);
  source.refusal = new ViewRefusal('unknown', `no ${HOSTILE_LINE}`);
  const { status, text } = await ask(served, viewPaths.state, { headers: known });
  t.equal(status, 404);
  t.equal(findHarmful(JSON.parse(text).error), undefined);
});

/** A request that must not be answered, by the attack that it represents. */
type Attack = (served: Served) => RequestOptions;

const attacks: Readonly<Record<string, Attack>> = {
  'no token': () => ({}),
  'an empty cookie': ({ port }) => ({ headers: { cookie: `vuhca-view-${port}=` } }),
  'a wrong token of the same length': ({ token, port }) => ({
    headers: { cookie: `vuhca-view-${port}=${token.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))}` },
  }),
  'the beginning of the token': ({ token, port }) => ({
    headers: { cookie: `vuhca-view-${port}=${token.slice(0, -1)}` },
  }),
  'a longer token': ({ token, port }) => ({ headers: { cookie: `vuhca-view-${port}=${token}x` } }),
  'characters of several bytes': ({ token, port }) => ({
    headers: { cookie: `vuhca-view-${port}=${'\u00e9'.repeat(token.length)}` },
  }),
  'the cookie of another port': ({ token, port }) => ({ headers: { cookie: `vuhca-view-${port + 1}=${token}` } }),
  'a cookie whose name ends the same': ({ token, port }) => ({ headers: { cookie: `x-vuhca-view-${port}=${token}` } }),
  'a wrong bearer': () => ({ headers: { authorization: `Bearer ${'A'.repeat(43)}` } }),
  'another scheme': ({ token }) => ({ headers: { authorization: `Basic ${token}` } }),
  'a rebound name': ({ known, port }) => ({ headers: { ...known, host: `evil.example:${port}` } }),
  'a name that begins like ours': ({ known, port }) => ({
    headers: { ...known, host: `127.0.0.1:${port}.evil.example` },
  }),
  'no port in Host': ({ known }) => ({ headers: { ...known, host: '127.0.0.1' } }),
  'another port in Host': ({ known, port }) => ({ headers: { ...known, host: `127.0.0.1:${port + 1}` } }),
  'all addresses': ({ known, port }) => ({ headers: { ...known, host: `0.0.0.0:${port}` } }),
  'an empty Host': ({ known }) => ({ headers: { ...known, host: ' ' } }),
  'a foreign origin': ({ known }) => ({ headers: { ...known, origin: 'http://evil.example' } }),
  'an origin of another port': ({ known, port }) => ({ headers: { ...known, origin: `http://127.0.0.1:${port + 1}` } }),
  'the origin with another scheme': ({ known, port }) => ({
    headers: { ...known, origin: `https://127.0.0.1:${port}` },
  }),
  'an opaque origin': ({ known }) => ({ headers: { ...known, origin: 'null' } }),
  'another name of this machine as origin': ({ known, port }) => ({
    headers: { ...known, origin: `http://localhost:${port}` },
  }),
  'another site': ({ known }) => ({ headers: { ...known, 'sec-fetch-site': 'cross-site' } }),
  'a page of another local server': ({ known }) => ({ headers: { ...known, 'sec-fetch-site': 'same-site' } }),
};

t.test('requests of others are refused, whatever they ask for', async (t) => {
  const served = await serve(t);
  for (const [name, attack] of Object.entries(attacks)) {
    const { headers } = attack(served);
    for (const path of paths) {
      const isAct = path === viewPaths.act;
      const options = { method: isAct ? 'POST' : 'GET', headers: { ...headers, ...(isAct && JSON_HEADERS) } };
      const answer = await ask(served, path, options as RequestOptions, isAct ? act : '');
      t.equal(answer.status, 403, `${name}: ${path}`);
      t.notMatch(answer.text, /<title>|timeNs/, `${name}: ${path}`);
      t.equal(answer.headers['set-cookie'], undefined);
    }
  }
  t.same(served.source.asked, [], 'the source was never asked');
});

t.test('the address with a token that is wrong, or at the wrong place', async (t) => {
  const served = await serve(t);
  const { token, port } = served;
  for (const path of [
    '/?token=',
    '/?token=x',
    `/?token=${token}x`,
    `/?token=x&token=${token}`,
    `/page.js?token=${token}`,
  ]) {
    const answer = await ask(served, path);
    t.match(answer, { status: 403, headers: { 'set-cookie': undefined } }, path);
  }
  const rebound = await ask(served, `/?token=${token}`, { headers: { host: `evil.example:${port}` } });
  t.match(rebound, { status: 403, headers: { 'set-cookie': undefined } });
  t.equal((await ask(served, `/?token=${token}`, { method: 'POST' })).status, 403);
  const link = { headers: { 'sec-fetch-site': 'cross-site' } };
  t.equal((await ask(served, `/?token=${token}`, link)).status, 303, 'a link in a mail or a terminal');
  const behind = await ask(served, '/', link);
  t.match(behind, { status: 403, headers: { refresh: '0; url=/' } }, 'where the browser keeps the cookie back');
  t.equal((await ask(served, '/')).headers.refresh, undefined, 'it asks again once');
});

t.test('other methods', async (t) => {
  const served = await serve(t);
  const { known } = served;
  for (const method of ['HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH', 'TRACE', 'POST'])
    for (const path of paths) {
      const answer = await ask(served, path, { method, headers: { ...known, ...JSON_HEADERS } });
      const expected = path === '/x' ? 404 : method === 'POST' && path === viewPaths.act ? 400 : 405;
      t.equal(answer.status, expected, `${method} ${path}`);
      if (expected === 405) t.equal(answer.headers.allow, path === viewPaths.act ? 'POST' : 'GET', `${method} ${path}`);
      t.equal((await ask(served, path, { method })).status, 403, `${method} ${path} without the cookie`);
    }
  t.equal((await ask(served, viewPaths.act, { headers: known })).status, 405, 'an act by GET');
  t.same(served.source.asked, []);
});

t.test('paths that lead elsewhere', async (t) => {
  const served = await serve(t);
  const headers = served.known;
  const others = [
    ...['/../package.json', '/%2e%2e/package.json', '//page.js', '/./page.js', '/page.js/', '/page.js%00'],
    ...['/..%2f..%2fetc/passwd', '/etc/passwd', '*', `http://evil.example${viewPaths.state}`, '/api/x', '/api'],
    ...['/constructor', '/__proto__', '/api/../api/state'],
  ];
  for (const path of others) t.equal((await ask(served, path, { headers })).status, 404, path);
  t.same(served.source.asked, []);
});

t.test('every answer forbids embedding, sniffing, keeping and foreign scripts', async (t) => {
  const served = await serve(t);
  const { known, token } = served;
  const answers = [
    await ask(served, `/?token=${token}`),
    await ask(served, '/'),
    await ask(served, '/', { headers: known }),
    await ask(served, '/x', { headers: known }),
    await ask(served, viewPaths.session, { headers: known }),
    await ask(served, viewPaths.act, { method: 'POST', headers: known }),
  ];
  for (const { headers, status } of answers) {
    const policy = String(headers['content-security-policy']);
    t.match(policy, /default-src 'none'; script-src 'self'; style-src 'self'/, `${status}`);
    t.match(policy, /base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/);
    t.notMatch(policy, /unsafe|data:|\*|http/);
    t.match(headers, { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' });
    t.match(headers, { 'referrer-policy': 'no-referrer', 'x-frame-options': 'DENY' });
    t.match(headers, { 'cross-origin-resource-policy': 'same-origin' });
    t.equal(headers['access-control-allow-origin'], undefined);
  }
});

t.test('reading and acting are apart', async (t) => {
  const served = await serve(t, { mayAct: false });
  const { known, source } = served;
  t.match(JSON.parse((await ask(served, viewPaths.session, { headers: known })).text), { mayAct: false });
  const answer = await ask(served, viewPaths.act, { method: 'POST', headers: { ...known, ...JSON_HEADERS } }, act);
  t.equal(answer.status, 403);
  t.match(JSON.parse(answer.text), { error: /^this page may only look: / });
  t.same(source.asked, []);
});

/** The status of the answer to a body that is too long, before its end. */
async function postWithoutEnd({ port, known }: Served): Promise<number | undefined> {
  const options = { host: '127.0.0.1', port, path: viewPaths.act, method: 'POST', agent: false };
  const open = request({ ...options, headers: { ...known, ...JSON_HEADERS } });
  open.write(' '.repeat(viewBounds.bodyBytes + 1));
  const [{ statusCode }] = (await once(open, 'response')) as [IncomingMessage];
  open.on('error', () => {}).destroy();
  return statusCode;
}

t.test('an act is JSON by its type, and no longer than a request', async (t) => {
  const served = await serve(t);
  const { known, source } = served;
  const post = (type: string | undefined, body: string): Promise<Answer> =>
    ask(served, viewPaths.act, { method: 'POST', headers: { ...known, ...(type && { 'content-type': type }) } }, body);
  for (const type of [
    undefined,
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'application/jsonp',
  ])
    t.equal((await post(type, act)).status, 415, `${type}`);
  const long = JSON.stringify({ command: 'x'.repeat(viewBounds.bodyBytes), parameters: {} });
  const large = await post('application/json', long);
  t.match(large, { status: 413, headers: { connection: 'close' } });
  t.match(JSON.parse(large.text), { error: /at most 65536 bytes/ });
  const fits = `${act}${' '.repeat(viewBounds.bodyBytes - act.length)}`;
  t.equal((await post('application/json', fits)).status, 200);
  t.same(source.asked, [JSON.parse(act)]);
  t.equal(await postWithoutEnd(served), 413, 'it is not read to its end');
  const half = request({
    ...{ host: '127.0.0.1', port: served.port, path: viewPaths.act, method: 'POST', agent: false },
    headers: { ...known, ...JSON_HEADERS, 'content-length': 100 },
  });
  half.on('error', () => {});
  await new Promise((done) => half.write('{', done));
  half.destroy();
  t.equal((await ask(served, '/', { headers: known })).status, 200, 'a body that ends early harms nobody');
  const tall = await ask(served, '/', { headers: { ...known, x: 'x'.repeat(viewBounds.headerBytes) } });
  t.equal(tall.status, 431);
});

t.test('a port that cannot be had', async (t) => {
  const { port } = await serve(t);
  const options = { source: new FalseSource(), page, mayAct: true };
  await t.rejects(ViewServer.start({ ...options, port }), {
    name: 'SetupError',
    message: new RegExp(`^port ${port} is in use: choose another one by --port`),
  });
});
