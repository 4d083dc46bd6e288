// SPDX-License-Identifier: Apache-2.0
/**
 * The reader of KTAP beside the `tap-parser` of tap, over documents of TAP 12, 13 and 14 that a
 * seed composes: both find the same tests passed, failed and skipped, and give the same verdict.
 * KTAP, which tap-parser does not know, has its own list of documents.
 */
import t from 'tap';
import { type FinalResults, Parser, type Result } from 'tap-parser';
import { Random } from '../../device/random.ts';
import type { KtapResult } from './ktap.ts';
import { KtapStreams } from './ktap-streams.ts';

interface Reading {
  readonly results: readonly string[];
  readonly passes: boolean;
}

const NAMES = [
  '',
  'a',
  'b # 3 of them',
  'queue#skip_frames',
  '\\# TODO marks',
  'a \\\\ b',
  'path/to/x',
  'issue #12',
  '#7',
  'c: d - e',
  'ok',
  'not ok 3 - x',
];
const DIRECTIVES = [
  '',
  '',
  '',
  ' # SKIP',
  ' # skip later',
  ' # TODO some day',
  ' #todo x',
  ' # SKIPPED: y',
  '# TODO z',
];
const NOISE = [
  '# a comment',
  'ok, device is up',
  'okay 7',
  'not ok, as expected',
  'OK 1 - loud',
  '',
  '[ok] 3 files',
  'not  ok 1 - gap',
];
const YAML = [
  ['  ---', '  ok: true', '  expected: 3', '  ...'],
  ['  ---', '  output: |', '    not ok 1 - in a block', '    1..7', '  ...'],
  ['  ---', '  message: "# SKIP"', '  ...'],
];

/** A document; one in four breaks its plan or has an unexcused failure. */
function compose(random: Random): string {
  const version = random.pick([['TAP version 13'], ['TAP version 14'], []]);
  const count = random.below(5);
  const body: string[] = [];
  for (let number = 1; number <= count; number++) {
    if (random.below(4) === 0) body.push(random.pick(NOISE));
    if (version[0] === 'TAP version 14' && random.below(5) === 0) body.push(...composeSubtest(random));
    body.push(composeResult(random, random.below(4) === 0 ? '' : ` ${number}`));
    if (version.length > 0 && random.below(4) === 0) body.push(...random.pick(YAML));
  }
  const planned = random.below(12) === 0 ? count + 1 : count;
  const plan = `1..${planned}${planned === 0 ? random.pick(['', ' # SKIP no device', ' # skip']) : random.pick(['', ' # two'])}`;
  // Without version and plan the first line must show that this is TAP.
  const isFirst = version.length === 0 || random.below(2) === 0;
  return `${[...version, ...(isFirst ? [plan] : []), ...body, ...(isFirst ? [] : [plan])].join('\n')}\n`;
}

function composeResult(random: Random, number: string): string {
  const name = random.pick(NAMES);
  const description = name === '' ? '' : ` - ${name}`;
  return `${random.below(5) === 0 ? 'not ok' : 'ok'}${number}${description}${random.pick(DIRECTIVES)}`;
}

function composeSubtest(random: Random): string[] {
  const inner = Array.from({ length: 1 + random.below(2) }, (_, index) => composeResult(random, ` ${index + 1}`));
  return ['# Subtest: inner', ...[...inner, `1..${inner.length}`].map((line) => `    ${line}`)];
}

function readOurs(text: string): Reading {
  const results: KtapResult[] = [];
  const streams = new KtapStreams((result) => results.push(result), { plansBegin: true });
  for (const line of text.split('\n')) streams.push(line);
  streams.finish();
  const outer = results.filter(({ path }) => path.length === 1 && path[0] !== 'every test');
  return {
    results: outer.map(({ ok, skipped }) => (skipped !== undefined ? 'excused' : ok ? 'passed' : 'failed')),
    passes: streams.faults.length === 0 && results.every(({ ok }) => ok),
  };
}

async function readTheirs(text: string): Promise<Reading> {
  const results: string[] = [];
  const final = await new Promise<FinalResults>((resolve) => {
    const parser = new Parser({}, resolve);
    parser.on('assert', ({ ok, skip, todo }: Result) =>
      results.push(skip || todo ? 'excused' : ok ? 'passed' : 'failed'),
    );
    parser.end(text);
  });
  return { results, passes: final.ok };
}

t.test('TAP 12, 13 and 14 are read as tap-parser reads them', async (t) => {
  const counts = { passes: 0, fails: 0 };
  for (let seed = 1; seed <= 2000; seed++) {
    const text = compose(new Random(seed));
    const [ours, theirs] = [readOurs(text), await readTheirs(text)];
    if (JSON.stringify(ours) !== JSON.stringify(theirs)) t.same(ours, theirs, `seed ${seed}:\n${text}`);
    counts[theirs.passes ? 'passes' : 'fails']++;
  }
  t.ok(counts.passes > 200 && counts.fails > 200, JSON.stringify(counts));
});
