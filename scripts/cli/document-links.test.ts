// SPDX-License-Identifier: Apache-2.0
/**
 * The documents as a whole: each page can be reached, links and citations lead to files, sections,
 * hazards and decisions that exist, and the prose keeps the rules of docs/CONTRIBUTING.md.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { documents, generated, ROOT } from './testing/document-blocks.ts';
import {
  anchorOf,
  type Citation,
  listFiles,
  readCitations,
  readHeadings,
  readLinks,
  readProse,
} from './testing/document-links.ts';

const START = ['README.md', 'docs/ARCHITECTURE.md'];
const SOURCES = ['device', 'docs', 'guest-tests', 'protocol', 'qemu', 'scripts'];
const WIDEST_LINE = 100;
/** Pages that a program writes, and one that grows by a line with each change. */
const unruled = [...generated, 'docs/CHANGELOG.md', 'docs/REGISTERS.md', 'docs/verbs/FOREIGN.md'];
const isRuled = (path: string): boolean => !unruled.includes(path) && !path.startsWith('docs/formats/');
/** Words that docs/CONTRIBUTING.md bans. */
const BANNED = /\bof chance\b|\bof the meantime\b|\bmend(?:s|ed)?\b|\bthings?\b|\bin peace\b|\bissue \d/i;

const texts = new Map<string, string>();
function read(path: string): string {
  const text = texts.get(path) ?? readFileSync(join(ROOT, path), 'utf8');
  texts.set(path, text);
  return text;
}

const sections = new Map<string, readonly string[]>();
function headingsOf(path: string): readonly string[] {
  const headings = sections.get(path) ?? readHeadings(read(path));
  sections.set(path, headings);
  return headings;
}

const pages = [
  ...documents,
  ...listFiles(['guest-tests', 'protocol', 'qemu', 'scripts'], (path) => path.endsWith('.md')),
];

t.test('every page is reached from the README or the architecture', async (t) => {
  const reached = new Set(START);
  for (const path of reached)
    for (const link of readLinks(path, read(path))) if (documents.includes(link.path)) reached.add(link.path);
  t.same(
    documents.filter((path) => !reached.has(path)),
    [],
  );
});

t.test('links lead to files and headings', async (t) => {
  for (const path of pages)
    for (const link of readLinks(path, read(path))) {
      if (!existsSync(join(ROOT, link.path))) t.fail(`${path}: there is no ${link.path}`);
      else if (link.anchor !== '' && !headingsOf(link.path).map(anchorOf).includes(link.anchor))
        t.fail(`${path}: ${link.path} has no heading #${link.anchor}`);
    }
  t.ok(pages.length > documents.length, 'pages beside docs/ are read');
});

/** Describes what is wrong with a citation; empty if nothing is. */
function findFault({ page, place }: Citation): string | undefined {
  if (!existsSync(join(ROOT, page))) return `there is no ${page}`;
  const numbers = /^(?:hazards?|decision) /.test(place) ? (place.match(/\d+/g) ?? []) : [];
  const missing = numbers.find((number) => !read(page).includes(`\n| ${number} | `));
  if (missing !== undefined) return `${page} has no row ${missing}`;
  if (numbers.length > 0 || place === '' || headingsOf(page).includes(place)) return undefined;
  return `${page} has no section "${place}"`;
}

t.test('citations name pages, sections, hazards and decisions that exist', async (t) => {
  const files = listFiles(SOURCES, (path) => /\.(?:ts|mjs|c|h|sh|py|md)$/.test(path) && !path.includes('.gen.'));
  let count = 0;
  for (const path of files) {
    // These files contain invented pages.
    if (/(?:rules|changed-tests|document-links)\.test\.ts$/.test(path)) continue;
    for (const citation of readCitations(read(path))) {
      count++;
      const fault = findFault(citation);
      if (fault !== undefined) t.fail(`${path}: ${fault}`);
    }
  }
  t.ok(count > 200, `${count} citations`);
});

t.test('the prose is narrow, and has none of the banned words', async (t) => {
  for (const path of documents.filter(isRuled))
    for (const { number, line } of readProse(read(path))) {
      const isFree = /^(?:\||<!--| {4})/.test(line);
      if (!isFree && line.length > WIDEST_LINE) t.fail(`${path}:${number}: ${line.length} columns`);
      // The rule itself quotes these words.
      const [word] = path === 'docs/CONTRIBUTING.md' ? [] : (BANNED.exec(line) ?? []);
      if (word !== undefined) t.fail(`${path}:${number}: "${word}"`);
    }
});

t.test('a page begins with its title and a paragraph', async (t) => {
  for (const path of documents.filter(isRuled)) {
    const [title = '', empty, first = ''] = read(path).split('\n');
    t.ok(/^# \S/.test(title) && empty === '' && /^[A-Z`]/.test(first), path);
  }
});

t.test('the readers know all forms', async (t) => {
  const page = '# A b: `c`\n\n[x](y.md#a-b) [z](https://z) [w](#a-b-c)\n```\n[no](no.md)\n```\n';
  t.same(readLinks('docs/verbs/x.md', page), [
    { path: 'docs/verbs/y.md', anchor: 'a-b' },
    { path: 'docs/verbs/x.md', anchor: 'a-b-c' },
  ]);
  t.same(readHeadings(page).map(anchorOf), ['a-b-c']);
  t.same(readCitations('/**\n * Rules (docs/HAZARDS.md,\n * hazards 9 to 12; docs/X.md, "A\n * b"; docs/Y.md).\n */'), [
    { page: 'docs/HAZARDS.md', place: 'hazards 9 to 12' },
    { page: 'docs/X.md', place: 'A b' },
    { page: 'docs/Y.md', place: '' },
  ]);
  t.same(readCitations('docs/DOCUMENTS.md decision 5'), [{ page: 'docs/DOCUMENTS.md', place: 'decision 5' }]);
});
