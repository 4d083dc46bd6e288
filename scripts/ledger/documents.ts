// SPDX-License-Identifier: Apache-2.0
/**
 * The ledger of the five source documents: the last section of docs/DOCUMENTS.md, which names, for
 * each paragraph with a statement, the code that implements it and the tests that show it. Rows
 * come from the tables of that page, code from citations in comments, evidence from
 * document-rows.ts, and outcomes from the tests as they run. Called by main.ts.
 */
import type { Evidence } from './document-rows.ts';
import type { TestOutcome } from './ledger-reader.ts';

/** The page, from the root of the repository. */
export const DOCUMENTS_PATH = 'docs/DOCUMENTS.md';
const BEGIN = '<!-- ledger: begin, written by npm run ledger -->';
const END = '<!-- ledger: end -->';
/** Most files of code in a row. */
const MOST_FILES = 4;

/** A row of a table of the page. */
export interface Paragraphs {
  readonly document: string;
  /** As in the first column: `5-7`, or a part of claim 1. */
  readonly par: string;
  readonly topic: string;
  /** Folders, as in the last column; empty when the paragraphs state nothing. */
  readonly where: string;
}

type EvidenceTable = Readonly<Record<string, Readonly<Record<string, Evidence>>>>;

/** Sources of the ledger. */
export interface DocumentSources {
  /** Text of the page. */
  readonly page: string;
  readonly evidence: EvidenceTable;
  /** Text of the sources that may cite a paragraph, by path. */
  readonly code: ReadonlyMap<string, string>;
  readonly outcomes: readonly TestOutcome[];
  /** `suite case` of all guest tests. */
  readonly guestCases: ReadonlySet<string>;
}

/** The page with its ledger, and its faults, in sentences. */
export function writeDocumentLedger(sources: DocumentSources): { page: string; problems: string[] } {
  const { page, evidence } = sources;
  const rows = readRows(page.slice(0, page.indexOf(BEGIN))).filter(({ where }) => where !== '');
  const problems = findStrangers(rows, evidence);
  const citations = [...sources.code].flatMap(([path, text]) => readCitations(path, text));
  const lines = rows.map((row) => {
    const found = evidence[row.document]?.[row.par];
    if (found === undefined) problems.push(`${row.document} par. ${row.par}: nothing shows it`);
    else problems.push(...checkEvidence(row, found, sources));
    return formatRow(row, found ?? {}, citations);
  });
  const head = ['| Document | Par. | States | Code | Shown by |', '|---|---|---|---|---|'];
  const text = [`${rows.length} rows.`, '', ...head, ...lines].join('\n');
  return { page: fillLedger(page, DOCUMENTS_PATH, text), problems };
}

/** `page` with `text` between the marks of its ledger; throws with its path when it has none. */
export function fillLedger(page: string, path: string, text: string): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`${path} lacks the marks of the ledger`);
  return `${page.slice(0, begin + BEGIN.length)}\n\n${text}\n\n${page.slice(end)}`;
}

/** Rows of the tables under headings that begin with the name of a document. */
export function readRows(page: string): Paragraphs[] {
  const rows: Paragraphs[] = [];
  let document = '';
  for (const line of page.split('\n')) {
    const heading = /^## (US [\d,/]+|IPCOM\w+): /.exec(line);
    if (heading !== null || line.startsWith('## ')) document = heading?.[1] ?? '';
    const cells = line.split('|').map((cell) => cell.trim());
    if (document === '' || cells.length < 5 || /^(par\.?|part|-+)$/.test(cells[1])) continue;
    rows.push({ document, par: cells[1], topic: cells.at(-3) ?? '', where: cells.at(-2) ?? '' });
  }
  return rows;
}

interface Citation {
  readonly path: string;
  readonly document: string;
  readonly first: number;
  readonly last: number;
}

/** Paragraphs that comments in `text` cite. */
export function readCitations(path: string, text: string): Citation[] {
  const plain = text.replace(/\n\s*(\*|\/\/) ?/g, ' ');
  return [...plain.matchAll(/(US [\d,/]+|IPCOM\w+) par\. ((?:\d+(?:-\d+)?(?:, )?)+)/g)].flatMap(([, document, list]) =>
    list
      .split(', ')
      .filter((range) => range !== '')
      .map((range) => {
        const [first, last = first] = range.split('-').map(Number);
        return { path, document, first, last };
      }),
  );
}

function findStrangers(rows: readonly Paragraphs[], evidence: EvidenceTable): string[] {
  return Object.entries(evidence).flatMap(([document, table]) =>
    Object.keys(table)
      .filter((par) => !rows.some((row) => row.document === document && row.par === par))
      .map((par) => `${document} par. ${par}: no table of ${DOCUMENTS_PATH} has this row with a place`),
  );
}

function checkEvidence({ document, par }: Paragraphs, found: Evidence, sources: DocumentSources): string[] {
  const problems: string[] = [];
  for (const title of found.tests ?? []) {
    const outcomes = sources.outcomes.filter((outcome) => isNamed(title, outcome));
    if (outcomes.length === 0) problems.push(`${document} par. ${par}: there is no test "${title}"`);
    if (outcomes.some(({ passed }) => !passed)) problems.push(`${document} par. ${par}: "${title}" did not pass`);
  }
  for (const name of found.guest ?? [])
    if (!sources.guestCases.has(name)) problems.push(`${document} par. ${par}: there is no guest test "${name}"`);
  return problems;
}

function isNamed(title: string, { path, test }: TestOutcome): boolean {
  const cut = title.indexOf(': ');
  return path === testPath(title) && test.startsWith(title.slice(cut + 2));
}

/** The file of a title of document-rows.ts. */
export function testPath(title: string): string {
  return `device/${title.slice(0, title.indexOf(': '))}.test.ts`;
}

function formatRow(row: Paragraphs, found: Evidence, citations: readonly Citation[]): string {
  const { document, par, topic, where } = row;
  const [first, last = first] = par.split('-').map(Number);
  const paths = citations
    .filter((place) => place.document === document && place.first <= last && place.last >= first)
    // The narrowest citation is the most specific.
    .sort((a, b) => a.last - a.first - (b.last - b.first))
    .map(({ path }) => `\`${path.replace(/^device\//, '')}\``);
  const code = [...new Set(paths)].slice(0, MOST_FILES).join(', ') || where;
  const tests = (found.tests ?? []).map((title) => `\`${testPath(title)}\`: ${title.slice(title.indexOf(': ') + 2)}`);
  const cases = (found.guest ?? []).map((name) => `guest: \`${name}\``);
  const reason = found.otherwise === undefined ? [] : [`done otherwise: ${found.otherwise}`];
  return `| ${document} | ${par} | ${topic} | ${code} | ${[...tests, ...cases, ...reason].join('; ')} |`;
}
