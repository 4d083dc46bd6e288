// SPDX-License-Identifier: Apache-2.0
/** Reads the sources of the ledger of the documents from the repository. Called by main.ts. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { evidence } from './document-rows.ts';
import { DOCUMENTS_PATH, type DocumentSources, testPath } from './documents.ts';
import type { TestOutcome } from './ledger-reader.ts';

const CODE = ['device', 'guest-tests/driver'];
const GUEST_TESTS = 'guest-tests/kernel';

/** Files of the tests that document-rows.ts names. */
export function readNamedTests(): string[] {
  const rows = Object.values(evidence).flatMap((table) => Object.values(table));
  return [...new Set(rows.flatMap(({ tests = [] }) => tests.map(testPath)))];
}

export function readDocumentSources(root: string, outcomes: readonly TestOutcome[]): DocumentSources {
  const page = readFileSync(join(root, DOCUMENTS_PATH), 'utf8');
  return { page, evidence, code: readCode(root), outcomes, guestCases: readGuestCases(root) };
}

function readCode(root: string): Map<string, string> {
  const paths = CODE.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`),
  );
  const sources = paths.filter((path) => /\.(ts|c|h)$/.test(path) && !/\.test\.ts$|test-support|\.mod\./.test(path));
  return new Map(sources.sort().map((path) => [path, readFileSync(join(root, path), 'utf8')]));
}

/** The cases of all suites: a file of C has one suite, and its cases in an array. */
function readGuestCases(root: string): Set<string> {
  const texts = readdirSync(join(root, GUEST_TESTS))
    .filter((name) => name.endsWith('.c'))
    .map((name) => readFileSync(join(root, GUEST_TESTS, name), 'utf8'));
  return new Set(texts.flatMap(readSuites));
}

function readSuites(text: string): string[] {
  const suites = [...text.matchAll(/^VT_SUITE\((\w+)/gm)].map(([, suite]) => suite);
  const cases = [...text.matchAll(/^\t\{ "([\w-]+)"/gm)].map(([, name]) => name);
  return suites.flatMap((suite) => cases.map((name) => `${suite} ${name}`));
}
