// SPDX-License-Identifier: Apache-2.0
/**
 * The lessons of `vuhca view`: each is made the same twice, replays and is small, and its words
 * about a step agree with the status and the views of that step.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import type { Fabric } from '../../device/fabric/link/fabric.ts';
import type { Adapter } from '../../device/hca/adapter/adapter.ts';
import { showContents } from '../../device/hca/adapter/contents/contents.ts';
import type { HostPort } from '../../device/host.ts';
import { decodeHeader, isFabricPlan } from '../../device/hosts/recording-format.ts';
import { Replay } from '../../device/hosts/replay.ts';
import { reportAdapter } from '../../device/process/reports/status-report.ts';
import type { FabricPlan } from '../../device/topology/fabric-plan.ts';
import { makeDirectory } from '../cli/testing/directory.ts';
import { type Lesson, type LessonName, lessonEntries, lessonParts, stopAt } from '../cli/view/lesson.ts';
import { openLesson, openWritten, writeLesson } from '../cli/view/lessons.ts';
import { DOCUMENTS_PATH, readCitations, readRows } from '../ledger/documents.ts';
import { makeLesson } from './make-lesson.ts';
import { Seen } from './scene.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const LARGEST_BYTES = 1_000_000;
const STEPS = { least: 1000, most: 50_000 };

/** A host of a replay, which has no memory to read. */
const blindHost: HostPort = {
  readMemory: () => false,
  writeMemory: () => false,
  publish: () => false,
  compareAndSwap: () => undefined,
  raiseVector: () => false,
};

/** Content of the page at a stop. */
interface Moment {
  readonly says: string;
  status(name: string): ReturnType<typeof reportAdapter>;
  /** The rows of a view of `vuhca show`. */
  show(name: string, view: string): readonly Readonly<Record<string, unknown>>[];
  readonly seen: Seen;
}

/** Facts about a stop, by the sentence that claims them; an absent fact makes the claim false. */
type Claims = Readonly<Record<string, (moment: Moment) => Readonly<Record<string, boolean>>>>;

const made = new Map(lessonEntries.map(({ name }) => [name, makeLesson(name)]));

function openReplay(recording: Uint8Array): Replay {
  return new Replay(recording, () => {
    throw new Error('a recording of a fabric brings its plan');
  });
}

for (const { name } of lessonEntries) {
  const { lesson, recording } = made.get(name) as ReturnType<typeof makeLesson>;

  t.test(`${name}: the same every time, small, and it replays`, async (t) => {
    const again = makeLesson(name);
    t.ok(Buffer.from(recording).equals(again.recording), 'the same bytes');
    t.same(lesson, again.lesson, 'the same stops');
    t.ok(recording.length < LARGEST_BYTES, `${recording.length} bytes`);
    const result = openReplay(recording).run();
    t.match(result, { divergence: undefined, truncated: false, steps: lesson.steps });
    t.ok(lesson.steps >= STEPS.least && lesson.steps <= STEPS.most, `${lesson.steps} steps`);
  });

  t.test(`${name}: 4 to 8 stops in order, with sentences and sources`, async (t) => {
    const { plan } = decodeHeader(recording);
    const adapters = isFabricPlan(plan) ? plan.adapters.map((node) => node.name) : [];
    t.ok(lesson.stops.length >= 4 && lesson.stops.length <= 8, `${lesson.stops.length} stops`);
    t.equal(new Set(lesson.stops.map(({ title }) => title)).size, lesson.stops.length, 'titles differ');
    lesson.stops.forEach((stop, index) => {
      t.ok(index === 0 || stop.step > lesson.stops[index - 1].step, `${stop.title}: in order`);
      t.ok(stop.step > 0 && stop.step <= lesson.steps, `${stop.title}: step ${stop.step}`);
      t.ok(adapters.includes(stop.adapter), `${stop.title}: adapter ${stop.adapter}`);
      t.ok(lessonParts.includes(stop.part), `${stop.title}: part ${stop.part}`);
      t.ok(stop.says.length >= 2 && stop.says.length <= 3, `${stop.title}: ${stop.says.length} lines`);
      t.notMatch(
        stop.says.join(' '),
        /undefined|NaN|\b1 (?:doorbells|reads|commands|packets|events|buffers|words)\b/,
        stop.title,
      );
    });
  });

  t.test(`${name}: what it says is so`, async (t) => {
    const known = claims[name];
    t.same(
      Object.keys(known),
      lesson.stops.map(({ title }) => title),
    );
    visitStops(lesson, recording, (title, moment) => {
      for (const [sentence, holds] of Object.entries(known[title](moment)))
        t.ok(holds, `${title}: ${sentence}; it says: ${moment.says}`);
    });
  });
}

/** Replays up to each stop. */
function visitStops({ stops }: Lesson, recording: Uint8Array, visit: (title: string, moment: Moment) => void): void {
  const replay = openReplay(recording);
  const plan = replay.header.plan as FabricPlan;
  for (const { step, title, says } of stops) {
    while (replay.result.steps < step && replay.step());
    const seen = new Seen(plan, replay.adapter as Fabric, replay.result.timeNs, false);
    const status = (name: string) => reportAdapter(seen.adapter(name));
    const show = (name: string, view: string) =>
      showContents({ adapter: seen.adapter(name) as Adapter, hosts: [blindHost] }, { view }).rows;
    visit(title, { says: says.join(' '), status, show, seen });
  }
}

function doorbellsOf({ status }: Moment, name: string) {
  const [one] = status(name).functions;
  return { ...one.doorbells, fetched: one.commands.fetched, completed: one.completionQueues.posted };
}

function eventsOf({ show }: Moment) {
  return show('a', 'events').find(({ secondaryBytes }) => secondaryBytes !== 0) as Readonly<Record<string, number>>;
}

function contextOf({ show }: Moment) {
  return show('a', 'contexts')[0] as Readonly<Record<string, number>>;
}

function levelsOf({ status }: Moment) {
  const { levels } = status('a').functions[0].collect;
  return levels;
}

const claims: Readonly<Record<LessonName, Claims>> = {
  'doorbell-overflow': {
    'A doorbell takes an entry': (at) => ({
      'one entry is taken': doorbellsOf(at, 'without').buffer.used === 1,
      'it names the entries': at.says.includes(`${doorbellsOf(at, 'without').buffer.entries} entries`),
    }),
    'The scheduler buffer is full': (at) => {
      const { buffer, bus } = doorbellsOf(at, 'without');
      return {
        'no entry is free': buffer.used === buffer.entries,
        'it names the reads': at.says.includes(`${bus.reads} reads`),
      };
    },
    'With an overflow buffer: a doorbell is spilled': (at) => {
      const { overflow, buffer } = doorbellsOf(at, 'with');
      return {
        'the overflow buffer has it': overflow.depth > 0 && at.says.includes(`now holds ${overflow.depth}`),
        'the scheduler buffer is as it says': at.says.includes(`${buffer.used} of its ${buffer.entries}`),
      };
    },
    'Without: nothing moves any more': (at) => {
      const { stalled, buffer, fetched, overflow } = doorbellsOf(at, 'without');
      return {
        'the unit is stalled': stalled,
        'its buffer is full': buffer.used === buffer.entries,
        'nothing was executed': fetched === 0,
        'it has no overflow buffer': !overflow.enabled && overflow.spilled === 0,
      };
    },
    'With: doorbells come back': (at) => {
      const { overflow } = doorbellsOf(at, 'with');
      return {
        'some are back': overflow.drained > 0,
        'the rest is in the buffer': overflow.depth === overflow.spilled - overflow.drained && overflow.depth > 0,
        'it says how many': at.says.includes(
          `${overflow.drained} of ${overflow.spilled} so far, and ${overflow.depth}`,
        ),
      };
    },
    'With: the overflow buffer is empty': (at) => {
      const { overflow } = doorbellsOf(at, 'with');
      return {
        'all are back': overflow.depth === 0 && overflow.drained === overflow.spilled,
        'it says how many': at.says.includes(`All ${overflow.spilled} spilled`),
      };
    },
    'A second later': (at) => {
      const [stuck, well] = [doorbellsOf(at, 'without'), doorbellsOf(at, 'with')];
      return {
        'without is where it was': stuck.stalled && stuck.fetched === 0 && stuck.buffer.used === stuck.buffer.entries,
        'with has executed every command': well.fetched === well.completed && well.buffer.used === 0,
        'they had the same doorbells': stuck.explicit === well.explicit,
        'it says how many': at.says.includes(`has read ${well.fetched} commands`),
      };
    },
  },
  'interrupt-timer': {
    'The first event': (at) => ({
      'one interrupt': eventsOf(at).posted === 1 && eventsOf(at).interrupts === 1 && eventsOf(at).pending === 1,
      'it names the stamp': at.says.includes(`${eventsOf(at).stampNs} ns`),
    }),
    'Little load: an interrupt for each event': (at) => ({
      'as many interrupts as events': eventsOf(at).interrupts === eventsOf(at).posted,
      'it says how many': at.says.startsWith(`${eventsOf(at).posted} events`),
    }),
    'More load: an event that does not interrupt': (at) => ({
      'one interrupt less': eventsOf(at).interrupts === eventsOf(at).posted - 1,
      'the queue was not empty': eventsOf(at).pending > 1,
      'no driver was late': eventsOf(at).late === 0,
    }),
    'The stamp has passed: a late driver': (at) => ({
      'the first such interrupt': eventsOf(at).late === 1,
      'it names the new stamp': at.says.includes(`${eventsOf(at).stampNs} ns`),
      'the stamp is ahead': eventsOf(at).stampNs > at.seen.timeNs,
    }),
    'Full load: few interrupts': (at) => ({
      'far more events than interrupts': eventsOf(at).posted > 4 * eventsOf(at).interrupts,
      'it says how many': at.says.includes(`${eventsOf(at).posted} events so far, and ${eventsOf(at).interrupts}`),
    }),
    'The load ends': (at) => ({
      'the counter is 0': eventsOf(at).pending === 0,
      'it says how many': at.says.includes(
        `${eventsOf(at).interrupts} interrupts were enough for ${eventsOf(at).posted}`,
      ),
    }),
  },
  'credit-returns': {
    'A younger packet leaves first': (at) => ({
      'one packet has left, and no credit is free': contextOf(at).sent === 1 && contextOf(at).free === 0,
    }),
    'The oldest packet still holds all credits': (at) => ({
      'two packets have left, and no credit is free': contextOf(at).sent === 2 && contextOf(at).free === 0,
      'no word was written': contextOf(at).returns === 0,
    }),
    'One word returns the whole run': (at) => ({
      'one word with all blocks':
        contextOf(at).returns === 1 && contextOf(at).returned === 6 && contextOf(at).free === 6,
      'it says how many': at.says.includes('now 6 long'),
    }),
    'Below the threshold nothing is written': (at) => ({
      'as many are free as the threshold': contextOf(at).free - contextOf(at).returned === contextOf(at).threshold,
      'still one word': contextOf(at).returns === 1,
    }),
    'The threshold is exceeded': (at) => ({
      'one more than the threshold is returned': contextOf(at).returned === 6 + contextOf(at).threshold + 1,
      'the second word': contextOf(at).returns === 2,
    }),
    'A packet asks for its credits': (at) => ({
      'the third word, before the threshold': contextOf(at).returns === 3 && contextOf(at).returned === 14,
    }),
    'Software forces a return': (at) => ({
      'the fourth word, for one block': contextOf(at).returns === 4 && contextOf(at).returned === 15,
    }),
    'A load of packets': (at) => ({
      'far more packets than words': contextOf(at).sent > 2 * contextOf(at).returns,
      'it says how many': at.says.startsWith(`${contextOf(at).sent} packets`),
    }),
  },
  guarantees: {
    'A command is collected': (at) => ({ 'one buffer of level 0': levelsOf(at)[0].inUse === 1 }),
    'The flood has used its own buffers': (at) => ({
      'as many as promised': levelsOf(at)[1].inUse === levelsOf(at)[1].guaranteed,
      'the shared ones are left': levelsOf(at)[1].available === 2,
    }),
    'The flood has the shared ones too': (at) => ({
      'nothing is left for it': levelsOf(at)[1].available === 0 && levelsOf(at)[1].inUse === 5,
      'the promise to level 0 stands': levelsOf(at)[0].available + levelsOf(at)[0].inUse === levelsOf(at)[0].guaranteed,
    }),
    'A command without a buffer': (at) => ({ 'one is refused': levelsOf(at)[1].refusals === 1 }),
    'Level 0 gets what it was promised': (at) => ({
      'all that was promised': levelsOf(at)[0].inUse === levelsOf(at)[0].guaranteed,
      'without a refusal': levelsOf(at)[0].refusals === 0 && levelsOf(at)[1].refusals > 0,
    }),
    'A lane waits only for itself': (at) => {
      const { lanes } = at.status('a').lanes;
      const [quiet, ...others] = lanes;
      return {
        'lane 0 is that of level 0, and is empty': quiet.number === 0 && quiet.length === 0,
        'its credit is its own':
          quiet.execution.private === 1 && !others.some(({ execution }) => execution.private < 1),
        'others wait': others.some(({ length }) => length > 0),
        'it says how many': at.says.includes(
          `${others.reduce((sum, { length }) => sum + length, 0)} commands of level 1`,
        ),
      };
    },
    'The flood is over': (at) => {
      const [one] = at.status('a').functions;
      return {
        'every command was executed': one.completionQueues.posted === one.lanes.launches,
        'level 0 was never refused': levelsOf(at)[0].refusals === 0,
        'it says how many': at.says.includes(`All ${one.lanes.launches} commands`),
      };
    },
  },
  'lossy-link': {
    'A message without trouble': (at) => ({ 'no retry': completerOf(at).retries === 0 }),
    'A lost packet is noticed': (at) => ({
      'a gap, and no NAK has arrived': responderOf(at).sequenceErrors === 1 && completerOf(at).naks === 0,
    }),
    'The NAK makes it send again': (at) => ({
      'a NAK and no timeout': completerOf(at).naks === 1 && completerOf(at).timeouts === 0,
      'one retry': completerOf(at).retries === 1 && at.says.includes('retry 1'),
    }),
    'The last packet is lost: a timeout': (at) => ({
      'a timeout and no further NAK': completerOf(at).timeouts === 1 && completerOf(at).naks === 1,
    }),
    'A lost acknowledgement': (at) => ({
      'a second timeout': completerOf(at).timeouts === 2,
      'four duplicates of this message': responderOf(at).duplicates >= 4,
      'no further NAK': completerOf(at).naks === 1,
    }),
    'A damaged packet': (at) => ({
      'the port has counted it': at.seen.adapter('b').ports[0].counters.physicalErrors === 1,
    }),
    'A doubled packet': (at) => ({
      'one duplicate, and no timeout for it': completerOf(at).timeouts === 2,
      'it says how many': at.says.includes(`duplicates: ${responderOf(at).duplicates}`),
    }),
    'A link that fails at random': (at) => ({
      'all messages are complete': at.status('a').functions[0].completionQueues.posted === 36,
      'all have arrived': at.status('b').functions[0].completionQueues.posted === 36,
      'it says how often': at.says.includes(`${completerOf(at).retries} retries`),
    }),
  },
  'rerouted-trunk': {
    'Cables without a subnet': (at) => ({ 'no LID': at.seen.adapter('a3').ports[0].lid === 0 }),
    'A subnet': (at) => ({
      'the table leads to a spine': /by port [34], to spine[12]/.test(at.says) && routeOf(at) >= 3,
      'it names the LID': at.says.includes(`LID ${at.seen.adapter('a3').ports[0].lid};`),
    }),
    'Traffic goes over the trunk': (at) => ({
      'the other end receives': at.seen.adapter('a3').ports[0].receivePackets > 8,
    }),
    'The trunk is cut': (at) => ({
      'the way leads to a port that is down': at.seen.switch('leaf1').ports[routeOf(at) - 1].link === undefined,
    }),
    'Another way': (at) => ({
      'the way leads to a port that is active': at.seen.switch('leaf1').ports[routeOf(at) - 1].active,
      'it names the port': at.says.includes(`by port ${routeOf(at)}`),
    }),
    'The connection goes on': (at) => ({ 'one timeout': completerOf(at, 'a1').timeouts === 1 }),
    'The cable is back': (at) => ({
      'every port of the leaf is active': at.seen.switch('leaf1').ports.every(({ active }) => active),
      'it names the port': at.says.includes(`by port ${routeOf(at)}`),
    }),
    'All messages have arrived': (at) => ({
      'each once': at.status('a3').functions[0].completionQueues.posted === 25,
      'one timeout': completerOf(at, 'a1').timeouts === 1,
    }),
  },
};

function completerOf({ seen }: Moment, name = 'a') {
  return seen.adapter(name).engine.connected.completer;
}

function responderOf({ seen }: Moment) {
  return seen.adapter('b').engine.connected.responder;
}

function routeOf({ seen }: Moment): number {
  return seen.switch('leaf1').switchTables.getPort(seen.adapter('a3').ports[0].lid);
}

/** True when a row of the document has this paragraph. */
function isListed(rows: ReturnType<typeof readRows>, document: string, paragraph: number): boolean {
  return rows.some((row) => {
    const [first, last = first] = row.par.split('-').map(Number);
    return row.document === document && first <= paragraph && paragraph <= last;
  });
}

t.test('every source is a paragraph, a section or a page that exists', async (t) => {
  const rows = readRows(readFileSync(join(ROOT, DOCUMENTS_PATH), 'utf8'));
  const sections = readFileSync(join(ROOT, 'docs/COMPLIANCE.md'), 'utf8');
  for (const { lesson } of made.values())
    for (const { title, source } of lesson.stops) {
      for (const cited of source.split('; ')) {
        const form = /^(?:(US [\d,/]+|IPCOM\w+) (?:par\. [\d, -]+|abstract|claim 1)|IBTA [\d., ]+|docs\/[A-Z]+\.md.*)$/;
        t.match(cited, form, `${lesson.name}, ${title}`);
        const [page] = cited.match(/^docs\/[A-Z]+\.md/) ?? [];
        if (page !== undefined) t.ok(existsSync(join(ROOT, page)), `${lesson.name}, ${title}: ${page}`);
        const numbers = cited.startsWith('IBTA ') ? cited.slice(5).split(', ') : [];
        for (const number of numbers)
          t.ok(sections.includes(`| ${number} |`), `${lesson.name}, ${title}: IBTA ${number}`);
      }
      for (const { document, first, last } of readCitations('lesson', `// ${source}`))
        for (let paragraph = first; paragraph <= last; paragraph++)
          t.ok(isListed(rows, document, paragraph), `${lesson.name}, ${title}: ${document} par. ${paragraph}`);
    }
});

t.test('docs/VIEW.md lists the lessons', async (t) => {
  const [, section] = readFileSync(join(ROOT, 'docs/VIEW.md'), 'utf8').split('\n## Lessons\n');
  t.same(
    section?.split('\n## ')[0]?.match(/^\| `.*$/gm),
    lessonEntries.map(({ name, title, summary }) => `| \`${name}\` | ${title} | ${summary} |`),
  );
});

t.test('a lesson that is written is the same when it is opened', async (t) => {
  const folder = makeDirectory(t);
  for (const one of made.values()) {
    writeLesson(folder, one);
    const { lesson, path } = openWritten(folder, one.lesson.name, () => {});
    t.same(lesson, one.lesson);
    t.ok(readFileSync(path).equals(one.recording));
  }
});

t.test('a clone makes a lesson when it is opened, and closing it leaves nothing', async (t) => {
  const [{ name }] = lessonEntries;
  const { lesson, path, close } = await openLesson(name);
  t.same(lesson, made.get(name)?.lesson);
  t.ok(readFileSync(path).equals(made.get(name)?.recording as Uint8Array));
  close();
  t.notOk(existsSync(path));
  close();
  await t.rejects(openLesson('../secret'), {
    name: 'RangeError',
    message: /^there is no lesson \.\.\/secret; there are /,
  });
});

t.test('the stop of a step is the last one before it', async (t) => {
  const { lesson } = made.get('doorbell-overflow') as ReturnType<typeof makeLesson>;
  const [first, second] = lesson.stops;
  t.equal(stopAt(lesson, 0), -1);
  t.equal(stopAt(lesson, first.step), 0);
  t.equal(stopAt(lesson, second.step - 1), 0);
  t.equal(stopAt(lesson, lesson.steps), lesson.stops.length - 1);
});
