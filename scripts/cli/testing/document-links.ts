// SPDX-License-Identifier: Apache-2.0
/**
 * Reader of the links and citations between documents: links of a page, its headings with their
 * anchors, its prose, and the citations of pages in the text of any file. Pure, except for
 * `listFiles`. Called by document-links.test.ts.
 */
import { readdirSync } from 'node:fs';
import { join, posix } from 'node:path';
import { ROOT } from './document-blocks.ts';

/** A link of a page to a file of the repository, or to a place in it. */
export interface Link {
  /** Path of the file, from the root of the repository. */
  readonly path: string;
  /** Without `#`; empty for the file as a whole. */
  readonly anchor: string;
}

/** A citation such as `docs/FEATURES.md, "Read latency"` or `docs/HAZARDS.md, hazard 14`. */
export interface Citation {
  /** Path of the page, from the root of the repository. */
  readonly page: string;
  /** The cited section, hazards or decision; empty for the page as a whole. */
  readonly place: string;
}

/** Paths of all files below `folders` that `isWanted` takes, from the root of the repository. */
export function listFiles(folders: readonly string[], isWanted: (path: string) => boolean): string[] {
  return folders
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`),
    )
    .filter(isWanted);
}

/** Lines of a page outside of fenced blocks, numbered from 1. */
export function readProse(text: string): { readonly number: number; readonly line: string }[] {
  let fenced = false;
  return text.split('\n').flatMap((line, index) => {
    const isFence = line.startsWith('```');
    if (isFence) fenced = !fenced;
    return isFence || fenced ? [] : [{ number: index + 1, line }];
  });
}

/** Links of the page at `path` with this text to files of the repository. */
export function readLinks(path: string, text: string): Link[] {
  const prose = readProse(text).map(({ line }) => line);
  const targets = [...prose.join('\n').matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  return targets
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [file = '', anchor = ''] = target.split('#');
      return { path: file === '' ? path : posix.join(posix.dirname(path), file), anchor };
    });
}

export function readHeadings(text: string): string[] {
  return readProse(text).flatMap(({ line }) => /^#+ (.*)$/.exec(line)?.slice(1) ?? []);
}

/** The anchor that a heading has on the web. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

/** Pages of `docs` that a text cites, comments over several lines included. */
export function readCitations(text: string): Citation[] {
  if (!text.includes('docs/')) return [];
  const plain = text.replaceAll(/\n\s*(?:\*|\/\/|#)? ?/g, ' ');
  const form = /\bdocs\/((?:[\w-]+\/)*[A-Z][\w-]*\.md)(?:,? (?:"([^"]+)"|((?:hazards?|decision) [\d, to-]+)))?/g;
  return [...plain.matchAll(form)].map(([, page = '', section = '', numbers = '']) => ({
    page: `docs/${page}`,
    place: section + numbers,
  }));
}
