// SPDX-License-Identifier: Apache-2.0
/**
 * Checks the table of layers itself, and writes it for docs/ARCHITECTURE.md: a list for each part,
 * and a picture.
 */
import type { Layer } from './layer.ts';

/** Parts of the repository, with a title each. */
const parts = [
  { folder: 'protocol', title: 'protocol/' },
  { folder: 'device', title: 'device/' },
  { folder: 'qemu', title: 'qemu/' },
  { folder: 'guest-tests', title: 'guest-tests/' },
  { folder: 'scripts', title: 'scripts/' },
];

/**
 * Sentences about rows that are wrong in themselves: a use that points up, or of a layer for tests.
 */
export function checkTable(layers: readonly Layer[]): string[] {
  const above = new Set<string>();
  return layers.flatMap((layer) => {
    const wrong = layer.uses
      .filter((path) => !above.has(path))
      .map((path) => `${layer.path} uses ${path}, which does not stand above it`);
    const tests = layer.forTests
      ? []
      : layer.uses
          .filter((path) => layers.some((other) => other.path === path && other.forTests))
          .map((path) => `${layer.path} uses ${path}, which is for tests`);
    above.add(layer.path);
    return [...wrong, ...tests];
  });
}

/** Sentences about uses that the table allows and no file makes: the table must say what is so. */
export function checkUnused(layers: readonly Layer[], used: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  return layers.flatMap(({ path, uses }) =>
    uses
      .filter((other) => !used.get(path)?.has(other))
      .map((other) => `${path} may use ${other}, but does not; take it out of the table`),
  );
}

/** The rows as a Markdown table: folder, what it holds, what it may use. */
export function renderTable(layers: readonly Layer[]): string {
  const rows = layers.map(
    ({ path, holds, uses }) =>
      `| \`${path}\` | ${holds} | ${uses.length === 0 ? 'nothing' : uses.map(shorten).join(', ')} |`,
  );
  return ['| folder | what it holds | may use |', '|---|---|---|', ...rows].join('\n');
}

/**
 * A Mermaid flow chart of the layers: an arrow from each layer to those that it uses, without the
 * arrows that follow from others (transitive reduction), so that the order can be seen.
 */
export function renderPicture(layers: readonly Layer[], folder: string): string {
  const inside = layers.filter(({ path, forTests }) => path.startsWith(`${folder}/`) && !forTests);
  const names = new Set(inside.map(({ path }) => path));
  const uses = new Map(inside.map(({ path, uses }) => [path, uses.filter((other) => names.has(other))]));
  const nodes = inside.map(({ path }) => `  ${idOf(path)}["${shorten(path).replaceAll('`', '')}"]`);
  const arrows = inside.flatMap(({ path }) =>
    (uses.get(path) ?? [])
      .filter((target) => !isImplied(path, target, uses))
      .map((target) => `  ${idOf(path)} --> ${idOf(target)}`),
  );
  return ['```mermaid', 'flowchart TD', ...nodes.reverse(), ...arrows, '```'].join('\n');
}

/** Titles and tables of all parts. */
export function renderParts(layers: readonly Layer[]): string {
  return parts
    .map(({ folder, title }) => {
      const rows = layers.filter(({ path }) => path === folder || path.startsWith(`${folder}/`));
      return `### ${title}\n\n${renderTable(rows)}`;
    })
    .join('\n\n');
}

/**
 * The document with its generated sections: each between a line `<!-- NAME: begin ... -->` and one
 * `<!-- NAME: end -->`.
 */
export function fillIn(document: string, sections: Readonly<Record<string, string>>): string {
  return Object.entries(sections).reduce((text, [name, content]) => {
    const section = new RegExp(`(<!-- ${name}: begin[^\\n]*-->\\n)[^]*?(<!-- ${name}: end -->)`);
    if (!section.test(text)) throw new Error(`the document has no section "${name}"; add its two marks`);
    return text.replace(section, (_, begin, end) => `${begin}\n${content}\n\n${end}`);
  }, document);
}

/** `target` is reached over another layer that `from` uses. */
function isImplied(from: string, target: string, uses: ReadonlyMap<string, readonly string[]>): boolean {
  const reaches = (start: string): boolean => (uses.get(start) ?? []).some((next) => next === target || reaches(next));
  return (uses.get(from) ?? []).some((other) => other !== target && reaches(other));
}

function shorten(path: string): string {
  return `\`${path.replace(/^device\//, '')}\``;
}

function idOf(path: string): string {
  return path.replace(/[^a-z]/g, '_');
}
