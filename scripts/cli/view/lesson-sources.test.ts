// SPDX-License-Identifier: Apache-2.0
/**
 * Lessons of a server of `vuhca view`: requests that name a lesson are about it and no other
 * source, and each is opened once.
 */
import { existsSync, readFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import { LessonSources } from './lesson-sources.ts';
import { FalseSource } from './testing/false-source.ts';
import { ask, page, type Served } from './testing/served-view.ts';
import { type ViewSession, viewPaths } from './view-protocol.ts';
import { ViewServer } from './view-server.ts';
import { ViewRefusal } from './view-source.ts';

const NAME = 'credit-returns';

/** Sources of recordings by their path, in the order in which they were opened. */
class Shelf {
  readonly opened = new Map<string, FalseSource>();
  readonly closed: FalseSource[] = [];
  /** The next recording cannot be opened. */
  fails = false;
  readonly sources = new LessonSources(async (path) => {
    if (this.fails) throw new Error('it is damaged');
    const source = new FalseSource();
    source.close = async () => void this.closed.push(source);
    this.opened.set(path, source);
    return source;
  });
}

async function serveLessons(t: Test): Promise<Pick<Served, 'port' | 'known' | 'source'> & { shelf: Shelf }> {
  const shelf = new Shelf();
  const source = new FalseSource();
  const server = await ViewServer.start({ source, page, lessons: shelf.sources, mayAct: true, port: 0 });
  t.teardown(async () => {
    await server.close();
    await shelf.sources.close();
  });
  const { port, searchParams } = new URL(server.address);
  const known = { cookie: `vuhca-view-${port}=${searchParams.get('token')}` };
  return { port: Number(port), known, source, shelf };
}

t.test('requests that name a lesson are about it, and it is opened once', async (t) => {
  const served = await serveLessons(t);
  const { source, shelf, known: headers } = served;
  const [first, second] = await Promise.all(
    [viewPaths.session, viewPaths.session].map((path) => ask(served, `${path}?lesson=${NAME}`, { headers })),
  );
  const session = JSON.parse(first.text) as ViewSession;
  t.match(session, { title: 'Send credits returned in runs', lesson: { name: NAME, stops: [] } });
  t.ok((session.lesson?.stops.length ?? 0) > 0);
  t.equal(second.text, first.text);
  t.equal(shelf.opened.size, 1, 'one recording for two requests at a time');
  const [[path, recorded]] = shelf.opened;
  t.match(readFileSync(path).toString('latin1'), /^VUHCAREC/);
  for (const request of [
    `${viewPaths.state}?lesson=${NAME}&step=7&adapter=a&views=queues`,
    `${viewPaths.stories}?adapter=a&lesson=${NAME}&qp=2`,
    `${viewPaths.find}?condition=fault&lesson=${NAME}`,
  ])
    t.equal((await ask(served, request, { headers })).status, 200, request);
  t.same(recorded.asked, [
    { step: 7, adapter: 'a', views: ['queues'] },
    { adapter: 'a', qp: 2 },
    { condition: 'fault', from: 0 },
  ]);
  t.same(source.asked, [], 'nothing of it reaches the source of the server');
  await ask(served, viewPaths.state, { headers });
  t.same(source.asked, [{}], 'other requests do');
  t.notMatch(JSON.parse((await ask(served, viewPaths.session, { headers })).text), { lesson: {} });
});

t.test('names that are no lesson, or two of them', async (t) => {
  const served = await serveLessons(t);
  const { known: headers, shelf } = served;
  for (const name of ['', 'x', '..%2F..%2Fsecret', 'credit-returns%00', 'constructor'])
    t.match(await ask(served, `${viewPaths.state}?lesson=${name}`, { headers }), {
      status: 404,
      text: /there is no lesson/,
    });
  const twice = `${viewPaths.state}?lesson=${NAME}&lesson=guarantees`;
  t.match(await ask(served, twice, { headers }), { status: 400, text: /lesson is given twice/ });
  t.match(await ask(served, `${viewPaths.state}?lesson=${NAME}`), { status: 403 }, 'strangers get none');
  t.equal(shelf.opened.size, 0);
});

t.test('a server without lessons says so', async (t) => {
  const server = await ViewServer.start({ source: new FalseSource(), page, mayAct: true, port: 0 });
  t.teardown(() => server.close());
  const { port, searchParams } = new URL(server.address);
  const headers = { authorization: `Bearer ${searchParams.get('token')}` };
  const answer = await ask({ port: Number(port) }, `${viewPaths.state}?lesson=${NAME}`, { headers });
  t.match(answer, { status: 404, text: /no lessons/ });
});

t.test('a lesson that failed or whose replay ended is opened anew; closing ends all', async (t) => {
  const shelf = new Shelf();
  shelf.fails = true;
  await t.rejects(shelf.sources.sourceOf(NAME), { message: 'it is damaged' });
  shelf.fails = false;
  const first = await shelf.sources.sourceOf(NAME);
  t.equal(await shelf.sources.sourceOf(NAME), first);
  const [recorded] = shelf.opened.values();
  recorded.end('the replay has ended');
  await first.whenEnded;
  await new Promise(setImmediate);
  t.not(await shelf.sources.sourceOf(NAME), first);
  await shelf.sources.sourceOf('guarantees');
  await shelf.sources.close();
  await shelf.sources.close();
  t.ok(shelf.closed.length >= 2);
  t.same([...shelf.opened.keys()].filter(existsSync), [], 'their recordings are gone');
  await t.rejects(shelf.sources.sourceOf('x'), ViewRefusal);
});
